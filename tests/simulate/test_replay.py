"""Replays of recorded communication: by hand on small ones, and against the run that was recorded."""

from typing import Any

import numpy as np
import pytest

from antecede.events.graph import build_event_graph
from antecede.simulate.recording import EVERYTHING, NOTHING, Recording, unpack_recording
from antecede.simulate.replay import replay
from antecede.simulate.run import Plan, simulate
from antecede.simulate.trace import RunTrace, TableCollector
from antecede.study.traffic import find_traffic
from antecede.tables import EVENTS, MESSAGES

A, B, C = 0, 1, 2


def record(
    sends: list[tuple[int, float, dict[int, float]]],
    handed: list[list[int]],
    heard: list[int],
    depends_on: list[int] | None = None,
) -> Recording:
    """Messages as (sender, time, {target: travel time}); copies that each process was handed, by number."""
    lengths = [len(targets) for _, _, targets in sends]
    return Recording(
        names=["a", "b", "c"],
        unit="ms",
        sender=np.array([sender for sender, _, _ in sends], dtype=np.int64),
        sent=np.array([time for _, time, _ in sends]),
        starts=np.cumsum([0, *lengths]).astype(np.int64),
        target=np.array([target for _, _, targets in sends for target in targets], dtype=np.int64),
        travel=np.array([time for _, _, targets in sends for time in targets.values()]),
        heard=np.array(heard, dtype=np.int64),
        handed=np.array([copy for part in handed for copy in part], dtype=np.int64),
        handed_starts=np.cumsum([0, *map(len, handed)]).astype(np.int64),
        depends_on=np.array(depends_on or [EVERYTHING] * len(sends), dtype=np.int64),
    )


TRIANGLE = [(A, 0.0, {C: 100.0}), (A, 1.0, {B: 10.0}), (B, 12.0, {C: 5.0})]
"""a writes to c, then to b, which writes to c: the first is slow, and c has the last of them at 17."""
HANDED = [[], [1], [2, 0]]


def triangle(depends_on: list[int] | None = None) -> Recording:
    return record(TRIANGLE, HANDED, [0, 0, 1], depends_on)


def test_without_order_nothing_waits_and_one_is_early() -> None:
    outcome = replay(triangle(), "unordered", {})
    assert outcome.finished
    assert (outcome.delay_mean, outcome.total_bytes, outcome.peak_held) == (0, 0, 0)
    assert (outcome.verdict.early, outcome.verdict.late) == (1, 1)


@pytest.mark.parametrize("protocol", ["matrix", "optimal", "predecessors", "pairs"])
def test_causal_order_makes_the_answer_wait_for_its_cause(protocol) -> None:
    outcome = replay(triangle(), protocol, {})
    assert outcome.finished
    assert outcome.delay_mean == pytest.approx(83 / 3)  # from 17 to 100, one copy of three
    assert (outcome.delay_p99, outcome.waited, outcome.peak_held) == (83, 1, 1)
    assert (outcome.needless, outcome.verdict.early) == (0, 0)


def test_what_is_kept_at_the_sender_counts_from_when_it_would_have_arrived() -> None:
    """c acknowledges at 100, and that takes the median of all ways, 10; so b has it at 120 and not at 11.
    b answers when it was given the question."""
    outcome = replay(triangle(), "buffered", {})
    assert outcome.finished
    assert outcome.delay_mean == pytest.approx(109 / 3)
    assert outcome.needless == pytest.approx(1.0)  # nothing before it was for b
    assert (outcome.acks, outcome.extras) == (1.0, 0.0)
    assert outcome.verdict.early == 0
    assert outcome.total_bytes > 3  # whole acknowledgements


def test_a_process_does_not_answer_what_it_was_not_handed() -> None:
    """b has a's second message at 50 only. If that led to its own, it is sent then, behind a's first."""
    sends = [TRIANGLE[0], (A, 1.0, {B: 49.0}), TRIANGLE[2]]
    answer, independent = (record(sends, HANDED, [0, 0, heard]) for heard in (1, 0))
    assert replay(answer, "unordered", {}).verdict.early == 1
    assert replay(answer, "matrix", {}).delay_p99 == 45  # from 55 to 100
    assert replay(independent, "unordered", {}).verdict.early == 0
    assert replay(independent, "matrix", {}).delay_p99 == 0


def test_a_blocked_application_counts_as_needless() -> None:
    """The first of a is there at 100; the site of c acknowledges, so that a may go on at 110."""
    outcome = replay(triangle(), "sync", {"form": "site"})
    assert outcome.finished
    assert outcome.delay_mean == pytest.approx(109 / 3)
    assert outcome.needless == pytest.approx(1.0)


def test_a_rendezvous_of_two_that_send_comes_to_a_standstill() -> None:
    crossing = record(
        [(A, 0.0, {B: 5.0}), (B, 1.0, {A: 5.0}), (A, 9.0, {C: 5.0})], [[1], [0], [2]], [0, 0, 1]
    )
    outcome = replay(crossing, "sync", {})
    assert not outcome.finished
    assert (outcome.unsent, outcome.undelivered) == (1, 3)
    assert replay(crossing, "sync", {"form": "site"}).finished


def test_a_protocol_whose_stamps_grow_without_end_is_stopped() -> None:
    """c never says anything, so `history` tells a and b of every message again and again."""
    messages = 2000
    sends = [(number % 2, 10.0 * number, {1 - number % 2: 1.0, C: 1.0}) for number in range(messages)]
    recording = record(sends, [[], [], []], [0] * messages)
    outcome = replay(recording, "history", {})
    assert outcome.is_overgrown and not outcome.finished
    assert 0 < outcome.unsent < messages
    unharmed = replay(recording, "matrix", {})
    assert unharmed.finished and not unharmed.is_overgrown


def test_by_declared_dependence_the_wait_was_needless() -> None:
    """b's message depends on nothing: `semantic` lets it through, and causal order held it for nothing."""
    recording = triangle([NOTHING, NOTHING, NOTHING])
    assert replay(recording, "semantic", {}).delay_mean == 0
    causal = replay(recording, "matrix", {})
    assert causal.delay_mean == pytest.approx(83 / 3)
    assert causal.needless == pytest.approx(1.0)
    assert replay(recording, "unordered", {}).verdict.early == 0


def test_what_is_declared_by_its_place_in_the_recording_is_kept() -> None:
    """b's message depends on the delivery of copy 1, whose message depends on a's first (own send 3 + 0)."""
    recording = triangle([NOTHING, 3, 1])
    outcome = replay(recording, "semantic", {})
    assert outcome.delay_mean == pytest.approx(83 / 3)
    assert outcome.needless == 0
    assert replay(recording, "unordered", {}).verdict.early == 1


def test_a_broadcast_is_one_message_with_several_copies() -> None:
    sends = [(A, 0.0, {B: 5.0, C: 50.0}), (B, 10.0, {A: 5.0, C: 5.0})]
    recording = record(sends, [[2], [0], [3, 1]], [0, 1])
    outcome = replay(recording, "vector", {})
    assert (outcome.messages, outcome.copies) == (2, 4)
    assert outcome.delay_mean == pytest.approx(35 / 4)  # b's copy at c, from 15 to 50
    assert outcome.total_bytes == 2 * outcome.control_bytes.mean


def test_a_message_that_is_passed_on_is_an_extra_packet_and_takes_the_usual_time() -> None:
    """c has no link with a: b, which has it at 50, passes it on, and no such way is in the log. The median is
    27.5. Sent to c at once, it would have been there at 5."""
    recording = record([(A, 0.0, {B: 50.0, C: 5.0})], [[], [0], [1]], [0])
    outcome = replay(recording, "flood", {"overlay": {"a": ["b"], "b": ["a", "c"], "c": ["b"]}})
    assert outcome.finished
    assert outcome.extras == 1.0
    assert outcome.delay_p99 == pytest.approx(72.5)
    assert outcome.needless == pytest.approx(1.0)
    assert outcome.total_bytes > 2 * outcome.control_bytes.mean + 8


def test_a_packed_recording_is_the_same() -> None:
    recording = triangle([NOTHING, 3, 1])
    again = unpack_recording(recording.pack())
    for name in Recording.__struct_fields__:
        assert np.array_equal(getattr(again, name), getattr(recording, name)), name


def trace(**plan: Any) -> tuple[Any, Recording]:
    """A run, and the recording of it that its trace gives."""
    events = TableCollector(EVENTS)
    run = simulate(
        Plan(messages=300, rate=50.0, seed=4, **plan),
        lambda queue, names: RunTrace(queue, "run", names, events, TableCollector(MESSAGES)),
    )
    (traffic,) = find_traffic(build_event_graph(events.build_table()))
    assert traffic.recording is not None
    return run, traffic.recording


@pytest.mark.parametrize(
    ("protocol", "workload"),
    [("matrix", "uniform"), ("optimal", "conversation"), ("fifo", "bursty"), ("vector", "broadcast")],
)
def test_a_run_that_is_replayed_under_its_own_protocol_costs_what_it_cost(protocol, workload) -> None:
    """Also if it was recorded under another: a network that loses nothing is all in the trace."""
    run, recording = trace(protocol=protocol, workload=workload)
    outcome = replay(recording, protocol, {})
    assert outcome.finished
    assert outcome.messages == run.costs.messages and outcome.copies == run.costs.deliveries
    assert outcome.control_bytes == run.costs.control_bytes
    assert outcome.delay_mean == pytest.approx(run.costs.wait.mean)
    assert outcome.delay_p99 == pytest.approx(run.costs.wait.p99)
    assert outcome.peak_held == run.costs.peak_held
    if workload != "conversation":  # there dependence is declared, and the judge of a replay goes by that
        assert (outcome.verdict.early, outcome.verdict.late) == (run.verdict.early, run.verdict.late)


def test_stretches_are_consecutive_and_even() -> None:
    _, recording = trace(protocol="matrix")
    stretch = recording.assign_messages_to_stretches()
    assert np.bincount(stretch).tolist() == [15] * 20
    by_time = stretch[np.argsort(recording.sent, kind="stable")]
    assert (np.diff(by_time) >= 0).all()
    outcome = replay(recording, "optimal", {})
    assert np.mean(outcome.bytes) == pytest.approx(outcome.total_bytes)
    assert np.mean(outcome.delay) == pytest.approx(outcome.delay_mean)
