"""The compiled gate: the delivery rule of `antecede.core.gate` over arrays, for batches.

An item *needs* `have[slot] >= count` for its pairs, and when taken it *gains* (slot, value) pairs. Items arrive in row order; after
each arrival, everything deliverable is taken, earliest arrival first. What is delivered, held and missing is the same as in the
Python gate.

No queue is ever rescanned. A held item is filed under its first missing slot, in the bucket of the first *stop* that is at least the
count it waits for; a slot that rises sweeps each bucket it passes, once. The stops of a slot must tell apart what can be told apart:
whenever the slot can come to stand at h >= count, some stop lies in count..h. Three sets do: every integer up to the highest reachable
value, the values to which gains can raise the slot, and the counts that are needed of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from antecede.core.errors import CallerError

_compiled = njit(cache=True, nogil=True)
_inlined = njit(cache=True, nogil=True, inline="always")
_SPREAD = 4  # stops per item at which a stop for every integer costs more than sorting the values that occur


class Rows(NamedTuple):
    """(slot, count) pairs of many items, compressed: the pairs of item i are at `starts[i]:starts[i + 1]`.

    Any integer type narrower than uint64 will do; narrow slots and counts are read faster than wide ones.
    """

    starts: NDArray[np.int64]
    slots: NDArray[np.integer]
    counts: NDArray[np.integer]

    @classmethod
    def of(cls, items: Iterable[Iterable[tuple[int, int]]]) -> Rows:
        """Compress lists of (slot, count) pairs, one list for each item."""
        lists = [list(pairs) for pairs in items]
        starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        pairs = np.array([pair for pairs in lists for pair in pairs], dtype=np.int64).reshape(-1, 2)
        return cls(starts, pairs[:, 0].astype(np.int32), pairs[:, 1].copy())


class Released(NamedTuple):
    """What a batch came to: items are row numbers of the batch."""

    order: NDArray[np.int64]  # items delivered, in the order of delivery
    held: NDArray[np.int64]  # items not delivered, in the order of arrival
    missing: NDArray[np.int64]  # the first missing slot of each held item
    have: NDArray[np.int64]  # the state after the batch


class _Shelf(NamedTuple):
    """Where held items wait: a bucket for each stop, a linked list in each bucket. -1 ends a list."""

    floor: NDArray[np.int64]  # what each slot had at first
    starts: NDArray[np.int64]  # the buckets of slot s are starts[s]:starts[s + 1]
    stops: NDArray[np.int64]  # the stop of each bucket, ascending in a slot; none: every integer above the floor
    heads: NDArray[np.int32]  # the first item in each bucket
    swept: NDArray[np.int64]  # the first bucket of each slot that is not yet swept
    links: NDArray[np.int32]  # the next item in the same bucket
    at: NDArray[np.int64]  # the need at which each item waits; its end when none is missing


def release(have: ArrayLike, needs: Rows, gains: Rows, *, add: bool = False) -> Released:
    """Deliver what can be delivered of the items, in arrival (row) order, from the state `have`, which is left as it was.

    A gain raises its slot to the value, or adds the value to it (`add`).

    To go on with a later batch, pass the returned `have` and put the held items, in their order, before the new ones. Between
    two arrivals the gate has no other state than these two, and a held item that is presented again is still not ready, so
    however rows are cut into batches, the concatenated order, the items held and the state are those of one batch.
    """
    have = np.array(have, dtype=np.int64, ndmin=1)
    _check(have, needs, "needs")
    _check(have, gains, "gains")
    if len(needs.starts) != len(gains.starts):
        raise CallerError(f"needs has {len(needs.starts) - 1} rows and gains {len(gains.starts) - 1}: give one row of each per item")
    shelf = _shelf(have, needs, gains, add)
    order = np.empty(len(shelf.links), dtype=np.int64)
    taken = _run(have, needs, gains, add, shelf, order)
    held = np.flatnonzero(shelf.at < needs.starts[1:])
    missing = needs.slots[shelf.at[held]].astype(np.int64)
    return Released(order[:taken], held, missing, have)


def _check(have: NDArray, rows: Rows, name: str) -> None:
    """Refuse rows that would send a kernel outside its arrays."""
    starts, slots, counts = rows
    for field, array in zip(Rows._fields, rows, strict=True):
        if array.ndim != 1 or array.dtype.kind not in "iu" or array.dtype == np.uint64:
            raise CallerError(f"{name}.{field} must be a one-dimensional array of integers, not {array.dtype} {array.shape}")
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(slots) or (starts[1:] < starts[:-1]).any():
        raise CallerError(f"{name}.starts must rise from 0 to the number of pairs, {len(slots)}")
    if len(slots) != len(counts):
        raise CallerError(f"{name} has {len(slots)} slots and {len(counts)} counts: give one count per slot")
    if len(slots) and (slots.min() < 0 or slots.max() >= len(have)):
        raise CallerError(f"{name}.slots must be in 0..{len(have) - 1}, not {slots.min()}..{slots.max()}")
    if len(counts) and counts.min() < 0:
        raise CallerError(f"{name}.counts must not be negative: the least is {counts.min()}")


def _shelf(have: NDArray, needs: Rows, gains: Rows, add: bool) -> _Shelf:
    """An empty shelf with enough stops on each slot."""
    items = len(needs.starts) - 1
    widths = _widths(have, gains.slots, gains.counts, add)
    if widths.sum(dtype=np.float64) <= _SPREAD * items + len(have):
        starts = np.concatenate(([0], np.cumsum(widths)))
        stops = np.empty(0, dtype=np.int64)
    else:
        rows = needs if add else gains
        starts = np.concatenate(([0], np.cumsum(np.bincount(rows.slots, minlength=len(have)))))
        stops = _occurring(starts, rows.slots, rows.counts)
    heads = np.full(starts[-1], -1, dtype=np.int32)
    return _Shelf(have.copy(), starts, stops, heads, starts[:-1].copy(), np.empty(items, np.int32), needs.starts[:-1].astype(np.int64))


@_compiled
def _widths(have, slots, counts, add):
    """How far each slot can rise above what it has."""
    top = have.copy()
    for k in range(len(slots)):
        top[slots[k]] = top[slots[k]] + counts[k] if add else max(top[slots[k]], counts[k])
    return top - have


@_compiled
def _occurring(starts, slots, counts):
    """Stops: the values that occur, sorted within each slot."""
    stops = np.empty(starts[-1], dtype=np.int64)
    ends = starts[:-1].copy()
    for k in range(len(slots)):
        stops[ends[slots[k]]] = counts[k]
        ends[slots[k]] += 1
    for slot in range(len(ends)):
        stops[starts[slot] : ends[slot]].sort()
    return stops


@_compiled
def _run(have, needs, gains, add, shelf, order):
    """Let the items arrive one by one; returns how many were delivered."""
    floor, first, stops, heads, swept, links, at = shelf
    needs_start, needs_slot, needs_count = needs
    gains_start, gains_slot, gains_value = gains
    ready = [np.int64(0) for _ in range(0)]
    taken = 0
    for arrived in range(len(order)):
        if _look(arrived, have, needs_start, needs_slot, needs_count, at):
            heappush(ready, np.int64(arrived))
        else:
            _file(arrived, needs_slot[at[arrived]], needs_count[at[arrived]], floor, first, stops, heads, links)
        while ready:
            item = heappop(ready)
            order[taken] = item
            taken += 1
            for k in range(gains_start[item], gains_start[item + 1]):
                slot, value = gains_slot[k], gains_value[k]
                have[slot] = have[slot] + value if add else max(have[slot], value)
                while swept[slot] < first[slot + 1] and _stop(slot, swept[slot], floor, first, stops) <= have[slot]:
                    item = heads[swept[slot]]
                    swept[slot] += 1
                    while item >= 0:
                        after = links[item]
                        if _look(item, have, needs_start, needs_slot, needs_count, at):
                            heappush(ready, np.int64(item))
                        else:
                            _file(item, needs_slot[at[item]], needs_count[at[item]], floor, first, stops, heads, links)
                        item = after
    return taken


@_inlined
def _look(item, have, starts, slots, counts, at):
    """Go on through the item's needs: true if none is missing."""
    k, end = at[item], starts[item + 1]
    while k < end and have[slots[k]] >= counts[k]:
        k += 1
    at[item] = k
    return k == end


@_inlined
def _stop(slot, bucket, floor, first, stops):
    """The value at which the slot has risen past the bucket."""
    return stops[bucket] if len(stops) else floor[slot] + 1 + bucket - first[slot]


@_inlined
def _file(item, slot, count, floor, first, stops, heads, links):
    """Put the item into the bucket of the slot's first stop at or above the count, if anything in this batch gets there."""
    low, high = first[slot], first[slot + 1]
    if len(stops):
        bucket = _bisect(stops, low, high, count)
    else:
        bucket = low + count - floor[slot] - 1
    if bucket < high:
        links[item] = heads[bucket]
        heads[bucket] = item


@_compiled
def _bisect(stops, low, high, count):
    while low < high:
        middle = (low + high) // 2
        if stops[middle] < count:
            low = middle + 1
        else:
            high = middle
    return low
