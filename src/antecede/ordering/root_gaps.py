"""What held rows wait for, in words, and the root gaps: what is missing and not itself held, and rings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.kernels.gate import Released
from antecede.kernels.ragged import Ints
from antecede.ordering.columns import words
from antecede.ordering.cycles import Rings, Unmet, rings
from antecede.ordering.stamps import Reading, Stamps

SHOWN = 10
"""So many of the things that a row misses are listed, then the number of the others."""
_BLOCK = 100_000


def told(
    stamps: Stamps, reading: Reading, group: Ints, found: Released, size: int
) -> tuple[pa.Array, pa.Array]:
    """What each held row misses, and the root gaps."""
    loops = rings(stamps, reading, found, _blocks(stamps, found))
    return _missing(stamps, reading, found, loops, size), _gaps(stamps, reading, group, found, loops, size)


def _missing(stamps: Stamps, reading: Reading, found: Released, loops: Rings, size: int) -> pa.Array:
    """A list for each held row, null for all others; those on a ring say so."""
    rows, texts = [], []
    for unmet in _blocks(stamps, found):
        starts = np.flatnonzero(np.diff(unmet.row, prepend=-1))
        lengths = np.diff(np.append(starts, len(unmet.row)))
        shown = np.arange(len(unmet.row)) - np.repeat(starts, lengths) < SHOWN
        kept = Unmet(*(part[shown] for part in unmet))
        more = lengths > SHOWN
        named = _told(stamps, reading, kept.slot, found.have[kept.slot] + 1, kept.needed)
        rest = words("and ", pa.array(lengths[more] - SHOWN), " more")
        where = np.concatenate((kept.row, unmet.row[starts][more]))
        rows.append(np.sort(where))
        texts.append(pa.concat_arrays([named, rest]).take(pa.array(np.argsort(where, kind="stable"))))
    rows.append(loops.members)
    texts.append(pa.array(np.repeat(np.array(loops.texts, dtype=object), loops.sizes), pa.string()))
    return _lists(found.held[np.concatenate(rows)], pa.concat_arrays(texts), size)


def _blocks(stamps: Stamps, found: Released) -> Iterator[Unmet]:
    """The unmet needs of some held rows at a time, in the order of arrival."""
    starts, slots, counts = stamps.needs
    for low in range(0, len(found.held), _BLOCK):
        held = found.held[low : low + _BLOCK]
        lengths = starts[held + 1] - starts[held]
        ends = np.cumsum(lengths)
        at = np.arange(ends[-1]) + np.repeat(starts[held] - (ends - lengths), lengths)
        slot, count = slots[at].astype(np.int64), counts[at].astype(np.int64)
        open_ = count > found.have[slot]
        yield Unmet(np.repeat(np.arange(low, low + len(held)), lengths)[open_], slot[open_], count[open_])


def _told(stamps: Stamps, reading: Reading, slot: Ints, first: Ints, last: Ints) -> pa.Array:
    """What is missing in words."""
    names = stamps.slots.names(slot)
    if reading.shape == "parents":
        return names
    if stamps.add:
        return words("entry ", names, " at ", pa.array(last), " (is at ", pa.array(first - 1), ")")
    one = words(f"{reading.noun} ", pa.array(last), " of ", names)
    if not reading.stretches:
        return one
    several = words(f"{reading.noun}s ", pa.array(first), " to ", pa.array(last), " of ", names)
    return pc.if_else(pa.array(first == last), one, several)


def _lists(rows: Ints, items: pa.Array, size: int) -> pa.Array:
    """Items as lists by row, null for rows without any."""
    counts = np.bincount(rows, minlength=size)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    flat = items.take(pa.array(np.argsort(rows, kind="stable")))
    return pa.ListArray.from_arrays(pa.array(starts, mask=np.append(counts == 0, False)), flat)


def _gaps(
    stamps: Stamps, reading: Reading, group: Ints, found: Released, loops: Rings, size: int
) -> pa.Array:
    """The gaps of each group and how many rows wait for each, at the first of its rows that is held; a ring
    is a gap for which its members wait, and those that need one of them."""
    wanted = _wanted(stamps, found)
    here = np.stack((stamps.own[found.held], stamps.number[found.held]), axis=1)
    if stamps.add:
        slot, first, last = _lowest(wanted, found.have)
    elif reading.stretches and reading.shape != "parents":
        slot, first, last = _stretches(wanted, here, found.have)
    else:
        slot, first, last = _named(wanted, here)
    waiting = _waiting(wanted, slot, first)
    texts = _told(stamps, reading, slot, first, last)
    texts = pa.concat_arrays([texts, pa.array(loops.texts, pa.string())])
    counts = pa.array(np.concatenate((waiting, loops.waiting)))
    items = pa.StructArray.from_arrays([texts, counts], names=["missing", "waiting"])
    codes, at = np.unique(group[found.held], return_index=True)
    where = (stamps.slots.groups(slot), group[found.held[loops.members[loops.starts[:-1]]]])
    rows = found.held[at][np.searchsorted(codes, np.concatenate(where))]
    return _lists(rows, items, size)


def _wanted(stamps: Stamps, found: Released) -> Ints:
    """Each unmet (slot, count) once with the number of rows that need it, sorted."""
    parts = [_tally(unmet.slot, unmet.needed, np.ones_like(unmet.row)) for unmet in _blocks(stamps, found)]
    return _tally(*np.concatenate(parts).T)


def _tally(slot: Ints, count: Ints, times: Ints) -> Ints:
    """Equal pairs once, with how often they occur."""
    order = np.lexsort((count, slot))
    slot, count = slot[order], count[order]
    new = np.append(True, (np.diff(slot) != 0) | (np.diff(count) != 0))
    starts = np.flatnonzero(new)
    return np.column_stack((slot[starts], count[starts], np.add.reduceat(times[order], starts)))


def _stretches(wanted: Ints, here: Ints, have: Ints) -> tuple[Ints, Ints, Ints]:
    """What no held row fills of the counts from what a slot has to the highest that is needed."""
    slots, last = np.unique(wanted[::-1, 0], return_index=True)
    top = wanted[::-1, 1][last]
    place = np.minimum(np.searchsorted(slots, here[:, 0]), len(slots) - 1)
    inside = (slots[place] == here[:, 0]) & (here[:, 1] <= top[place])
    ends = [np.column_stack((slots, have[slots])), np.column_stack((slots, top + 1)), here[inside]]
    slot, value = np.concatenate(ends).T
    points = _tally(slot, value, np.ones_like(slot))
    gap = (np.diff(points[:, 0]) == 0) & (np.diff(points[:, 1]) > 1)
    return points[:-1, 0][gap], points[:-1, 1][gap] + 1, points[1:, 1][gap] - 1


def _named(wanted: Ints, here: Ints) -> tuple[Ints, Ints, Ints]:
    """The counts that are needed and that no held row is."""
    marked = np.concatenate((np.column_stack((here, np.full(len(here), len(wanted) + 1))), wanted))
    marked[len(here) :, 2] = 1
    slot, count, times = _tally(*marked.T).T
    absent = times == 1
    return slot[absent], count[absent], count[absent]


def _lowest(wanted: Ints, have: Ints) -> tuple[Ints, Ints, Ints]:
    """Where gains add up nothing tells who is missing: the first count that each entry must come to."""
    slots, first = np.unique(wanted[:, 0], return_index=True)
    return slots, have[slots] + 1, wanted[first, 1]


def _waiting(wanted: Ints, slot: Ints, least: Ints) -> Ints:
    """How many rows need at least so much of each slot."""
    asked = np.column_stack((slot, least))
    both = np.concatenate((asked, wanted[:, :2]))
    order = np.lexsort((np.arange(len(both)), both[:, 1], both[:, 0]))
    counts = np.concatenate((np.zeros(len(asked), np.int64), wanted[:, 2]))[order]
    ends = np.searchsorted(both[order, 0], slot, side="right")
    before = np.concatenate(([0], np.cumsum(counts)))
    place = np.empty(len(both), dtype=np.int64)
    place[order] = np.arange(len(both))
    return before[ends] - before[place[: len(asked)]]
