"""The gate: holds what has arrived until its needs are met. One packet at a time.

An item *needs* have[slot] >= count for some slots; taking it *gains* some slots. A held item is filed
under its first missing slot and count, and is looked at again only when the slot reaches that count: no
queue is ever rescanned, and the work is the number of needs and of the counts that slots pass. Of several
ready items the one that arrived first is taken first. `antecede.kernels.gate` is the same gate over arrays.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
Pairs = list[tuple[int, int]]
SlotRanges = list[tuple[int, int, int]]
"""Slots, each with the first and the last of some counts."""


class Item(msgspec.Struct, Generic[T], gc=False):
    """Something that arrived, with its needs and gains; the needs before `at` are known to be met.

    `below` is the arrival filed before it under the same slot and count, or -1.
    """

    what: T
    needs: Pairs
    gains: Pairs
    at: int = 0
    below: int = -1


class Gate(msgspec.Struct, Generic[T], kw_only=True):
    """`add=False`: a gain raises its slot to a value. `add=True`: a gain adds to its slot.

    By convention the first gain of an item is its identity: the place it takes in its slot.
    """

    add: bool = False
    have: dict[int, int] = {}
    arrivals: int = 0
    items: dict[int, Item[T]] = {}
    filed: dict[int, dict[int, int]] = {}
    ready: list[int] = []

    def add_arrival(self, what: T, needs: Pairs, gains: Pairs) -> int:
        """Let something in; returns its arrival number. Ask `find_ready_arrival` what can be taken now."""
        arrival = self.arrivals
        self.arrivals = arrival + 1
        item = self.items[arrival] = Item(what, needs, gains)
        self._file_by_unmet_need_or_mark_ready(arrival, item)
        return arrival

    def let_through_if_ready(self, needs: Pairs, gains: Pairs) -> bool:
        """Whether this need not wait: then it is let through, as if it were offered and taken at once."""
        if self.ready:
            return False
        have = self.have
        for slot, count in needs:
            if have.get(slot, 0) < count:
                return False
        self.arrivals += 1
        for slot, value in gains:
            self.advance_slot(slot, value)
        return True

    def find_ready_arrival(self, wanted: Callable[[T], bool] | None = None) -> int | None:
        """The first arrival that is ready (and wanted), or None."""
        if wanted is None:
            return self.ready[0] if self.ready else None
        return min((a for a in self.ready if wanted(self.items[a].what)), default=None)

    def take_and_apply_gains(self, arrival: int) -> T:
        """Take a ready item out and apply its gains."""
        if self.ready[0] == arrival:
            heappop(self.ready)
        else:
            self.ready.remove(arrival)
            heapify(self.ready)
        item = self.items.pop(arrival)
        for slot, value in item.gains:
            self.advance_slot(slot, value)
        return item.what

    def advance_slot(self, slot: int, value: int) -> None:
        """Move a slot forward and look again at what was filed under it."""
        old = self.have.get(slot, 0)
        new = old + value if self.add else value
        if new <= old:
            return
        self.have[slot] = new
        filed = self.filed.get(slot)
        if not filed:
            return
        if new == old + 1:
            if new in filed:
                self._recheck_chain_of_held_arrivals(filed.pop(new))
            return
        passed: Iterable[int] = range(old + 1, new + 1)
        if new - old > len(filed):
            passed = [count for count in filed if count <= new]
        for count in passed:
            if count in filed:
                self._recheck_chain_of_held_arrivals(filed.pop(count))

    def _recheck_chain_of_held_arrivals(self, last_filed: int) -> None:
        """Look again at `last_filed` and at what was filed below it: all that wait for the same need."""
        arrival = last_filed
        while arrival >= 0:
            item = self.items[arrival]
            below = item.below
            self._file_by_unmet_need_or_mark_ready(arrival, item)
            arrival = below

    def _file_by_unmet_need_or_mark_ready(self, arrival: int, item: Item[T]) -> None:
        have, needs = self.have, item.needs
        for at in range(item.at, len(needs)):
            slot, count = needs[at]
            if have.get(slot, 0) < count:
                filed = self.filed.get(slot)
                if filed is None:
                    filed = self.filed[slot] = {}
                item.at, item.below = at, filed.get(count, -1)
                filed[count] = arrival
                return
        item.at = len(needs)
        heappush(self.ready, arrival)

    def iterate_held_with_unmet_needs(self) -> Iterator[tuple[T, list[tuple[int, int, int]]]]:
        """What is not ready, in arrival order, with every unmet (slot, have, count)."""
        for item in self.items.values():
            unmet = [(s, self.have.get(s, 0), c) for s, c in item.needs[item.at :] if self.have.get(s, 0) < c]
            if unmet:
                yield item.what, unmet

    def root_gaps(self, *, dense: bool) -> SlotRanges:
        """What is waited for and is not itself held or ready, as (slot, first, last).

        Where a slot is dense every count up to the needed one is an item; otherwise only named counts are.
        Where gains add up nothing tells which item is which: the gaps are enough to release what is held.
        `antecede.kernels.root_gaps` finds the same, and how many wait for each.
        """
        if self.add:
            return self._simulate_root_gaps()
        needed: dict[int, set[int]] = {}
        for _, unmet in self.iterate_held_with_unmet_needs():
            for slot, _, count in unmet:
                needed.setdefault(slot, set()).add(count)
        taken: dict[int, set[int]] = {}
        for item in self.items.values():
            for slot, value in item.gains[:1]:
                taken.setdefault(slot, set()).add(value)
        gaps: SlotRanges = []
        for slot, counts in sorted(needed.items()):
            places = taken.get(slot, set())
            if dense:
                gaps += _find_missing_ranges(slot, self.have.get(slot, 0), max(counts), places)
            else:
                gaps += [(slot, count, count) for count in sorted(counts - places)]
        return gaps

    def _simulate_root_gaps(self) -> SlotRanges:
        """Play on with a copy, causes first (they need less), and give whatever is stuck what it lacks."""
        play: Gate[T] = Gate(add=True, have=dict(self.have))
        for item in self.items.values():
            unmet = [(slot, count) for slot, count in item.needs if count > self.have.get(slot, 0)]
            play.add_arrival(item.what, unmet, item.gains)
        given: SlotRanges = []
        by_sum = sorted(play.items.values(), key=lambda item: sum(count for _, count in item.needs))
        for item in by_sum:
            while (arrival := play.find_ready_arrival()) is not None:
                play.take_and_apply_gains(arrival)
            for slot, count in item.needs:
                have = play.have.get(slot, 0)
                if have < count:
                    given.append((slot, have + 1, count))
                    play.advance_slot(slot, count - have)
        return _merge_adjacent_ranges(given)


def _find_missing_ranges(slot: int, have: int, top: int, taken: set[int]) -> SlotRanges:
    """What no item takes of the counts above `have` and up to `top`."""
    ranges = []
    first = have + 1
    for place in sorted(place for place in taken if have < place <= top):
        if place > first:
            ranges.append((slot, first, place - 1))
        first = place + 1
    if first <= top:
        ranges.append((slot, first, top))
    return ranges


def _merge_adjacent_ranges(ranges: SlotRanges) -> SlotRanges:
    """Sorted, and stretches that touch each other as one."""
    merged: SlotRanges = []
    for slot, first, last in sorted(ranges):
        if merged and merged[-1][0] == slot and merged[-1][2] + 1 == first:
            merged[-1] = (slot, merged[-1][1], last)
        else:
            merged.append((slot, first, last))
    return merged
