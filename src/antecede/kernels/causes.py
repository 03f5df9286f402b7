"""Direct causes from several sources put together: names looked up, clocks cleaned, edges merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from antecede.kernels.arrays import check_edges, group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints

PROCESS, CLOCK, PARENT, MESSAGE = 1, 2, 4, 8
"""What an edge is known from; several add up."""
Flags = NDArray[np.int8]


class MergedEdges(NamedTuple):
    """Each edge once, by target, with all it is known from."""

    edges: Edges
    known: Flags


def merge_edges(size: int, parts: Sequence[tuple[ArrayLike, ArrayLike, Flags | int]]) -> MergedEdges:
    """Edges (source, target, what from) among events 0..size-1 as one list; none from an event to itself."""
    checked = [(*check_edges(size, source, target), known) for source, target, known in parts]
    source = np.concatenate([part[0] for part in checked])
    target = np.concatenate([part[1] for part in checked])
    known = np.concatenate([np.broadcast_to(np.int8(part[2]), len(part[0])) for part in checked])
    starts, items = group_by_key(np.where(source == target, -1, target), size)
    source, known = source[items], known[items]
    kept = _merge(starts, source, known)
    target = np.repeat(np.arange(size), np.diff(starts))
    return MergedEdges(Edges(source[kept], target[kept]), known[kept])


@compiled
def _merge(starts: Ints, source: Ints, known: Flags) -> NDArray[np.bool_]:
    size = len(starts) - 1
    target, place = np.full(size, -1, dtype=np.int64), np.empty(size, dtype=np.int64)
    kept = np.zeros(len(source), dtype=np.bool_)
    for event in range(size):
        for k in range(starts[event], starts[event + 1]):
            if target[source[k]] == event:
                known[place[source[k]]] |= known[k]
            else:
                target[source[k]], place[source[k]], kept[k] = event, k, True
    return kept


@compiled
def look_up_names(scope: Ints, name: Ints, first: Ints, names: Ints, size: int) -> Ints:
    """The code of each name in its scope, or -1; scopes ascend.

    The codes of scope s are first[s]..first[s + 1]-1, and names[c] is the name of code c; names are below
    `size`, and -1 is none.
    """
    codes = np.full(len(name), -1, dtype=np.int64)
    at, owner = np.zeros(size, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    current = -1
    for item in range(len(name)):
        if scope[item] != current:
            current = scope[item]
            for code in range(first[current], first[current + 1]):
                if names[code] >= 0:
                    at[names[code]], owner[names[code]] = code, current
        if name[item] >= 0 and owner[name[item]] == current:
            codes[item] = at[name[item]]
    return codes


@compiled
def clean_clock_rows(starts: Ints, slots: Ints, counts: Ints) -> tuple[Ints, Ints, Ints]:
    """Rows without counts below 1, slots ascending; of two entries for a slot the larger counts."""
    ends, size = np.zeros(len(starts), dtype=np.int64), 0
    slot, count = np.empty_like(slots), np.empty_like(counts)
    plain = np.arange(np.diff(starts).max() if len(starts) > 1 else 0)
    for row in range(len(starts) - 1):
        low, high = starts[row], starts[row + 1]
        order = plain[: high - low]
        if (slots[low + 1 : high] < slots[low : max(low, high - 1)]).any():
            order = np.argsort(slots[low:high], kind="mergesort")
        for k in low + order:
            if counts[k] < 1:
                continue
            if size > ends[row] and slot[size - 1] == slots[k]:
                count[size - 1] = max(count[size - 1], counts[k])
            else:
                slot[size], count[size] = slots[k], counts[k]
                size += 1
        ends[row + 1] = size
    return ends, slot[:size], count[:size]


@compiled
def read_entries(starts: Ints, slots: Ints, counts: Ints, row: Ints, slot: Ints) -> Ints:
    """What each of some rows has for a slot, 0 if nothing; slots ascend in each row."""
    found = np.zeros(len(row), dtype=np.int64)
    for k in range(len(row)):
        low, high = starts[row[k]], starts[row[k] + 1]
        at = low + np.searchsorted(slots[low:high], slot[k])
        if at < high and slots[at] == slot[k]:
            found[k] = counts[at]
    return found


@compiled
def are_comparable(starts: Ints, slots: Ints, counts: Ints, one: Ints, other: Ints) -> NDArray[np.bool_]:
    """Whether of two rows one has at least what the other has, in every slot; slots ascend in each row."""
    found = np.zeros(len(one), dtype=np.bool_)
    for pair in range(len(one)):
        i, j = starts[one[pair]], starts[other[pair]]
        end, stop = starts[one[pair] + 1], starts[other[pair] + 1]
        more = less = False
        while i < end or j < stop:
            first = i < end and (j >= stop or slots[i] < slots[j])
            second = j < stop and (i >= end or slots[j] < slots[i])
            more |= first or (not second and counts[i] > counts[j])
            less |= second or (not first and counts[i] < counts[j])
            i, j = i + (not second), j + (not first)
        found[pair] = not (more and less)
    return found
