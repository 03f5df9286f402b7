"""What is wrong with the vector clocks of a log: claims that no execution can have made.

Each fault is named once, where it enters: an entry that an event took over from a cause, as it should, is no
fault of that event. So clocks that break no rule here are transitive, grow along every process and every
edge, and claim only events that exist or holes that are named.

Theory of operation. Own entries are checked over arrays (`_find_own_entry_faults_and_restarts`). For the
entries of others, `_find_foreign_entry_faults` walks along each process and spreads clocks out over arrays of
processes: `now` has the clock of the event at hand, `before` that of the event before it, `heard` the most
that any direct cause has. What `now` lacks of a cause is a fault; what grew since `before`, was not heard,
and is nowhere in the log, too. Arrays are cleared by going over the same clocks again, so that an event costs
what its clock and those of its direct causes have, whatever the number of processes.

The loops take plain arrays: compiled code counts references at every use of a field of a named tuple.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.histories import (
    Edges,
    Histories,
    build_histories,
    find_clock_edges_of_histories,
    find_event_by_own_entry,
    get_clock_entry,
)
from antecede.kernels.ragged import Ints, Rows

_Row = tuple[int, int, int, int, int]


class ClockFault(IntEnum):
    """The kinds; `event` is at fault, and what `other`, `slot` and `value` say follows."""

    SHRINKS = 0  # its entry `slot` fell to `value` since `other`, the event before it in its process
    HOLE = 1  # its own entry skips `value`, the first that is missing since `other` (-1: since the start)
    REPEAT = 2  # its own entry `value` is that of `other`, the event before it
    RESTART = 3  # its own entry falls back to 1 after `other`; its other entries begin anew
    UNCOUNTED = 4  # its clock has no entry for its own process
    UNKNOWN = 5  # it claims `value` of process `slot`, which has no events
    BEYOND = 6  # it claims `value` of process `slot`, whose events end before
    NOT_TRANSITIVE = (
        7  # `other`, which it claims or is known to follow, has `value` for `slot`, and it has less
    )
    CYCLIC = 8  # it claims `other`, which claims it, or a later one of its process (`slot`, `value`)


class ClockFaults(NamedTuple):
    """One entry for each fault, by event."""

    kind: Ints
    event: Ints
    other: Ints
    slot: Ints
    value: Ints


_SHRINKS, _HOLE, _REPEAT, _RESTART = (int(kind) for kind in list(ClockFault)[:4])
_UNCOUNTED, _UNKNOWN, _BEYOND, _NOT_TRANSITIVE, _CYCLIC = (int(kind) for kind in list(ClockFault)[4:])


def find_clock_faults(
    process: ArrayLike,
    own: ArrayLike,
    clocks: Rows,
    index: ArrayLike | None = None,
    known: Edges | None = None,
) -> ClockFaults:
    """All faults; arguments as of `histories.find_clock_edges`. An event without a clock has an empty row.

    `known` causes are those that the log tells by other means than clocks, by messages for one: a clock must
    have what theirs have, too. Every clock is read once for its event, and once for each direct effect of it.
    """
    histories = build_histories(process, own, clocks, index)
    has_clock = np.diff(histories.starts) > 0
    sequence_faults, restarted = _find_own_entry_faults_and_restarts(histories)
    previous = _find_previous_in_process(histories, has_clock)
    previous[restarted] = -1
    uncounted = np.flatnonzero(has_clock & (histories.own < 1))
    uncounted_faults = _build_fault_rows(
        _UNCOUNTED, uncounted, -1, histories.process[uncounted], histories.own[uncounted]
    )
    first_cause, causes = _group_foreign_causes_by_effect(histories, has_clock, known)
    claim_faults = _find_foreign_entry_faults(
        histories.process,
        histories.own,
        histories.starts,
        histories.slots,
        histories.counts,
        histories.walk,
        histories.first,
        histories.owns,
        histories.events,
        previous,
        first_cause,
        causes,
    )
    faults = np.concatenate((sequence_faults, uncounted_faults, claim_faults))
    by_event = np.lexsort((faults[:, 3], faults[:, 0], faults[:, 1]))
    return ClockFaults(*faults[by_event].T.copy())


def _build_fault_rows(kind: int, event: Ints, other: Ints | int, slot: Ints, count: Ints) -> Ints:
    """Faults of one kind as rows of a table."""
    columns = np.broadcast_arrays(kind, event, other, slot, count)
    return np.stack(columns, axis=1).astype(np.int64)


def _find_previous_in_process(histories: Histories, is_considered: NDArray[np.bool_]) -> Ints:
    """Of each event the one before it in its process, looking only at those considered; else -1."""
    walk = histories.walk[is_considered[histories.walk]]
    is_same_process = histories.process[walk[1:]] == histories.process[walk[:-1]]
    previous = np.full(len(is_considered), -1, dtype=np.int64)
    previous[walk[1:][is_same_process]] = walk[:-1][is_same_process]
    return previous


def _find_own_entry_faults_and_restarts(histories: Histories) -> tuple[Ints, Ints]:
    """The faults of own entries, which should be 1, 2, 3, ...; and the events at which a process restarts."""
    own = histories.own
    is_counted = own >= 1
    previous = _find_previous_in_process(histories, is_counted)
    last = np.where(previous >= 0, own[previous], 0)
    is_restart = is_counted & (own == 1) & (last > 1)
    cases = (
        (_HOLE, is_counted & (own > last + 1), last + 1),
        (_REPEAT, is_counted & (own == last), own),
        (_RESTART, is_restart, own),
        (_SHRINKS, is_counted & (own < last) & ~is_restart, own),
    )
    tables = []
    for kind, mask, count in cases:
        event = np.flatnonzero(mask)
        tables.append(_build_fault_rows(kind, event, previous[event], histories.process[event], count[event]))
    return np.concatenate(tables), np.flatnonzero(is_restart)


def _group_foreign_causes_by_effect(
    histories: Histories, has_clock: NDArray[np.bool_], known: Edges | None
) -> tuple[Ints, Ints]:
    """The direct causes of each event in other processes: those its clock claims, and those known besides.

    Those of event e are causes[starts[e]:starts[e + 1]].
    """
    source, target = find_clock_edges_of_histories(histories)
    if known is not None:
        source = np.concatenate((source, known.source))
        target = np.concatenate((target, known.target))
    is_foreign = (histories.process[source] != histories.process[target]) & has_clock[target]
    starts, items = group_by_key(target[is_foreign], len(histories.process))
    return starts, source[is_foreign][items]


@compiled
def _find_foreign_entry_faults(
    process: Ints,
    own: Ints,
    starts: Ints,
    slots: Ints,
    counts: Ints,
    walk: Ints,
    first: Ints,
    owns: Ints,
    events: Ints,
    previous: Ints,
    first_cause: Ints,
    causes: Ints,
) -> Ints:
    """The faults of entries for other processes, given the event before and the direct causes of each."""
    width = len(first) - 1
    now, before, heard = np.zeros((3, width), dtype=np.int64)
    told = np.full(width, -1, dtype=np.int64)  # the event whose fault in this entry was told last
    faults = [(0, 0, 0, 0, 0) for _ in range(0)]
    for event in walk:
        here, last = process[event], previous[event]
        low, high = first_cause[event], first_cause[event + 1]
        _raise_or_clear_entries(starts, slots, counts, event, now, 1)
        if last >= 0:
            _raise_or_clear_entries(starts, slots, counts, last, before, 1)
            _append_lacking_entry_faults(
                starts, slots, counts, here, event, last, _SHRINKS, now, told, faults
            )
        for k in range(low, high):
            cause = causes[k]
            _raise_or_clear_entries(starts, slots, counts, cause, heard, 1)
            # A cause that claims the event itself, or a later one of its process, is told as a cycle.
            if not 1 <= own[event] <= get_clock_entry(starts, slots, counts, cause, here):
                _append_lacking_entry_faults(
                    starts, slots, counts, here, event, cause, _NOT_TRANSITIVE, now, told, faults
                )
        for k in range(starts[event], starts[event + 1]):
            slot, count = slots[k], counts[k]
            if slot == here or count <= before[slot]:
                continue
            claimed = find_event_by_own_entry(first, owns, events, slot, count)
            if claimed >= 0:
                leads_back = get_clock_entry(starts, slots, counts, claimed, here)
                if 1 <= own[event] <= leads_back:
                    faults.append((_CYCLIC, event, claimed, here, leads_back))
            elif heard[slot] < count:
                end = first[slot + 1]
                if end == first[slot]:
                    faults.append((_UNKNOWN, event, -1, slot, count))
                elif count > owns[end - 1]:
                    faults.append((_BEYOND, event, -1, slot, count))
        for k in range(low, high):
            _raise_or_clear_entries(starts, slots, counts, causes[k], heard, 0)
        _raise_or_clear_entries(starts, slots, counts, event, now, 0)
        if last >= 0:
            _raise_or_clear_entries(starts, slots, counts, last, before, 0)
    table = np.empty((len(faults), 5), dtype=np.int64)
    for i in range(len(faults)):
        table[i, 0], table[i, 1], table[i, 2], table[i, 3], table[i, 4] = faults[i]
    return table


@compiled
def _raise_or_clear_entries(
    starts: Ints, slots: Ints, counts: Ints, event: int, entries: Ints, factor: int
) -> None:
    """Raise the entries of an array to those of a clock; or, with factor 0, clear them."""
    for k in range(starts[event], starts[event + 1]):
        entries[slots[k]] = max(entries[slots[k]], counts[k]) * factor


@compiled
def _append_lacking_entry_faults(
    starts: Ints,
    slots: Ints,
    counts: Ints,
    here: int,
    event: int,
    cause: int,
    kind: int,
    now: Ints,
    told: Ints,
    faults: list[_Row],
) -> None:
    """Tell the entries, but for its own, that the event should have from a cause."""
    for k in range(starts[cause], starts[cause + 1]):
        slot, count = slots[k], counts[k]
        if slot != here and now[slot] < count and told[slot] != event:
            told[slot] = event
            faults.append((kind, event, cause, slot, now[slot] if kind == _SHRINKS else count))
