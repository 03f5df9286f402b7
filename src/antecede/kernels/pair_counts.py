"""How many pairs of events happened one before the other, in each of many executions.

Small executions are counted with bits, all in one pass. In large ones events are cut into chains, on which
each is a direct cause of the next: the line of a process is one, and events that stand alone join a chain
where they can. Clocks over chains then count the pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from antecede.kernels.arrays import forward, grouped, whole
from antecede.kernels.bits import BitSets, count_ones, count_words
from antecede.kernels.compiled import compiled
from antecede.kernels.false_causality import count_ordered
from antecede.kernels.ragged import Ints
from antecede.kernels.vector_clocks import count_pairs
from antecede.kernels.witness import CauseGraph

SMALL = 1_024
"""Most events of a small execution."""
CELLS = 2**28
"""Most entries of clocks in memory at once (1 GB)."""
SQUARE = 200_000
"""Most events that are counted with bits where clocks would have more entries, in time with their square."""


def count_ordered_pairs(
    starts: ArrayLike, track: ArrayLike, source: ArrayLike, target: ArrayLike, lines: int
) -> Ints:
    """How many pairs each execution orders; execution i has the events starts[i]..starts[i + 1]-1.

    Events are in a linear extension, and edges say all that orders them. Tracks below `lines` are lines: an
    event there has an edge from the one before. -1 says that this would take too much: more than 200,000
    events on so many chains that clocks of 2^28 entries are not enough.
    """
    tracks = whole(track, "track", 0, 2**62)
    bounds = whole(starts, "starts", 0, len(tracks) + 1)
    causes, effects = forward(len(tracks), source, target)
    first, items = grouped(effects, len(tracks))
    causes = causes[items]
    found = np.full(len(bounds) - 1, -1, dtype=np.int64)
    _count_small(bounds, first, causes, SMALL, found)
    for execution in np.flatnonzero(found < 0):
        low, high = bounds[execution], bounds[execution + 1]
        inside = causes[first[low] : first[high]] - low
        found[execution] = _count(tracks[low:high], first[low : high + 1] - first[low], inside, lines)
    return found


def _count(track: Ints, first: Ints, causes: Ints, lines: int) -> int:
    """The pairs of one execution."""
    chain, chains = _chains(track, first, causes, lines)
    effects = np.repeat(np.arange(len(track)), np.diff(first))
    if chains * (chains + _open(chain, causes, effects)) <= CELLS:
        return count_pairs(chain, causes, effects, chains).ordered
    if len(track) <= SQUARE:
        return count_ordered(CauseGraph(chain, first, causes))
    return -1


def _open(chain: Ints, causes: Ints, effects: Ints) -> int:
    """The most events at once that still have an effect on another chain before them."""
    across = chain[causes] != chain[effects]
    until = np.zeros(len(chain) + 1, dtype=np.int64)
    np.maximum.at(until, causes[across], effects[across])
    begin = np.flatnonzero(until)
    change = np.bincount(begin, minlength=len(until)) - np.bincount(until[begin], minlength=len(until))
    return int(np.cumsum(change).max(initial=0))


@compiled
def _count_small(bounds: Ints, first: Ints, causes: Ints, most: int, found: Ints) -> None:
    pasts: BitSets = np.zeros((most, count_words(most)), dtype=np.uint64)
    for execution in range(len(found)):
        low, size = bounds[execution], bounds[execution + 1] - bounds[execution]
        if size > most:
            continue
        wide, count = count_words(size), 0
        for event in range(size):
            mine = pasts[event, :wide]
            mine[:] = 0
            for k in range(first[low + event], first[low + event + 1]):
                cause = causes[k] - low
                mine |= pasts[cause, :wide]
                mine[cause >> 6] |= np.uint64(1) << np.uint64(cause & 63)
            for word in mine:
                count += count_ones(word)
        found[execution] = count


@compiled
def _chains(track: Ints, first: Ints, causes: Ints, lines: int) -> tuple[Ints, int]:
    """The chain of each event, and how many there are."""
    chain = np.empty(len(track), dtype=np.int64)
    width = 0
    for event in range(len(track)):
        if track[event] < lines:
            width = max(width, track[event] + 1)
    of_line = np.full(width, -1, dtype=np.int64)
    last = np.ones(len(track), dtype=np.bool_)  # no event has joined the chain behind this one
    chains = 0
    for event in range(len(track)):
        chain[event] = -1
        if track[event] < lines:
            chain[event] = of_line[track[event]]
        else:
            for k in range(first[event], first[event + 1]):
                cause = causes[k]
                if chain[event] < 0 and last[cause] and track[cause] >= lines:
                    chain[event], last[cause] = chain[cause], False
        if chain[event] < 0:
            chain[event] = chains
            chains += 1
            if track[event] < lines:
                of_line[track[event]] = chain[event]
    return chain, chains
