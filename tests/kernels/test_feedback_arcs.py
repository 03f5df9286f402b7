"""Messages delivered before they were sent: the one that is to blame goes, and the rest has an order."""

from itertools import pairwise
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels import feedback_arcs
from antecede.kernels.feedback_arcs import (
    find_feedback_arcs_and_remaining_cycles,
    find_shortest_cycle_through_least_member,
)
from antecede.kernels.histories import Edges
from antecede.kernels.links import DELIVER
from antecede.kernels.topology import find_cycles
from tests.kernels.traces import events


def lines_and_messages(trace, index):
    """Edges along processes, by index, and of messages."""
    sends = {m: e for e, (_, kind, m) in enumerate(trace) if kind == 0}
    line = sorted(range(len(trace)), key=lambda e: (trace[e][0], index[e]))
    along = [(a, b) for a, b in pairwise(line) if trace[a][0] == trace[b][0]]
    return along, [(sends[m], e) for e, (_, kind, m) in enumerate(trace) if kind == DELIVER]


def cut_arcs(size, along, over, rank):
    source, target = np.array([*along, *over], dtype=np.int64).reshape(-1, 2).T
    removable = np.arange(len(source)) >= len(along)
    gone, left = find_feedback_arcs_and_remaining_cycles(
        size, Edges(source, target), removable, np.array(rank, dtype=np.int64)
    )
    return [(source[k], target[k]) for k in gone], left


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 40))
def test_one_delivery_moved_to_the_start_of_its_process(seed, n, size):
    random = Random(seed)
    trace = events(random, n, size)
    index, moved = list(range(size)), None
    if got := [e for e in range(size) if trace[e][1] == DELIVER]:
        moved = random.choice(got)
        index[moved] = -1
    along, over = lines_and_messages(trace, index)
    gone, left = cut_arcs(size, along, over, index)
    assert len(left.members) == 0
    assert gone in ([], [edge for edge in over if edge[1] == moved])
    assert bool(gone) == bool(len(find_cycles(size, *np.array([*along, *over]).reshape(-1, 2).T).members))


@pytest.mark.parametrize("tries", [0, 1, 2, 64])
@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(2, 60))
def test_whatever_goes_closes_a_cycle_with_what_stays(tries, seed, n, size):
    """Of any number of deliveries before their sends, and however many edges are looked at one by one."""
    random = Random(seed)
    trace = events(random, n, size)
    index = random.sample(range(size), size)
    along, over = lines_and_messages(trace, index)
    with patch.object(feedback_arcs, "TRIES", tries):
        gone, left = cut_arcs(size, along, over, random.sample(range(size), size))
    assert len(left.members) == 0
    kept = [*along, *(edge for edge in over if edge not in gone)]
    needless = [edge for edge in gone if not has_cycle(size, [*kept, edge])]
    assert not needless or len(gone) > tries


def has_cycle(size, edges):
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return len(find_cycles(size, source, target).members) > 0


def two_rings():
    """Each of two processes delivers what the other sends later: one of the two messages must go."""
    return 4, [(0, 1), (2, 3)], [(3, 0), (1, 2)]


def test_of_two_that_would_do_the_one_against_the_order_goes():
    size, along, over = two_rings()
    assert cut_arcs(size, along, over, [0, 1, 2, 3])[0] == [(3, 0)]
    assert cut_arcs(size, along, over, [2, 3, 0, 1])[0] == [(1, 2)]


def test_many_feedback_arcs_in_bulk(monkeypatch):
    monkeypatch.setattr(feedback_arcs, "TRIES", 0)
    size, along, over = two_rings()
    assert cut_arcs(size, along, over, [0, 1, 2, 3])[0] == [(3, 0)]
    assert cut_arcs(size, along, over, [0, 3, 3, 0])[0] == [(3, 0)]


def test_a_cycle_without_messages_stays():
    gone, left = cut_arcs(3, [(0, 1), (1, 2), (2, 0)], [(0, 2)], [0, 1, 2])
    assert gone == []
    assert left.members.tolist() == [0, 1, 2]


def test_the_shortest_way_around():
    edges = Edges(np.array([5, 6, 7, 8, 6]), np.array([6, 7, 8, 5, 5]))
    assert find_shortest_cycle_through_least_member(edges, np.array([5, 6, 7, 8])).tolist() == [5, 6]
