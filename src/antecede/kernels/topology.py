"""Orders of events that keep every cause before its effects, and the cycles that no order can keep.

The order is Kahn's, with a heap: of the events whose causes are all out, the one of least rank comes next. It
depends on the events, their ranks and the set of edges alone, not on how edges are listed. An edge is looked
at once, and an event is in the heap once: the cost is edges + events * log(events).

Events on a cycle have no right order. The members of a cycle (of a strongly connected component) come out
together, in the order of their ranks, once all that caused any of them is out and the least of their ranks is
due; so whatever is behind a cycle still comes out behind all of its members.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_edges, group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.histories import Edges, find_clock_edges
from antecede.kernels.ragged import Ints, compute_starts, invert_permutation

__all__ = [
    "Cycles",
    "Edges",
    "Sorted",
    "find_clock_edges",
    "find_cycles",
    "is_linear_extension",
    "sort_topologically",
]


class Sorted(NamedTuple):
    """A linear extension of happened-before, but for the events that are stuck."""

    order: Ints  # all events, causes first
    position: Ints  # the place of each event in the order
    stuck: Ints  # the events that lie on a cycle, ascending


class Cycles(NamedTuple):
    """Strongly connected components; the events of component i are `members[starts[i]:starts[i + 1]]`."""

    starts: Ints
    members: Ints


def sort_topologically(
    size: int, source: ArrayLike, target: ArrayLike, ranks: Sequence[ArrayLike] = ()
) -> Sorted:
    """Order the events 0..size-1 so that source[k] comes before target[k] for each edge k.

    Where edges leave a choice, the first of the ranks decides, then the next, then the number of the event;
    not-a-number is a rank behind all others.
    """
    causes, effects = check_edges(size, source, target)
    by_rank = _sort_by_rank(size, ranks)
    rank = invert_permutation(by_rank)
    order = np.empty(size, dtype=np.int64)
    if _fill_topological_order(by_rank, rank, causes, effects, order) == size:
        return Sorted(order, invert_permutation(order), np.empty(0, dtype=np.int64))
    cycles = find_cycles(size, causes, effects)
    head = _find_cycle_heads(size, cycles, rank)
    causes, effects = head[causes], head[effects]
    is_across = causes != effects
    # A member that is not the head of its cycle is left without edges here, and moved to its head after.
    _fill_topological_order(by_rank, rank, causes[is_across], effects[is_across], order)
    order = np.lexsort((rank, invert_permutation(order)[head]))
    return Sorted(order, invert_permutation(order), np.sort(cycles.members))


def find_cycles(size: int, source: ArrayLike, target: ArrayLike) -> Cycles:
    """The components of more than one event, and events that cause themselves; by least member, ascending."""
    causes, effects = check_edges(size, source, target)
    starts, items = group_by_key(causes, size)
    component = find_strong_components(starts, effects[items])
    return list_cyclic_components(component, causes[causes == effects])


def list_cyclic_components(component: Ints, events_causing_themselves: Ints) -> Cycles:
    """The components of more than one event, and those of events that cause themselves; by least member."""
    is_cycle = np.bincount(component) > 1
    is_cycle[component[events_causing_themselves]] = True
    members = np.flatnonzero(is_cycle[component])
    _, first, name = np.unique(component[members], return_index=True, return_inverse=True)
    least_member = members[first][name]
    _, sizes = np.unique(least_member, return_counts=True)
    by_least = np.lexsort((members, least_member))
    return Cycles(compute_starts(sizes), members[by_least])


def is_linear_extension(order: ArrayLike, source: ArrayLike, target: ArrayLike) -> bool:
    """Whether the order has each of its events once, and every cause before its effects."""
    events = np.asarray(order, dtype=np.int64)
    size = len(events)
    causes, effects = check_edges(size, source, target)
    if not np.array_equal(np.sort(events), np.arange(size)):
        return False
    position = invert_permutation(events)
    return bool((position[causes] < position[effects]).all())


def _sort_by_rank(size: int, ranks: Sequence[ArrayLike]) -> Ints:
    """The events by rank."""
    columns = [np.asarray(rank) for rank in ranks]
    if any(column.shape != (size,) or column.dtype.kind not in "iufb" for column in columns):
        raise CallerError(f"each of the ranks must be a flat array of {size} numbers, one for each event")
    return np.lexsort((np.arange(size), *reversed(columns))).astype(np.int64, copy=False)


def _find_cycle_heads(size: int, cycles: Cycles, rank: Ints) -> Ints:
    """For each event the member of its cycle that has the least rank, or the event itself."""
    head = np.arange(size)
    sizes = np.diff(cycles.starts)
    least_rank = np.minimum.reduceat(rank[cycles.members], cycles.starts[:-1])
    head[cycles.members] = np.repeat(invert_permutation(rank)[least_rank], sizes)
    return head


@compiled
def _fill_topological_order(by_rank: Ints, rank: Ints, source: Ints, target: Ints, order: Ints) -> int:
    """Kahn's algorithm: fill in the order; returns how many events came out."""
    size = len(by_rank)
    starts, items = group_by_key(source, size)
    waits = np.zeros(size, dtype=np.int64)
    for effect in target:
        waits[effect] += 1
    ready = [rank[event] for event in range(size) if waits[event] == 0]
    heapify(ready)
    out = 0
    while len(ready):
        event = by_rank[heappop(ready)]
        order[out] = event
        out += 1
        for k in range(starts[event], starts[event + 1]):
            effect = target[items[k]]
            waits[effect] -= 1
            if waits[effect] == 0:
                heappush(ready, rank[effect])
    return out


@compiled
def find_strong_components(starts: Ints, effects: Ints) -> Ints:
    """The strongly connected component of each event (Tarjan 1972, with a stack of its own).

    Event k leads to `effects[starts[k]:starts[k + 1]]`. A component is numbered behind all those it leads to.
    """
    size = len(starts) - 1
    component = np.full(size, -1, dtype=np.int64)
    seen = np.zeros(size, dtype=np.int64)  # when the event was met, from 1
    low = np.zeros(size, dtype=np.int64)
    at = starts[:-1].copy()
    path = np.empty(size, dtype=np.int64)  # from the root to the event at hand
    pool = np.empty(size, dtype=np.int64)  # met, and not yet in a component
    met = pooled = found = 0
    for root in range(size):
        depth = 0
        if seen[root] == 0:
            path[0] = root
            depth = 1
        while depth:
            event = path[depth - 1]
            if seen[event] == 0:
                met += 1
                seen[event] = low[event] = met
                pool[pooled] = event
                pooled += 1
            if at[event] < starts[event + 1]:
                effect = effects[at[event]]
                at[event] += 1
                if seen[effect] == 0:
                    path[depth] = effect
                    depth += 1
                elif component[effect] < 0:
                    low[event] = min(low[event], seen[effect])
                continue
            depth -= 1
            if depth:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[event])
            if low[event] == seen[event]:
                while component[event] < 0:
                    pooled -= 1
                    component[pool[pooled]] = found
                found += 1
    return component
