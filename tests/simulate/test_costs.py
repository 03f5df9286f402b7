"""Costs: by hand on tiny runs, and made again from the trace, without the watch, on random ones."""

from array import array
from collections import Counter
from math import ceil
from random import Random
from typing import Any

import pytest

from antecede.protocols.registry import count_stamp_entries
from antecede.simulate.applications import Wish
from antecede.simulate.costs import CostFigure, Costs, summarize_counted_values, summarize_values_and_zeros
from antecede.simulate.network import Network
from antecede.simulate.oracle import Oracle, list_set_bits
from antecede.simulate.run import Plan, Run, Simulation
from tests.semantic_oracle import SemanticOracle
from tests.simulate.traced import FAULTY, Traced, packet, plan_of, talk

Sends = list[tuple[float, int, list[int] | None]]


def play_sends(protocol: str, sends: Sends, network: Network, n: int = 3, **options: Any) -> Run:
    """A run in which just these messages are sent: (when, by whom, to whom)."""
    simulation = Simulation(
        Plan(protocol=protocol, processes=n, messages=0, network=network, options=options)
    )
    for when, process, targets in sends:
        simulation.queue.schedule(when, simulation.carrier.send, Wish(process, targets, None))
    return simulation.run()


# -- by hand -----------------------------------------------------------------------------------------

TRIANGLE = Network(delay="constant:5", links={"p0->p2": "constant:30"})
DETOUR: Sends = [(0.0, 0, [2]), (1.0, 0, [1]), (7.0, 1, [2])]
"""m0 is slow; m1, sent after it, makes p1 send m2, which arrives at 12 and has to wait for m0 until 30."""


@pytest.mark.parametrize("protocol", ["matrix", "optimal", "predecessors", "pairs"])
def test_a_message_waits_for_its_cause(protocol: str) -> None:
    run = play_sends(protocol, DETOUR, TRIANGLE)
    costs = run.costs
    assert not run.broken
    assert (costs.messages, costs.deliveries, costs.packets, costs.arrivals) == (3, 3, 3, 3)
    assert costs.wait == CostFigure(18 / 3, 18.0) and costs.waited == 1
    assert costs.needless == CostFigure(0.0, 0.0) and costs.waited_needlessly == 0
    assert costs.latency == CostFigure((30 + 5 + 23) / 3, 30.0)
    assert costs.peak_held == 1 and costs.held_back == CostFigure(0.0, 0.0)
    assert (costs.extras, costs.acks, costs.control_packet_bytes) == (0, 0, 0)


def test_without_order_nothing_waits() -> None:
    run = play_sends("unordered", DETOUR, TRIANGLE)
    assert (run.costs.waited, run.costs.peak_held) == (0, 0)
    assert run.costs.latency == CostFigure((30 + 5 + 5) / 3, 30.0)
    assert (run.verdict.early, run.verdict.late) == (1, 1)
    assert run.verdict.examples == ["p2 delivered m2 before m0"]


def test_several_wait_and_the_one_that_comes_last_does_not_count_as_held() -> None:
    sends: Sends = [(0.0, 0, [2]), (1.0, 0, [1]), (7.0, 1, [2]), (8.0, 1, [2]), (9.0, 1, [2])]
    costs = play_sends("matrix", sends, TRIANGLE).costs
    assert costs.peak_held == 3  # until m0 comes, which is not held
    assert costs.wait == CostFigure((18 + 17 + 16) / 5, 18.0)


def test_sizes_of_vector_stamps() -> None:
    run = play_sends("vector", [(0.0, 0, None), (1.0, 1, None)], Network(delay="constant:5"))
    costs = run.costs
    assert costs.control_bytes == CostFigure(4.0, 4.0)  # a head and three counts below 128, one byte each
    assert costs.entries == CostFigure(3.0, 3.0)
    assert (costs.messages, costs.deliveries, costs.packets) == (2, 4, 4)
    assert costs.latency == CostFigure(5.0, 5.0)


def test_acknowledgements_and_messages_held_back_by_buffered() -> None:
    run = play_sends("buffered", [(0.0, 0, [1]), (1.0, 0, [2])], Network(delay="constant:5"))
    costs = run.costs
    assert costs.control_bytes == CostFigure(0.0, 0.0)
    assert costs.entries == CostFigure(0.0, 0.0)
    assert costs.acks == 1.0 and costs.control_packet_bytes == 1.0 and costs.packets == 4
    assert costs.held_back == CostFigure(9 / 2, 9.0)  # the second waits for the acknowledgement at 10
    assert costs.latency == CostFigure((5 + 14) / 2, 14.0)
    assert costs.wait.mean == 0


def test_releases_count_as_acknowledgements() -> None:
    costs = play_sends("buffered", [(0.0, 0, None)], Network(delay="constant:5")).costs
    assert costs.packets == 6 and costs.acks == 4.0 and costs.control_packet_bytes == 4.0
    assert costs.control_bytes == CostFigure(1.0, 1.0) and costs.deliveries == 2
    assert costs.wait == CostFigure(10.0, 10.0)  # from arrival at 5 to the release at 15
    assert costs.needless == CostFigure(10.0, 10.0)
    assert costs.waited_needlessly == 2
    assert costs.peak_held == 1


def test_every_copy_of_a_message_counts() -> None:
    constant = Network(delay="constant:5")
    first_all = play_sends("buffered", [(0.0, 0, None), (1.0, 0, [1])], constant).costs
    assert first_all.control_bytes == first_all.entries == CostFigure(2 / 3, 1.0)  # a mark on the two copies
    assert first_all.held_back == CostFigure(9 / 3, 9.0)
    assert first_all.packets == 3 + 3 + 2
    then_all = play_sends("buffered", [(0.0, 0, [1]), (1.0, 0, None)], constant).costs
    assert then_all.control_bytes == CostFigure(2 / 3, 1.0)
    assert then_all.held_back == CostFigure(18 / 3, 9.0)
    assert then_all.acks == 5 / 2


def test_release_holds_back_only_what_goes_elsewhere() -> None:
    """m1 follows m0 to the same process at once; m2, to another, waits for the acknowledgements of both."""
    sends: Sends = [(0.0, 0, [1]), (1.0, 0, [1]), (2.0, 0, [2])]
    costs = play_sends("release", sends, Network(delay="constant:5")).costs
    assert costs.held_back == CostFigure(9 / 3, 9.0)
    assert costs.latency == CostFigure((5 + 5 + 14) / 3, 14.0) and costs.acks == 1.0
    assert costs.entries == costs.control_bytes == CostFigure(1.0, 1.0)


def test_eager_holds_back_at_the_receiver_of_a_flagged_message() -> None:
    """m1 leaves at once, flagged because of m0. p1 has it at 6 and would send m2 at 7; but m0 arrives at 30,
    p0 knows that at 35, and m1 is cleared at 40. With matrix clocks m2 waits at p2 until 30."""
    costs = play_sends("eager", DETOUR, TRIANGLE).costs
    assert costs.held_back == CostFigure((40 - 7) / 3, 33.0) and costs.waited == 0
    assert costs.latency == CostFigure((30 + 5 + 38) / 3, 38.0)
    assert costs.packets == 7 and costs.acks == (3 + 1) / 3
    assert costs.entries == CostFigure(2.0, 2.0)


def test_copies_that_are_passed_on_are_neither_kept_back_nor_held_twice() -> None:
    """In a ring of four each passes on what it gets first: p2 gets both copies of m0, and waits for none."""
    sends: Sends = [(0.0, 0, None)]
    run = play_sends("flood", sends, Network(delay="constant:5"), n=4, overlay="ring")
    costs = run.costs
    assert not run.broken and costs.deliveries == 3
    assert costs.packets == costs.arrivals == 2 + 1 + 1 + 1  # p2 has it from p1, and sends it to p3
    assert costs.latency == CostFigure((5 + 5 + 10) / 3, 10.0)
    assert costs.held_back == costs.wait == CostFigure(0.0, 0.0) and costs.peak_held == 0


def test_extras_of_bounded() -> None:
    """p1 comes to know three constraints: its own to p0, p2's to p0, p0's to p2. With k = 3 it tells p0."""
    sends: Sends = [(0.0, 1, [0]), (0.0, 2, [0]), (0.5, 2, [1]), (0.0, 0, [2]), (0.6, 0, [1])]
    run = play_sends("bounded", sends, Network(delay="constant:5"), k=3)
    costs = run.costs
    assert not run.broken
    assert costs.packets == 6
    assert costs.arrivals == 6
    assert costs.deliveries == 5
    assert costs.extras == 1 / 5
    assert costs.control_packet_bytes == 5 / 5  # two pairs of small numbers and a head
    assert costs.control_bytes == CostFigure((1 + 1 + 4 + 1 + 4) / 5, 4.0)  # two stamps have one triple
    assert costs.entries == CostFigure((3 + 3) / 5, 3.0)


def test_a_needless_wait_is_the_part_that_causality_does_not_explain() -> None:
    """p1 is in a send until 30 + 10 and so does not deliver what arrives at 6."""
    network = Network(delay="constant:5", links={"p1->p2": "constant:30"})
    costs = play_sends("sync", [(0.0, 1, [2]), (1.0, 0, [1])], network, form="site").costs
    assert costs.wait == CostFigure((35 - 6) / 2, 29.0)
    assert costs.needless == costs.wait
    assert (costs.waited, costs.waited_needlessly, costs.acks) == (1, 1, 1.0)


# -- figures -----------------------------------------------------------------------------------------


def test_nothing_costs_nothing() -> None:
    assert (
        summarize_counted_values(Counter())
        == summarize_values_and_zeros(array("d"), 0)
        == summarize_values_and_zeros(array("d"), 7)
        == CostFigure(0.0, 0.0)
    )


@pytest.mark.parametrize("size", [1, 2, 50, 99, 100, 101, 199, 200, 700, 1000])
def test_mean_and_the_value_that_99_of_100_do_not_exceed(size: int) -> None:
    random = Random(size)
    values = [random.randrange(40) for _ in range(size)]
    expected = CostFigure(sum(values) / size, float(sorted(values)[ceil(99 * size / 100) - 1]))
    for found in (
        summarize_counted_values(Counter(values)),
        summarize_values_and_zeros(array("d", [x for x in values if x]), size),
    ):
        assert found.mean == pytest.approx(expected.mean)
        assert found.p99 == expected.p99


# -- from the trace ----------------------------------------------------------------------------------


def figure(values: list[float]) -> CostFigure:
    """Mean and 99th percentile, plainly."""
    if not values:
        return CostFigure(0.0, 0.0)
    return CostFigure(sum(values) / len(values), sorted(values)[ceil(99 * len(values) / 100) - 1])


def check_figure(found: CostFigure, values: list[float]) -> None:
    expected = figure(values)
    assert found.mean == pytest.approx(expected.mean, abs=1e-9)
    assert found.p99 == pytest.approx(expected.p99, abs=1e-9)


def waits(run: Traced, declared: list[int | None] | None = None) -> list[tuple[float, float]]:
    """Of each delivery: the wait, and the part of it after the last cause was delivered here."""
    names = run.plan.names
    oracle = Oracle(names) if declared is None else SemanticOracle(names)
    how = iter([(event or 0,) for event in declared] if declared else [()] * len(run.events))
    arrived, done = run.times("receive"), run.times("deliver")
    found = []
    for row in run.events:
        process, message = row["process"], int(row["message"][1:])
        if row["kind"] == "send":
            oracle.record_send(process, row["receivers"], *next(how))
        elif row["kind"] == "deliver":
            oracle.record_delivery_and_list_missing_causes(process, message)
            here = oracle.message_past[message] & oracle.addressed[process]
            causes = [done[process, f"m{cause}"] for cause in list_set_bits(here)]
            since = arrived[process, row["message"]]
            found.append((row["time"] - since, row["time"] - max([since, *causes])))
    return found


def peak(run: Traced) -> int:
    """The most copies that waited at one process when all that could happen at a time had happened."""
    most = 0
    for process in run.plan.names:
        held: set[str] = set()
        rows = [row for row in run.events if row["process"] == process and row["kind"] != "send"]
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            (held.add if row["kind"] == "receive" else held.discard)(row["message"])
            if following is None or following["time"] > row["time"]:
                most = max(most, len(held))
    return most


RUNS = {
    "matrix": plan_of("matrix", messages=400, rate=50.0),
    "optimal-multicast": plan_of("optimal", fanout=2, messages=400, rate=50.0),
    "vector": plan_of("vector", workload="broadcast", messages=300, rate=50.0),
    "bounded": plan_of("bounded", messages=400, rate=50.0, options={"k": 4}),
    "sync": plan_of("sync", messages=400, rate=50.0),
    "buffered-multicast": plan_of("buffered", fanout=2, messages=300, rate=20.0),
    "matrix-hot-spot": plan_of("matrix", workload="hot-spot", processes=6, messages=500, rate=100.0),
    "matrix-lossy": plan_of("matrix", messages=300, network=Network(loss=0.2, duplicate=0.1)),
    "matrix-ordered": plan_of("matrix", messages=300, network=Network(loss=0.2, fifo=True)),
}


@pytest.mark.parametrize("name", RUNS)
def test_costs_made_again_from_the_trace(name: str) -> None:
    run = Traced(RUNS[name])
    costs = run.run.costs
    packets = [packet(row, 0) for row in run.messages]
    kinds = Counter(one.kind for one in packets)
    messages = [one for one in packets if one.kind == "message"]
    assert costs.messages == len(run.of("send"))
    assert costs.deliveries == len(run.of("deliver"))
    assert costs.packets == costs.arrivals == len(packets)
    check_figure(costs.control_bytes, [len(one.stamp) for one in messages])
    check_figure(costs.entries, [count_stamp_entries(one) for one in messages])
    assert costs.extras == kinds["extra"] / costs.messages
    assert costs.acks == (kinds["ack"] + kinds["release"]) / costs.messages
    control = sum(len(one.stamp) for one in packets if one.kind != "message")
    assert costs.control_packet_bytes == control / costs.messages
    check_times(run, costs, waits(run))


def check_times(run: Traced, costs: Costs, found: list[tuple[float, float]]) -> None:
    check_figure(costs.wait, [wait for wait, _ in found])
    check_figure(costs.needless, [needless for _, needless in found])
    assert costs.waited == sum(wait > 0 for wait, _ in found)
    assert costs.waited_needlessly == sum(needless > 0 for _, needless in found)
    sent = {row["message"]: row["time"] for row in run.of("send")}
    check_figure(costs.latency, [row["time"] - sent[row["message"]] for row in run.of("deliver")])
    assert costs.peak_held == peak(run)


def test_a_message_that_is_passed_on_waits_since_its_first_copy() -> None:
    run = Traced(plan_of("flood", workload="broadcast", messages=200, rate=50.0))
    first: dict[tuple[str, str], float] = {}
    for row in run.of("receive"):
        first.setdefault((row["process"], row["message"]), row["time"])
    found = [row["time"] - first[row["process"], row["message"]] for row in run.of("deliver")]
    costs = run.run.costs
    check_figure(costs.wait, found)
    assert costs.arrivals > 2 * costs.deliveries
    assert 100 < costs.waited == sum(wait > 0 for wait in found)
    assert costs.held_back == CostFigure(0.0, 0.0)


def test_what_acknowledgements_and_eagerness_gain() -> None:
    """Stamps are smaller than those of `optimal`, messages are faster than those of `buffered`."""
    plans = {name: plan_of(name, processes=8, messages=1000) for name in ("optimal", "acknowledged")}
    small = {name: Traced(plan).run.costs.entries.mean for name, plan in plans.items()}
    assert small["acknowledged"] < 0.9 * small["optimal"]
    names = ("buffered", "release", "eager", "matrix")
    fast = {name: Traced(plan_of(name, processes=8, messages=1000)).run.costs.latency.mean for name in names}
    assert fast["matrix"] < fast["eager"] < 0.8 * fast["release"] < fast["release"] < fast["buffered"]


def test_the_runs_above_have_something_to_count() -> None:
    costs = {name: Traced(plan).run.costs for name, plan in RUNS.items()}
    assert {name: costs[name].waited for name in RUNS if costs[name].waited < 15} == {}
    assert costs["matrix-hot-spot"].peak_held > 3 and costs["bounded"].extras > 0
    assert costs["buffered-multicast"].acks == 4.0 and costs["buffered-multicast"].held_back.mean > 0


def test_needless_waits_of_declared_dependence() -> None:
    """`semantic` also keeps the order of each channel: a wait for that is needless, by what was declared."""
    run, declared = talk("semantic", messages=600, network=Network(delay="exponential:20"))
    check_times(run, run.run.costs, waits(run, declared))
    assert 0 < run.run.costs.waited_needlessly <= run.run.costs.waited


def test_arrivals_and_packets_with_all_faults() -> None:
    costs = Traced(plan_of("matrix", network=FAULTY)).run.costs
    assert costs.packets == costs.arrivals == costs.deliveries == costs.messages == 200


def test_copies_count_in_every_tally() -> None:
    simulation = Simulation(plan_of("buffered", workload="broadcast", processes=4, rate=100.0))
    run = simulation.run()
    tally = simulation.watch.tally
    assert tally.stamp_entries.total() == tally.stamp_sizes.total() == 3 * run.costs.messages
    assert tally.backs
    assert all(count % 3 == 0 for count in Counter(tally.backs).values())


def test_time_that_the_application_waits_to_send() -> None:
    network = Network(delay="constant:10")
    sync, matrix = (
        Simulation(plan_of(name, rate=100.0, network=network)).run() for name in ("sync", "matrix")
    )
    assert matrix.costs.blocked == CostFigure(0.0, 0.0)
    assert sync.costs.blocked.mean > 10
    assert sync.time > matrix.time


@pytest.mark.parametrize("seed", range(5))
def test_early_and_late_are_counted_each_by_itself(seed: int) -> None:
    run = Traced(plan_of("unordered", rate=300.0, seed=seed, network=Network(delay="pareto:1.2,5")))
    oracle = Oracle(run.plan.names)
    early = late = both = 0
    for row in run.events:
        message = int(row["message"][1:])
        if row["kind"] == "send":
            assert oracle.record_send(row["process"], row["receivers"]) == message
        elif row["kind"] == "deliver":
            is_late = oracle.is_late(row["process"], message)
            is_early = bool(oracle.record_delivery_and_list_missing_causes(row["process"], message))
            early += is_early
            late += is_late
            both += is_early and is_late
    assert both > 0
    assert (run.run.verdict.early, run.run.verdict.late) == (early, late)
