"""Many small lists in a few flat arrays: the needs or gains of items, runs, ranks and joined keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from antecede.core.errors import CallerError

Ints = NDArray[np.int64]
Counts = NDArray[np.integer[Any]]
_LARGEST_KEY = 2**63 - 1


class Rows(NamedTuple):
    """(slot, count) pairs of many items: those of item i are at `starts[i]:starts[i + 1]`.

    Slots and counts may be of any integer type but uint64; narrow ones are read faster.
    """

    starts: Ints
    slots: Counts
    counts: Counts

    @classmethod
    def of(cls, items: Iterable[Iterable[tuple[int, int]]]) -> Rows:
        """Rows from a list of (slot, count) pairs for each item."""
        lists = [list(pairs) for pairs in items]
        starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        try:
            flat = np.array([pair for pairs in lists for pair in pairs], dtype=np.int64).reshape(-1, 2)
        except (OverflowError, ValueError, TypeError) as error:
            raise CallerError(f"rows are made of (slot, count) pairs of 64-bit integers: {error}") from None
        return cls(starts, flat[:, 0].copy(), flat[:, 1].copy())

    def get_slots_or_shifts(self, items: Ints) -> tuple[Counts, Ints]:
        """What tells compiled code the slot of a pair: the slots, and for each of the items a zero."""
        return self.slots, np.zeros(len(items), dtype=np.int64)


class Runs(NamedTuple):
    """Counts of many items for slots that follow one another: those of item i, at `starts[i]:starts[i + 1]`,
    are for the slots `first[i]`, `first[i] + 1` and so on. So nobody has to write down and read the slots.
    """

    starts: Ints
    first: Ints
    counts: Counts

    def get_slots_or_shifts(self, items: Ints) -> tuple[Counts, Ints]:
        """What tells compiled code the slot of a pair: no slots, and for each item slot minus place."""
        return np.empty(0, dtype=np.uint16), self.first[items] - self.starts[items]


def check_rows(rows: Rows, name: str, slots: int) -> Rows:
    """The rows, fit for compiled code, which checks no bounds; `slots` is how many slots there are."""
    starts, places, counts = (
        _check_flat_integers(array, f"{name}.{field}") for field, array in rows._asdict().items()
    )
    pairs = len(places)
    if pairs != len(counts):
        raise CallerError(f"{name} has {pairs} slots and {len(counts)} counts: give one of each per pair")
    _check_starts_and_counts(starts, counts, name)
    if pairs and not 0 <= places.min() <= places.max() < slots:
        raise CallerError(f"{name}.slots must be at least 0 and below {slots}, the number of slots")
    return Rows(starts.astype(np.int64, copy=False), places, counts)


def check_runs(runs: Runs, name: str, slots: int, items: Ints) -> Runs:
    """The runs, fit for compiled code that reads those of the given items alone."""
    starts, first, counts = (
        _check_flat_integers(array, f"{name}.{field}") for field, array in runs._asdict().items()
    )
    _check_starts_and_counts(starts, counts, name)
    if len(first) != len(starts) - 1:
        raise CallerError(f"{name} has {len(starts) - 1} items and {len(first)} first slots: give one each")
    lengths = np.diff(starts)[items]
    last = first[items] + lengths
    if len(items) and not 0 <= first[items].min() <= last.max() <= slots:
        raise CallerError(f"{name}.first must be at least 0, and runs must end below {slots} slots")
    return Runs(starts.astype(np.int64, copy=False), first.astype(np.int64, copy=False), counts)


def _check_starts_and_counts(starts: Counts, counts: Counts, name: str) -> None:
    pairs = len(counts)
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != pairs or (starts[1:] < starts[:-1]).any():
        raise CallerError(f"{name}.starts must rise from 0 to {pairs}, the number of pairs")
    if pairs and counts.dtype.kind == "i" and counts.min() < 0:
        raise CallerError(f"{name}.counts must not be negative, and the least is {counts.min()}")


def _check_flat_integers(array: Counts, name: str) -> Counts:
    array = np.asarray(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise CallerError(f"{name} must be a flat array of integers, not {array.dtype} {array.shape}")
    return array


def compute_starts(lengths: ArrayLike) -> Ints:
    """Where each run begins when runs of these lengths follow one another, and where the last one ends."""
    sizes = np.asarray(lengths, dtype=np.int64)
    starts = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts


def list_item_rows(starts: Ints) -> Ints:
    """The row of each item, where the items of row i are at `starts[i]:starts[i + 1]`."""
    lengths = np.diff(starts)
    return np.repeat(np.arange(len(lengths)), lengths)


def make_minus_ones(size: int) -> Ints:
    """So many numbers of -1, which stands for none."""
    return np.full(size, -1, dtype=np.int64)


def find_places_among_chosen(chosen: Ints, size: int) -> Ints:
    """The place of each of the numbers 0..size-1 among the chosen ones, -1 for those that are not."""
    places = make_minus_ones(size)
    places[chosen] = np.arange(len(chosen))
    return places


def expand_ranges(first: Ints, lengths: Ints) -> Ints:
    """The numbers first[i], first[i] + 1, ... (lengths[i] of them) for each i, one range behind the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    shift = first - (ends - lengths)
    numbers: Ints = np.arange(total) + np.repeat(shift, lengths)
    return numbers


def find_slots_of_pairs(pairs: Rows | Runs, places: Ints, rows: Ints) -> Ints:
    """The slots of the pairs at the given places, each of which lies in its row."""
    slots, shifts = pairs.get_slots_or_shifts(rows)
    found: Ints = slots[places].astype(np.int64) if len(slots) else places + shifts
    return found


def take_pairs_of_rows(pairs: Rows | Runs, rows: Ints) -> Rows:
    """The pairs of the given rows, one row behind the other."""
    lengths = pairs.starts[rows + 1] - pairs.starts[rows]
    places = expand_ranges(pairs.starts[rows], lengths)
    if isinstance(pairs, Runs):
        slots: Counts = expand_ranges(pairs.first[rows], lengths)
    else:
        slots = pairs.slots[places]
    return Rows(compute_starts(lengths), slots, pairs.counts[places])


def rank_within_groups(groups: Counts) -> Ints:
    """The place of each item among those of its group, from 0, in the order in which the items lie."""
    size = int(groups.max(initial=0)) + 1
    order = np.argsort(groups.astype(choose_unsigned_type(size)), kind="stable")
    counts = np.bincount(groups, minlength=size)
    first = np.cumsum(counts) - counts
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(first, counts)
    return ranks


def rank_within_runs(values: Ints) -> Ints:
    """The place of each item among those of equal value, from 0, where values ascend."""
    ranks: Ints = np.arange(len(values)) - np.searchsorted(values, values)
    return ranks


def invert_permutation(order: Ints) -> Ints:
    """The place of each number in an order of all numbers from 0."""
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def join_keys(high: Ints, low: Ints, width: int) -> Ints:
    """One number for each pair, `high * width + low` with low in 0..width-1: equal for equal pairs alone, and
    in the order of pairs. Refuses pairs that 63 bits cannot tell apart."""
    if width and int(high.max(initial=0)) >= _LARGEST_KEY // width:
        raise CallerError(f"{width:,} times {int(high.max()):,} pairs are more than 63 bits can number")
    keys: Ints = high * np.int64(width) + low
    return keys


class CompressedCodes(NamedTuple):
    """Numbers made dense: `values[codes]` are the numbers again, and values ascend."""

    values: Ints
    codes: Ints


def compress_codes(numbers: Ints) -> CompressedCodes:
    """The same as `np.unique` with `return_inverse`, by counting where the numbers are not far apart."""
    low, high = int(numbers.min(initial=_LARGEST_KEY)), int(numbers.max(initial=0))
    span = high - low + 1
    if span > 16 * len(numbers) + 1_024:
        return CompressedCodes(*np.unique(numbers, return_inverse=True))
    present = np.zeros(max(span, 0), dtype=np.bool_)
    present[numbers - low] = True
    dense = np.cumsum(present) - 1
    return CompressedCodes(np.flatnonzero(present) + low, dense[numbers - low])


def choose_unsigned_type(largest: int) -> type[np.integer[Any]]:
    """A small unsigned type for numbers up to `largest`: sorting and reading it is faster. There are only
    three, since compiled code is compiled for each."""
    if largest < 2**16:
        return np.uint16
    return np.uint32 if largest < 2**32 else np.int64
