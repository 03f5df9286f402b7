"""The steps of an event graph by their positions in its order, as the audit kernels want them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from antecede.events.graph import EventGraph
from antecede.kernels.arrays import group_by_key
from antecede.kernels.ragged import Ints, find_places_among_chosen


class StepGraph(NamedTuple):
    """All steps, executions one after the other, and the causes among them."""

    rows: Ints  # of the step at each position
    position: Ints  # of each row, -1 if it is no step
    starts: Ints  # execution x has the positions starts[x]..starts[x + 1]-1
    source: Ints  # positions, by target
    target: Ints


def number_steps_in_order(graph: EventGraph) -> StepGraph:
    """Leave out what is no step; on a cycle an edge may run back, and is left out too."""
    order = graph.causes.order
    rows = order[graph.events.is_step[order]]
    position = find_places_among_chosen(rows, len(order))
    source, target = (position[side] for side in graph.list_edges_among_steps())
    is_forward = source < target
    if not is_forward.all():
        source, target = source[is_forward], target[is_forward]
    by_target = group_by_key(target, len(rows))[1]
    executions = np.arange(len(graph.events.executions) + 1)
    starts = np.searchsorted(graph.events.execution[rows], executions)
    return StepGraph(rows, position, starts, source[by_target], target[by_target])
