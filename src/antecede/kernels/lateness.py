"""Which deliveries of a recorded execution broke causal order, and with which others; whole, or in chunks.

A delivery is *late* when a message that depends on it was delivered at the same process before, and that one
was *early*. The whole trace is one pass with a bit for each message in flight (slots are used again): time
grows with events times messages in flight / 64, memory with what is in flight.

A trace may also be judged chunk by chunk, each with the events of a *span* before it: a path from a send to
a delivery lies between their positions, and so cannot pass through a message sent before the chunk's events.
That is exact for every message delivered within the span of its send; `stragglers` judges the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_integers, group_by_key
from antecede.kernels.bits import count_words
from antecede.kernels.delivery_pass import EARLY, FIFO, LATE, PassPlan, PassResult, carry_bits, plan_slots
from antecede.kernels.links import LinkedTrace
from antecede.kernels.ragged import Ints

_ALL = 2**62


class OrderViolations(NamedTuple):
    """Positions of events that broke causal order; the union over chunks and stragglers is the whole.

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


def find_violations(trace: LinkedTrace, processes: int, cap: int = _ALL) -> OrderViolations:
    """Judge all deliveries of a trace; of the violating pairs, the first `cap` are listed."""
    return find_chunk_violations(trace, 0, len(trace.process), _ALL, processes, cap)


def find_chunk_violations(
    events: LinkedTrace, low: int, high: int, span: int, processes: int, cap: int = _ALL
) -> OrderViolations:
    """Judge the deliveries at positions low..high-1 that are at most `span` behind their send.

    The events are those at max(low - span, 0)..high-1. Early deliveries may lie before `low`.
    """
    start = max(low - span, 0)
    trace = check_events(events, start, high, processes)
    position = np.arange(start, high)
    sent = np.where(trace.sent >= start, trace.sent - start, -1)
    judged = (sent >= 0) & (trace.sender >= 0) & (position >= low) & (position - trace.sent <= span)
    left = np.bincount(sent[sent >= 0], minlength=len(sent))
    act, slot, used = plan_slots(sent, left, 0, processes)
    starts, copies = group_by_key(np.where(judged, sent, -1), len(sent))
    bit = np.where(judged | (np.diff(starts) > 0), slot, -1)
    plan = PassPlan(trace.process, trace.sender, act, slot, bit, starts, trace.process[copies])
    sets = np.zeros((5, processes, count_words(used)), dtype=np.uint64)
    rows = np.zeros((used, count_words(used)), dtype=np.uint64)
    seen = carry_bits(plan, sets, rows, np.zeros(used, dtype=np.int64), start, cap)
    late, fifo = (start + np.flatnonzero(seen.flags & flag) for flag in (LATE, FIFO))
    return collect_violations(trace, start, seen, late, fifo)


def collect_violations(
    trace: LinkedTrace, start: int, seen: PassResult, late: Ints, fifo: Ints
) -> OrderViolations:
    """The verdict of a pass over events that begin at position `start`."""
    early = start + np.flatnonzero(seen.flags & EARLY)
    at, cause = seen.pairs[:, 0], seen.pairs[:, 1]
    return OrderViolations(late, fifo, early, at, cause, trace.process[at - start], int(seen.total))


def check_events(events: LinkedTrace, low: int, high: int, processes: int) -> LinkedTrace:
    """The events at positions low..high-1, fit for compiled code."""
    size = high - low
    place = check_integers(events.process, "process", 0, processes, size)
    sender = check_integers(events.sender, "sender", -1, processes, size)
    sent = check_integers(events.sent, "sent", -1, high, size)
    until = check_integers(events.until, "until", -1, _ALL, size)
    position = np.arange(low, high)
    if (sent >= position).any() or ((until >= 0) & (until <= position)).any():
        raise CallerError("a delivery is not behind its send; order the events by `sort_topologically` first")
    if ((sent >= 0) & (until >= 0)).any() or ((sent < 0) & (sender >= 0)).any():
        raise CallerError("an event is a send and a delivery, or has a sender and no send; use links.link")
    return LinkedTrace(place, sender, sent, until)
