"""What is wrong with the vector clocks of a log: claims that no execution can have made.

Each fault is named once, where it enters: an entry that an event took over from a cause, as it should, is no
fault of that event. So clocks that break no rule here are transitive, grow along every process and every
edge, and claim only events that exist or holes that are named.
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
    find_event,
    find_history_edges,
    get_entry,
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
    """All faults; arguments as of `histories.edges_of_clocks`. An event without a clock has an empty row.

    `known` causes are those that the log tells by other means than clocks, by messages for one: a clock must
    have what theirs have, too. Every clock is read once for its event, and once for each direct effect of it.
    """
    found = build_histories(process, own, clocks, index)
    clocked = np.diff(found.starts) > 0
    sequence, restarted = _check_own_entries(found)
    previous = _find_previous(found, clocked)
    previous[restarted] = -1
    uncounted = np.flatnonzero(clocked & (found.own < 1))
    faults = np.concatenate(
        (
            sequence,
            _stack_faults(_UNCOUNTED, uncounted, -1, found.process[uncounted], found.own[uncounted]),
            _check_claims(
                found, previous, *_list_foreign_causes(found, clocked, find_history_edges(found), known)
            ),
        )
    )
    order = np.lexsort((faults[:, 3], faults[:, 0], faults[:, 1]))
    return ClockFaults(*faults[order].T.copy())


def _stack_faults(kind: int, event: Ints, other: Ints | int, slot: Ints, count: Ints) -> Ints:
    return np.stack(np.broadcast_arrays(kind, event, other, slot, count), axis=1).astype(np.int64)


def _find_previous(found: Histories, among: NDArray[np.bool_]) -> Ints:
    """Of each event the one before it in its process, looking only at those among some; else -1."""
    line = found.walk[among[found.walk]]
    inside = found.process[line[1:]] == found.process[line[:-1]]
    previous = np.full(len(among), -1, dtype=np.int64)
    previous[line[1:][inside]] = line[:-1][inside]
    return previous


def _check_own_entries(found: Histories) -> tuple[Ints, Ints]:
    """The faults of own entries, which should be 1, 2, 3, ...; and the events at which a process restarts."""
    counted = found.own >= 1
    previous = _find_previous(found, counted)
    last, own = np.where(previous >= 0, found.own[previous], 0), found.own
    restart = counted & (own == 1) & (last > 1)
    cases = (
        (_HOLE, counted & (own > last + 1), last + 1),
        (_REPEAT, counted & (own == last), own),
        (_RESTART, restart, own),
        (_SHRINKS, counted & (own < last) & ~restart, own),
    )
    tables = []
    for kind, mask, count in cases:
        event = np.flatnonzero(mask)
        tables.append(_stack_faults(kind, event, previous[event], found.process[event], count[event]))
    return np.concatenate(tables), np.flatnonzero(restart)


def _list_foreign_causes(
    found: Histories, clocked: NDArray[np.bool_], claimed: Edges, known: Edges | None
) -> tuple[Ints, Ints]:
    """The direct causes of each event in other processes: those its clock claims, and those known besides."""
    source, target = claimed if known is None else map(np.concatenate, zip(claimed, known, strict=True))
    across = (found.process[source] != found.process[target]) & clocked[target]
    starts, items = group_by_key(target[across], len(found.process))
    return starts, source[across][items]


@compiled
def _check_claims(found: Histories, previous: Ints, starts: Ints, causes: Ints) -> Ints:
    """The faults of entries for other processes, given the event before and the direct causes of each."""
    width = len(found.first) - 1
    now, before, heard = np.zeros((3, width), dtype=np.int64)
    told = np.full(width, -1, dtype=np.int64)  # the event whose fault in this entry was told last
    faults = [(0, 0, 0, 0, 0) for _ in range(0)]
    for event in found.walk:
        direct, last = causes[starts[event] : starts[event + 1]], previous[event]
        _raise_entries(event, found, now, 1)
        if last >= 0:
            _raise_entries(last, found, before, 1)
            _add_lacking_entries(event, last, _SHRINKS, found, now, told, faults)
        for cause in direct:
            _raise_entries(cause, found, heard, 1)
            if not _leads_back(cause, event, found):
                _add_lacking_entries(event, cause, _NOT_TRANSITIVE, found, now, told, faults)
        _check_new_claims(event, found, before, heard, faults)
        for cause in direct:
            _raise_entries(cause, found, heard, 0)
        _raise_entries(event, found, now, 0)
        if last >= 0:
            _raise_entries(last, found, before, 0)
    table = np.empty((len(faults), 5), dtype=np.int64)
    for i in range(len(faults)):
        table[i, 0], table[i, 1], table[i, 2], table[i, 3], table[i, 4] = faults[i]
    return table


@compiled
def _raise_entries(event: int, found: Histories, over: Ints, factor: int) -> None:
    """Raise the entries of an array to those of a clock; or, with factor 0, clear them."""
    for k in range(found.starts[event], found.starts[event + 1]):
        slot = found.slots[k]
        over[slot] = max(over[slot], found.counts[k]) * factor


@compiled
def _leads_back(cause: int, event: int, found: Histories) -> bool:
    """Whether a cause claims the event itself, or a later one of its process."""
    return bool(1 <= found.own[event] <= get_entry(found, cause, found.process[event]))


@compiled
def _add_lacking_entries(
    event: int, cause: int, kind: int, found: Histories, now: Ints, told: Ints, faults: list[_Row]
) -> None:
    """Tell the entries, but for its own, that the event should have from a cause."""
    for k in range(found.starts[cause], found.starts[cause + 1]):
        slot, count = found.slots[k], found.counts[k]
        if slot != found.process[event] and now[slot] < count and told[slot] != event:
            told[slot] = event
            faults.append((kind, event, cause, slot, now[slot] if kind == _SHRINKS else count))


@compiled
def _check_new_claims(event: int, found: Histories, before: Ints, heard: Ints, faults: list[_Row]) -> None:
    """Tell which entries that grew since the event before lead back, or lead nowhere and were not heard."""
    here = found.process[event]
    for k in range(found.starts[event], found.starts[event + 1]):
        slot, count = found.slots[k], found.counts[k]
        if slot == here or count <= before[slot]:
            continue
        claimed, end = find_event(found, slot, count), found.first[slot + 1]
        if claimed >= 0:
            if _leads_back(claimed, event, found):
                faults.append((_CYCLIC, event, claimed, here, get_entry(found, claimed, here)))
        elif heard[slot] < count:
            if end == found.first[slot]:
                faults.append((_UNKNOWN, event, -1, slot, count))
            elif count > found.owns[end - 1]:
                faults.append((_BEYOND, event, -1, slot, count))
