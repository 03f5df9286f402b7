"""The compiled gate: the delivery rule of `antecede.core.gate` over arrays, a batch at a time.

An item *needs* `have[slot] >= count` for its pairs and, when taken, *gains* its (slot, value) pairs. Items
arrive in row order or in a given one. After each arrival all that can be delivered is delivered, earliest
arrival first.

No queue is ever rescanned. A held item is filed under its first missing slot, in the bucket of the first
*stop* of that slot that is at least the count it waits for. A slot that rises empties each bucket it passes:

    slot s, have = 2      stops     3      5      8         an item that waits for 4 of s is filed at stop 5;
                          buckets   .    x, y     z         a gain of s to 6 empties the buckets of 3 and 5

An item from an emptied bucket goes on through its needs where it stopped: it is ready, or it is filed under
its next missing slot. So the work is the needs of all items, and a search for each time one is filed.

Any set of stops will do that has one in count..h whenever the slot can come to stand at h >= count. There are
three: every integer up to the highest reachable one, which takes no search; where these are too many, the
values to which gains raise the slot; and where gains add up in an unknown order, the counts that are needed.

Needs may be runs, counts for slots that follow one another, as in a vector. Then the slot of a need is its
place in the counts plus the *shift* of its item, and only the counts are read from memory, which is slow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from antecede.core.errors import CallerError
from antecede.kernels.compiled import compiled, inlined
from antecede.kernels.ragged import (
    Counts,
    Ints,
    Rows,
    Runs,
    check_rows,
    check_runs,
    find_slots_of_pairs,
    take_pairs_of_rows,
)

_AT, _END, _BELOW, _SHIFT = 0, 1, 2, 3
_LIMIT = 2**63
_SPREAD = 4  # with more integers per item than this, it costs less to sort the values that occur


class Released(NamedTuple):
    """What became of a batch; items are row numbers."""

    order: Ints  # the items delivered, in the order of delivery
    held: Ints  # the others, in the order of arrival
    missing: Ints  # the first missing slot of each held item
    have: Ints  # the state after the batch


class _Shelf(NamedTuple):
    """Where held items wait: a bucket for each stop, a linked list of items in each bucket."""

    floor: Ints  # what each slot had at first
    first: Ints  # the buckets of slot s are first[s]:first[s + 1]
    stops: Ints  # the stop of each bucket, ascending in a slot; empty if every integer above the floor is one
    heads: Ints  # the item on top of each bucket, or -1
    swept: Ints  # the first bucket of each slot that was not emptied yet
    places: Ints
    """Of each arrival: the need it waits AT, the END of its needs, the item BELOW in its bucket, SHIFT."""


def release_items(
    have: ArrayLike, needs: Rows | Runs, gains: Rows, *, add: bool = False, arrivals: Ints | None = None
) -> Released:
    """Deliver what can be delivered of the items, from the state `have`, which is left as it was.

    A gain raises its slot to the value or, with `add`, adds the value to it. Items arrive in row order, or in
    the order of `arrivals`, which are row numbers, each at most once; other rows are then left out.

    To go on with a later batch, pass on the returned state and put the held items, in their order, before the
    new ones. Between two arrivals the state and the held items are all that the gate knows, and a held item
    that arrives again is still not ready. So rows may be cut into batches anywhere: what is delivered, in
    which order, and what is held in the end are the same as in one batch.
    """
    state = _check_and_copy_state(have)
    gains = check_rows(gains, "gains", len(state))
    rows = _list_checked_rows_of_arrivals(len(gains.starts) - 1, arrivals)
    if isinstance(needs, Rows):
        needs = check_rows(needs, "needs", len(state))
    if len(needs.starts) != len(gains.starts):
        raise CallerError(f"needs are of {len(needs.starts) - 1} items and gains of {len(gains.starts) - 1}")
    if isinstance(needs, Runs):
        needs = check_runs(needs, "needs", len(state), rows)
    if add and state.max(initial=0) + gains.counts.sum(dtype=np.float64) >= _LIMIT:
        raise CallerError("the gains add up to more than 64 bits can count")
    shelf = _make_empty_shelf(state, needs, gains, add, rows)
    order = np.empty(len(rows), dtype=np.int64)
    slots, shifts = needs.get_slots_or_shifts(rows)
    shelf.places[:, _SHIFT] = shifts
    taken = _take_arrivals_and_deliver_ready_items(state, slots, needs.counts, gains, add, shelf, rows, order)
    held = np.flatnonzero(shelf.places[:, _AT] < shelf.places[:, _END])
    missing = find_slots_of_pairs(needs, shelf.places[held, _AT], rows[held])
    return Released(rows[order[:taken]], rows[held], missing, state)


def _check_and_copy_state(have: ArrayLike) -> Ints:
    """A checked copy of the state."""
    state = np.asarray(have)
    if state.ndim != 1 or (state.size and state.dtype.kind not in "iu"):
        raise CallerError("have must be a flat array with an integer for each slot")
    if state.size and not 0 <= state.min() <= state.max() < _LIMIT:
        raise CallerError(f"have must not be negative nor exceed 63 bits, not {state.min()} to {state.max()}")
    return state.astype(np.int64)


def _list_checked_rows_of_arrivals(item_count: int, arrivals: Ints | None) -> Ints:
    """The checked row of each arrival."""
    if arrivals is None:
        return np.arange(item_count)
    rows = np.asarray(arrivals)
    if rows.ndim != 1 or rows.dtype != np.int64:
        raise CallerError("arrivals must be a flat array of 64-bit row numbers")
    is_in_range = not rows.size or 0 <= rows.min() <= rows.max() < item_count
    if not is_in_range or (rows.size and np.bincount(rows).max() > 1):
        raise CallerError(f"arrivals must be rows from 0 to {item_count - 1}, each at most once")
    return rows


def _make_empty_shelf(have: Ints, needs: Rows | Runs, gains: Rows, add: bool, rows: Ints) -> _Shelf:
    """An empty shelf with the stops that suit the batch."""
    items = len(rows)
    widths = _compute_slot_rises(have, gains.slots, gains.counts, add)
    stops = np.empty(0, dtype=np.int64)
    if widths.sum(dtype=np.float64) > _SPREAD * items + len(have):
        reached = take_pairs_of_rows(needs, rows) if add else gains
        widths = np.bincount(reached.slots, minlength=len(have))
        stops = _sort_counts_by_slot(widths, reached.slots, reached.counts)
    first = np.concatenate(([0], np.cumsum(widths)))
    places = np.zeros((items, 4), dtype=np.int64)
    places[:, _AT] = needs.starts[rows]
    places[:, _END] = needs.starts[rows + 1]
    places[:, _BELOW] = -1
    empty_heads = np.full(first[-1], -1)
    return _Shelf(have.copy(), first, stops, empty_heads, first[:-1].copy(), places)


@compiled
def _compute_slot_rises(have: Ints, slots: Counts, counts: Counts, add: bool) -> Ints:
    """How far each slot could rise."""
    top = have.copy()
    for k in range(len(slots)):
        slot = slots[k]
        top[slot] = top[slot] + counts[k] if add else max(top[slot], counts[k])
    return top - have


@compiled
def _sort_counts_by_slot(widths: Ints, slots: Counts, counts: Counts) -> Ints:
    """The counts, sorted within each slot."""
    stops = np.empty(len(slots), dtype=np.int64)
    ends = np.cumsum(widths) - widths
    for k in range(len(slots)):
        stops[ends[slots[k]]] = counts[k]
        ends[slots[k]] += 1
    for slot in range(len(ends)):
        stops[ends[slot] - widths[slot] : ends[slot]].sort()
    return stops


@compiled
def _take_arrivals_and_deliver_ready_items(
    have: Ints, slots: Counts, counts: Counts, gains: Rows, add: bool, shelf: _Shelf, rows: Ints, order: Ints
) -> int:
    """Let the items arrive one by one, counted by arrival; returns how many were delivered."""
    # As plain arrays, since counting references to a tuple's fields in the loops would double the time. And
    # all in one function: to hand so many arrays to another one, a million times, would double it again.
    starts, gained, values = gains
    floor, first, stops, heads, swept, places = shelf
    ready = np.empty(len(order), dtype=np.int64)  # a heap of items, the earliest arrival on top
    awake = np.empty(len(order), dtype=np.int64)  # items that go on through their needs, in any order
    ready_count = taken = 0
    for arrived in range(len(order)):
        awake[0] = arrived
        awake_count = 1
        while awake_count or ready_count:
            while awake_count:
                awake_count -= 1
                item = awake[awake_count]
                k, end, shift = places[item, _AT], places[item, _END], places[item, _SHIFT]
                while k < end and have[get_pair_slot(k, slots, shift)] >= counts[k]:
                    k += 1
                places[item, _AT] = k
                if k == end:
                    ready_count = _push_item(ready, ready_count, item)
                else:
                    bucket = _find_bucket_for_count(
                        get_pair_slot(k, slots, shift), counts[k], floor, first, stops
                    )
                    if bucket >= 0:
                        places[item, _BELOW] = heads[bucket]
                        heads[bucket] = item
            if ready_count:
                item = ready[0]
                ready_count = _drop_least_item(ready, ready_count)
                order[taken] = item
                taken += 1
                for k in range(starts[rows[item]], starts[rows[item] + 1]):
                    slot = gained[k]
                    have[slot] = have[slot] + values[k] if add else max(have[slot], values[k])
                    while _is_stop_reached(slot, swept[slot], have, floor, first, stops):
                        woken = heads[swept[slot]]
                        swept[slot] += 1
                        while woken >= 0:
                            awake[awake_count] = woken
                            awake_count += 1
                            woken = places[woken, _BELOW]
    return taken


@inlined
def _push_item(heap: Ints, size: int, item: int) -> int:
    """Put an item on the heap; returns the new size. (Numba's heap of a list takes three times as long.)"""
    at = size
    while at > 0 and heap[(at - 1) // 2] > item:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item
    return size + 1


@inlined
def _drop_least_item(heap: Ints, size: int) -> int:
    """Take the least item off the heap; returns the new size."""
    size -= 1
    item = heap[size]
    at, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = item
    return size


@inlined
def get_pair_slot(place: int, slots: Counts, shift: int) -> int:
    """The slot of a pair at place k: it is written down, or follows from where the pair lies."""
    return int(slots[place]) if len(slots) else place + shift


@inlined
def _is_stop_reached(slot: int, bucket: int, have: Ints, floor: Ints, first: Ints, stops: Ints) -> bool:
    """Whether this is a bucket of the slot, and its stop is reached."""
    if bucket == first[slot + 1]:
        return False
    stop = stops[bucket] if len(stops) else floor[slot] + 1 + bucket - first[slot]
    return bool(stop <= have[slot])


@inlined
def _find_bucket_for_count(slot: int, count: int, floor: Ints, first: Ints, stops: Ints) -> int:
    """The bucket of the slot's first stop at or above the count; -1 if nothing in this batch gets there."""
    low, end = first[slot], first[slot + 1]
    if len(stops) == 0:
        above = count - floor[slot] - 1
        return int(low + above) if above < end - low else -1
    high = end
    while low < high:
        middle = (low + high) // 2
        if stops[middle] < count:
            low = middle + 1
        else:
            high = middle
    return int(low) if low < end else -1
