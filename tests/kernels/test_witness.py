"""Shortest chains of causes, against all chains of small executions."""

from collections import deque
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.lateness import find_order_violations
from antecede.kernels.links import DELIVER, OTHER, SEND, LinkedTrace
from antecede.kernels.witness import (
    CauseGraph,
    Chains,
    build_cause_graph,
    find_late_witnesses,
    find_shortest_chains,
)
from tests.kernels.traces import build_trace_graph, events, link_trace, pasts

SEEDS = st.integers(0, 2**32)


def crossings(found: CauseGraph, source: int, target: int) -> int | None:
    """The fewest steps between processes on a way from the source to the target."""
    best, queue = {target: 0}, deque([target])
    while queue:
        event = queue.popleft()
        for cause in found.causes[found.starts[event] : found.starts[event + 1]].tolist():
            cost = best[event] + int(found.process[cause] != found.process[event])
            if cost < best.get(cause, len(found.process)):
                best[cause] = cost
                queue.append(cause)
    return best.get(source)


def steps(found: CauseGraph, chain: list[int]) -> int:
    """How often the chain crosses; every crossing must be a direct cause, and every line in order."""
    count = 0
    for before, after in pairwise(chain):
        if found.process[before] != found.process[after]:
            assert before in found.causes[found.starts[after] : found.starts[after + 1]]
            count += 1
        assert before < after
    lines = [found.process[event] for event in chain]
    assert all(len({*lines[k : k + 3]}) > 1 for k in range(len(lines) - 2)), "a line keeps its two ends"
    return count


@given(SEEDS, st.integers(1, 5), st.integers(1, 60))
def test_chains_are_the_shortest(seed, n, size):
    trace = events(Random(seed), n, size)
    past, found = pasts(trace), build_trace_graph(link_trace(trace))
    pairs = [(cause, effect) for effect in range(size) for cause in sorted(past[effect])]
    source, target = np.array(pairs).T
    told = find_shortest_chains(found, source, target).to_lists()
    for (cause, effect), chain in zip(pairs, told, strict=True):
        assert (chain[0], chain[-1]) == (cause, effect)
        assert steps(found, chain) == crossings(found, cause, effect)


def best(
    trace: LinkedTrace, found: CauseGraph, late: int, pairs: list[tuple[int, int, int]]
) -> tuple[int, int, int]:
    """What shows best why a delivery is late: crossings and events of its chain, and the early delivery."""
    mine = [e for e, cause, at in pairs if (cause, at) == (trace.sent[late], trace.process[late])]
    costs = [crossings(found, int(trace.sent[late]), int(trace.sent[e])) for e in mine]
    told = find_shortest_chains(found, np.full(len(mine), trace.sent[late]), trace.sent[mine]).to_lists()
    return min((c, len(chain), e) for c, chain, e in zip(costs, told, mine, strict=True) if c is not None)


@given(SEEDS, st.integers(1, 5), st.integers(1, 70))
def test_a_late_delivery_is_shown_by_the_shortest_chain(seed, n, size):
    random = Random(seed)
    trace = link_trace(events(random, n, size))
    found, verdict = build_trace_graph(trace), find_order_violations(trace, n)
    pairs = list(zip(*(a.tolist() for a in verdict[3:6]), strict=True))
    random.shuffle(pairs)
    early, cause, process = np.array(pairs, dtype=np.int64).reshape(-1, 3).T
    shuffled = verdict._replace(pair_early=early, pair_cause=cause, pair_process=process)
    shown = find_late_witnesses(trace, shuffled, found)
    assert shown.late.tolist() == verdict.late.tolist()
    fifo = []
    for late, early, chain in zip(shown.late, shown.early, shown.chains.to_lists(), strict=True):
        assert (chain[0], chain[-1]) == (trace.sent[late], trace.sent[early])
        assert trace.process[early] == trace.process[late] and early < late
        assert (steps(found, chain), len(chain), early) == best(trace, found, late, pairs)
        fifo += [late] if steps(found, chain) == 0 else []
    assert fifo == verdict.fifo.tolist()


def test_of_equal_chains_the_first_is_told():
    rows = [(0, SEND, 0), (0, SEND, 1), (0, SEND, 2), (1, DELIVER, 2), (1, DELIVER, 1), (1, DELIVER, 0)]
    trace = link_trace(rows)
    shown = find_late_witnesses(trace, find_order_violations(trace, 2), build_trace_graph(trace))
    assert shown.late.tolist() == [4, 5]
    assert shown.early.tolist() == [3, 3]
    assert shown.chains.to_lists() == [[1, 2], [0, 2]]


def test_a_line_is_told_by_its_ends():
    rows = [(0, SEND, 0), (1, OTHER, -1), (1, DELIVER, 0), (1, OTHER, -1), (1, OTHER, -1), (1, SEND, 1)]
    assert find_shortest_chains(build_trace_graph(link_trace(rows)), [0], [5]).to_lists() == [[0, 2, 5]]


def test_a_chain_that_takes_too_long_is_told_by_its_ends():
    size = 50
    found = build_cause_graph(np.arange(size), np.arange(size - 1), np.arange(1, size))
    assert find_shortest_chains(found, [0, 40], [49, 49], most_looked_at=20).to_lists() == [
        [0, 49],
        [*range(40, 50)],
    ]
    line = build_cause_graph(
        np.append(np.zeros(size - 1, dtype=np.int64), 1), np.arange(size - 1), np.arange(1, size)
    )
    assert find_shortest_chains(line, [0, 40], [49, 49], most_looked_at=20).to_lists() == [
        [0, 49],
        [40, 48, 49],
    ]


def test_what_does_not_cause_is_told_by_its_ends():
    assert find_shortest_chains(build_cause_graph([0, 1, 1], [1], [2]), [0], [2]).to_lists() == [[0, 2]]


def test_no_chains():
    assert find_shortest_chains(build_cause_graph([], [], []), [], []).to_lists() == []
    assert Chains(np.array([0]), np.array([], dtype=np.int64)).to_lists() == []
    trace = link_trace([(0, SEND, 0), (1, DELIVER, 0)])
    assert (
        len(find_late_witnesses(trace, find_order_violations(trace, 2), build_trace_graph(trace)).late) == 0
    )


def test_a_verdict_on_another_trace_is_refused():
    rows = [(0, SEND, 0), (0, SEND, 1), (1, DELIVER, 1), (1, DELIVER, 0)]
    trace = link_trace(rows)
    verdict = find_order_violations(trace, 2)
    with pytest.raises(CallerError, match="not late"):
        find_late_witnesses(trace, verdict._replace(pair_cause=np.array([1])), build_trace_graph(trace))
    with pytest.raises(CallerError, match="at least 0"):
        find_shortest_chains(build_trace_graph(trace), [0], [4])
