"""Messages that were delivered before they were sent: edges that must go for the rest to have an order.

A delivery that leads to its own send makes a cycle, and that cycle may hold much of a trace. Of the messages
on a short cycle the one goes without which the fewest events are left on cycles; where that is a tie, the one
that runs farthest against a given order. Where there is a cycle without any message, no message is to blame.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints
from antecede.kernels.topology import Cycles, find_cycles

TRIES, CHOICES = 64, 16
"""Messages taken out one by one, before all go that run against the given order; and weighed each time."""
Bools = NDArray[np.bool_]


def find_feedback_arcs(size: int, edges: Edges, loose: Bools, rank: Ints) -> tuple[Ints, Cycles]:
    """Which of the loose edges must go, ascending, and the cycles that remain without them."""
    left = np.ones(len(edges.source), dtype=bool)
    rings = find_cycles(size, *edges)
    firm = np.zeros(size, dtype=bool)
    firm[find_cycles(size, edges.source[~loose], edges.target[~loose]).members] = True
    for inside in _parts(size, edges, rings):
        if loose[inside].any() and not firm[edges.source[inside]].any():
            events, part = np.unique(
                np.concatenate((edges.source[inside], edges.target[inside])), return_inverse=True
            )
            source, target = part[: len(inside)], part[len(inside) :]
            # Ranks among themselves, so that what goes does not depend on events that are on no cycle.
            own_rank = np.unique(rank[events], return_inverse=True)[1]
            left[inside] = _cut(len(events), source, target, loose[inside], own_rank)
    if left.all():
        return np.empty(0, dtype=np.int64), rings
    return np.flatnonzero(~left), find_cycles(size, edges.source[left], edges.target[left])


def _parts(size: int, edges: Edges, rings: Cycles) -> list[Ints]:
    """The edges inside each strongly connected component."""
    ring = np.full(size, -1, dtype=np.int64)
    ring[rings.members] = np.repeat(np.arange(len(rings.starts) - 1), np.diff(rings.starts))
    inside = ring[edges.source] == ring[edges.target]
    starts, items = group_by_key(np.where(inside, ring[edges.source], -1), len(rings.starts) - 1)
    return [items[low:high] for low, high in pairwise(starts)]


def _cut(size: int, source: Ints, target: Ints, loose: Bools, rank: Ints) -> Bools:
    """The edges of one component that may stay."""
    left = np.ones(len(source), dtype=bool)
    back = rank[source] - rank[target]
    for _ in range(TRIES):
        if not len(open_ := _inside(size, source, target, left, loose)):
            return left
        worst = open_[np.argmax(back[open_])]
        path = _path(size, source, target, left, target[worst], source[worst])
        ring = np.append(path[loose[path]], worst)
        ring = ring[np.argsort(-back[ring], kind="stable")][:CHOICES]
        stuck = [_stuck(size, source, target, left, edge) for edge in ring]
        left[ring[np.argmin(stuck)]] = False
    left &= ~(loose & (back > 0))
    return left if not len(_inside(size, source, target, left, loose)) else left & ~loose


def _inside(size: int, source: Ints, target: Ints, left: Bools, loose: Bools) -> Ints:
    """The loose edges that still lie on a cycle."""
    rings = find_cycles(size, source[left], target[left])
    parts = _parts(size, Edges(source, target), rings)
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *(p[loose[p] & left[p]] for p in parts)]))


def _stuck(size: int, source: Ints, target: Ints, left: Bools, edge: int) -> int:
    """How many events are on cycles without the edge."""
    kept = left.copy()
    kept[edge] = False
    return len(find_cycles(size, source[kept], target[kept]).members)


def find_shortest_cycle(edges: Edges, members: Ints) -> Ints:
    """The events of a shortest way from the least member of a component back to it, in their order."""
    inside = np.flatnonzero(np.isin(edges.source, members) & np.isin(edges.target, members))
    source, target = (np.searchsorted(members, side[inside]) for side in edges)
    best = np.arange(len(members))
    left = np.ones(len(inside), dtype=bool)
    for cause in source[target == 0]:
        way = _path(len(members), source, target, left, 0, cause)[::-1]
        if len(way) + 1 <= len(best):
            best = np.append(0, target[way])
    return members[best]


def _path(size: int, source: Ints, target: Ints, left: Bools, begin: int, end: int) -> Ints:
    """The edges of a shortest path."""
    starts, items = group_by_key(np.where(left, source, -1), size)
    return _search(starts, items, source, target, begin, end)


@compiled
def _search(starts: Ints, items: Ints, source: Ints, target: Ints, begin: int, end: int) -> Ints:
    via = np.full(len(starts) - 1, -1, dtype=np.int64)
    queue = np.empty(len(starts) - 1, dtype=np.int64)
    queue[0] = begin
    head, tail = 0, 1
    while head < tail and via[end] < 0:
        event = queue[head]
        head += 1
        for k in range(starts[event], starts[event + 1]):
            effect = target[items[k]]
            if via[effect] < 0 and effect != begin:
                via[effect] = items[k]
                queue[tail] = effect
                tail += 1
    path = [via[0] for _ in range(0)]
    event = end
    while event != begin:
        path.append(via[event])
        event = source[via[event]]
    return np.array(path, dtype=np.int64)
