"""Processes that causes alone order, against the definition: each event is in the past of the next one."""

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels.arrays import group_by_key
from antecede.kernels.causal_lines import MOST_LOOKS, mark_lines_ordered_by_causes
from antecede.kernels.ragged import compute_starts


def find_lines(lines: list[list[int]], edges: list[tuple[int, int]], size: int, most: int) -> list[bool]:
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    starts, by_target = group_by_key(target.copy(), size)
    flat = np.array([event for line in lines for event in line], dtype=np.int64)
    scope = np.zeros(len(lines), dtype=np.int64)
    line_starts = compute_starts([len(line) for line in lines])
    found = mark_lines_ordered_by_causes(line_starts, flat, scope, starts, source[by_target], most)
    return [bool(is_line) for is_line in found]


@given(st.integers(0, 2**32), st.integers(1, 25), st.integers(1, 4), st.floats(0, 0.6))
def test_lines_are_as_defined(seed: int, size: int, processes: int, density: float) -> None:
    random = Random(seed)
    edges = [(a, b) for b in range(size) for a in range(b) if random.random() < density / (b - a)]
    # On cycles there are causes that come later: they lead nowhere.
    backwards = [(random.randrange(size), random.randrange(size)) for _ in range(2)]
    backwards = [(max(pair), min(pair)) for pair in backwards]
    past: list[set[int]] = [set() for _ in range(size)]
    for a, b in sorted(edges, key=lambda edge: edge[1]):
        past[b] |= past[a] | {a}
    owner = [random.randrange(processes) for _ in range(size)]
    lines = [[event for event in range(size) if owner[event] == one] for one in range(processes)]
    lines = [line for line in lines if line]
    want = [all(a in past[b] for a, b in pairwise(line)) for line in lines]
    assert find_lines(lines, edges + backwards, size, MOST_LOOKS) == want


def test_a_search_that_takes_too_long_finds_no_line() -> None:
    """The first line is one at a glance; the second has its events at both ends of a long way."""
    size = 20
    edges = [(event, event + 1) for event in range(size - 1)]
    assert find_lines([[3, 4], [0, size - 1]], edges, size, size) == [True, True]
    assert find_lines([[3, 4], [0, size - 1]], edges, size, size // 2) == [True, False]
