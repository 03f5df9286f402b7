"""A recorded execution as the audit kernels read it: events in a linear extension, messages as positions.

Messages are known only by the positions of their sends, so that a part of a trace can be read without the
rest. Which delivery belongs to which send is found by `linking`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from antecede.kernels.arrays import check_forward_edges, check_integers
from antecede.kernels.ragged import Ints, invert_permutation, make_minus_ones

SEND, DELIVER, OTHER = 0, 1, 2
DUPLICATE, ORPHAN, UNSENT, RESENT = 1, 2, 3, 4


class LinkedTrace(NamedTuple):
    """Events in a linear extension; all numbers but processes are positions.

    A delivery has its `sent`, a send that is delivered somewhere has its `until`. All else is -1: local
    events, sends that are delivered nowhere, and the deliveries that say nothing (a second copy, an orphan).
    A delivery without a sender hands on a past and is not judged (see `add_bridge_events`). To have causes
    counted that were never delivered, add a delivery of each lost copy behind the last event.
    """

    process: Ints
    sender: Ints  # of a delivery: the process that sent the message
    sent: Ints  # of a delivery: the position of the send
    until: Ints  # of a send: the position of its last delivery


def build_linked_trace(process: ArrayLike, sent: ArrayLike) -> LinkedTrace:
    """A trace from the position of each delivery's send; -1 for what is no delivery, or says nothing.

    What was delivered before it was sent says nothing either.
    """
    places = check_integers(process, "process", 0, 2**31)
    sends = check_integers(sent, "sent", -1, len(places), len(places))
    is_behind = sends < np.arange(len(places))
    sends = np.where(is_behind, sends, -1)
    deliveries = np.flatnonzero(sends >= 0)
    sender, until = make_minus_ones(len(places)), make_minus_ones(len(places))
    sender[deliveries] = places[sends[deliveries]]
    until[sends[deliveries]] = deliveries  # deliveries ascend, so the last one stays
    return LinkedTrace(places, sender, sends, until)


class BridgedTrace(NamedTuple):
    """A trace with more events in it, and which event of the first one each of its events is, or -1."""

    trace: LinkedTrace
    origin: Ints


def add_bridge_events(trace: LinkedTrace, source: ArrayLike, target: ArrayLike) -> BridgedTrace:
    """The trace with causes that no message in it explains: what clocks or named parents tell besides.

    Behind each source comes an event that sends its past, before each target one that takes it, for every
    edge; neither is a message, so neither is judged.
    """
    size = len(trace.process)
    causes, effects = check_forward_edges(size, source, target)
    if not len(causes):
        return BridgedTrace(trace, np.arange(size))
    sources = np.unique(causes)
    # Old event e stands at 3e + 1: there is room before it for what it takes, and behind it for its past.
    old_places, sending_places, taking_places = 3 * np.arange(size) + 1, 3 * sources + 2, 3 * effects
    places = np.concatenate((old_places, sending_places, taking_places))
    by_place = np.argsort(places, kind="stable")
    position = invert_permutation(by_place)
    old, sendings, takings = np.split(position, [size, size + len(sources)])
    origin_of_new = np.concatenate((np.arange(size), sources, effects))
    process = trace.process[origin_of_new][by_place]
    sender, sent, until, origin = (make_minus_ones(len(by_place)) for _ in range(4))
    origin[old] = np.arange(size)
    sender[old] = trace.sender
    moved = np.append(old, -1)  # an entry of -1 reads the last one, which is -1 again
    sent[old] = moved[trace.sent]
    until[old] = moved[trace.until]
    sending_of_edge = sendings[np.searchsorted(sources, causes)]
    sent[takings] = sending_of_edge
    np.maximum.at(until, sending_of_edge, takings)
    return BridgedTrace(LinkedTrace(process, sender, sent, until), origin)
