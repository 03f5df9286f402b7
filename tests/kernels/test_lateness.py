"""Verdicts on deliveries: the kernels against the definition, the plain oracle, and each other."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.delivery_pass import SWEEPS, assign_acts_and_message_slots
from antecede.kernels.lateness import find_order_violations
from antecede.kernels.links import DELIVER, OTHER, SEND, LinkedTrace
from antecede.simulate.oracle import Oracle
from tests.kernels.traces import events, flood, join_verdicts, judge_trace, link_trace

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(1, 5), st.integers(1, 60))
def test_the_whole_audit_is_the_definition(seed, n, size):
    trace = events(Random(seed), n, size)
    assert join_verdicts([find_order_violations(link_trace(trace), n)]) == judge_trace(trace)


@given(SEEDS, st.integers(2, 5), st.integers(1, 60))
def test_the_audit_agrees_with_the_plain_oracle_also_about_lost_copies(seed, n, steps):
    random, oracle = Random(seed), Oracle(range(n))
    trace: list[Any] = []
    late, missing = [], []
    for _ in range(steps):
        waiting = oracle.list_undelivered_messages()
        if waiting and random.random() < 0.6:
            process, message = random.choice(waiting)
            if oracle.is_late(process, message):
                late.append(len(trace))
            missing += [
                (len(trace), m, process)
                for m in oracle.record_delivery_and_list_missing_causes(process, message)
            ]
            trace.append((process, DELIVER, message))
        else:
            sender = random.randrange(n)
            to = random.sample([p for p in range(n) if p != sender], random.randint(0, n - 1))
            trace.append((sender, SEND, oracle.record_send(sender, to)))
    sends = {m: p for p, (_, kind, m) in enumerate(trace) if kind == SEND}
    lost = [(process, DELIVER, message) for process, message in oracle.list_undelivered_messages()]
    found = join_verdicts([find_order_violations(link_trace(trace + lost), n)])
    assert [p for p in found[0] if p < len(trace)] == late
    pairs = [pair for pair in found[3] if pair[0] < len(trace)]
    assert pairs == sorted((e, sends[m], process) for e, m, process in missing)


def test_slots_are_used_again_and_swept():
    n = 4
    trace = flood(Random(1), n, 1500, 40)
    found = link_trace(trace)
    left = np.bincount(found.sent[found.sent >= 0], minlength=len(trace))
    act, _, used = assign_acts_and_message_slots(found.sent, left, n)
    assert (act & SWEEPS).any() and used <= 2 * 256 + 40
    part = [event for event in trace if event[2] < 600]
    assert join_verdicts([find_order_violations(link_trace(part), n)]) == judge_trace(part)


def test_beyond_the_cap_pairs_are_only_counted():
    trace = link_trace(events(Random(3), 3, 200))
    whole = find_order_violations(trace, 3)
    capped = find_order_violations(trace, 3, cap=5)
    assert whole.pairs > 20 and capped.pairs == whole.pairs
    assert [a.tolist() for a in capped[:3]] == [a.tolist() for a in whole[:3]]
    assert [a.tolist() for a in capped[3:6]] == [a[:5].tolist() for a in whole[3:6]]


def test_a_message_that_is_overtaken_along_another_way():
    trace = [(0, SEND, 0), (0, SEND, 1), (1, DELIVER, 1), (1, SEND, 2), (2, DELIVER, 2), (2, DELIVER, 0)]
    found = find_order_violations(link_trace(trace), 3)
    assert (found.late.tolist(), found.early.tolist(), found.fifo.tolist()) == ([5], [4], [])
    assert (found.pair_early[0], found.pair_cause[0], found.pair_process[0]) == (4, 0, 2)


def test_what_does_not_fit_is_not_linked():
    rows = [
        (0, SEND, 0),
        (1, DELIVER, 0),
        (1, DELIVER, 0),
        (2, DELIVER, 0),
        (2, DELIVER, 1),
        (2, SEND, 1),
        (1, DELIVER, 1),
        (2, SEND, 1),
        (0, DELIVER, 2),
        (0, OTHER, 0),
        (0, SEND, 3),
    ]
    trace = link_trace(rows)
    assert trace.sent.tolist() == [-1, 0, -1, 0, -1, -1, 5, -1, -1, -1, -1]
    assert trace.sender.tolist() == [-1, 0, -1, 0, -1, -1, 2, -1, -1, -1, -1]
    assert trace.until.tolist() == [3, -1, -1, -1, -1, 6, -1, -1, -1, -1, -1]


def test_an_empty_trace_has_no_faults():
    found = find_order_violations(link_trace([]), 0)
    assert found.pairs == 0
    assert all(len(part) == 0 for part in found[:6])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"process": [0, 2]}, "process must be at least 0 and below 2"),
        ({"sent": [-1, 1]}, "not behind its send"),
        ({"sent": [0, -1], "sender": [0, -1]}, "not behind its send"),
        ({"until": [0, -1]}, "not behind its send"),
        ({"sender": [0, 0]}, "no send"),
        ({"until": [1, 5]}, "a send and a delivery"),
        ({"sent": [-1]}, "sent has 1 entries and must have 2"),
    ],
)
def test_malformed_traces_are_refused(change, complaint):
    good = {"process": [0, 1], "sender": [-1, 0], "sent": [-1, 0], "until": [1, -1]}
    bad = LinkedTrace(**{name: np.array(column) for name, column in (good | change).items()})
    with pytest.raises(CallerError, match=complaint):
        find_order_violations(bad, 2)
