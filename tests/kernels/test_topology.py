"""Orders and cycles against their definitions."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.topology import find_cycles, is_linear_extension, sort_topologically


@st.composite
def graphs(draw):
    """Events, edges (with repeats, loops and cycles) and ranks that collide."""
    size = draw(st.integers(1, 9))
    event = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(event, event), max_size=14))
    if draw(st.booleans()):
        edges = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    ranks = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    return size, edges, ranks


def columns(edges) -> tuple[list[int], list[int]]:
    return [e[0] for e in edges], [e[1] for e in edges]


def list_effects(size, edges):
    """What each event causes, by Warshall."""
    reach = [[(a, b) in edges for b in range(size)] for a in range(size)]
    for k in range(size):
        for a in range(size):
            for b in range(size):
                reach[a][b] |= reach[a][k] and reach[k][b]
    return reach


def rings_of(size, edges):
    reach = list_effects(size, edges)
    rings = {frozenset(b for b in range(size) if reach[a][b] and reach[b][a]) for a in range(size)}
    return sorted(sorted(ring) for ring in rings if ring)


def slow_order(size, edges, ranks):
    """The rule, word for word: of the groups whose causes are all out, the one of least rank."""
    rings = rings_of(size, edges)
    groups = rings + [[e] for e in range(size) if not any(e in ring for ring in rings)]
    groups = [sorted(group, key=lambda e: (ranks[e], e)) for group in groups]
    out = []
    while groups:
        ready = [g for g in groups if all(a in out or a in g for a, b in edges if b in g)]
        best = min(ready, key=lambda g: (ranks[g[0]], g[0]))
        groups.remove(best)
        out += best
    return out


@given(graphs(), st.randoms())
def test_the_order_is_the_rule_whatever_the_order_of_edges(graph, random):
    size, edges, ranks = graph
    want = slow_order(size, edges, ranks)
    for _ in range(2):
        found = sort_topologically(size, *columns(edges), [ranks])
        assert found.order.tolist() == want
        assert (
            found.order[found.position].tolist() == found.position[found.order].tolist() == list(range(size))
        )
        assert found.stuck.tolist() == sorted(e for ring in rings_of(size, edges) for e in ring)
        edges = random.sample(edges, len(edges))


@given(graphs())
def test_cycles_are_the_events_that_cause_each_other(graph):
    size, edges, _ = graph
    found = find_cycles(size, *columns(edges))
    parts = np.split(found.members, found.starts[1:-1]) if len(found.starts) > 1 else []
    assert [part.tolist() for part in parts] == rings_of(size, edges)


@given(graphs(), st.randoms())
def test_an_order_is_linear_when_no_effect_comes_first(graph, random):
    size, edges, ranks = graph
    tried = random.sample(range(size), size)
    want = all(tried.index(a) < tried.index(b) for a, b in edges)
    assert is_linear_extension(tried, *columns(edges)) == want
    assert is_linear_extension(sort_topologically(size, *columns(edges), [ranks]).order, *columns(edges)) == (
        not rings_of(size, edges)
    )


def test_an_order_with_an_event_twice_is_not_linear():
    assert not is_linear_extension([0, 0], [], [])
    assert not is_linear_extension([0, 5], [], [])
    assert not is_linear_extension([-1, 0], [], [])
    assert is_linear_extension([1, 0], [], [])
    assert is_linear_extension([], [], [])


def test_ranks_decide_in_turn_and_unknown_times_come_last():
    times = np.array([5.0, np.nan, 1.0, 5.0, 1.0])
    assert sort_topologically(5, [], [], [times]).order.tolist() == [2, 4, 0, 3, 1]
    assert sort_topologically(5, [], [], [times, [9, 0, 9, 8, 8]]).order.tolist() == [4, 2, 3, 0, 1]
    assert sort_topologically(5, [1], [2], [times]).order.tolist() == [4, 0, 3, 1, 2]


def test_what_is_behind_a_cycle_comes_out_behind_all_its_members():
    found = sort_topologically(5, [0, 1, 2, 1], [1, 2, 1, 3], [[4, 3, 2, 1, 3]])
    assert found.order.tolist() == [4, 0, 2, 1, 3]
    assert found.stuck.tolist() == [1, 2]


def test_long_chains_and_long_cycles_need_no_recursion():
    size, random = 50_000, Random(1)
    names = random.sample(range(size), size)
    found = sort_topologically(size, names[:-1], names[1:])
    assert found.order.tolist() == names
    ring = find_cycles(size, names, names[1:] + names[:1])
    assert ring.starts.tolist() == [0, size]
    assert ring.members.tolist() == list(range(size))


def test_no_events_give_empty_answers():
    assert [len(part) for part in sort_topologically(0, [], [])] == [0, 0, 0]
    assert find_cycles(0, [], []).starts.tolist() == [0]


@pytest.mark.parametrize(
    ("source", "target", "ranks", "complaint"),
    [
        ([2], [0], [], "source must be at least 0 and below 2"),
        ([0], [-1], [], "target must be at least 0"),
        ([0, 1], [1], [], "target has 1 entries and must have 2"),
        ([0.5], [1], [], "source must be a flat array of integers"),
        ([0], [1], [[1]], "flat array of 2 numbers"),
        ([0], [1], [["a", "b"]], "flat array of 2 numbers"),
    ],
)
def test_malformed_graphs_are_refused(source, target, ranks, complaint):
    with pytest.raises(CallerError, match=complaint):
        sort_topologically(2, source, target, ranks)
