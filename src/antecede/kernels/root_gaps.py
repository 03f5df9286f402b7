"""Root gaps: what the rows that a gate holds lack in the end, and how many of them wait for each gap.

A *place* is a number in a slot: message 7 of sender a. A held row takes a place (or several, where gains
add). A need for `count` of a slot is a wait for places of that slot:

- `dense`: for all places from `have + 1` to `count`, since each of them is a message to this gate;
- otherwise for the place `count` alone, since only the counts that are named are messages to it.

A *root gap* is a place that is waited for and that no held row takes; neighbouring ones in a dense slot are
one gap, `first` to `last`. A *cycle* is a set of rows that wait for each other. A row *waits for* a gap (or
a cycle) if one of its needs does, or if it waits for a row that does: directly or not, and it counts once.

    have = 2      places of a slot:   3   4   5   6   7        gaps: 4 to 5, and 7 if a row needs it
    held rows at 3 and 6              r   .   .   q            a need for 6 is a wait for r, q and the gap

Where gains add (`add`), no number in a stamp says which place a message takes. There the held rows are
played: whatever is ready goes, least sum of needs first, as causes need less than their effects; when
nothing is ready, the row of least sum is given what it lacks. What was given are the gaps, and each row has
the places that it took in the play.

The waits are a graph with a node for each row and for each place. A row leads to the last place of each of
its needs, a place to the row that takes it and, in a dense slot, to the place below; `waiting` counts on it.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled
from antecede.kernels.gate import get_pair_slot
from antecede.kernels.ragged import Counts, Ints, Rows, Runs, compute_starts
from antecede.kernels.topology import Cycles
from antecede.kernels.waiting import WaitGraph, count_waiting_rows


class HeldPlaces(NamedTuple):
    """The places that held rows take, in any order."""

    slot: Ints
    number: Ints
    row: Ints  # its place among the held rows


class Gaps(NamedTuple):
    """Stretches of places that no held row takes, by slot and number."""

    slot: Ints
    first: Ints
    last: Ints


class RootGaps(NamedTuple):
    """The gaps and the cycles, and how many held rows wait for each."""

    gaps: Gaps
    gap_waiting: Ints
    cycles: Cycles  # of places among the held rows
    cycle_waiting: Ints


class _SlotPlaces(NamedTuple):
    """All places by slot and number: those of slot s are at `first[s]:first[s + 1]`."""

    first: Ints
    numbers: Ints  # of a gap, its first
    rows: Ints  # the held row that takes it, or -1 for a gap


class _ReplayedPlaces(NamedTuple):
    """Stretches of places that held rows took in the play, or that were given."""

    slot: Ints
    first: Ints
    last: Ints
    row: Ints  # the held row that took them, or -1 if they were given


def select_unmet_needs(needs: Rows | Runs, held: Ints, have: Ints) -> Rows:
    """The needs of the held rows that are not met."""
    slots, shifts = needs.get_slots_or_shifts(held)
    return Rows(*_select_unmet_pairs(needs.starts, slots, shifts, needs.counts, held, have))


def find_root_gaps(have: Ints, unmet: Rows, held: HeldPlaces, *, dense: bool) -> RootGaps:
    """The root gaps where every held row says which place it takes."""
    ahead = held.number > have[held.slot]
    held = HeldPlaces(*(part[ahead] for part in held))
    taken = _sort_places_by_slot(len(have), held.slot, held.number, held.row)
    if dense:
        top = _find_highest_needs(have, unmet.slots, unmet.counts)
        gaps = _find_untaken_stretches(have, top, taken.first, taken.numbers)
    else:
        gaps = _find_untaken_needed_places(unmet, taken)
    return _build_root_gaps(len(have), unmet, held, gaps, dense=dense, counted=len(unmet.starts) - 1)


def find_root_gaps_by_replay(have: Ints, unmet: Rows, gains: Rows, *, counted: int) -> RootGaps:
    """The root gaps where gains add; `gains` are those of the held rows, which lie in order of arrival.

    Only the first `counted` rows count as waiting.
    """
    rows = len(unmet.starts) - 1
    owner = np.repeat(np.arange(rows), np.diff(unmet.starts))
    sums = np.bincount(owner, weights=unmet.counts, minlength=rows)
    by_sum = np.argsort(sums, kind="stable")
    by_slot = np.lexsort((unmet.counts, unmet.slots))
    slot, first, last, row = _replay_releases(have.copy(), unmet, gains, by_sum, by_slot, owner)
    given = row < 0
    gaps = _merge_adjacent_gaps(Gaps(slot[given], first[given], last[given]))
    held = HeldPlaces(slot[~given], first[~given], row[~given])
    return _build_root_gaps(len(have), unmet, held, gaps, dense=True, counted=counted)


def _build_root_gaps(
    slots: int, unmet: Rows, held: HeldPlaces, gaps: Gaps, *, dense: bool, counted: int
) -> RootGaps:
    """The gaps with the rows that wait for them, and the cycles."""
    slot = np.concatenate((held.slot, gaps.slot))
    number = np.concatenate((held.number, gaps.first))
    row = np.concatenate((held.row, np.full(len(gaps.slot), -1)))
    places = _sort_places_by_slot(slots, slot, number, row)
    rows = len(unmet.starts) - 1
    graph = WaitGraph(counted, *_build_wait_graph_starts_and_targets(*unmet, *places, dense))
    gap_nodes = rows + np.flatnonzero(places.rows < 0)
    # Whoever waits for a gap of a dense slot waits for the lower ones: they are on one track.
    if dense:
        waiting = count_waiting_rows(graph, gap_nodes, gaps.slot)
        return RootGaps(gaps, waiting.gaps, waiting.cycles, waiting.on_cycles)
    # Gaps that the same rows need are waited for by equally many: one of them is counted for all.
    label = _label_nodes_by_waiters(graph.starts, graph.targets)[gap_nodes]
    _, first, kind = np.unique(label, return_index=True, return_inverse=True)
    waiting = count_waiting_rows(graph, gap_nodes[first], np.arange(len(first)))
    return RootGaps(gaps, waiting.gaps[kind], waiting.cycles, waiting.on_cycles)


@compiled
def _label_nodes_by_waiters(starts: Ints, targets: Ints) -> Ints:
    """A label for each node, the same for nodes to which the same nodes lead directly.

    All nodes have one label at first. Node after node gives those that it leads to new labels, one for each
    that they had.
    """
    size = len(starts) - 1
    label = np.zeros(size, dtype=np.int64)
    last_waiter = np.full(size, -1, dtype=np.int64)
    new_label = np.zeros(len(targets) + 1, dtype=np.int64)
    renamed_by = np.full(len(targets) + 1, -1, dtype=np.int64)
    labels = 1
    for node in range(size):
        for edge in range(starts[node], starts[node + 1]):
            target = targets[edge]
            if last_waiter[target] == node:
                continue
            last_waiter[target] = node
            old = label[target]
            if renamed_by[old] != node:
                renamed_by[old] = node
                new_label[old] = labels
                labels += 1
            label[target] = new_label[old]
    return label


def _sort_places_by_slot(slots: int, slot: Ints, number: Ints, row: Ints) -> _SlotPlaces:
    order = np.lexsort((number, slot))
    first = compute_starts(np.bincount(slot, minlength=slots))
    return _SlotPlaces(first, number[order], row[order])


def _find_untaken_needed_places(unmet: Rows, taken: _SlotPlaces) -> Gaps:
    """The places that are needed and that no held row takes, each once."""
    absent = _find_needs_that_no_held_row_meets(unmet.slots, unmet.counts, taken.first, taken.numbers)
    slot = unmet.slots[absent].astype(np.int64)
    number = unmet.counts[absent].astype(np.int64)
    order = np.lexsort((number, slot))
    slot, number = slot[order], number[order]
    is_other = (np.diff(slot) != 0) | (np.diff(number) != 0)
    is_new = np.append(True, is_other)[: len(slot)]
    return Gaps(slot[is_new], number[is_new], number[is_new])


def _merge_adjacent_gaps(gaps: Gaps) -> Gaps:
    """The gaps by slot and number, those that touch each other as one."""
    order = np.lexsort((gaps.first, gaps.slot))
    slot, first, last = (part[order] for part in gaps)
    touches = (np.diff(slot) == 0) & (last[:-1] + 1 == first[1:])
    begins = np.append(True, ~touches)[: len(slot)]
    ends = np.append(~touches, True)[: len(slot)]
    return Gaps(slot[begins], first[begins], last[ends])


@compiled
def _select_unmet_pairs(
    starts: Ints, slots: Counts, shifts: Ints, counts: Counts, held: Ints, have: Ints
) -> tuple[Ints, Ints, Ints]:
    size = 0
    for i in range(len(held)):
        for k in range(starts[held[i]], starts[held[i] + 1]):
            size += counts[k] > have[get_pair_slot(k, slots, shifts[i])]
    unmet_starts = np.zeros(len(held) + 1, dtype=np.int64)
    unmet_slots = np.empty(size, dtype=np.int64)
    unmet_counts = np.empty(size, dtype=np.int64)
    at = 0
    for i in range(len(held)):
        for k in range(starts[held[i]], starts[held[i] + 1]):
            slot = get_pair_slot(k, slots, shifts[i])
            if counts[k] > have[slot]:
                unmet_slots[at] = slot
                unmet_counts[at] = counts[k]
                at += 1
        unmet_starts[i + 1] = at
    return unmet_starts, unmet_slots, unmet_counts


@compiled
def _find_highest_needs(have: Ints, slots: Counts, counts: Counts) -> Ints:
    """The highest count of each slot that is needed, or what it has."""
    top = have.copy()
    for k in range(len(slots)):
        top[slots[k]] = max(top[slots[k]], counts[k])
    return top


@compiled
def _find_untaken_stretches(have: Ints, top: Ints, first: Ints, numbers: Ints) -> Gaps:
    """What is not taken of the places from `have + 1` to `top` of each slot."""
    most = len(numbers) + len(have)
    slots = np.empty(most, dtype=np.int64)
    lows = np.empty(most, dtype=np.int64)
    highs = np.empty(most, dtype=np.int64)
    size = 0
    for slot in range(len(have)):
        expected = have[slot] + 1
        for k in range(first[slot], first[slot + 1] + 1):
            number = top[slot] + 1  # behind the last place that is taken
            if k < first[slot + 1]:
                number = min(number, numbers[k])
            if number > expected:
                slots[size], lows[size], highs[size] = slot, expected, number - 1
                size += 1
            expected = max(expected, number + 1)
    return Gaps(slots[:size].copy(), lows[:size].copy(), highs[:size].copy())


@compiled
def _find_last_at_most(numbers: Ints, low: int, high: int, count: int) -> int:
    """Where the last number of `low:high` stands that is at most the count; `low - 1` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] <= count:
            low = middle + 1
        else:
            high = middle
    return low - 1


@compiled
def _find_needs_that_no_held_row_meets(
    needed_slots: Counts, needed_counts: Counts, slot_starts: Ints, held_numbers: Ints
) -> NDArray[np.bool_]:
    """For each need: whether no held row has the number that is needed.

    Held rows of a slot have `held_numbers[slot_starts[slot]:slot_starts[slot + 1]]`, sorted.
    """
    is_unmet = np.empty(len(needed_slots), dtype=np.bool_)
    for k in range(len(needed_slots)):
        low, high = slot_starts[needed_slots[k]], slot_starts[needed_slots[k] + 1]
        at = _find_last_at_most(held_numbers, low, high, needed_counts[k])
        is_unmet[k] = at < low or held_numbers[at] != needed_counts[k]
    return is_unmet


@compiled
def _build_wait_graph_starts_and_targets(
    need_starts: Ints, slots: Counts, counts: Counts, first: Ints, numbers: Ints, rows: Ints, dense: bool
) -> tuple[Ints, Ints]:
    """The edges of the graph. There is a place for every need, since what no row takes is a gap."""
    held, places = len(need_starts) - 1, len(numbers)
    starts = np.empty(held + places + 1, dtype=np.int64)
    starts[: held + 1] = need_starts
    targets = np.empty(len(slots) + 2 * places, dtype=np.int64)
    for k in range(len(slots)):
        low, high = first[slots[k]], first[slots[k] + 1]
        targets[k] = held + _find_last_at_most(numbers, low, high, counts[k])
    size = len(slots)
    for slot in range(len(first) - 1):
        for place in range(first[slot], first[slot + 1]):
            if rows[place] >= 0:
                targets[size] = rows[place]
                size += 1
            # Two rows may claim one place: then both are waited for.
            if place > first[slot] and (dense or numbers[place - 1] == numbers[place]):
                targets[size] = held + place - 1
                size += 1
            starts[held + place + 1] = size
    return starts, targets[:size].copy()


@compiled
def _raise_slot_and_queue_ready_rows(
    slot: int, amount: int, have: Ints, counts: Counts, by_slot: Ints, ends: Ints,
    at: Ints, owner: Ints, lacks: Ints, rank: Ints, ready: list[int],
) -> None:  # fmt: skip
    """Move a slot forward; rows whose last unmet need this meets are ready."""
    have[slot] += amount
    while at[slot] < ends[slot] and counts[by_slot[at[slot]]] <= have[slot]:
        row = owner[by_slot[at[slot]]]
        lacks[row] -= 1
        if lacks[row] == 0:
            heappush(ready, rank[row])
        at[slot] += 1


@compiled
def _replay_releases(
    have: Ints, unmet: Rows, gains: Rows, by_sum: Ints, by_slot: Ints, owner: Ints
) -> _ReplayedPlaces:
    """Play the held rows; what is taken and what is given, in the order of the play."""
    starts, slots, counts = unmet
    gain_starts, gained, values = gains
    size = len(slots) + len(gained)
    place_slot = np.empty(size, dtype=np.int64)
    place_first = np.empty(size, dtype=np.int64)
    place_last = np.empty(size, dtype=np.int64)
    place_row = np.empty(size, dtype=np.int64)
    needed = np.zeros(len(have), dtype=np.int64)
    for k in range(len(slots)):
        needed[slots[k]] += 1
    ends = np.cumsum(needed)
    at = ends - needed
    lacks = starts[1:] - starts[:-1]
    rank = np.empty(len(by_sum), dtype=np.int64)
    for k in range(len(by_sum)):
        rank[by_sum[k]] = k
    ready = [0 for _ in range(0)]
    size = 0
    for turn in range(len(by_sum) + 1):
        while len(ready):
            row = by_sum[heappop(ready)]
            for k in range(gain_starts[row], gain_starts[row + 1]):
                slot = gained[k]
                if values[k] > 0:
                    place_slot[size], place_first[size] = slot, have[slot] + 1
                    place_row[size], place_last[size] = row, have[slot] + values[k]
                    size += 1
                    _raise_slot_and_queue_ready_rows(
                        slot, values[k], have, counts, by_slot, ends, at, owner, lacks, rank, ready
                    )
        if turn == len(by_sum):
            break
        row = by_sum[turn]
        for k in range(starts[row], starts[row + 1]):
            slot = slots[k]
            if have[slot] < counts[k]:
                place_slot[size], place_first[size] = slot, have[slot] + 1
                place_row[size], place_last[size] = -1, counts[k]
                size += 1
                _raise_slot_and_queue_ready_rows(
                    slot, counts[k] - have[slot], have, counts, by_slot, ends, at, owner, lacks, rank, ready
                )
    return _ReplayedPlaces(place_slot[:size], place_first[:size], place_last[:size], place_row[:size])
