"""Runs: the same plan gives the same run, every protocol keeps its promises, and a broken one is caught."""

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pytest

import antecede
from antecede import Effects, Endpoint, Packet
from antecede.core import wire
from antecede.protocols.bounded import Bounded
from antecede.protocols.matrix import Matrix
from antecede.simulate.network import Network
from antecede.simulate.queue import Queue
from antecede.simulate.run import STEP, Plan, Run, Simulation, simulate
from antecede.simulate.trace import ParquetSink, RunTrace
from antecede.tables import EVENTS, MESSAGES
from tests.simulate.traced import FAULTY, Traced, outcome, plan_of

ROOT = Path(__file__).parents[2]
FACTS = antecede.list_protocols()
PLANS = {
    "direct": plan_of("matrix", network=Network(delay="exponential:20")),
    "direct-two-level": plan_of(
        "probabilistic", workload="broadcast", network=Network(delay="two-level:50,9,9")
    ),
    "direct-buffered": plan_of("buffered", fanout=2, network=Network(fifo=True), options={"pipelined": True}),
    "faulty": plan_of("optimal", fanout=2, network=FAULTY),
    "faulty-buffered": plan_of("buffered", fanout=2, network=FAULTY),
    "faulty-semantic": plan_of("semantic", workload="conversation", network=FAULTY),
    "faulty-history": plan_of("history", workload="hot-spot", network=FAULTY),
}


def store_run(plan: Plan, folder: Path) -> tuple[Run, list[bytes]]:
    """A run, and the bytes of its two Parquet files."""
    paths = [folder / "events.parquet", folder / "messages.parquet"]
    sinks = [ParquetSink(schema, path) for schema, path in zip((EVENTS, MESSAGES), paths, strict=True)]
    run = simulate(plan, lambda queue, names: RunTrace(queue, "run", names, *sinks))
    for sink in sinks:
        sink.close()
    return run, [path.read_bytes() for path in paths]


def fingerprint(plan: Plan, folder: Path) -> str:
    run, files = store_run(plan, folder)
    return blake2b(outcome(run) + b"".join(files)).hexdigest()


# -- same plan, same run -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
def test_same_plan_same_run_and_same_bytes(name: str, tmp_path: Path) -> None:
    one, files = store_run(PLANS[name], tmp_path)
    again, files_again = store_run(PLANS[name], tmp_path)
    assert one == again and files == files_again
    assert all(file[:4] == b"PAR1" for file in files)
    assert simulate(PLANS[name]) == one  # a trace changes nothing


@pytest.mark.parametrize("name", PLANS)
def test_another_seed_another_run(name: str) -> None:
    plan = PLANS[name]
    fields = {field: getattr(plan, field) for field in plan.__struct_fields__}
    assert simulate(plan).costs != simulate(Plan(**{**fields, "seed": 1})).costs


def test_other_processes_with_other_hash_seeds_come_to_the_same(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from tests.simulate.test_run import PLANS, fingerprint\n"
        f"for plan in PLANS.values(): print(fingerprint(plan, Path({str(tmp_path)!r})))\n"
    )
    here = [fingerprint(plan, tmp_path) for plan in PLANS.values()]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == here


def test_progress_is_told_and_changes_nothing() -> None:
    told: list[int] = []
    plan = plan_of("fifo", messages=STEP, rate=100.0)
    run = simulate(plan, progress=told.append)
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1] == STEP
    assert run == simulate(plan)


# -- promises ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", ["uniform", "conversation", "broadcast"])
@pytest.mark.parametrize("name", FACTS)
def test_every_protocol_keeps_its_promise_with_all_faults(name: str, workload: str) -> None:
    facts = FACTS[name]
    if workload == "broadcast" and not facts.broadcast:
        workload = "client-server"
    run = simulate(plan_of(name, workload=workload, messages=150, rate=50.0, seed=3, network=FAULTY))
    verdict = run.verdict
    assert run.finished and not run.broken
    assert run.costs.messages == 150
    assert (verdict.duplicated, verdict.stuck, verdict.lost) == (0, 0, 0)
    if facts.exact:
        assert (verdict.early, verdict.late, verdict.out_of_turn) == (0, 0, 0)
    if name == "fifo":
        assert verdict.out_of_turn == 0
    assert all(run.faults[kind] for kind in ("lost", "repeated", "cut off", "sent again", "overtaken"))


@pytest.mark.parametrize("options", [{"pipelined": True}, {"multicast": "hold"}])
def test_buffered_in_its_other_forms_with_all_faults(options: dict[str, Any]) -> None:
    run = simulate(plan_of("buffered", workload="broadcast", rate=50.0, network=FAULTY, options=options))
    assert run.finished and not run.broken and run.faults["overtaken"] > 0


def test_without_order_messages_come_early_and_late() -> None:
    none, fifo = (simulate(plan_of(name, messages=1000, rate=50.0)) for name in ("unordered", "fifo"))
    assert none.verdict.out_of_turn > 0
    assert none.verdict.early > 0
    assert none.verdict.late > 0
    assert fifo.verdict.out_of_turn == 0
    assert fifo.verdict.early > 0
    assert fifo.verdict.late > 0
    assert not none.broken and not fifo.broken  # they promise no better
    assert none.verdict.examples and " delivered m" in none.verdict.examples[0]
    assert none.verdict.broken(FACTS["matrix"])
    assert none.verdict.broken(FACTS["fifo"])
    assert fifo.verdict.broken(FACTS["matrix"])
    assert not fifo.verdict.broken(FACTS["fifo"])


def test_late_messages_and_alarms_of_the_detectors() -> None:
    plan = plan_of("scalar", workload="broadcast", messages=1000, rate=50.0)
    verdict = simulate(plan).verdict
    assert verdict.late > 0 and set(verdict.alarms) == set(verdict.missed)
    assert all(0 <= missed <= verdict.late for missed in verdict.missed.values())
    assert verdict.missed["sharper"] == 0 and verdict.alarms["sharper"] >= verdict.late
    assert verdict.alarms["algorithm 4"] >= verdict.alarms["algorithm 5"] >= verdict.alarms["sharper"]


def test_rendezvous_deadlocks_and_that_is_a_broken_run() -> None:
    run = simulate(plan_of("sync", messages=500, rate=100.0, options={"form": "rendezvous"}))
    assert run.broken and run.verdict.stuck > 0


# -- broken on purpose -------------------------------------------------------------------------------

Receive = Callable[[Endpoint, Packet], Effects]


def twice(receive: Receive) -> Receive:
    def broken(self: Endpoint, packet: Packet) -> Effects:
        effects = receive(self, packet)
        return Effects(effects.packets, effects.deliveries * 2)

    return broken


def never(receive: Receive) -> Receive:
    def broken(self: Endpoint, packet: Packet) -> Effects:
        effects = receive(self, packet)
        return Effects(effects.packets, [d for d in effects.deliveries if d.payload[0] % 7])

    return broken


@pytest.mark.parametrize("network", [Network(), FAULTY], ids=["direct", "linked"])
@pytest.mark.parametrize(("fault", "kind"), [(twice, "duplicated"), (never, "stuck")])
def test_a_protocol_that_delivers_twice_or_never_is_caught(
    monkeypatch, fault: Callable[[Receive], Receive], kind: str, network: Network
) -> None:
    monkeypatch.setattr(Matrix, "receive", fault(Matrix.receive))
    run = simulate(plan_of("matrix", network=network))
    assert run.broken and getattr(run.verdict, kind) > 0


@pytest.mark.parametrize("network", [Network(), FAULTY], ids=["direct", "linked"])
def test_a_protocol_that_does_not_send_everything_is_caught(monkeypatch, network: Network) -> None:
    send = Matrix.send

    def broken(self: Matrix, payload: bytes, to: Any = None) -> Effects:
        effects = send(self, payload, to)
        return Effects(effects.packets if payload[0] % 7 else [], effects.deliveries)

    monkeypatch.setattr(Matrix, "send", broken)
    run = simulate(plan_of("matrix", network=network))
    assert run.broken
    assert run.verdict.lost == pytest.approx(200 / 7, abs=2)
    assert run.verdict.stuck > 0  # what depends on the lost ones


def test_a_protocol_that_forgets_its_needs_is_caught(monkeypatch) -> None:
    rule = Matrix._find_local_needs_and_gains
    monkeypatch.setattr(
        Matrix, "_find_local_needs_and_gains", lambda self, source, stamp: ([], rule(self, source, stamp)[1])
    )
    run = simulate(plan_of("matrix", messages=500, rate=50.0))
    assert run.broken and run.verdict.early > 0 and run.verdict.late > 0
    assert run.verdict.stuck == run.verdict.lost == run.verdict.duplicated == 0


def test_extras_that_never_end_do_not_hang_the_run(monkeypatch) -> None:
    monkeypatch.setattr("antecede.simulate.run.STEP", 500)
    answer = Bounded._accept_packet

    def chatty(self: Bounded, packet: Packet, stamp: Any) -> None:
        answer(self, packet, stamp)
        self._emit_packet(packet.source, wire.encode([]), kind="extra")

    monkeypatch.setattr(Bounded, "_accept_packet", chatty)
    run = simulate(plan_of("bounded", messages=3, processes=2))
    assert not run.finished and run.broken


# -- needless waiting --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, facts in FACTS.items() if facts.delay_optimal])
def test_delay_optimal_protocols_wait_for_nothing_needlessly(name: str) -> None:
    workload = "broadcast" if name == "vector" else "hot-spot"
    costs = simulate(plan_of(name, workload=workload, messages=1000, rate=50.0)).costs
    assert costs.waited > 0 or name == "history"  # which brings along what would be waited for
    assert costs.waited_needlessly == 0 and costs.needless.mean == 0.0


@pytest.mark.parametrize(("name", "options"), [("bounded", {"k": 4}), ("sync", {"form": "site"})])
def test_others_wait_needlessly(name: str, options: dict[str, Any]) -> None:
    costs = simulate(plan_of(name, messages=1000, rate=50.0, options=options)).costs
    assert 0 < costs.waited_needlessly <= costs.waited
    assert 0 < costs.needless.mean <= costs.wait.mean


def test_buffered_holds_at_the_sender() -> None:
    costs = simulate(plan_of("buffered", messages=1000, rate=50.0)).costs
    assert costs.held_back.mean > 0 and costs.waited == 0
    assert simulate(plan_of("matrix", messages=1000, rate=50.0)).costs.held_back.mean == 0


# -- the parts ---------------------------------------------------------------------------------------


def test_queue_keeps_times_and_the_order_of_planning() -> None:
    queue, seen = Queue(), list[Any]()
    for when, name in [(2.0, "c"), (1.0, "a"), (1.0, "b"), (3.0, "d")]:
        queue.schedule(when, lambda subject: seen.append((queue.now, subject)), name)
    assert not queue.run(2)
    assert seen == [(1.0, "a"), (1.0, "b")]
    assert queue.run(2)
    assert seen[2:] == [(2.0, "c"), (3.0, "d")]
    assert queue.run(1)


def test_names_have_one_length_so_that_ids_follow_them() -> None:
    for n in (2, 10, 11, 101):
        names = plan_of("matrix", processes=n).names
        assert names == sorted(names)
        assert len({len(name) for name in names}) == 1
        assert len(set(names)) == n


def test_special_processes_are_named_where_the_plan_names_none() -> None:
    made = Simulation(plan_of("server")).carrier
    assert [getattr(end, "server", None) for end in made.endpoints] == ["p0"] * 4  # type: ignore[union-attr]
    run = simulate(plan_of("monitor", messages=500, rate=50.0, options={"monitor": "p2"}))
    assert not run.broken and run.costs.waited > 0


def test_a_run_that_did_not_end_or_could_not_send_is_broken() -> None:
    run = simulate(plan_of("matrix", messages=20))
    assert not run.broken
    assert msgspec.structs.replace(run, finished=False).broken
    more = msgspec.structs.replace(run.plan, messages=21)
    assert msgspec.structs.replace(run, plan=more).unsent == 1
    assert msgspec.structs.replace(run, plan=more).broken


def test_time_of_a_run_is_that_of_its_last_happening() -> None:
    plan = Plan(protocol="matrix", messages=1, rate=0.01, network=Network(delay="constant:1"))
    run = simulate(plan)
    assert run.costs.latency.mean == pytest.approx(1)
    assert run.time < 1e6
    assert run.time == pytest.approx(Traced(plan).of("deliver")[-1]["time"])
