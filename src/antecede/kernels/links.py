"""A recorded execution as the audit kernels read it: events in a linear extension, messages as positions.

Messages are known only by the positions of their sends, so that a part of a trace can be read without the
rest. Which delivery belongs to which send is found by `linking`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from antecede.kernels.arrays import check_forward_edges, check_integers
from antecede.kernels.ragged import Ints, invert_permutation

SEND, DELIVER, OTHER = 0, 1, 2
DUPLICATE, ORPHAN, UNSENT, RESENT = 1, 2, 3, 4


class LinkedTrace(NamedTuple):
    """Events in a linear extension; all numbers but processes are positions.

    A delivery has its `sent`, a send that is delivered somewhere has its `until`. All else is -1: local
    events, sends that are delivered nowhere, and the deliveries that say nothing (a second copy, an orphan).
    A delivery without a sender hands on a past and is not judged (see `add_bridges`). To have causes counted
    that were never delivered, add a delivery of each lost copy behind the last event.
    """

    process: Ints
    sender: Ints  # of a delivery: the process that sent the message
    sent: Ints  # of a delivery: the position of the send
    until: Ints  # of a send: the position of its last delivery


def link_positions(process: ArrayLike, sent: ArrayLike) -> LinkedTrace:
    """A trace from the position of each delivery's send; -1 for what is no delivery, or says nothing.

    What was delivered before it was sent says nothing either.
    """
    places = check_integers(process, "process", 0, 2**31)
    sends = check_integers(sent, "sent", -1, len(places), len(places))
    sends = np.where(sends < np.arange(len(places)), sends, -1)
    deliveries = np.flatnonzero(sends >= 0)
    sender, until = (np.full(len(places), -1, dtype=np.int64) for _ in range(2))
    sender[deliveries] = places[sends[deliveries]]
    until[sends[deliveries]] = deliveries  # deliveries ascend, so the last one stays
    return LinkedTrace(places, sender, sends, until)


class BridgedTrace(NamedTuple):
    """A trace with more events in it, and which event of the first one each of its events is, or -1."""

    trace: LinkedTrace
    origin: Ints


def add_bridges(trace: LinkedTrace, source: ArrayLike, target: ArrayLike) -> BridgedTrace:
    """The trace with causes that no message in it explains: what clocks or named parents tell besides.

    Behind each source comes an event that sends its past, before each target one that takes it, for every
    edge; neither is a message, so neither is judged.
    """
    size = len(trace.process)
    causes, effects = check_forward_edges(size, source, target)
    if not len(causes):
        return BridgedTrace(trace, np.arange(size))
    sources = np.unique(causes)
    # The places of the old events, of the sends and of the takings, in one line of thirds.
    places = np.concatenate((3 * np.arange(size) + 1, 3 * sources + 2, 3 * effects))
    line = np.argsort(places, kind="stable")
    position = invert_permutation(line)
    old, sends, takings = np.split(position, [size, size + len(sources)])
    process = np.concatenate((trace.process, trace.process[sources], trace.process[effects]))
    sender = np.full(len(line), -1, dtype=np.int64)
    sent, until, origin = sender.copy(), sender.copy(), sender.copy()
    sender[old], origin[old] = trace.sender, np.arange(size)
    sent[old] = np.where(trace.sent >= 0, old[trace.sent], -1)
    until[old] = np.where(trace.until >= 0, old[trace.until], -1)
    behind = sends[np.searchsorted(sources, causes)]
    sent[takings] = behind
    np.maximum.at(until, behind, takings)
    return BridgedTrace(LinkedTrace(process[line], sender, sent, until), origin)
