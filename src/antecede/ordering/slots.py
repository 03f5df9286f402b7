"""Slots of the gate: a number for each pair of a group and a sender (or an entry, or an id) in it.

The number is group * width + place, as long as there are not many more of these than are used; then only
those in use are numbered, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import to_integers
from antecede.kernels.ragged import Counts, Ints, Rows, Runs, choose_unsigned_type

_SPARE = 4
"""So many slots for each one in use are no waste."""
_FEW = 2**16
"""So many slots are no waste at all."""


class Slots(NamedTuple):
    """How slots are numbered and called."""

    size: int
    width: int
    used: Ints | None  # group * width + place of each slot, if only those in use are numbered
    labels: pa.Array | None  # names by place; without them a place is called by its number

    def get_names(self, slots: Ints) -> pa.Array:
        """What the slots are called inside their groups."""
        place = pa.array(self._find_group_place_keys(slots) % self.width)
        return place.cast(pa.string()) if self.labels is None else self.labels.take(place)

    def get_groups(self, slots: Ints) -> Ints:
        """The groups of slots."""
        return self._find_group_place_keys(slots) // self.width

    def find_slots(self, groups: Ints, names: pa.Array) -> Ints:
        """The slots that are called so inside these groups; -1 where there is none."""
        places = self._find_places(names)
        is_place = (places >= 0) & (places < self.width)
        keys = np.where(is_place, groups * self.width + places, -1)
        if self.used is None:
            return keys
        at = np.searchsorted(self.used, keys)
        last = np.minimum(at, max(self.size - 1, 0))
        is_used = np.append(self.used, -2)[last] == keys
        return np.where(is_place & is_used, last, -1)

    def _find_places(self, names: pa.Array) -> Ints:
        if self.labels is None:
            return np.asarray(names.cast(pa.int64()), dtype=np.int64)
        return to_integers(pc.index_in(names, value_set=self.labels), -1)

    def _find_group_place_keys(self, slots: Ints) -> Ints:
        return slots if self.used is None else self.used[slots]


class Places(NamedTuple):
    """Places in many rows: those of row i are at `starts[i]:starts[i + 1]`; None if each counts from 0."""

    starts: Ints
    places: Ints | None

    def find_entries_for_process_of_row(self, process_of_row: Ints, chosen_rows: Ints) -> Ints:
        """Where the process of each row stands, for those of the rows that have an entry for it."""
        lengths = np.diff(self.starts)
        if self.places is None:
            place = process_of_row[chosen_rows]
            has_entry = place < lengths[chosen_rows]
            return (self.starts[:-1][chosen_rows] + place)[has_entry]
        is_chosen = np.zeros(len(process_of_row), dtype=bool)
        is_chosen[chosen_rows] = True
        is_process = self.places == np.repeat(process_of_row, lengths)
        return np.flatnonzero(is_process & np.repeat(is_chosen, lengths))

    def make_slot_keys(self, group: Ints, width: int, dtype: Any) -> Counts:
        """group * width + place of each place; the dtype holds the largest."""
        lengths = np.diff(self.starts)
        base = (group * width).astype(dtype)
        places = self.places
        if places is None:
            places = np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], lengths)
        keys: Counts = np.repeat(base, lengths) + np.clip(places, 0, width - 1).astype(dtype)
        return keys


class NumberedPlaces(NamedTuple):
    """Places in many rows by their slots: one for each place or, if `width` is told, the first of each row,
    which those of the next places follow."""

    starts: Ints
    slots: Counts
    width: int | None = None

    def pair_with_counts(self, counts: Counts) -> Rows | Runs:
        """Pairs of a slot and a count, in the form that the gate reads fastest."""
        if self.width is None:
            return Rows(self.starts, self.slots, counts)
        return Runs(self.starts, self.slots.astype(np.int64), counts)

    def list_slot_count_pairs(self, counts: Counts) -> Rows:
        """Pairs of a slot and a count; of a row that is too long, the last ones have the last slot."""
        if self.width is None:
            return Rows(self.starts, self.slots, counts)
        lengths = np.diff(self.starts)
        places = np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], lengths)
        slots = np.repeat(self.slots, lengths) + np.minimum(places, self.width - 1)
        return Rows(self.starts, slots, counts)


def assign_slot_numbers(
    group: Ints, group_count: int, width: int, parts: Sequence[Places], labels: pa.Array | None
) -> tuple[Slots, list[NumberedPlaces]]:
    """The slots of several columns of places, with one numbering."""
    width = max(width, 1)
    in_use = sum(int(part.starts[-1]) for part in parts)
    if group_count * width <= _SPARE * in_use + _FEW:
        dtype = choose_unsigned_type(group_count * width)
        numbered = [_assign_slots_if_every_place_has_one(part, group, width, dtype) for part in parts]
        return Slots(group_count * width, width, None, labels), numbered
    keys = [part.make_slot_keys(group, width, np.int64) for part in parts]
    used, slots = np.unique(np.concatenate(keys), return_inverse=True)
    cuts = np.cumsum([len(part) for part in keys])[:-1]
    parts_of_slots = np.split(slots.astype(choose_unsigned_type(len(used))), cuts)
    numbered = [
        NumberedPlaces(part.starts, own_slots) for part, own_slots in zip(parts, parts_of_slots, strict=True)
    ]
    return Slots(len(used), width, used, labels), numbered


def _assign_slots_if_every_place_has_one(part: Places, group: Ints, width: int, dtype: Any) -> NumberedPlaces:
    """The slots of places where every place of every group has one."""
    if part.places is None:
        return NumberedPlaces(part.starts, group * width, width)
    return NumberedPlaces(part.starts, part.make_slot_keys(group, width, dtype))


def make_one_place_per_row(place: Ints) -> Places:
    """One place for each row."""
    return Places(np.arange(len(place) + 1), place)
