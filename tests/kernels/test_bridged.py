"""Causes that no message explains: they carry a past, and are themselves never judged."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.lateness import find_order_violations
from antecede.kernels.links import DELIVER, SEND, add_bridge_events
from tests.kernels.traces import events, link_trace, violations


def find_bridged(trace, edges, n):
    source, target = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    trace, origin = add_bridge_events(link_trace(trace), source, target)
    verdict = find_order_violations(trace, n)
    late, early = origin[verdict.late], origin[verdict.early]
    assert (late >= 0).all()
    assert (early >= 0).all()
    assert (origin[verdict.pair_cause] >= 0).all()
    return set(late.tolist()), set(early.tolist())


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 50), st.integers(0, 12))
def test_what_edges_tell_counts_for_what_messages_depend_on(seed, n, size, number):
    random = Random(seed)
    trace = events(random, n, size)
    edges = [
        (a, b) for a, b in (sorted(random.sample(range(size), 2)) for _ in range(number if size > 1 else 0))
    ]
    pairs = violations(trace, edges)
    assert find_bridged(trace, edges, n) == ({d for _, d in pairs}, {e for e, _ in pairs})


def test_an_edge_makes_a_message_late_that_would_not_be():
    trace = [(0, SEND, 0), (1, SEND, 1), (2, DELIVER, 1), (2, DELIVER, 0)]
    assert find_bridged(trace, [], 3) == (set(), set())
    assert find_bridged(trace, [(0, 1)], 3) == ({3}, {2})
    assert find_bridged(trace, [(0, 2)], 3) == (set(), set())  # known there by other ways than a message


def test_an_edge_must_go_forward():
    with pytest.raises(CallerError, match="does not come before its effect"):
        add_bridge_events(link_trace([(0, SEND, 0), (1, DELIVER, 0)]), [1], [0])
