"""Edges from several sources, names in their scopes, and clocks as they come."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels.causes import (
    are_clocks_comparable,
    look_up_name_codes,
    merge_edges,
    read_clock_entries,
    sort_clock_rows_dropping_zeros_and_repeats,
)

clocks = st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 3)), max_size=5), max_size=6)


def flat(rows):
    starts = np.cumsum([0, *map(len, rows)])
    pairs = np.array([pair for row in rows for pair in row], dtype=np.int64).reshape(-1, 2)
    return starts.astype(np.int64), pairs[:, 0].copy(), pairs[:, 1].copy()


def as_dicts(rows):
    return [{q: max(c for p, c in row if p == q) for q, c in row if c > 0} for row in rows]


@given(clocks)
def test_clean_clocks(rows):
    starts, slots, counts = sort_clock_rows_dropping_zeros_and_repeats(*flat(rows))
    found = [list(zip(slots[a:b], counts[a:b], strict=True)) for a, b in pairwise(starts)]
    assert found == [sorted(clock.items()) for clock in as_dicts(rows)]


@given(clocks.filter(bool))
def test_entries_and_comparison(rows):
    clock, array = as_dicts(rows), sort_clock_rows_dropping_zeros_and_repeats(*flat(rows))
    row, slot = (part.ravel() for part in np.meshgrid(np.arange(len(rows)), np.arange(5)))
    assert read_clock_entries(*array, row, slot).tolist() == [
        clock[r].get(s, 0) for r, s in zip(row, slot, strict=True)
    ]
    one, two = (part.ravel() for part in np.meshgrid(np.arange(len(rows)), np.arange(len(rows))))
    want = []
    for a, b in zip(one, two, strict=True):
        above = {clock[a].get(q, 0) - clock[b].get(q, 0) > 0 for q in clock[a] | clock[b]
                 if clock[a].get(q, 0) != clock[b].get(q, 0)}  # fmt: skip
        want.append(len(above) < 2)
    assert are_clocks_comparable(*array, one, two).tolist() == want


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1, 2, 4])), max_size=20))
def test_edges_are_there_once_with_all_they_are_known_from(parts):
    found = merge_edges(
        6, [([s for s, _, _ in parts], [t for _, t, _ in parts], np.array([k for _, _, k in parts]))]
    )
    want: dict[tuple[int, int], int] = {}
    for source, target, known in parts:
        if source != target:
            want[source, target] = want.get((source, target), 0) | known
    got = zip(found.edges.source.tolist(), found.edges.target.tolist(), found.known.tolist(), strict=True)
    assert {(s, t): k for s, t, k in got} == want
    assert (np.diff(found.edges.target) >= 0).all()
    assert len(found.known) == len(want)


def test_names_mean_something_else_in_each_scope():
    scope = np.array([0, 0, 1, 1, 1])
    name = np.array([3, 5, 3, -1, 5])
    first = np.array([0, 2, 3])
    names = np.array([5, 3, 3])
    assert look_up_name_codes(scope, name, first, names, 6).tolist() == [1, 0, 2, -1, -1]
