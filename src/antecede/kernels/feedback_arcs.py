"""Feedback arcs: messages delivered before they were sent, which must go for the rest to have an order.

A delivery that leads to its own send makes a cycle, and that cycle may hold much of a trace. To find the
fewest arcs that break all cycles is hard in general (the feedback arc set problem); here few messages are
wrong, and a greedy choice finds them. Only messages are *removable*: what else is known of the order stays.

Each strongly connected component is broken up by itself. While a removable edge lies on a cycle:

    worst  the removable edge that runs farthest against a given order of the events
    cycle  a shortest way from its target back to its source, and the edge itself
    out    of the removable edges on that cycle, the one without which the fewest events are left on cycles;
           of equals, the one that runs farthest against the order

After TRIES edges, all removable ones go that run against the order, and if that is not enough, all of them.
In the end edges come back that close no cycle any more, since later ones broke theirs, too: first those that
run least against the order. So each edge that is gone closes a cycle with edges that stay; where more than
TRIES are gone, only those are looked at that run against one order of what stays.

Where there is a cycle without any message, no message is to blame, and the component stays as it is.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints
from antecede.kernels.topology import Cycles, find_cycles, sort_topologically

TRIES, CHOICES = 64, 16
"""Messages taken out one by one, before all go that run against the given order; and weighed each time."""
Bools = NDArray[np.bool_]


def find_feedback_arcs_and_remaining_cycles(
    size: int,
    edges: Edges,
    removable: Bools,
    rank: Ints,
) -> tuple[Ints, Cycles]:
    """Which of the removable edges must go, ascending, and the cycles that remain without them."""
    stays = np.ones(len(edges.source), dtype=bool)
    rings = find_cycles(size, *edges)
    is_on_firm_cycle = np.zeros(size, dtype=bool)
    firm_cycles = find_cycles(size, edges.source[~removable], edges.target[~removable])
    is_on_firm_cycle[firm_cycles.members] = True
    for inside in _list_component_edges(size, edges, rings):
        sources, targets = edges.source[inside], edges.target[inside]
        if not removable[inside].any() or is_on_firm_cycle[sources].any():
            continue
        both_ends = np.concatenate((sources, targets))
        events, numbers = np.unique(both_ends, return_inverse=True)
        source, target = numbers[: len(inside)], numbers[len(inside) :]
        # Ranks among themselves, so that what goes does not depend on events that are on no cycle.
        own_rank = np.unique(rank[events], return_inverse=True)[1]
        stays[inside] = _find_edges_to_keep(len(events), source, target, removable[inside], own_rank)
    if stays.all():
        return np.empty(0, dtype=np.int64), rings
    remaining = find_cycles(size, edges.source[stays], edges.target[stays])
    return np.flatnonzero(~stays), remaining


def find_shortest_cycle_through_least_member(edges: Edges, members: Ints) -> Ints:
    """The events of a shortest way from the least member of a component back to it, in their order."""
    is_inside = np.isin(edges.source, members)
    is_inside &= np.isin(edges.target, members)
    source = np.searchsorted(members, edges.source[is_inside])
    target = np.searchsorted(members, edges.target[is_inside])
    shortest = np.arange(len(members))
    all_stay = np.ones(len(source), dtype=bool)
    for last in source[target == 0]:
        last_first = _find_shortest_path_edges_last_first(len(members), source, target, all_stay, 0, last)
        path = last_first[::-1]
        if len(path) + 1 <= len(shortest):
            shortest = np.append(0, target[path])
    return members[shortest]


def _list_component_edges(
    size: int,
    edges: Edges,
    cycles: Cycles,
) -> list[Ints]:
    """The edges inside each strongly connected component."""
    components = len(cycles.starts) - 1
    component = np.full(size, -1, dtype=np.int64)
    sizes = np.diff(cycles.starts)
    component[cycles.members] = np.repeat(np.arange(components), sizes)
    of_source = component[edges.source]
    is_inside = of_source == component[edges.target]
    starts, items = group_by_key(np.where(is_inside, of_source, -1), components)
    return [items[low:high] for low, high in pairwise(starts)]


def _find_edges_to_keep(
    size: int,
    source: Ints,
    target: Ints,
    removable: Bools,
    rank: Ints,
) -> Bools:
    """The edges of one component that may stay."""
    stays = _break_cycles(size, source, target, removable, rank)
    _put_back_edges_that_close_no_cycle(size, source, target, stays, rank)
    return stays


def _break_cycles(
    size: int,
    source: Ints,
    target: Ints,
    removable: Bools,
    rank: Ints,
) -> Bools:
    stays = np.ones(len(source), dtype=bool)
    backwards = rank[source] - rank[target]
    for _ in range(TRIES):
        candidates = _list_removable_on_cycles(size, source, target, stays, removable)
        if not len(candidates):
            return stays
        worst = candidates[np.argmax(backwards[candidates])]
        path = _find_shortest_path_edges_last_first(size, source, target, stays, target[worst], source[worst])
        choices = np.append(path[removable[path]], worst)
        worst_first = np.argsort(-backwards[choices], kind="stable")
        choices = choices[worst_first][:CHOICES]
        stuck = [_count_events_on_cycles_without_edge(size, source, target, stays, edge) for edge in choices]
        stays[choices[np.argmin(stuck)]] = False
    stays &= ~(removable & (backwards > 0))
    if len(_list_removable_on_cycles(size, source, target, stays, removable)):
        stays &= ~removable
    return stays


def _put_back_edges_that_close_no_cycle(
    size: int,
    source: Ints,
    target: Ints,
    stays: Bools,
    rank: Ints,
) -> None:
    gone = np.flatnonzero(~stays)
    if len(gone) > TRIES:
        position = sort_topologically(size, source[stays], target[stays], [rank]).position
        stays[gone] = position[source[gone]] < position[target[gone]]
        gone = gone[~stays[gone]]
    if len(gone) > TRIES:
        return
    backwards = rank[source[gone]] - rank[target[gone]]
    for edge in gone[np.argsort(backwards, kind="stable")]:
        way_back = _find_shortest_path_edges_last_first(
            size, source, target, stays, target[edge], source[edge]
        )
        stays[edge] = not len(way_back)


def _list_removable_on_cycles(
    size: int,
    source: Ints,
    target: Ints,
    stays: Bools,
    removable: Bools,
) -> Ints:
    """The removable edges that still lie on a cycle, ascending."""
    rings = find_cycles(size, source[stays], target[stays])
    parts = _list_component_edges(size, Edges(source, target), rings)
    nothing = np.empty(0, dtype=np.int64)
    inside = np.concatenate([nothing, *parts])
    return np.sort(inside[removable[inside] & stays[inside]])


def _count_events_on_cycles_without_edge(
    size: int,
    source: Ints,
    target: Ints,
    stays: Bools,
    edge: int,
) -> int:
    """How many events are on cycles without the edge."""
    others = stays.copy()
    others[edge] = False
    return len(find_cycles(size, source[others], target[others]).members)


def _find_shortest_path_edges_last_first(
    size: int,
    source: Ints,
    target: Ints,
    stays: Bools,
    begin: int,
    end: int,
) -> Ints:
    """The edges of a shortest path from `begin` to `end`, the last one first; none if there is no path."""
    starts, items = group_by_key(np.where(stays, source, -1), size)
    return _search_shortest_path_edges_last_first(starts, items, source, target, begin, end)


@compiled
def _search_shortest_path_edges_last_first(
    starts: Ints,
    items: Ints,
    source: Ints,
    target: Ints,
    begin: int,
    end: int,
) -> Ints:
    via = np.full(len(starts) - 1, -1, dtype=np.int64)  # the edge by which an event was reached
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
    while event != begin and via[event] >= 0:
        path.append(via[event])
        event = source[via[event]]
    return np.array(path, dtype=np.int64)
