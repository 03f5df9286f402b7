"""Which deliveries of a recorded execution broke causal order, and with which others.

A delivery is *late* when a message that depends on it was delivered at the same process before, and that one
was *early*. It is one pass with a bit for each message in flight (slots are used again): time grows with
events times messages in flight / 64, memory with what is in flight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_integers, group_by_key
from antecede.kernels.bits import count_words_for_bits
from antecede.kernels.delivery_pass import (
    EARLY,
    FIFO,
    LATE,
    PassPlan,
    assign_acts_and_message_slots,
    run_delivery_pass,
)
from antecede.kernels.links import LinkedTrace
from antecede.kernels.ragged import Ints

_ALL = 2**62


class OrderViolations(NamedTuple):
    """Positions of events that broke causal order.

    A pair says that at `pair_process` the delivery at `pair_early` came before a message on which it depends:
    the one sent at `pair_cause`.
    """

    late: Ints
    fifo: Ints  # those late because a later message of the same sender came first
    early: Ints
    pair_early: Ints
    pair_cause: Ints
    pair_process: Ints
    pairs: int  # how many there are, also beyond the cap


def find_order_violations(trace: LinkedTrace, processes: int, cap: int = _ALL) -> OrderViolations:
    """Judge all deliveries of a trace; of the violating pairs, the first `cap` are listed."""
    trace = _check_trace(trace, processes)
    size = len(trace.process)
    copies = np.bincount(trace.sent[trace.sent >= 0], minlength=size)
    act, slot, used = assign_acts_and_message_slots(trace.sent, copies, processes)
    is_judged = (trace.sent >= 0) & (trace.sender >= 0)
    starts, deliveries = group_by_key(np.where(is_judged, trace.sent, -1), size)
    # Every message has a row for what it carries; only those with a copy that is judged need a bit.
    has_judged_copy = np.diff(starts) > 0
    bit = np.where(is_judged | has_judged_copy, slot, -1)
    targets = trace.process[deliveries]
    plan = PassPlan(trace.process, trace.sender, act, slot, bit, starts, targets)
    sets = np.zeros((5, processes, count_words_for_bits(used)), dtype=np.uint64)
    rows = np.zeros((used, count_words_for_bits(used)), dtype=np.uint64)
    result = run_delivery_pass(plan, sets, rows, np.zeros(used, dtype=np.int64), cap)
    early = result.pairs[:, 0]
    cause = result.pairs[:, 1]
    return OrderViolations(
        late=np.flatnonzero(result.flags & LATE),
        fifo=np.flatnonzero(result.flags & FIFO),
        early=np.flatnonzero(result.flags & EARLY),
        pair_early=early,
        pair_cause=cause,
        pair_process=trace.process[early],
        pairs=int(result.total),
    )


def _check_trace(trace: LinkedTrace, processes: int) -> LinkedTrace:
    """The trace, fit for compiled code."""
    size = len(trace.process)
    process = check_integers(trace.process, "process", 0, processes)
    sender = check_integers(trace.sender, "sender", -1, processes, size)
    sent = check_integers(trace.sent, "sent", -1, size, size)
    until = check_integers(trace.until, "until", -1, _ALL, size)
    position = np.arange(size)
    ends_before = (until >= 0) & (until <= position)
    if (sent >= position).any() or ends_before.any():
        raise CallerError("a delivery is not behind its send; order the events by `sort_topologically` first")
    is_both = (sent >= 0) & (until >= 0)
    has_no_send = (sent < 0) & (sender >= 0)
    if is_both.any() or has_no_send.any():
        raise CallerError("an event is a send and a delivery, or has a sender and no send; use links.link")
    return LinkedTrace(process, sender, sent, until)
