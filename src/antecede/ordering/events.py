"""Events in causal order: all that tells of causes counts, and time only breaks ties.

The causes are those of `events.graph`: the order of each process, clocks, parents and messages.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import get_column
from antecede.events.graph import EventGraph, build_event_graph
from antecede.kernels.ragged import Ints, compute_starts, invert_permutation, rank_within_groups

SHOWN = 10
"""So many members of a cycle are named."""


def order_event_partition(table: pa.Table) -> pa.StructArray:
    """For each row its position and ghosts, or the reason why it has none."""
    size = len(table)
    graph = build_event_graph(table.append_column("row", pa.array(np.arange(size))))
    reason = _explain_cycles_and_own_parents(graph)
    position = pc.if_else(pc.is_null(reason), pa.array(_compute_positions_in_executions(graph, reason)), None)
    missing = pa.nulls(size, pa.list_(pa.string()))
    columns = [position, missing, reason, _list_ghost_parents_by_row(graph)]
    # The graph has sorted the rows: the answers go back to where they were.
    row_of_event = get_column(graph.events.table, "row").to_numpy()
    event_of_row = pa.array(invert_permutation(row_of_event))
    answers = [answer.take(event_of_row) for answer in columns]
    return pa.StructArray.from_arrays(answers, names=["position", "missing", "reason", "ghosts"])


def _compute_positions_in_executions(graph: EventGraph, exclusion_reason: pa.Array) -> Ints:
    """Dense from 0 in each execution, without the events that have a reason to stay out."""
    order = graph.causes.order
    is_placed = pc.is_null(exclusion_reason).to_numpy(zero_copy_only=False)
    placed = order[is_placed[order]]
    position = np.zeros(len(order), dtype=np.int64)
    position[placed] = rank_within_groups(graph.events.execution[placed])
    return position


def _list_ghost_parents_by_row(graph: EventGraph) -> pa.Array:
    """The parents that are not in the log, as lists by row, null where there is none."""
    ghosts = graph.causes.ghosts
    row = np.asarray(ghosts["row"].to_numpy(), dtype=np.int64)
    by_row = pa.array(np.argsort(row, kind="stable"))
    names = get_column(ghosts, "event").take(by_row)
    counts = np.bincount(row, minlength=len(graph.events.execution))
    starts = compute_starts(counts).astype(np.int32)
    is_null = np.append(counts == 0, False)
    return pa.ListArray.from_arrays(pa.array(starts, mask=is_null), names)


def _explain_cycles_and_own_parents(graph: EventGraph) -> pa.Array:
    """Why an event has no place: it lies on a cycle, or is its own parent; null for all others."""
    reasons = np.full(len(graph.events.execution), None, dtype=object)
    labels = _label_events_on_cycles(graph)
    for row in graph.causes.own_parents:
        reasons[row] = f"names itself as its parent: {labels[row]}"
    starts, members = graph.causes.cycles
    for low, high in pairwise(starts.tolist()):
        cycle = members[low:high]
        more = f" and {len(cycle) - SHOWN} more" if len(cycle) > SHOWN else ""
        names = ", ".join(labels[row] for row in cycle[:SHOWN])
        reasons[cycle] = f"lies on a cycle of {len(cycle)} events: {names}{more}"
    return pa.array(reasons, pa.string())


def _label_events_on_cycles(graph: EventGraph) -> dict[int, str]:
    """The names of events on cycles and of their own parents: the id, or else the process and the place."""
    rows = np.unique(np.concatenate((graph.causes.own_parents, graph.causes.cycles.members)))
    events = graph.events.table.take(pa.array(rows))
    ids = get_column(events, "event").to_pylist()
    processes, indexes = get_column(events, "process").to_pylist(), get_column(events, "index").to_pylist()
    labels = {}
    for row, name, process, index in zip(rows.tolist(), ids, processes, indexes, strict=True):
        labels[row] = f"{process}#{index}" if name is None else name
    return labels
