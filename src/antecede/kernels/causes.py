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
ANYTHING = PROCESS | CLOCK | PARENT | MESSAGE
"""What an edge is known from; several add up."""
Flags = NDArray[np.int8]


class MergedEdges(NamedTuple):
    """Each edge once, by target, with all it is known from."""

    edges: Edges
    known: Flags


def merge_edges(
    event_count: int,
    parts: Sequence[tuple[ArrayLike, ArrayLike, Flags | int]],
) -> MergedEdges:
    """Edges (source, target, what from) among so many events as one list; none from an event to itself."""
    sources, targets, origins = [], [], []
    for given_source, given_target, origin in parts:
        part_source, part_target = check_edges(event_count, given_source, given_target)
        sources.append(part_source)
        targets.append(part_target)
        origins.append(np.broadcast_to(np.int8(origin), len(part_source)))
    source = np.concatenate(sources)
    target = np.concatenate(targets)
    known = np.concatenate(origins)
    starts, items = group_by_key(np.where(source == target, -1, target), event_count)
    source, known = source[items], known[items]
    is_first = _merge_origins_and_mark_first_edges(starts, source, known)
    target = np.repeat(np.arange(event_count), np.diff(starts))
    return MergedEdges(Edges(source[is_first], target[is_first]), known[is_first])


@compiled
def _merge_origins_and_mark_first_edges(
    starts: Ints,
    source: Ints,
    known: Flags,
) -> NDArray[np.bool_]:
    """Add what repeated edges are known from to the first one of each; returns which are first."""
    size = len(starts) - 1
    latest_target = np.full(size, -1, dtype=np.int64)  # of each source, the target of its latest edge
    latest_edge = np.empty(size, dtype=np.int64)
    is_first = np.zeros(len(source), dtype=np.bool_)
    for target in range(size):
        for k in range(starts[target], starts[target + 1]):
            if latest_target[source[k]] == target:
                known[latest_edge[source[k]]] |= known[k]
            else:
                latest_target[source[k]] = target
                latest_edge[source[k]] = k
                is_first[k] = True
    return is_first


@compiled
def look_up_name_codes(
    scope: Ints,
    name: Ints,
    first_code_of_scope: Ints,
    name_of_code: Ints,
    name_count: int,
) -> Ints:
    """The code of each name in its scope, or -1; scopes ascend.

    The codes of scope s are first_code_of_scope[s]..first_code_of_scope[s + 1]-1. Names are numbers below
    `name_count`, and -1 is none.
    """
    codes = np.full(len(name), -1, dtype=np.int64)
    # What each name stands for, and in which scope; entries of earlier scopes need not be cleared.
    code_of = np.zeros(name_count, dtype=np.int64)
    scope_of = np.full(name_count, -1, dtype=np.int64)
    current = -1
    for item in range(len(name)):
        if scope[item] != current:
            current = scope[item]
            for code in range(first_code_of_scope[current], first_code_of_scope[current + 1]):
                if name_of_code[code] >= 0:
                    code_of[name_of_code[code]] = code
                    scope_of[name_of_code[code]] = current
        if name[item] >= 0 and scope_of[name[item]] == current:
            codes[item] = code_of[name[item]]
    return codes


@compiled
def sort_clock_rows_dropping_zeros_and_repeats(
    starts: Ints,
    slots: Ints,
    counts: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Rows without counts below 1, slots ascending; of two entries for a slot the larger counts."""
    ends, size = np.zeros(len(starts), dtype=np.int64), 0
    slot, count = np.empty_like(slots), np.empty_like(counts)
    longest = np.diff(starts).max() if len(starts) > 1 else 0
    as_it_is = np.arange(longest)
    for row in range(len(starts) - 1):
        low, high = starts[row], starts[row + 1]
        order = as_it_is[: high - low]
        descends = slots[low + 1 : high] < slots[low : max(low, high - 1)]
        if descends.any():
            order = np.argsort(slots[low:high], kind="mergesort")
        for k in low + order:
            if counts[k] < 1:
                continue
            if size > ends[row] and slot[size - 1] == slots[k]:
                count[size - 1] = max(count[size - 1], counts[k])
            else:
                slot[size] = slots[k]
                count[size] = counts[k]
                size += 1
        ends[row + 1] = size
    return ends, slot[:size], count[:size]


@compiled
def read_clock_entries(
    starts: Ints,
    slots: Ints,
    counts: Ints,
    wanted_rows: Ints,
    wanted_slots: Ints,
) -> Ints:
    """What each of some rows has for a slot, 0 if nothing; slots ascend in each row."""
    values = np.zeros(len(wanted_rows), dtype=np.int64)
    for k in range(len(wanted_rows)):
        low, high = starts[wanted_rows[k]], starts[wanted_rows[k] + 1]
        at = low + np.searchsorted(slots[low:high], wanted_slots[k])
        if at < high and slots[at] == wanted_slots[k]:
            values[k] = counts[at]
    return values


@compiled
def are_clocks_comparable(
    starts: Ints,
    slots: Ints,
    counts: Ints,
    one_rows: Ints,
    other_rows: Ints,
) -> NDArray[np.bool_]:
    """Whether of two rows one has at least what the other has, in every slot; slots ascend in each row."""
    answers = np.zeros(len(one_rows), dtype=np.bool_)
    for pair in range(len(one_rows)):
        i, i_end = starts[one_rows[pair]], starts[one_rows[pair] + 1]
        j, j_end = starts[other_rows[pair]], starts[other_rows[pair] + 1]
        has_more = has_less = False
        while i < i_end or j < j_end:
            only_one = i < i_end and (j >= j_end or slots[i] < slots[j])
            only_other = j < j_end and (i >= i_end or slots[j] < slots[i])
            if only_one:
                has_more = True
                i += 1
            elif only_other:
                has_less = True
                j += 1
            else:
                has_more |= counts[i] > counts[j]
                has_less |= counts[i] < counts[j]
                i += 1
                j += 1
        answers[pair] = not (has_more and has_less)
    return answers
