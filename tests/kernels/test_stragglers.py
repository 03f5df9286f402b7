"""The straggler pass: with the chunks, it gives the verdict on the whole."""

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antecede.kernels.lateness import find_chunk_violations, find_violations
from antecede.kernels.stragglers import Stragglers, replay, scan, stragglers, summary
from tests.kernels.traces import events, flood, judged, linked, summed

SEEDS = st.integers(0, 2**32)


def chunked(whole, n, span, cuts):
    """The verdicts of all chunks and of all replays, and the states between them."""
    parts = [(low, whole.part(low, high)) for low, high in pairwise(cuts)]
    near = [find_chunk_violations(whole.part(max(a - span, 0), b), a, b, span, n) for a, b in pairwise(cuts)]
    lists = [stragglers(part, low, span) for low, part in parts]
    copies = Stragglers(*(np.concatenate(column) for column in zip(*lists, strict=True)))
    states = scan([summary(part, low, n, copies) for low, part in parts], n, copies)
    far = [replay(part, low, n, state, copies) for (low, part), state in zip(parts, states, strict=True)]
    return near, far, states


@given(SEEDS, st.integers(1, 4), st.integers(1, 60), st.integers(0, 60), st.data())
def test_chunks_and_stragglers_are_the_whole(seed, n, size, span, data):
    trace = events(Random(seed), n, size)
    whole = linked(trace)
    cuts = sorted({0, size, *data.draw(st.lists(st.integers(1, size), max_size=8))})
    near, far, _ = chunked(whole, n, span, cuts)
    assert summed(near + far) == summed([find_violations(whole, n)]) == judged(trace)


def test_every_span_and_every_size_of_chunk():
    trace = flood(Random(8), 4, 44, 12)
    whole = linked(trace)
    want, size = judged(trace), len(trace)
    assert all(len(part) > 10 for part in want)
    for span in range(0, size + 1, 7):
        for step in range(1, size + 1, 5):
            near, far, _ = chunked(whole, 4, span, [*range(0, size, step), size])
            assert summed(near + far) == want


def test_many_stragglers_take_more_than_one_word():
    trace = flood(Random(11), 5, 600, 300)
    whole = linked(trace)
    near, far, states = chunked(whole, 5, 3, [0, 200, 700, 701, 1200, len(trace)])
    assert max(len(state.live) for state in states) > 128
    assert summed(near + far) == summed([find_violations(whole, 5)])


def test_states_keep_only_stragglers_under_way_and_messages_that_carry_them():
    trace = linked(flood(Random(5), 4, 160, 40)).part(0, 400)
    span = 30
    _, _, states = chunked(trace, 4, span, range(0, 401, 20))
    ends = [(s, d) for d, s in enumerate(trace.sent.tolist()) if s >= 0]
    for low, state in zip(range(0, 400, 20), states, strict=True):
        live = sorted({s for s, d in ends if s < low <= d and d - s > span})
        assert state.live.tolist() == live
        assert all(s < low <= trace.until[s] for s in state.messages)
        assert state.known[4:].any(axis=1).all() and len(state.known) == 4 + len(state.messages)
    assert any(len(state.live) for state in states) and any(len(state.messages) for state in states)
