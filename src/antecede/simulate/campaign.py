"""The fault campaign: many small seeded runs, protocols by workloads by fault mixes, on all cores.

Execution number i of a campaign is a plan that follows from i and the campaign's seed alone, so any
execution can be run again by itself. Protocols take turns: each has its share of the N executions.
"""

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from antecede.core.facts import Facts
from antecede.machine import shield_children_from_interrupt
from antecede.protocols.detectors import SHARPER
from antecede.protocols.registry import list_protocols
from antecede.simulate.linked import MOMENTS
from antecede.simulate.network import Network
from antecede.simulate.run import Plan, Run, simulate
from antecede.simulate.workloads import WITH_FANOUT, WORKLOADS

FAULTS = ("lost", "repeated", "overtaken", "cut off", *MOMENTS)
WRONGS = ("early", "late", "out_of_turn", "stuck", "lost", "duplicated")
MIXES: tuple[dict[str, Any], ...] = (
    {"loss": 0.2, "duplicate": 0.2, "partitions": 2, "crashes": 4},
    {"loss": 0.2, "duplicate": 0.2, "partitions": 2, "crashes": 4},
    {"loss": 0.2, "duplicate": 0.2, "partitions": 2, "crashes": 4},
    {"loss": 0.2, "duplicate": 0.2},
    {"partitions": 3},
    {"crashes": 6},
    {},
)
"""Half of all executions have every fault; the last mix is reordering alone, without a link underneath."""
DELAYS = ("constant:10", "exponential:20", "gaussian:20,15", "pareto:1.5,5", "two-level:20,8,8")
OFTEN = 50
"""After so many executions of a protocol every fault should have happened."""
_CHUNK = 20

Tick = Callable[[int], None]


class Chunk(NamedTuple):
    """Executions that one worker runs one after the other."""

    numbers: range
    seed: int
    protocol_names: list[str]


class Failure(NamedTuple):
    """An execution in which a promise was broken."""

    plan: Plan
    reason: str


class ProtocolTotals(msgspec.Struct):
    """What the executions of one protocol came to."""

    runs: int = 0
    messages: int = 0
    deliveries: int = 0
    faults: Counter[str] = msgspec.field(default_factory=Counter)
    wrongs: Counter[str] = msgspec.field(default_factory=Counter)
    alarms: Counter[str] = msgspec.field(default_factory=Counter)
    missed: Counter[str] = msgspec.field(default_factory=Counter)

    def add(self, other: "ProtocolTotals") -> None:
        """Take in what other executions came to."""
        self.runs += other.runs
        self.messages += other.messages
        self.deliveries += other.deliveries
        for name in ("faults", "wrongs", "alarms", "missed"):
            getattr(self, name).update(getattr(other, name))


class ChunkResult(NamedTuple):
    """What came of a chunk, by protocol, and how many executions it had."""

    totals: dict[str, ProtocolTotals]
    failures: list[Failure]
    executions: int


class Campaign(msgspec.Struct):
    """The outcome: a row per protocol, and every failure."""

    rows: dict[str, ProtocolTotals]
    failures: list[Failure]

    @property
    def unseen_faults(self) -> list[tuple[str, str]]:
        """(protocol, fault) of faults that never happened: nothing is shown about those."""
        return [(name, fault) for name, row in self.rows.items() for fault in FAULTS if not row.faults[fault]]

    @property
    def has_passed(self) -> bool:
        """No failure; and of protocols that were run often enough to expect it, every fault was seen."""
        often = {name for name, row in self.rows.items() if row.runs >= OFTEN}
        return not self.failures and not any(name in often for name, _ in self.unseen_faults)


def plan_execution(
    number: int,
    seed: int,
    protocol_names: list[str],
) -> Plan:
    """Execution `number` of the campaign with this seed."""
    rng = np.random.default_rng([seed, number])
    protocol = protocol_names[number % len(protocol_names)]
    facts = list_protocols()[protocol]
    n = int(rng.integers(3, 7))
    rate = float(rng.choice([10, 50, 200]))
    messages = int(rng.integers(20, 60))
    span = messages / rate / n * 1000
    several = facts.multicast or facts.broadcast
    kinds = [name for name in WORKLOADS if several or name != "broadcast"]
    kind = str(rng.choice(kinds))
    wide = facts.multicast and kind in WITH_FANOUT
    mix = MIXES[int(rng.integers(len(MIXES)))]
    options = _choose_protocol_options(facts, n, rng)
    fifo = bool(options.get("pipelined")) or bool(rng.random() < 0.1)
    delay = str(rng.choice(DELAYS))
    network = Network(delay=delay, fifo=fifo, partition_time=span / 4, down_time=span / 8, **mix)
    return Plan(
        protocol=protocol, processes=n, workload=kind, messages=messages, rate=rate, network=network,
        fanout=int(rng.integers(1, n)) if wide else 1, seed=seed + number, options=options,
    )  # fmt: skip


def _choose_protocol_options(
    facts: Facts,
    n: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """One of the ways to run a protocol. `sync` by rendezvous is left out: it deadlocks on any cycle."""
    ways: dict[str, list[dict[str, Any]]] = {
        "sync": [{"form": "site"}],
        "bounded": [{"k": n}, {"k": n + 1}, {"k": 2 * n}, {"k": n * n}, {"k": n - 1, "rule": ">"}],
        "buffered": [{}, {"multicast": "hold"}, {"pipelined": True}],
        "flood": [{}, {"overlay": "ring"}],
        "probabilistic": [{"R": 4, "K": 2}, {"R": 8, "K": 2}, {"R": 100, "K": 4}],
        "plausible": [{"R": 2}, {"R": n}],
    }
    choices = ways.get(facts.name, [{}])
    return choices[int(rng.integers(len(choices)))]


def run_execution(plan: Plan) -> tuple[ProtocolTotals, Failure | None]:
    """Run one execution."""
    try:
        run = simulate(plan)
    except Exception as error:  # whatever it is, it is this execution's failure, and the others go on
        return ProtocolTotals(runs=1), Failure(plan, f"{type(error).__name__}: {error}")
    verdict = run.verdict
    row = ProtocolTotals(
        runs=1, messages=run.costs.messages, deliveries=run.costs.deliveries, faults=Counter(run.faults),
        wrongs=Counter({name: getattr(verdict, name) for name in WRONGS}),
        alarms=Counter(verdict.alarms), missed=Counter(verdict.missed),
    )  # fmt: skip
    reasons = list(list_broken_promises(run))
    return row, Failure(plan, "; ".join(reasons)) if reasons else None


def list_broken_promises(run: Run) -> Iterator[str]:
    """What an execution broke. More than a run by itself: in a campaign every promise is held to account."""
    plan, verdict, facts = run.plan, run.verdict, run.plan.facts
    vector = facts.name == "plausible" and plan.options.get("R", 0) >= plan.processes
    if run.broken or (vector and verdict.early + verdict.late):
        yield from (
            f"{count} {name.replace('_', ' ')}" for name in WRONGS if (count := getattr(verdict, name))
        )
        yield from verdict.examples
    if not run.finished:
        yield "did not come to an end"
    elif run.unsent:
        yield f"{run.unsent} messages were never sent"
    if verdict.missed.get(SHARPER):
        yield f"{verdict.missed[SHARPER]} late ones missed by the sharper detector"
    if facts.delay_optimal and not plan.network.crashes and run.costs.waited_needlessly:
        yield f"{run.costs.waited_needlessly} waited needlessly"


def _run_chunk_of_executions(chunk: Chunk) -> ChunkResult:
    totals = {name: ProtocolTotals() for name in chunk.protocol_names}
    failures = []
    for number in chunk.numbers:
        plan = plan_execution(number, chunk.seed, chunk.protocol_names)
        of_this_one, failure = run_execution(plan)
        totals[plan.protocol].add(of_this_one)
        if failure is not None:
            failures.append(failure)
    return ChunkResult(totals, failures, len(chunk.numbers))


def run_executions(
    executions: int,
    seed: int,
    protocol_names: list[str],
    report_done: Tick,
    workers: int | None = None,
) -> Campaign:
    """Run so many executions of these protocols; `report_done` hears how many were done."""
    starts = range(0, executions, _CHUNK)
    chunks = [Chunk(range(start, min(start + _CHUNK, executions)), seed, protocol_names) for start in starts]
    total = Campaign({name: ProtocolTotals() for name in protocol_names}, [])
    for result in _run_chunks_of_executions(chunks, workers or os.cpu_count() or 1):
        for name, totals in result.totals.items():
            total.rows[name].add(totals)
        total.failures += result.failures
        report_done(result.executions)
    total.failures.sort(key=lambda failure: failure.plan.seed)
    return total


def _run_chunks_of_executions(
    chunks: list[Chunk],
    workers: int,
) -> Iterator[ChunkResult]:
    """The results of chunks as they are done, in any order."""
    if workers == 1 or len(chunks) < 2:
        yield from map(_run_chunk_of_executions, chunks)
        return
    with shield_children_from_interrupt():
        pool = multiprocessing.get_context("spawn").Pool(min(workers, len(chunks)))
    with pool:
        yield from pool.imap_unordered(_run_chunk_of_executions, chunks)
