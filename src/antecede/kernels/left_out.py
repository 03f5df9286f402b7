"""Edges that lead around events that are left out: what such an event knew, its effects know all the same.

The events are walked causes first. For each one that is left out a list is kept of the events from which an
edge leads to it, or edges over events that are left out, too. Its effects have these as causes in its place.

    before  all these lists; that of event e is at `ends[e]:ends[e + 1]`
    latest  of each track, its last event among those found for the event at hand; -1 if none is found

Events that stay and are of one track follow each other by edges among themselves, so the last one of each
track is enough: a list has at most as many entries as there are tracks. An edge that runs against the order,
as on a cycle, is left out. The cost is the edges, and the lists that are handed on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints, compress_codes, invert_permutation

Bools = NDArray[np.bool_]


def lead_edges_around_events_left_out(order: Ints, stays: Bools, track: Ints, edges: Edges) -> Edges:
    """The edges among the events that stay, and those that lead from one to another over events left out.

    The order has all events, causes first. Events are of a track that stay and follow each other.
    """
    place = invert_permutation(order)
    source, target = place[edges.source], place[edges.target]
    is_forward = source < target
    starts, items = group_by_key(np.where(is_forward, target, -1), len(order))
    tracks = compress_codes(track).codes
    found = _list_edges_around(starts, source[items], stays[order], tracks[order])
    return Edges(order[found[0]], order[found[1]])


@compiled
def _list_edges_around(starts: Ints, causes: Ints, stays: Bools, track: Ints) -> tuple[Ints, Ints]:
    size = len(stays)
    sources = [track[0] for _ in range(0)]
    targets = [track[0] for _ in range(0)]
    before = [track[0] for _ in range(0)]
    ends = np.zeros(size + 1, dtype=np.int64)
    latest = np.full(track.max() + 1, -1, dtype=np.int64)
    for event in range(size):
        of_tracks = [track[0] for _ in range(0)]
        for k in range(starts[event], starts[event + 1]):
            cause = causes[k]
            if stays[cause] and stays[event]:
                sources.append(cause)
                targets.append(event)
                latest[track[cause]] = max(latest[track[cause]], cause)
        for k in range(starts[event], starts[event + 1]):
            if not stays[causes[k]]:
                for at in range(ends[causes[k]], ends[causes[k] + 1]):
                    if latest[track[before[at]]] < before[at]:
                        latest[track[before[at]]] = before[at]
                        of_tracks.append(track[before[at]])
            elif not stays[event] and latest[track[causes[k]]] < causes[k]:
                latest[track[causes[k]]] = causes[k]
                of_tracks.append(track[causes[k]])
        for one in of_tracks:
            if latest[one] < 0:
                continue
            if stays[event]:
                sources.append(latest[one])
                targets.append(event)
            else:
                before.append(latest[one])
            latest[one] = -1
        for k in range(starts[event], starts[event + 1]):
            latest[track[causes[k]]] = -1
        ends[event + 1] = len(before)
    return np.array(sources, dtype=np.int64), np.array(targets, dtype=np.int64)
