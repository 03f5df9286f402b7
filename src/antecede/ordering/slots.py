"""Slots of the gate: a number for each pair of a group and a sender (or an entry, or an id) in it.

The number is group * width + place, as long as there are not many more of these than are used; then only
those in use are numbered, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antecede.kernels.ragged import Counts, Ints, narrow_type

_SPARE = 4
"""So many slots for each one in use are no waste."""


class Slots(NamedTuple):
    """How slots are numbered and called."""

    size: int
    width: int
    used: Ints | None
    labels: pa.Array | None  # names by place; without them a place is called by its number

    def names(self, slots: Ints) -> pa.Array:
        """What the slots are called inside their groups."""
        place = pa.array(self._pairs(slots) % self.width)
        return place.cast(pa.string()) if self.labels is None else self.labels.take(place)

    def groups(self, slots: Ints) -> Ints:
        """The groups of slots."""
        return self._pairs(slots) // self.width

    def _pairs(self, slots: Ints) -> Ints:
        return slots if self.used is None else self.used[slots]


class Places(NamedTuple):
    """Places in many rows: those of row i are at `starts[i]:starts[i + 1]`; None if each counts from 0."""

    starts: Ints
    places: Ints | None

    def of(self, process: Ints, rows: Sequence[int] | Any) -> Ints:
        """Where the process of each row is, for those of the rows that have an entry for it."""
        if self.places is None:
            chosen = process[rows]
            return (self.starts[:-1][rows] + chosen)[chosen < np.diff(self.starts)[rows]]
        chosen = np.zeros(len(process), dtype=bool)
        chosen[rows] = True
        lengths = np.diff(self.starts)
        return np.flatnonzero((self.places == np.repeat(process, lengths)) & np.repeat(chosen, lengths))

    def pairs(self, group: Ints, width: int, dtype: Any) -> Counts:
        """group * width + place."""
        lengths = np.diff(self.starts)
        base = (group * width).astype(dtype)
        if self.places is None and len(lengths) and lengths[0] and lengths.min() == lengths.max() <= width:
            spread: Counts = (base[:, None] + np.arange(lengths[0], dtype=dtype)).ravel()
            return spread
        places = self.places
        if places is None:
            places = np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], lengths)
        found: Counts = np.repeat(base, lengths) + np.clip(places, 0, width - 1).astype(dtype)
        return found


def number(
    group: Ints, groups: int, width: int, parts: Sequence[Places], labels: pa.Array | None
) -> tuple[Slots, list[Counts]]:
    """The slots of several columns of places, with one numbering."""
    width = max(width, 1)
    used = sum(int(part.starts[-1]) for part in parts)
    if groups * width <= _SPARE * used + 2**16:
        dtype = narrow_type(groups * width)
        found = [part.pairs(group, width, dtype) for part in parts]
        return Slots(groups * width, width, None, labels), found
    pairs = [part.pairs(group, width, np.int64) for part in parts]
    known, codes = np.unique(np.concatenate(pairs), return_inverse=True)
    cuts = np.cumsum([len(part) for part in pairs])[:-1]
    return Slots(len(known), width, known, labels), np.split(codes.astype(narrow_type(len(known))), cuts)


def singles(place: Ints) -> Places:
    """One place for each row."""
    return Places(np.arange(len(place) + 1), place)
