"""Rows: the needs, or the gains, of many items in three flat arrays, and the check of their form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.core.errors import CallerError

Ints = NDArray[np.int64]
Counts = NDArray[np.integer[Any]]


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


def checked(rows: Rows, name: str, slots: int) -> Rows:
    """The rows, fit for compiled code, which checks no bounds; `slots` is how many slots there are."""
    starts, places, counts = (_flat(array, f"{name}.{field}") for field, array in rows._asdict().items())
    pairs = len(places)
    if pairs != len(counts):
        raise CallerError(f"{name} has {pairs} slots and {len(counts)} counts: give one of each per pair")
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != pairs or (starts[1:] < starts[:-1]).any():
        raise CallerError(f"{name}.starts must rise from 0 to {pairs}, the number of pairs")
    if pairs and not 0 <= places.min() <= places.max() < slots:
        raise CallerError(f"{name}.slots must be at least 0 and below {slots}, the number of slots")
    if pairs and counts.min() < 0:
        raise CallerError(f"{name}.counts must not be negative, and the least is {counts.min()}")
    return Rows(starts.astype(np.int64, copy=False), places, counts)


def _flat(array: Counts, name: str) -> Counts:
    array = np.asarray(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.dtype == np.uint64:
        raise CallerError(f"{name} must be a flat array of integers, not {array.dtype} {array.shape}")
    return array
