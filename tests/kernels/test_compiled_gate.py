"""The compiled gate against a model that rescans its queue, against the Python gate, and cut into batches."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.core.gate import Gate
from antecede.kernels.gate import Released, release_items
from antecede.kernels.ragged import Rows, Runs

Pairs = list[tuple[int, int]]
SLOTS = 4


class Batch(NamedTuple):
    """Items in arrival order, the state they meet, and whether gains add."""

    have: list[int]
    needs: list[Pairs]
    gains: list[Pairs]
    add: bool = False


def pairs(values: st.SearchStrategy[int], most: int) -> st.SearchStrategy[Pairs]:
    return st.lists(st.tuples(st.integers(0, SLOTS - 1), values), max_size=most)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Small counts collide, wide ones leave gaps between stops, and the widest are out of reach."""
    values = draw(st.sampled_from([st.integers(0, 5), st.integers(0, 60), st.integers(0, 2**40)]))
    reach = values if draw(st.booleans()) else values | st.just(2**63 - 1)
    items = draw(st.lists(st.tuples(pairs(reach, 4), pairs(values, 3)), max_size=25))
    have = draw(st.lists(st.integers(0, 3), min_size=SLOTS, max_size=SLOTS))
    return Batch(have, [needs for needs, _ in items], [gains for _, gains in items], draw(st.booleans()))


def naive(batch: Batch) -> Released:
    """The definition: after each arrival, look through the whole queue until nothing is ready."""
    have, order, queue = list(batch.have), [], []
    for arrived in range(len(batch.needs)):
        queue.append(arrived)
        while ready := [i for i in queue if all(have[s] >= c for s, c in batch.needs[i])]:
            queue.remove(ready[0])
            order.append(ready[0])
            for slot, value in batch.gains[ready[0]]:
                have[slot] = have[slot] + value if batch.add else max(have[slot], value)
    missing = [next(s for s, c in batch.needs[i] if have[s] < c) for i in queue]
    return Released(*map(np.array, (order, queue, missing, have)))


def one_by_one(batch: Batch) -> Released:
    """The same from the Python gate."""
    gate: Gate[int] = Gate(add=batch.add, have=dict(enumerate(batch.have)))
    order = []
    for item, (needs, gains) in enumerate(zip(batch.needs, batch.gains, strict=True)):
        gate.add_arrival(item, needs, gains)
        while (arrival := gate.find_ready_arrival()) is not None:
            order.append(gate.take_and_apply_gains(arrival))
    held = list(gate.iterate_held_with_unmet_needs())
    have = [gate.have.get(slot, 0) for slot in range(SLOTS)]
    return Released(
        *map(np.array, (order, [what for what, _ in held], [unmet[0][0] for _, unmet in held], have))
    )


def release_compiled(batch: Batch) -> Released:
    return release_items(batch.have, Rows.of(batch.needs), Rows.of(batch.gains), add=batch.add)


def check_same(answer: Released, expected: Released) -> None:
    assert {k: v.tolist() for k, v in answer._asdict().items()} == {
        k: v.tolist() for k, v in expected._asdict().items()
    }


@given(batches())
def test_it_answers_like_a_queue_that_is_rescanned(batch: Batch) -> None:
    check_same(release_compiled(batch), naive(batch))


@given(batches())
def test_it_answers_like_the_python_gate(batch: Batch) -> None:
    check_same(release_compiled(batch), one_by_one(batch))


@given(batches(), st.lists(st.integers(0, 25)))
def test_it_does_not_matter_where_rows_are_cut_into_batches(batch: Batch, cuts: list[int]) -> None:
    items = range(len(batch.needs))
    edges = [0, *sorted(min(cut, len(items)) for cut in cuts), len(items)]
    state, missing = batch.have, np.empty(0, dtype=np.int64)
    order: list[int] = []
    held: list[int] = []
    for low, high in pairwise(edges):
        rows = [*held, *items[low:high]]
        part = release_compiled(
            Batch(state, [batch.needs[i] for i in rows], [batch.gains[i] for i in rows], batch.add)
        )
        order += [rows[i] for i in part.order]
        held = [rows[i] for i in part.held]
        missing = part.missing
        state = part.have.tolist()
    check_same(Released(*map(np.array, (order, held, missing, state))), release_compiled(batch))


@given(batches(), st.randoms())
def test_items_arrive_in_the_order_that_is_given_and_other_rows_are_left_out(
    batch: Batch, random: Any
) -> None:
    rows = random.sample(range(len(batch.needs)), random.randint(0, len(batch.needs)))
    expected = release_compiled(
        batch._replace(needs=[batch.needs[i] for i in rows], gains=[batch.gains[i] for i in rows])
    )
    arrivals = np.array(rows, dtype=np.int64)
    answer = release_items(
        batch.have, Rows.of(batch.needs), Rows.of(batch.gains), add=batch.add, arrivals=arrivals
    )
    check_same(answer, expected._replace(order=arrivals[expected.order], held=arrivals[expected.held]))


@st.composite
def runs(draw: st.DrawFn) -> tuple[Batch, Runs]:
    """A batch whose needs are for slots that follow one another, and the same as runs."""
    batch = draw(batches())
    first, needs = [], []
    for pairs in batch.needs:
        start = draw(st.integers(0, SLOTS - 1))
        counts = [count for _, count in pairs][: SLOTS - start]
        first.append(start)
        needs.append(list(enumerate(counts, start)))
    listed = Rows.of(needs)
    return batch._replace(needs=needs), Runs(listed.starts, np.array(first, dtype=np.int64), listed.counts)


@given(runs(), st.randoms())
def test_runs_are_the_same_as_their_pairs(batch_and_runs: tuple[Batch, Runs], random: Any) -> None:
    batch, needs = batch_and_runs
    gains = Rows.of(batch.gains)
    check_same(release_items(batch.have, needs, gains, add=batch.add), naive(batch))
    rows = random.sample(range(len(batch.needs)), random.randint(0, len(batch.needs)))
    arrivals = np.array(rows, dtype=np.int64)
    expected = release_items(batch.have, Rows.of(batch.needs), gains, add=batch.add, arrivals=arrivals)
    check_same(release_items(batch.have, needs, gains, add=batch.add, arrivals=arrivals), expected)


@pytest.mark.parametrize(
    ("starts", "first", "counts", "complaint"),
    [
        ([0, 2], [0], [1], "starts must rise"),
        ([0, 1], [], [1], "1 items and 0 first slots"),
        ([0, 1], [-1], [1], "runs must end below 2"),
        ([0, 2], [1], [1, 1], "runs must end below 2"),
        ([0, 1], [0], [-1], "counts must not be negative"),
        ([0, 1, 1], [0, 0], [1], "needs are of 2 items and gains of 1"),
    ],
)
def test_malformed_runs_are_refused(
    starts: list[int], first: list[int], counts: list[int], complaint: str
) -> None:
    arrays = (np.array(part, dtype=np.int64) for part in (starts, first, counts))
    with pytest.raises(CallerError, match=complaint):
        release_items([0, 0], Runs(*arrays), GOOD)


@pytest.mark.parametrize("arrivals", [[0, 0], [-1], [2], [[0]], [0.5]])
def test_malformed_arrivals_are_refused(arrivals: list[Any]) -> None:
    with pytest.raises(CallerError, match="arrivals must be"):
        release_items([0], Rows.of([[], []]), Rows.of([[], []]), arrivals=np.array(arrivals))


@pytest.mark.parametrize("add", [False, True])
def test_a_reversed_chain_comes_out_at_once_in_order(add: bool) -> None:
    links = range(5000)
    needs = Rows.of([[(0, link)] for link in reversed(links)])
    gains = Rows.of([[(0, 1 if add else link + 1)] for link in reversed(links)])
    answer = release_items([0], needs, gains, add=add)
    assert answer.order.tolist() == list(reversed(links))
    assert answer.have.tolist() == [5000]


@pytest.mark.parametrize(
    ("slots", "counts"), [(np.uint8, np.int32), (np.int64, np.uint8), (np.int8, np.uint32)]
)
def test_narrow_arrays_and_arrays_that_cannot_be_written_will_do(slots: type, counts: type) -> None:
    batch = Batch([0] * SLOTS, [[(1, 2)], [(0, 1)], []], [[(2, 9)], [(1, 250)], [(0, 7)]])
    needs, gains = (
        Rows(r.starts.astype(np.int32), r.slots.astype(slots), r.counts.astype(counts))
        for r in (Rows.of(batch.needs), Rows.of(batch.gains))
    )
    for array in (*needs, *gains):
        array.flags.writeable = False
    check_same(release_items(batch.have, needs, gains), naive(batch))


def test_the_state_passed_in_is_left_as_it_was() -> None:
    have = np.zeros(1, dtype=np.int64)
    assert release_items(have, Rows.of([[]]), Rows.of([[(0, 3)]])).have.tolist() == [3]
    assert have.tolist() == [0]


def test_no_items_and_no_slots_give_empty_answers() -> None:
    answer = release_items([], Rows.of([]), Rows.of([]))
    assert [len(part) for part in answer] == [0, 0, 0, 0]


def rows(starts: list[int], slots: list[int], counts: list[int]) -> Rows:
    return Rows(*(np.array(part, dtype=np.int64) for part in (starts, slots, counts)))


GOOD = rows([0, 1], [0], [1])


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (rows([], [], []), "starts must rise"),
        (rows([1, 1], [0], [1]), "starts must rise"),
        (rows([0, 2], [0], [1]), "starts must rise"),
        (rows([0, 2, 1], [0], [1]), "starts must rise"),
        (rows([0, 1], [0], []), "1 slots and 0 counts"),
        (rows([0, 1], [2], [1]), "slots must be at least 0 and below 2"),
        (rows([0, 1], [-1], [1]), "slots must be at least 0 and below 2"),
        (rows([0, 1], [0], [-1]), "counts must not be negative"),
        (GOOD._replace(counts=np.array([1.0])), "flat array of integers, not float64"),
        (GOOD._replace(counts=np.array([1], dtype=np.uint64)), "flat array of integers, not uint64"),
        (GOOD._replace(slots=np.array([[0]])), "flat array of integers"),
    ],
)
def test_malformed_rows_are_refused(bad: Rows, complaint: str) -> None:
    with pytest.raises(CallerError, match=f"needs.*{complaint}"):
        release_items([0, 0], bad, GOOD)
    with pytest.raises(CallerError, match=f"gains.*{complaint}"):
        release_items([0, 0], GOOD, bad)


@pytest.mark.parametrize("have", [[-1, 0], [[0, 0]], [0.5, 0.5], np.array([2**63, 0], dtype=np.uint64)])
def test_a_malformed_state_is_refused(have: Any) -> None:
    with pytest.raises(CallerError, match="have must"):
        release_items(have, GOOD, GOOD)


def test_needs_and_gains_of_different_items_are_refused() -> None:
    with pytest.raises(CallerError, match="needs are of 1 items and gains of 2"):
        release_items([0], GOOD, Rows.of([[], []]))


def test_sums_beyond_64_bits_are_refused() -> None:
    with pytest.raises(CallerError, match="more than 64 bits"):
        release_items([1], GOOD, Rows.of([[(0, 2**63 - 1)]]), add=True)
