"""The compiled root gaps against their definition, and on graphs that are too large for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels.ragged import Ints, Rows
from antecede.kernels.root_gaps import (
    HeldPlaces,
    RootGaps,
    find_root_gaps,
    find_root_gaps_by_replay,
    select_unmet_needs,
)
from tests import root_gap_definition as definition
from tests.root_gap_definition import Gap, Row

SLOTS = 4
PAIR = st.tuples(st.integers(0, SLOTS - 1), st.integers(0, 7))
HAVE = st.lists(st.integers(0, 2), min_size=SLOTS, max_size=SLOTS)


@st.composite
def held_rows(draw: st.DrawFn, have: list[int], add: bool) -> list[Row]:
    """Rows that the gate would hold: none is ready from the state `have`."""
    rows = []
    for needs, gains in draw(st.lists(st.tuples(st.lists(PAIR, max_size=4), st.lists(PAIR, max_size=3)))):
        if any(count > have[slot] for slot, count in needs):
            places = [(s, min(v, 2)) for s, v in gains] if add else gains[:1]
            rows.append(Row(needs, places))
    return rows


def find_compiled(rows: list[Row], have: list[int], dense: bool, add: bool) -> RootGaps:
    state = np.array(have, dtype=np.int64)
    unmet = select_unmet_needs(Rows.of(row.needs for row in rows), np.arange(len(rows)), state)
    if add:
        return find_root_gaps_by_replay(state, unmet, Rows.of(row.gains for row in rows), counted=len(rows))
    places = [(*gain, at) for at, row in enumerate(rows) for gain in row.gains]
    columns = np.array(places, dtype=np.int64).reshape(-1, 3).T
    return find_root_gaps(state, unmet, HeldPlaces(*columns), dense=dense)


def count_waiting_rows(answer: RootGaps) -> dict[Gap, int]:
    gaps = zip(*(part.tolist() for part in answer.gaps), strict=True)
    return dict(zip(gaps, answer.gap_waiting.tolist(), strict=True))


@pytest.mark.parametrize(("dense", "add"), [(True, False), (False, False), (True, True)])
@given(data=st.data(), have=HAVE)
def test_gaps_and_who_waits_are_what_the_definition_says(
    dense: bool, add: bool, data: st.DataObject, have: list[int]
) -> None:
    rows = data.draw(held_rows(have, add))
    state = dict(enumerate(have))
    expected = definition.root_gaps(rows, state, dense=dense, add=add)
    answer = find_compiled(rows, have, dense, add)
    assert count_waiting_rows(answer) == {gap: len(waiting) for gap, waiting in expected.items()}
    if not add:
        members = np.split(answer.cycles.members, answer.cycles.starts[1:-1])
        rings = [frozenset(ring.tolist()) for ring in members] if len(answer.cycle_waiting) else []
        found = dict(zip(rings, answer.cycle_waiting.tolist(), strict=True))
        expected_cycles = definition.cycles(rows, state, dense=dense)
        assert found == {ring: len(waiting) for ring, waiting in expected_cycles.items()}


def chain(size: int, kept: Ints) -> RootGaps:
    """A chain of `size` messages of one sender, of which only some are there."""
    unmet = Rows(np.arange(len(kept) + 1), np.zeros(len(kept), dtype=np.int64), kept - 1)
    return find_root_gaps(
        np.zeros(1, dtype=np.int64),
        unmet,
        HeldPlaces(np.zeros(len(kept), dtype=np.int64), kept, np.arange(len(kept))),
        dense=True,
    )


def test_a_long_chain_with_a_hundred_thousand_gaps() -> None:
    size = 300_000
    kept = np.flatnonzero(np.arange(size) % 3 != 1)[1:]  # 2, 3, 5, 6, ... : 1, 4, 7, ... are missing
    answer = chain(size, kept)
    assert answer.gaps.first.tolist() == answer.gaps.last.tolist() == list(range(1, size, 3))
    assert answer.gap_waiting.tolist() == [len(kept) - 2 * at for at in range(size // 3)]


def test_many_missing_things_that_one_chain_of_rows_names() -> None:
    """Row k names row k - 1 and something that is missing: it waits for k + 1 things, and each once."""
    size = 300
    rows = [Row([(0, at), (1, at + 1)], [(0, at + 1)]) for at in range(size)]
    answer = find_compiled(rows, [0, 0], dense=False, add=False)
    assert count_waiting_rows(answer) == {(1, at + 1, at + 1): size - at for at in range(size)}


def test_many_gaps_that_the_same_rows_need() -> None:
    """Counted each for itself, they would take the square of this many steps."""
    gaps = 200_000
    needs = [[(slot, 1) for slot in range(gaps)], [(gaps, 1), (0, 1)]]
    unmet = Rows.of(needs)
    held = HeldPlaces(np.array([gaps, gaps + 1]), np.ones(2, np.int64), np.arange(2))
    answer = find_root_gaps(np.zeros(gaps + 2, np.int64), unmet, held, dense=False)
    assert answer.gap_waiting.tolist() == [2] * gaps
