"""What is wrong with the vector clocks of a trace; and processes that by them did two things at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.auditing.findings import Found, found
from antecede.events.graph import EventGraph
from antecede.kernels.causes import MESSAGE, PARENT, are_comparable, read_entries
from antecede.kernels.clock_rules import Fault, Faults, clock_faults
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints

KINDS = {
    Fault.SHRINKS: "clock-backwards",
    Fault.HOLE: "clock-hole",
    Fault.REPEAT: "clock-repeat",
    Fault.RESTART: "clock-restart",
    Fault.UNCOUNTED: "clock-uncounted",
    Fault.UNKNOWN: "clock-unknown",
    Fault.BEYOND: "clock-beyond",
    Fault.NOT_TRANSITIVE: "clock-not-transitive",
    Fault.CYCLIC: "clock-cyclic",
}


def clock_findings(graph: EventGraph) -> list[Found]:
    """All faults of clocks. Where two events with one count each know what the other does not, only that."""
    if not len(graph.events.clocks.slots):
        return []
    told = (graph.causes.known & (MESSAGE | PARENT)) != 0
    known = Edges(graph.causes.edges.source[told], graph.causes.edges.target[told])
    faults = clock_faults(
        graph.events.track, graph.events.own, graph.events.clocks, graph.events.place, known
    )
    repeats = faults.kind == Fault.REPEAT
    apart = np.zeros(len(repeats), dtype=bool)
    apart[repeats] = ~are_comparable(*_arrays(graph), faults.event[repeats], faults.other[repeats])
    again = faults.event[apart]
    rest = ~apart & ~((faults.kind == Fault.SHRINKS) & np.isin(faults.event, again)) & ~_mutual(faults)
    parts = [found("concurrent", again, faults.other[apart], again)]
    for kind in Fault:
        mask = rest & (faults.kind == kind)
        parts.append(_told(graph, kind, Faults(*(column[mask] for column in faults))))
    return parts


def _mutual(faults: Faults) -> NDArray[np.bool_]:
    """Faults of two events that claim each other, but for the one told of the later row."""
    cyclic = faults.kind == Fault.CYCLIC
    size = int(max(faults.event.max(initial=0), faults.other.max(initial=0))) + 1
    told = faults.event[cyclic] * size + faults.other[cyclic]
    again = np.isin(faults.other * size + faults.event, told)
    return np.asarray(cyclic & again & (faults.event < faults.other))


def _told(graph: EventGraph, kind: Fault, faults: Faults) -> Found:
    """Faults of one kind, with what their sentences want to know."""
    _, event, other, slot, value = faults
    slot = np.where(
        slot < len(graph.events.process_names), slot, graph.events.process[event]
    )  # it has no place in its process
    slots, values = graph.events.process_names.take(slot).to_pylist(), value.tolist()
    if kind in (Fault.SHRINKS, Fault.RESTART, Fault.NOT_TRANSITIVE):
        held = read_entries(*_arrays(graph), event if kind == Fault.NOT_TRANSITIVE else other, slot).tolist()
        name = "has" if kind == Fault.NOT_TRANSITIVE else "was"
        return found(KINDS[kind], event, other, event, slot=slots, value=values, **{name: held})
    if kind == Fault.BEYOND:
        last = _last(graph)[slot].tolist()
        return found(KINDS[kind], event, event, slot=slots, value=values, last=last)
    own = graph.events.own[event].tolist()
    return found(KINDS[kind], event, other, event, slot=slots, value=values, own=own)


def _arrays(graph: EventGraph) -> tuple[Ints, Ints, Ints]:
    starts, slots, counts = graph.events.clocks
    return starts, slots.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)


def _last(graph: EventGraph) -> Ints:
    """The largest own entry of each process."""
    last = np.zeros(len(graph.events.process_names), dtype=np.int64)
    np.maximum.at(last, graph.events.process, graph.events.own)
    return last
