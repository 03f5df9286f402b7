"""What belongs together in a recorded execution: each delivery and its send, by their positions.

The audit kernels know messages only as positions of sends, so that a part of a trace can be read without the
rest. A Spark job finds the same columns by joining deliveries to sends; here it is one pass over arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from antecede.kernels.arrays import forward, grouped, inverse, whole
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

SEND, DELIVER, OTHER = 0, 1, 2
DUPLICATE, ORPHAN, UNSENT, RESENT = 1, 2, 3, 4


class Linked(NamedTuple):
    """Events in a linear extension, or those at consecutive positions of one; all positions are absolute.

    A delivery has its `sent`, a send that is delivered somewhere has its `until`. All else is -1: local
    events, sends that are delivered nowhere, and the deliveries that say nothing (a second copy, an orphan).
    A delivery without a sender hands on a past and is not judged (see `bridged`). To have causes counted
    that were never delivered, add a delivery of each lost copy behind the last event.
    """

    process: Ints
    sender: Ints  # of a delivery: the process that sent the message
    sent: Ints  # of a delivery: the position of the send
    until: Ints  # of a send: the position of its last delivery

    def part(self, low: int, high: int) -> Linked:
        """The events at the positions low..high-1."""
        return Linked(*(column[low:high] for column in self))


class Links(NamedTuple):
    """A linked trace, and for each event what is wrong with it."""

    trace: Linked
    fault: NDArray[np.int8]  # 0, or DUPLICATE, ORPHAN, UNSENT (delivered before it is sent), RESENT


def link(process: ArrayLike, kind: ArrayLike, message: ArrayLike) -> Links:
    """Link the events of a trace; kinds are SEND, DELIVER and OTHER, whose message is not looked at.

    Of two sends of a message the first counts, and of two deliveries at a process too.
    """
    places = whole(process, "process", 0, 2**31)
    kinds = whole(kind, "kind", 0, 3, len(places))
    names = whole(message, "message", -1, 2**62, len(places))
    names = np.where(kinds == OTHER, -1, names)
    messages, processes = int(names.max(initial=-1)) + 1, int(places.max(initial=-1)) + 1
    sender, sent, until = (np.full(len(places), -1, dtype=np.int64) for _ in range(3))
    fault = np.zeros(len(places), dtype=np.int8)
    _link(places, kinds, names, messages, processes, sender, sent, until, fault)
    return Links(Linked(places, sender, sent, until), fault)


class Bridged(NamedTuple):
    """A trace with more events in it, and which event of the first one each of its events is, or -1."""

    trace: Linked
    origin: Ints


def bridged(trace: Linked, source: ArrayLike, target: ArrayLike) -> Bridged:
    """The trace with causes that no message in it explains: what clocks or named parents tell besides.

    Behind each source comes an event that sends its past, before each target one that takes it, for every
    edge; neither is a message, so neither is judged.
    """
    size = len(trace.process)
    causes, effects = forward(size, source, target)
    sources = np.unique(causes)
    # The places of the old events, of the sends and of the takings, in one line of thirds.
    places = np.concatenate((3 * np.arange(size) + 1, 3 * sources + 2, 3 * effects))
    line = np.argsort(places, kind="stable")
    position = inverse(line)
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
    return Bridged(Linked(process[line], sender, sent, until), origin)


@compiled
def _link(
    process: Ints,
    kind: Ints,
    message: Ints,
    messages: int,
    processes: int,
    sender: Ints,
    sent: Ints,
    until: Ints,
    fault: NDArray[np.int8],
) -> None:
    starts, events = grouped(message, messages)
    had = np.full(processes, -1, dtype=np.int64)  # the message last seen to be delivered there
    for name in range(messages):
        origin = -1
        for k in range(starts[name], starts[name + 1]):
            if kind[events[k]] == SEND:
                if origin >= 0:
                    fault[events[k]] = RESENT
                else:
                    origin = events[k]
        for k in range(starts[name], starts[name + 1]):
            event = events[k]
            if kind[event] != DELIVER:
                continue
            if had[process[event]] == name:
                fault[event] = DUPLICATE
            elif origin < 0 or origin > event:
                fault[event] = ORPHAN if origin < 0 else UNSENT
            else:
                sent[event], sender[event], until[origin] = origin, process[origin], event
            had[process[event]] = name
