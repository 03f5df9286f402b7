"""What is wrong with the vector clocks of a log; and processes that by them did two things at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antecede.auditing.findings import FindingRows, build_finding_rows
from antecede.events.graph import EventGraph
from antecede.kernels.causes import MESSAGE, PARENT, are_clocks_comparable, read_clock_entries
from antecede.kernels.clock_rules import ClockFault, ClockFaults, find_clock_faults
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints, join_keys

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
    events = graph.events
    if not len(events.clocks.slots):
        return []
    is_known = (graph.causes.known & (MESSAGE | PARENT)) != 0
    source, target = graph.causes.edges
    known = Edges(source[is_known], target[is_known])
    faults = find_clock_faults(events.track, events.own, events.clocks, events.place, known)
    is_concurrent = _find_concurrent_repeats(graph, faults)
    concurrent = faults.event[is_concurrent]
    is_implied = (faults.kind == ClockFault.SHRINKS) & np.isin(faults.event, concurrent)
    is_reported = ~is_concurrent & ~is_implied & ~_mark_cyclic_faults_repeated_at_later_event(faults)
    parts = [build_finding_rows("concurrent", concurrent, faults.other[is_concurrent], concurrent)]
    for kind in ClockFault:
        chosen = is_reported & (faults.kind == kind)
        some = ClockFaults(*(column[chosen] for column in faults))
        parts.append(_build_fault_findings(graph, kind, some))
    return parts


def _find_concurrent_repeats(graph: EventGraph, faults: ClockFaults) -> NDArray[np.bool_]:
    """Repeats of an own entry where neither of the two clocks has all that the other has."""
    is_repeat = faults.kind == ClockFault.REPEAT
    event, other = faults.event[is_repeat], faults.other[is_repeat]
    is_concurrent = np.zeros(len(is_repeat), dtype=np.bool_)
    is_concurrent[is_repeat] = ~are_clocks_comparable(
        *_get_clock_starts_slots_and_counts(graph), event, other
    )
    return is_concurrent


def _mark_cyclic_faults_repeated_at_later_event(faults: ClockFaults) -> NDArray[np.bool_]:
    """Faults of two events that claim each other, but for the one reported at the later row."""
    is_cyclic = faults.kind == ClockFault.CYCLIC
    is_mutual = np.zeros(len(is_cyclic), dtype=np.bool_)
    event, other = faults.event[is_cyclic], faults.other[is_cyclic]
    size = int(max(event.max(initial=0), other.max(initial=0))) + 1
    is_twice = np.isin(join_keys(other, event, size), join_keys(event, other, size))
    is_mutual[is_cyclic] = is_twice & (event < other)
    return is_mutual


def _build_fault_findings(graph: EventGraph, kind: ClockFault, faults: ClockFaults) -> FindingRows:
    """Faults of one kind, with what their sentences want to know."""
    names = graph.events.process_names
    _, event, other, slot, value = faults
    # An event that has no place in its process has a track of its own, which is the process's here.
    slot = np.where(slot < len(names), slot, graph.events.process[event])
    details: dict[str, Sequence[Any]] = {
        "slot": graph.events.look_up_process_names(slot),
        "value": value.tolist(),
    }
    witness = [other, event]
    if kind == ClockFault.NOT_TRANSITIVE:
        details["has"] = read_clock_entries(*_get_clock_starts_slots_and_counts(graph), event, slot).tolist()
    elif kind in (ClockFault.SHRINKS, ClockFault.RESTART):
        details["was"] = read_clock_entries(*_get_clock_starts_slots_and_counts(graph), other, slot).tolist()
    elif kind == ClockFault.BEYOND:
        details["last"] = _find_largest_own_entries(graph)[slot].tolist()
        witness = [event]
    elif kind == ClockFault.UNKNOWN:
        # Events of a process that have no place in its order are none of its track.
        details["acts"] = np.isin(slot, graph.events.process).tolist()
    else:
        details["own"] = graph.events.own[event].tolist()
    return build_finding_rows(KIND_OF_FAULT[kind], event, *witness, **details)


def _get_clock_starts_slots_and_counts(graph: EventGraph) -> tuple[Ints, Ints, Ints]:
    """The clocks as kernels want them."""
    starts, slots, counts = graph.events.clocks
    return starts, slots.astype(np.int64, copy=False), counts.astype(np.int64, copy=False)


def _find_largest_own_entries(graph: EventGraph) -> Ints:
    """The largest own entry of each process."""
    last = np.zeros(len(graph.events.process_names), dtype=np.int64)
    np.maximum.at(last, graph.events.process, graph.events.own)
    return last
