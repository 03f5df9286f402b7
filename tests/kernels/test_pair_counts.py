"""Ordered pairs of many executions: the same by bits, by clocks over chains, and by definition."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels import pair_counts
from antecede.kernels.pair_counts import count_ordered_pairs


def graphs(random, executions, lines):
    """Executions one after the other: where each starts, tracks (most events stand alone), edges."""
    starts, tracks, edges = [0], [], []
    for _ in range(executions):
        low = starts[-1]
        last: dict[int, int] = {}
        for event in range(low, low + random.randint(0, 12)):
            track = random.randrange(lines) if lines and random.random() < 0.4 else lines + event
            causes = {random.randrange(low, event) for _ in range(random.randint(0, 2)) if event > low}
            if track in last:
                causes.add(last[track])
            last[track] = event
            tracks.append(track)
            edges += [(cause, event) for cause in causes]
        starts.append(len(tracks))
    return starts, tracks, edges


def count_by_reaching(starts, edges):
    past: dict[int, set[int]] = {}
    for event in range(starts[-1]):
        causes = [cause for cause, effect in edges if effect == event]
        past[event] = set(causes).union(*(past[cause] for cause in causes))
    return [sum(len(past[e]) for e in range(low, high)) for low, high in pairwise(starts)]


@pytest.mark.parametrize(("small", "cells"), [(1024, 2**28), (0, 2**28), (0, 0)])
@given(seed=st.integers(0, 2**32), executions=st.integers(0, 4), lines=st.integers(0, 3))
def test_every_way_counts_the_same(small, cells, seed, executions, lines):
    starts, tracks, edges = graphs(Random(seed), executions, lines)
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    arrays = np.array(starts), np.array(tracks, dtype=np.int64), source, target
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_counts, "MOST_SMALL", small)
        patch.setattr(pair_counts, "MOST_CLOCK_ENTRIES", cells)
        assert count_ordered_pairs(*arrays, lines).tolist() == count_by_reaching(starts, edges)


def test_too_much_to_count():
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MOST_SMALL", "MOST_CLOCK_ENTRIES", "MOST_BY_BITS"):
            patch.setattr(pair_counts, name, 0)
        assert count_ordered_pairs([0, 2], [0, 0], [0], [1], 1).tolist() == [-1]
