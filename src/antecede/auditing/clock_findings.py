"""What is wrong with the vector clocks of a trace; and processes that by them did two things at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.auditing.findings import Found, found
from antecede.events.graph import Trace
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


def clock_findings(trace: Trace) -> list[Found]:
    """All faults of clocks. Where two events with one count each know what the other does not, only that."""
    if not len(trace.clocks.slots):
        return []
    told = (trace.known & (MESSAGE | PARENT)) != 0
    known = Edges(trace.edges.source[told], trace.edges.target[told])
    faults = clock_faults(trace.track, trace.own, trace.clocks, trace.place, known)
    repeats = faults.kind == Fault.REPEAT
    apart = np.zeros(len(repeats), dtype=bool)
    apart[repeats] = ~are_comparable(*_arrays(trace), faults.event[repeats], faults.other[repeats])
    again = faults.event[apart]
    rest = ~apart & ~((faults.kind == Fault.SHRINKS) & np.isin(faults.event, again)) & ~_mutual(faults)
    parts = [found("concurrent", again, faults.other[apart], again)]
    for kind in Fault:
        mask = rest & (faults.kind == kind)
        parts.append(_told(trace, kind, Faults(*(column[mask] for column in faults))))
    return parts


def _mutual(faults: Faults) -> NDArray[np.bool_]:
    """Faults of two events that claim each other, but for the one told of the later row."""
    cyclic = faults.kind == Fault.CYCLIC
    size = int(max(faults.event.max(initial=0), faults.other.max(initial=0))) + 1
    told = faults.event[cyclic] * size + faults.other[cyclic]
    again = np.isin(faults.other * size + faults.event, told)
    return np.asarray(cyclic & again & (faults.event < faults.other))


def _told(trace: Trace, kind: Fault, faults: Faults) -> Found:
    """Faults of one kind, with what their sentences want to know."""
    _, event, other, slot, value = faults
    slot = np.where(slot < len(trace.names), slot, trace.process[event])  # it has no place in its process
    slots, values = trace.names.take(slot).to_pylist(), value.tolist()
    if kind in (Fault.SHRINKS, Fault.RESTART, Fault.NOT_TRANSITIVE):
        held = read_entries(*_arrays(trace), event if kind == Fault.NOT_TRANSITIVE else other, slot).tolist()
        name = "has" if kind == Fault.NOT_TRANSITIVE else "was"
        return found(KINDS[kind], event, other, event, slot=slots, value=values, **{name: held})
    if kind == Fault.BEYOND:
        last = _last(trace)[slot].tolist()
        return found(KINDS[kind], event, event, slot=slots, value=values, last=last)
    own = trace.own[event].tolist()
    return found(KINDS[kind], event, other, event, slot=slots, value=values, own=own)


def _arrays(trace: Trace) -> tuple[Ints, Ints, Ints]:
    starts, slots, counts = trace.clocks
    return starts, slots.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)


def _last(trace: Trace) -> Ints:
    """The largest own entry of each process."""
    last = np.zeros(len(trace.names), dtype=np.int64)
    np.maximum.at(last, trace.process, trace.own)
    return last
