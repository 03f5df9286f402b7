"""What a gate remembers of each slot: how far it is, and which messages came out.

Two things are kept apart. `have` is what the gate compares with needs. `top` and `holes` say which messages
came out: all up to the top but those in the holes. Where each message of a sender comes behind the one
before, as it should, the two are the same and there are no holes. They part where something was given up
(then `have` goes on, and what is missed is no copy if it comes after all).

`assumed` is what rows that came out took to be there without a row: messages of their receiver.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from antecede.kernels.ragged import Ints
from antecede.ordering.columns import Mask


class Holes(NamedTuple):
    """Stretches of numbers that did not come out, by slot and number."""

    slot: Ints
    first: Ints
    last: Ints

    @classmethod
    def make_empty(cls) -> Holes:
        return cls(*(np.empty(0, dtype=np.int64) for _ in cls._fields))


class Memory(NamedTuple):
    """What is remembered of the slots of a partition."""

    have: Ints
    top: Ints
    assumed: Ints
    holes: Holes

    @classmethod
    def make_empty(cls, slot_count: int) -> Memory:
        """Nothing came out of any of so many slots."""
        have, top, assumed = (np.zeros(slot_count, dtype=np.int64) for _ in range(3))
        return cls(have, top, assumed, Holes.make_empty())

    def find_delivered_messages(self, slot: Ints, key: Ints) -> Mask:
        """Which of these messages came out before."""
        if not self.top.any():
            return np.zeros(len(key), dtype=bool)
        came_out: Mask = key <= self.top[slot]
        if len(self.holes.slot):
            came_out &= ~_find_keys_in_holes(self.holes, slot, key)
        return came_out

    def add_delivered_messages(self, slot: Ints, key: Ints) -> Memory:
        """The memory after the delivery of these messages, none of which came out before."""
        top = self.top.copy()
        np.maximum.at(top, slot, key)
        delivered = np.bincount(slot, minlength=len(top))
        holes_before = np.bincount(self.holes.slot, minlength=len(top))
        # Without holes before, and with as many messages as the top has risen, there are none behind.
        is_plain = (holes_before == 0) & (delivered == top - self.top)
        if is_plain.all():
            return self._replace(top=top)
        odd_slots = np.flatnonzero(~is_plain)
        return self._replace(top=top, holes=_recompute_holes_after_delivery(self, top, odd_slots, slot, key))


def _find_keys_in_holes(holes: Holes, slot: Ints, key: Ints) -> Mask:
    """Which numbers lie in a hole."""
    # Holes and numbers in one line by slot and number: the last hole before a number is the one to look at.
    count = len(holes.slot)
    slots = np.concatenate((holes.slot, slot))
    numbers = np.concatenate((holes.first, key))
    line = np.lexsort((np.arange(len(slots)) >= count, numbers, slots))
    hole_in_line = np.where(line < count, line, -1)
    places = np.maximum.accumulate(np.where(hole_in_line >= 0, np.arange(len(line)), -1))
    last_hole = np.full(len(slots), -1, dtype=np.int64)
    last_hole[line] = np.where(places >= 0, hole_in_line[places], -1)
    hole = last_hole[count:]
    is_inside: Mask = (hole >= 0) & (holes.slot[hole] == slot) & (key <= holes.last[hole])
    return is_inside


def _recompute_holes_after_delivery(
    memory: Memory, new_top: Ints, changed_slots: Ints, delivered_slot: Ints, delivered_key: Ints
) -> Holes:
    """The holes of all slots after a delivery; only those of the changed slots are not as they were."""
    is_changed = np.zeros(len(new_top), dtype=bool)
    is_changed[changed_slots] = True
    keys_of: dict[int, list[int]] = {int(one): [] for one in changed_slots}
    for at in np.flatnonzero(is_changed[delivered_slot]):
        keys_of[int(delivered_slot[at])].append(int(delivered_key[at]))
    stretches = [
        (int(s), int(first), int(last))
        for s, first, last in zip(*memory.holes, strict=True)
        if not is_changed[s]
    ]
    for one, keys in keys_of.items():
        own = memory.holes.slot == one
        open_stretches = list(
            zip(memory.holes.first[own].tolist(), memory.holes.last[own].tolist(), strict=True)
        )
        if new_top[one] > memory.top[one]:
            open_stretches.append((int(memory.top[one]) + 1, int(new_top[one])))
        stretches += [
            (one, first, last) for first, last in _remove_numbers_from_ranges(open_stretches, sorted(keys))
        ]
    flat = np.array(sorted(stretches), dtype=np.int64).reshape(-1, 3)
    return Holes(flat[:, 0].copy(), flat[:, 1].copy(), flat[:, 2].copy())


def _remove_numbers_from_ranges(ranges: list[tuple[int, int]], numbers: list[int]) -> list[tuple[int, int]]:
    """What is left of ascending stretches without some numbers, which all lie in them."""
    left = []
    at = 0
    for first, last in ranges:
        while at < len(numbers) and numbers[at] <= last:
            if numbers[at] > first:
                left.append((first, numbers[at] - 1))
            first = numbers[at] + 1
            at += 1
        if first <= last:
            left.append((first, last))
    return left
