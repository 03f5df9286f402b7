"""The campaign of live nodes: schedules in virtual time, fuzzing, then real processes in real trouble.

    python -m tests.live.campaign                      all of it
    python -m tests.live.campaign --seed 7             one schedule again
    python -m tests.live.campaign --schedules 500 --fuzz 0 --damage 0 --power 0 --kills 20

Exit code 1 if anything is late, lost or twice. The faults that really happened are printed, because a
campaign in which nothing failed proves nothing.
"""

import argparse
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from scripts.kafka_broker import Broker
from tests.kafka.kills import BrokerKillCampaign
from tests.live import namespaces, power_loss
from tests.live.changes import LinkSchedule, MemberSchedule, judge_changes, run_change
from tests.live.damage import damage_journals
from tests.live.fuzz import run_fuzz
from tests.live.kills import KillCampaign
from tests.live.processes import ProcessCampaign
from tests.live.proxied import ProxyCampaign
from tests.live.schedules import Outcome, judge_schedules, run_schedule
from tests.live.soak import run_soak
from tests.live.wires import WireCampaign

BATCH = 50
FUZZ_BATCH = 250_000
DAMAGE_BATCH = 500
POWER_BATCH = 500
Part = tuple[list[str], Counter[str]]
"""What is wrong, and what has happened."""
GROUPS: list[tuple[str, str, dict[str, Any]]] = [
    ("optimal", "multicast", {}),
    ("vector", "broadcast", {}),
    ("matrix", "unicast", {}),
    ("buffered", "multicast", {}),
    ("flood", "broadcast", {}),
    ("eager", "broadcast", {}),
    ("predecessors", "multicast", {}),
    ("bounded", "unicast", {"k": 8}),
]


def run_batch(first: int, last: int) -> Part:
    """Some schedules, judged together."""
    logging.getLogger("antecede.live").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [run_schedule(seed, Path(folder)) for seed in range(first, last)]
    return judge_schedules(outcomes), count_outcomes(outcomes)


def run_changes_batch(first: int, last: int) -> Part:
    """Some schedules in which links change, and as many in which members do."""
    logging.getLogger("antecede.live").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        links = [run_change(LinkSchedule, seed, Path(folder)) for seed in range(first, last)]
        members = [run_change(MemberSchedule, seed, Path(folder)) for seed in range(first, last)]
    return judge_changes(links) + judge_changes(members), count_outcomes([*links, *members])


def count_outcomes(outcomes: list[Outcome]) -> Counter[str]:
    """What has happened in some schedules."""
    counts: Counter[str] = sum((outcome.faults for outcome in outcomes), Counter())
    counts["schedules"] = len(outcomes)
    counts.update(row["kind"] for outcome in outcomes for row in outcome.events)
    return counts


def run_schedules(run: Callable[[int, int], Part], first: int, number: int) -> Part:
    """All schedules, on all cores."""
    problems: list[str] = []
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        starts = range(first, first + number, BATCH)
        ends = [min(start + BATCH, first + number) for start in starts]
        for found, counted in pool.map(run, starts, ends):
            problems += found
            counts += counted
    return problems, counts


def run_fuzzing(inputs: int) -> Part:
    """Inputs at the listening side, on all cores; an error there ends the campaign."""
    counts: Counter[str] = Counter()
    parts = -(-inputs // FUZZ_BATCH)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for counted in pool.map(run_fuzz, range(100, 100 + parts), [FUZZ_BATCH] * parts):
            counts += counted
    return [], counts


def run_damage(number: int) -> Part:
    """Journals that are cut off or changed; one that is misread ends the campaign."""
    counts: Counter[str] = Counter()
    parts = -(-number // DAMAGE_BATCH)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for counted in pool.map(damage_journals, range(parts), [DAMAGE_BATCH] * parts):
            counts += counted
    return [], counts


def run_processes(make_campaign: Callable[..., ProcessCampaign], number: int) -> Part:
    """Real processes of several protocols, with that much trouble in all."""
    problems: list[str] = []
    counts: Counter[str] = Counter()
    share = -(-number // len(GROUPS))
    for seed, (protocol, kind, options) in enumerate(GROUPS):
        with tempfile.TemporaryDirectory() as folder:
            campaign = make_campaign(Path(folder), seed, protocol, kind, options)
            found = campaign.run(share)
        problems += [f"{campaign.unit} of {protocol}: {problem}" for problem in found]
        counts += campaign.counts
    return problems, counts


def run_wires(number: int) -> Part:
    """Faults of links between network namespaces; that nothing could be tested is a problem, too."""
    obstacle = namespaces.find_obstacle()
    return ([obstacle], Counter()) if obstacle else run_processes(WireCampaign, number)


def run_power_losses(number: int) -> Part:
    """Disks as a loss of power may leave them, on all cores."""
    obstacle = power_loss.find_obstacle()
    problems = [obstacle] if obstacle else []
    counts: Counter[str] = Counter()
    parts = 0 if obstacle else -(-number // POWER_BATCH)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for found, counted in pool.map(
            power_loss.lose_power, range(0, 10 * parts, 10), [POWER_BATCH] * parts
        ):
            problems += found
            counts += counted
    return problems, counts


def run_soaks(messages: int) -> Part:
    """Memory over many messages: without journals, and a tenth as many with them."""
    problems: list[str] = []
    for number, journal in ((messages, False), (messages // 10, True)):
        with tempfile.TemporaryDirectory() as folder:
            problems += run_soak(Path(folder), number, "optimal", journal)
    return problems, Counter({"messages": messages + messages // 10})


def run_broker_kills(number: int) -> Part:
    """Kills of processes over Kafka, and now and then of the broker."""
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder))
        broker.start()
        try:
            return run_processes(partial(BrokerKillCampaign, broker=broker), number)
        finally:
            broker.remove()


def print_part(title: str, problems: list[str], counts: Counter[str], seconds: float) -> None:
    """What happened, and what is wrong."""
    happened = ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))
    print(f"{title}: {happened}; {seconds:.0f} s")
    for problem in problems[:50]:
        print(f"  {problem}")
    print(f"{title}: {len(problems)} problems", flush=True)


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--schedules", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--changes", type=int, default=500, help="schedules in which links or members change")
    parser.add_argument("--fuzz", type=int, default=10_000_000, help="inputs at the listening side")
    parser.add_argument("--damage", type=int, default=20_000, help="journals that are cut off or changed")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--wires", type=int, default=200, help="faults of links between network namespaces")
    parser.add_argument("--proxy", type=int, default=100, help="times that a proxy does each harm it knows")
    parser.add_argument("--power", type=int, default=10_000, help="losses of power")
    parser.add_argument("--soak", type=int, default=10_000_000, help="messages, while memory is watched")
    parser.add_argument("--broker-kills", type=int, default=80, help="of processes over Kafka")
    parser.add_argument("--seed", type=int, help="run this one schedule and show what is wrong with it")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        arguments.first, arguments.schedules = arguments.seed, 1
        for part in ("changes", "fuzz", "damage", "power", "kills", "broker_kills", "wires", "proxy", "soak"):
            setattr(arguments, part, 0)
    parts: list[tuple[str, int, Callable[[int], Part]]] = [
        ("schedules", arguments.schedules, partial(run_schedules, run_batch, arguments.first)),
        ("changes of groups", arguments.changes, partial(run_schedules, run_changes_batch, arguments.first)),
        ("fuzzing", arguments.fuzz, run_fuzzing),
        ("damaged journals", arguments.damage, run_damage),
        ("losses of power", arguments.power, run_power_losses),
        ("kills", arguments.kills, partial(run_processes, KillCampaign)),
        ("kills over Kafka", arguments.broker_kills, run_broker_kills),
        ("links of network namespaces", arguments.wires, run_wires),
        ("connections through a proxy", arguments.proxy, partial(run_processes, ProxyCampaign)),
        ("soak", arguments.soak, run_soaks),
    ]
    problems = 0
    for title, number, run in parts:
        if number:
            print(f"{title}: {number:,} ...", flush=True)
            begin = time.monotonic()
            found, counts = run(number)
            print_part(title, found, counts, time.monotonic() - begin)
            problems += len(found)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
