"""What is wrong with the vector clocks of a trace; and processes that by them did two things at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.auditing.findings import FindingRows, build_finding_rows
from antecede.events.graph import EventGraph
from antecede.kernels.causes import MESSAGE, PARENT, are_comparable, read_entries
from antecede.kernels.clock_rules import ClockFault, ClockFaults, find_clock_faults
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints

KIND_OF_FAULT = {
    ClockFault.SHRINKS: "clock-backwards",
    ClockFault.HOLE: "clock-hole",
    ClockFault.REPEAT: "clock-repeat",
    ClockFault.RESTART: "clock-restart",
    ClockFault.UNCOUNTED: "clock-uncounted",
    ClockFault.UNKNOWN: "clock-unknown",
    ClockFault.BEYOND: "clock-beyond",
    ClockFault.NOT_TRANSITIVE: "clock-not-transitive",
    ClockFault.CYCLIC: "clock-cyclic",
}


def judge_clocks(graph: EventGraph) -> list[FindingRows]:
    """All faults of clocks. Where two events with one count each know what the other does not, only that."""
    if not len(graph.events.clocks.slots):
        return []
    told = (graph.causes.known & (MESSAGE | PARENT)) != 0
    known = Edges(graph.causes.edges.source[told], graph.causes.edges.target[told])
    faults = find_clock_faults(
        graph.events.track, graph.events.own, graph.events.clocks, graph.events.place, known
    )
    repeats = faults.kind == ClockFault.REPEAT
    apart = np.zeros(len(repeats), dtype=bool)
    apart[repeats] = ~are_comparable(*_clock_arrays(graph), faults.event[repeats], faults.other[repeats])
    again = faults.event[apart]
    rest = (
        ~apart
        & ~((faults.kind == ClockFault.SHRINKS) & np.isin(faults.event, again))
        & ~_find_mutual_claims(faults)
    )
    parts = [build_finding_rows("concurrent", again, faults.other[apart], again)]
    for kind in ClockFault:
        mask = rest & (faults.kind == kind)
        parts.append(_list_faults(graph, kind, ClockFaults(*(column[mask] for column in faults))))
    return parts


def _find_mutual_claims(faults: ClockFaults) -> NDArray[np.bool_]:
    """Faults of two events that claim each other, but for the one told of the later row."""
    cyclic = faults.kind == ClockFault.CYCLIC
    size = int(max(faults.event.max(initial=0), faults.other.max(initial=0))) + 1
    told = faults.event[cyclic] * size + faults.other[cyclic]
    again = np.isin(faults.other * size + faults.event, told)
    return np.asarray(cyclic & again & (faults.event < faults.other))


def _list_faults(graph: EventGraph, kind: ClockFault, faults: ClockFaults) -> FindingRows:
    """Faults of one kind, with what their sentences want to know."""
    _, event, other, slot, value = faults
    slot = np.where(
        slot < len(graph.events.process_names), slot, graph.events.process[event]
    )  # it has no place in its process
    slots, values = graph.events.process_names.take(slot).to_pylist(), value.tolist()
    if kind in (ClockFault.SHRINKS, ClockFault.RESTART, ClockFault.NOT_TRANSITIVE):
        held = read_entries(
            *_clock_arrays(graph), event if kind == ClockFault.NOT_TRANSITIVE else other, slot
        ).tolist()
        name = "has" if kind == ClockFault.NOT_TRANSITIVE else "was"
        return build_finding_rows(
            KIND_OF_FAULT[kind], event, other, event, slot=slots, value=values, **{name: held}
        )
    if kind == ClockFault.BEYOND:
        last = _find_last_entries(graph)[slot].tolist()
        return build_finding_rows(KIND_OF_FAULT[kind], event, event, slot=slots, value=values, last=last)
    own = graph.events.own[event].tolist()
    return build_finding_rows(KIND_OF_FAULT[kind], event, other, event, slot=slots, value=values, own=own)


def _clock_arrays(graph: EventGraph) -> tuple[Ints, Ints, Ints]:
    starts, slots, counts = graph.events.clocks
    return starts, slots.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)


def _find_last_entries(graph: EventGraph) -> Ints:
    """The largest own entry of each process."""
    last = np.zeros(len(graph.events.process_names), dtype=np.int64)
    np.maximum.at(last, graph.events.process, graph.events.own)
    return last
