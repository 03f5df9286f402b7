"""The events of each process, in their own order and by own entry, and what clocks say caused them.

Clocks are sparse: (process, count) pairs in rows, in which absent means 0. An event *claims* (q, c), the
event of q whose own entry is c, if that is what its clock has for q.

Theory of operation. `_list_causes_and_effects_from_clocks` walks along each process once. Arrays over
processes hold the largest entry that was met on this walk (`most`), so that an entry which grew is seen at
once, without the clock of the event before. The entries that grew are the candidates; `wanted[q]` is the
count that is sought of q, and is cleared where the clock of another candidate has it: that one implies it.
Clocks are read in the order of their sums, the largest first, since a clock is implied only by larger ones.
So every clock is read once for its event and once for each direct effect of it.

A log may lack the event that is claimed. Whatever its process did before that event came before the claim,
too, so the cause is then the last event that the log has of those: `reached[q]` is its own entry. It is no
news where the process knew as much before (`known[q]`).

The loops take plain arrays: compiled code counts references at every use of a field of a named tuple, which
took most of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_integers
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints, Rows, check_rows


class Histories(NamedTuple):
    """Checked events with clocks, fit for compiled code."""

    process: Ints
    own: Ints
    starts: Ints  # the clock of event e is at starts[e]:starts[e + 1], processes ascending
    slots: Ints
    counts: Ints
    walk: Ints  # the events, process by process, each in its own order
    previous: Ints  # of each event, the one before it in its process, or -1
    first: Ints  # the events of process q by own entry: events[first[q]:first[q + 1]]
    owns: Ints
    events: Ints


class Edges(NamedTuple):
    """Causes and effects."""

    source: Ints
    target: Ints


def build_histories(
    process: ArrayLike, own: ArrayLike, clocks: Rows, index: ArrayLike | None = None
) -> Histories:
    """Sort events by process; the order in a process is by `index`, or by own entry if there is none.

    Own entries below 1 say that an event has none. Processes that occur in clocks alone are numbered too.
    """
    places = check_integers(process, "process", 0, 2**31)
    owns = check_integers(own, "own", -(2**62), 2**62, len(places))
    starts, slots, counts = _sort_and_check_clock_entries(check_rows(clocks, "clocks", 2**31), len(places))
    keys = owns if index is None else check_integers(index, "index", -(2**62), 2**62, len(places))
    width = int(max(places.max(initial=-1), slots.max(initial=-1))) + 1
    walk = np.lexsort((keys, places))
    is_same_process = places[walk[1:]] == places[walk[:-1]]
    previous = np.full(len(places), -1, dtype=np.int64)
    previous[walk[1:][is_same_process]] = walk[:-1][is_same_process]
    events = np.lexsort((owns, places))
    return Histories(
        process=places,
        own=owns,
        starts=starts,
        slots=slots,
        counts=counts,
        walk=walk,
        previous=previous,
        first=np.searchsorted(places[events], np.arange(width + 1)),
        owns=owns[events],
        events=events,
    )


def find_clock_edges(
    process: ArrayLike, own: ArrayLike, clocks: Rows, index: ArrayLike | None = None
) -> Edges:
    """The direct causes of each event: the one before it in its process, and what its clock newly claims.

    ShiViz's rule: each entry for another process that exceeds all before it in this process is a candidate; a
    candidate that another one's clock has exactly is implied by it; the others are causes (the first one of
    several with that entry). Where the log lacks a cause, the last one before it stands for it.
    Where clocks are consistent and nothing is missing, this is the transitive reduction.
    """
    return find_clock_edges_of_histories(build_histories(process, own, clocks, index))


def find_clock_edges_of_histories(histories: Histories) -> Edges:
    """The same, of histories at hand."""
    weights = _sum_entries_of_each_clock(histories.starts, histories.counts)
    source, target = _list_causes_and_effects_from_clocks(
        histories.process,
        histories.starts,
        histories.slots,
        histories.counts,
        histories.walk,
        histories.previous,
        histories.first,
        histories.owns,
        histories.events,
        weights,
    )
    return Edges(source, target)


def _sort_and_check_clock_entries(rows: Rows, event_count: int) -> tuple[Ints, Ints, Ints]:
    """The rows as 64-bit integers, with slots ascending in each."""
    if len(rows.starts) != event_count + 1:
        given = len(rows.starts) - 1
        raise CallerError(f"clocks has {given} rows and must have {event_count}, one for each event")
    slots, counts = (array.astype(np.int64, copy=False) for array in (rows.slots, rows.counts))
    item = np.repeat(np.arange(event_count), np.diff(rows.starts))
    same = item[1:] == item[:-1]
    if (same & (slots[1:] <= slots[:-1])).any():
        order = np.lexsort((slots, item))
        slots, counts = slots[order], counts[order]
        if (same & (slots[1:] == slots[:-1])).any():
            raise CallerError("a clock has two entries for one process; keep the one that counts")
    return rows.starts, slots, counts


@compiled
def find_place_of_own_entry_or_last_smaller(first: Ints, owns: Ints, process: int, count: int) -> int:
    """The place in `owns` of the first event of the process with this own entry; where there is none, of the
    last one with a smaller entry; -1 if there is none either."""
    low, high = first[process], first[process + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if owns[middle] < count:
            low = middle + 1
        else:
            high = middle
    if low < end and owns[low] == count:
        return int(low)
    is_there = low > first[process] and owns[low - 1] >= 1
    return int(low - 1) if is_there else -1


@compiled
def find_event_by_own_entry(first: Ints, owns: Ints, events: Ints, process: int, count: int) -> int:
    """The first event of the process with this own entry, or -1; arrays as in `Histories`."""
    place = find_place_of_own_entry_or_last_smaller(first, owns, process, count)
    return int(events[place]) if place >= 0 and owns[place] == count else -1


@compiled
def get_clock_entry(starts: Ints, slots: Ints, counts: Ints, event: int, process: int) -> int:
    """What the event's clock has for the process."""
    low, end = starts[event], starts[event + 1]
    at = low + np.searchsorted(slots[low:end], process)
    return int(counts[at]) if at < end and slots[at] == process else 0


@compiled
def _sum_entries_of_each_clock(starts: Ints, counts: Ints) -> Ints:
    """The sum of each clock: more than that of any clock it implies."""
    weights = np.zeros(len(starts) - 1, dtype=np.int64)
    for event in range(len(weights)):
        for k in range(starts[event], starts[event + 1]):
            weights[event] += counts[k]
    return weights


@compiled
def _list_causes_and_effects_from_clocks(
    process: Ints,
    starts: Ints,
    slots: Ints,
    counts: Ints,
    walk: Ints,
    previous: Ints,
    first: Ints,
    owns: Ints,
    events: Ints,
    weights: Ints,
) -> tuple[Ints, Ints]:
    """Walk along each process, and list the causes of every event."""
    width = len(first) - 1
    most = np.zeros(width, dtype=np.int64)  # the largest entry so far for each other process
    most_of = np.full(width, -1, dtype=np.int64)  # the process on whose walk it was met
    known = np.zeros(width, dtype=np.int64)  # the largest before the event at hand, of entries that grew
    grown, wanted = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)
    reached = np.zeros(width, dtype=np.int64)
    source, target = np.empty(16, dtype=np.int64), np.empty(16, dtype=np.int64)
    size = 0
    for event in walk:
        number = _note_grown_entries(
            process[event],
            slots,
            counts,
            starts[event],
            starts[event + 1],
            most,
            most_of,
            known,
            grown,
            wanted,
        )
        while size + number + 1 > len(source):
            source = np.concatenate((source, np.empty_like(source)))
            target = np.concatenate((target, np.empty_like(target)))
        before = size
        if previous[event] >= 0:
            source[size] = previous[event]
            size += 1
        if number:
            size = _append_unimplied_causes(
                starts,
                slots,
                counts,
                first,
                owns,
                events,
                known,
                grown[:number],
                wanted,
                reached,
                weights,
                source,
                size,
            )
        target[before:size] = event
    return source[:size], target[:size]


@compiled
def _note_grown_entries(
    here: int,
    slots: Ints,
    counts: Ints,
    low: int,
    high: int,
    most: Ints,
    most_of: Ints,
    known: Ints,
    grown: Ints,
    wanted: Ints,
) -> int:
    """Note the entries for others that exceed all before them in this process; returns how many."""
    number = 0
    for k in range(low, high):
        slot, count = slots[k], counts[k]
        if slot == here:
            continue
        if most_of[slot] != here:
            most_of[slot] = here
            most[slot] = 0
        if count > most[slot]:
            known[slot] = most[slot]
            most[slot] = wanted[slot] = count
            grown[number] = slot
            number += 1
    return number


@compiled
def _append_unimplied_causes(
    starts: Ints,
    slots: Ints,
    counts: Ints,
    first: Ints,
    owns: Ints,
    events: Ints,
    known: Ints,
    grown: Ints,
    wanted: Ints,
    reached: Ints,
    weights: Ints,
    source: Ints,
    size: int,
) -> int:
    """Append the candidates that no other implies; returns the new size.

    The heaviest clocks are read first. What they imply need not be read, so that in consistent logs this
    reads only the clocks of direct causes.
    """
    causes, lightness = np.empty(len(grown), dtype=np.int64), np.zeros(len(grown), dtype=np.int64)
    for i in range(len(grown)):
        slot = grown[i]
        place = find_place_of_own_entry_or_last_smaller(first, owns, slot, wanted[slot])
        if place < 0 or owns[place] <= known[slot]:
            causes[i] = -1
            wanted[slot] = 0
            continue
        causes[i] = events[place]
        reached[slot] = owns[place]
        lightness[i] = -weights[causes[i]]
    for i in np.argsort(lightness, kind="mergesort"):
        cause = causes[i]
        if cause < 0 or wanted[grown[i]] == 0:
            continue
        for k in range(starts[cause], starts[cause + 1]):
            slot = slots[k]
            if slot != grown[i] and reached[slot] <= counts[k] <= wanted[slot]:
                wanted[slot] = 0
    for i in range(len(grown)):
        if causes[i] >= 0 and wanted[grown[i]]:
            source[size] = causes[i]
            size += 1
    return size
