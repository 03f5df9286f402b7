"""How many pairs of events happened one before the other, in each of many executions.

There are two ways to count, and both are exact:

- By bits: each event has a set of the events before it. That is quick for small executions, all of them in
  one call, and takes time with the square of the number of events, / 64. Larger ones are counted in blocks
  of sources: the effects of 1,024 events at a time, so that a set has 16 words.
- By clocks: events are cut into chains, on which each event is a direct cause of the next. What happened
  before an event is then a number for each chain. The line of a process is a chain, and events that stand
  alone join a chain where they can. That takes time with the number of events times chains.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from antecede.kernels.arrays import check_forward_edges, check_integers, group_by_key
from antecede.kernels.bits import BitSets, add_bit, count_ones, count_words_for_bits, merge_bits
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints, list_item_rows
from antecede.kernels.vector_clocks import count_ordered_pairs_by_clocks, plan_clock_pass

MOST_SMALL = 1_024
"""Most events of a small execution."""
BLOCK = 1_024
"""Sources whose effects are counted in one pass over a large execution."""
MOST_CLOCK_ENTRIES = 2**28
"""Most entries of clocks in memory at once (1 GB)."""
MOST_BY_BITS = 200_000
"""Most events that are counted by bits where clocks would have more entries, in time with their square."""


def count_ordered_pairs(
    starts: ArrayLike, track: ArrayLike, source: ArrayLike, target: ArrayLike, line_count: int
) -> Ints:
    """How many pairs each execution orders; execution i has the events starts[i]..starts[i + 1]-1.

    Events are in a linear extension, and edges say all that orders them. Tracks below `line_count` are lines:
    an event there has an edge from the one before. -1 says that this would take too much: more than 200,000
    events on so many chains that clocks of 2^28 entries are not enough.
    """
    tracks = check_integers(track, "track", 0, 2**62)
    bounds = check_integers(starts, "starts", 0, len(tracks) + 1)
    causes, effects = check_forward_edges(len(tracks), source, target)
    first, items = group_by_key(effects, len(tracks))
    causes = causes[items]
    counts = np.full(len(bounds) - 1, -1, dtype=np.int64)
    _fill_in_ordered_pairs_of_small_executions(bounds, first, causes, MOST_SMALL, counts)
    for execution in np.flatnonzero(counts < 0):
        low, high = bounds[execution], bounds[execution + 1]
        own_causes = causes[first[low] : first[high]] - low
        own_first = first[low : high + 1] - first[low]
        counts[execution] = _count_ordered_pairs_of_large_execution(
            tracks[low:high], own_first, own_causes, line_count
        )
    return counts


def _count_ordered_pairs_of_large_execution(
    track: Ints,
    cause_starts: Ints,
    causes: Ints,
    line_count: int,
) -> int:
    """The pairs of one execution; -1 if they are too many to count."""
    chain, chains = _cut_events_into_chains(track, cause_starts, causes, line_count)
    effects = list_item_rows(cause_starts)
    clock_pass = plan_clock_pass(chain, causes, effects, chains)
    if clock_pass.entries <= MOST_CLOCK_ENTRIES:
        return count_ordered_pairs_by_clocks(clock_pass)
    if len(track) <= MOST_BY_BITS:
        return int(count_ordered_pairs_by_bits(cause_starts, causes, BLOCK))
    return -1


@compiled
def _fill_in_ordered_pairs_of_small_executions(
    bounds: Ints,
    cause_starts: Ints,
    causes: Ints,
    most_events: int,
    counts: Ints,
) -> None:
    """Fill in the counts of all executions of at most `most_events` events."""
    buffer = np.zeros(most_events * count_words_for_bits(most_events), dtype=np.uint64)
    for execution in range(len(counts)):
        low, high = bounds[execution], bounds[execution + 1]
        size = high - low
        if size <= most_events:
            width = count_words_for_bits(size)
            sets = buffer[: size * width].reshape(size, width)
            counts[execution] = _count_pairs_with_first_event_in_block(
                cause_starts, causes, low, size, high, sets
            )


@compiled
def count_ordered_pairs_by_bits(cause_starts: Ints, causes: Ints, block_size: int) -> int:
    """The pairs of a large execution, by blocks of sources."""
    size = len(cause_starts) - 1
    count = 0
    for block_start in range(0, size, block_size):
        sets = np.zeros((size - block_start, count_words_for_bits(block_size)), dtype=np.uint64)
        count += _count_pairs_with_first_event_in_block(
            cause_starts, causes, block_start, block_size, size, sets
        )
    return count


@compiled
def _count_pairs_with_first_event_in_block(
    cause_starts: Ints,
    causes: Ints,
    block_start: int,
    block_size: int,
    end: int,
    scratch_sets: BitSets,
) -> int:
    """How many pairs have their first event in a block, and their second before `end`.

    The block has `block_size` events from `block_start`. `scratch_sets` has a row for each event from
    `block_start` to `end`, and is overwritten: the events of the block before it and, if it is one, itself.
    """
    count = 0
    for event in range(block_start, end):
        past = scratch_sets[event - block_start]
        past[:] = 0
        for k in range(cause_starts[event], cause_starts[event + 1]):
            if causes[k] >= block_start:
                merge_bits(scratch_sets[causes[k] - block_start], past)
        for word in past:
            count += count_ones(word)
        if event - block_start < block_size:
            add_bit(past, event - block_start)
    return count


@compiled
def _cut_events_into_chains(
    track: Ints,
    cause_starts: Ints,
    causes: Ints,
    line_count: int,
) -> tuple[Ints, int]:
    """The chain of each event, and how many there are."""
    chain = np.empty(len(track), dtype=np.int64)
    width = 0
    for event in range(len(track)):
        if track[event] < line_count:
            width = max(width, track[event] + 1)
    chain_of_line = np.full(width, -1, dtype=np.int64)
    is_last = np.ones(len(track), dtype=np.bool_)  # no event has joined the chain behind this one
    chains = 0
    for event in range(len(track)):
        chain[event] = -1
        if track[event] < line_count:
            chain[event] = chain_of_line[track[event]]
        else:
            for k in range(cause_starts[event], cause_starts[event + 1]):
                cause = causes[k]
                if chain[event] < 0 and is_last[cause] and track[cause] >= line_count:
                    chain[event] = chain[cause]
                    is_last[cause] = False
        if chain[event] < 0:
            chain[event] = chains
            chains += 1
            if track[event] < line_count:
                chain_of_line[track[event]] = chain[event]
    return chain, chains
