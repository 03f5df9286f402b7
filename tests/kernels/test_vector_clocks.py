"""Vector clocks and counts of pairs against sets of events."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.vector_clocks import compute_clocks, count_ordered_and_concurrent_pairs
from tests.kernels.traces import events, link_trace, pasts


@st.composite
def executions(draw):
    """Processes of events in a linear extension, and edges that may repeat, or stay in one process."""
    n = draw(st.integers(1, 4))
    process = draw(st.lists(st.integers(0, n - 1), max_size=25))
    pair = st.tuples(*[st.integers(0, max(len(process) - 1, 0))] * 2).map(sorted)
    edges = (
        draw(st.lists(pair.filter(lambda edge: edge[0] < edge[1]), max_size=15)) if len(process) > 1 else []
    )
    return n, process, [e[0] for e in edges], [e[1] for e in edges]


def slow_pasts(process, source, target):
    found: list[set[int]] = []
    for event, here in enumerate(process):
        past = {event}
        for other in range(event):
            if process[other] == here or (other, event) in zip(source, target, strict=True):
                past |= found[other]
        found.append(past)
    return found


@given(executions(), st.data())
def test_clocks_count_the_pasts(execution, data):
    n, process, source, target = execution
    past = slow_pasts(process, source, target)
    want = [[sum(process[e] == q for e in events) for q in range(n)] for events in past]
    assert compute_clocks(process, source, target, n).tolist() == want
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    block = compute_clocks(process, source, target, n, first, last)
    assert block.shape == (len(process), last - first)
    assert block.tolist() == [row[first:last] for row in want]


@given(executions())
def test_pairs_are_counted_without_being_looked_at(execution):
    n, process, source, target = execution
    past, size = slow_pasts(process, source, target), len(process)
    ordered = sum(map(len, past)) - size
    assert count_ordered_and_concurrent_pairs(process, source, target, n) == (
        ordered,
        size * (size - 1) // 2 - ordered,
    )


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_kept_until_the_last_effect_and_used_again(seed):
    random, n, size = Random(seed), 5, 120
    process = [random.randrange(n) for _ in range(size)]
    edges = [(a, a + random.randint(1, 9)) for a in random.choices(range(size - 9), k=60)] * 2
    source = [e[0] for e in edges]
    target = [e[1] for e in edges]
    ordered = sum(map(len, slow_pasts(process, source, target))) - size
    assert count_ordered_and_concurrent_pairs(process, source, target, n).ordered == ordered


def test_pairs_of_a_linked_trace():
    trace = events(Random(2), 4, 300)
    found = link_trace(trace)
    effects = np.flatnonzero(found.sent >= 0)
    ordered = sum(map(len, pasts(trace))) - 300
    assert (
        count_ordered_and_concurrent_pairs(found.process, found.sent[effects], effects, 4).ordered == ordered
    )


def test_effects_before_causes_and_columns_that_are_not_there_are_refused():
    with pytest.raises(CallerError, match=r"sort_topologically"):
        count_ordered_and_concurrent_pairs([0, 0], [1], [0], 1)
    with pytest.raises(CallerError, match="columns 1 to 3 are not among those of 2"):
        compute_clocks([0, 1], [], [], 2, 1, 3)
