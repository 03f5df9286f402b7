"""Events in causal order: all that tells of causes counts, and time only breaks ties.

The causes are those of `events.graph`: the order of each process, clocks, parents and messages.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import get_column
from antecede.events.graph import EventGraph, build_event_graph
from antecede.kernels.ragged import Ints

NAMED = 10
"""So many members of a cycle are named."""


def order_event_partition(table: pa.Table) -> pa.StructArray:
    """For each row its position and ghosts, or the reason why it has none."""
    size = len(table)
    found = build_event_graph(table.append_column("row", pa.array(np.arange(size))))
    row = get_column(found.events.table, "row").to_numpy()
    reason = _reasons(found)
    back = np.empty(size, dtype=np.int64)
    back[row] = np.arange(size)
    position = pc.if_else(pc.is_null(reason), pa.array(_positions(found, reason)), None)
    missing = pa.nulls(size, pa.list_(pa.string()))
    columns = [position, missing, reason, _ghosts(found)]
    names = ["position", "missing", "reason", "ghosts"]
    return pa.StructArray.from_arrays([array.take(pa.array(back)) for array in columns], names=names)


def _positions(found: EventGraph, reason: pa.Array) -> Ints:
    """Dense from 0 in each execution, without the events that have a reason to stay out."""
    order = found.causes.order
    stays = pc.is_null(reason).to_numpy(zero_copy_only=False)
    line = order[stays[order]]
    counts = np.bincount(found.events.execution[line], minlength=len(found.events.executions))
    position = np.zeros(len(order), dtype=np.int64)
    position[line] = np.arange(len(line)) - (np.cumsum(counts) - counts)[found.events.execution[line]]
    return position


def _ghosts(found: EventGraph) -> pa.Array:
    """The parents that are not in the log, as lists by row, null where there is none."""
    at = np.asarray(found.causes.ghosts["row"].to_numpy(), dtype=np.int64)
    names = get_column(found.causes.ghosts, "event").take(pa.array(np.argsort(at, kind="stable")))
    counts = np.bincount(at, minlength=len(found.events.execution))
    starts = pa.array(
        np.concatenate(([0], np.cumsum(counts))).astype(np.int32), mask=np.append(counts == 0, False)
    )
    return pa.ListArray.from_arrays(starts, names)


def _reasons(found: EventGraph) -> pa.Array:
    """Why an event has no place: it lies on a cycle, or is its own parent; null for all others."""
    text = np.full(len(found.events.execution), None, dtype=object)
    labels = _labels(found)
    text[found.causes.own_parents] = [
        f"names itself as its parent: {labels[row]}" for row in found.causes.own_parents
    ]
    starts, members = found.causes.cycles
    for low, high in pairwise(starts.tolist()):
        ring = members[low:high]
        more = f" and {len(ring) - NAMED} more" if len(ring) > NAMED else ""
        names = ", ".join(labels[row] for row in ring[:NAMED])
        text[ring] = f"lies on a cycle of {len(ring)} events: {names}{more}"
    return pa.array(text, pa.string())


def _labels(found: EventGraph) -> dict[int, str]:
    """The names of events that are to be told of: the id, or else the process and the place."""
    rows = np.unique(np.concatenate((found.causes.own_parents, found.causes.cycles.members)))
    some = found.events.table.take(pa.array(rows))
    ids = (get_column(some, name).to_pylist() for name in ("event", "process", "index"))
    named = zip(rows.tolist(), *ids, strict=True)
    return {row: event if event is not None else f"{process}#{index}" for row, event, process, index in named}
