"""Where times contradict causes: an event that by its time came before something that led to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints

Floats = NDArray[np.float64]


class TimeContradictions(NamedTuple):
    """Causes that are later than their effects, and of each event the one whose time it hands on, or -1."""

    edges: Edges
    latest: Ints


def find_time_contradictions(order: Ints, edges: Edges, time: Floats) -> TimeContradictions:
    """Causes and effects against their times; an event without a time (nan) hands on those of its causes.

    Of what comes through an event without a time, the latest is named. Each pair is named once.
    """
    starts, items = group_by_key(edges.target, len(time))
    source, target, latest = _find_contradicting_causes_effects_and_latest(
        order, starts, edges.source[items], time
    )
    pairs = np.stack((target, source), axis=1)
    pairs = np.unique(pairs, axis=0)
    targets, sources = pairs[:, 0].copy(), pairs[:, 1].copy()
    return TimeContradictions(Edges(sources, targets), latest)


@compiled
def _find_contradicting_causes_effects_and_latest(
    order: Ints,
    starts: Ints,
    causes: Ints,
    time: Floats,
) -> tuple[Ints, Ints, Ints]:
    latest = np.arange(len(time))  # the event whose time an event hands on, or -1
    latest[np.isnan(time)] = -1
    source = np.empty(len(causes), dtype=np.int64)
    target = np.empty(len(causes), dtype=np.int64)
    size = 0
    for event in order:
        for cause in causes[starts[event] : starts[event + 1]]:
            heard, mine = latest[cause], latest[event]
            if heard < 0:
                continue
            if np.isnan(time[event]):
                if mine < 0 or time[heard] > time[mine]:
                    latest[event] = heard
            elif time[heard] > time[event]:
                source[size] = heard
                target[size] = event
                size += 1
    return source[:size], target[:size], latest
