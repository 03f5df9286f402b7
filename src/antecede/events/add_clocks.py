"""Clocks for events of a log that has none, where the log tells the order of every process."""

import numpy as np
import pyarrow as pa

from antecede.core.errors import CallerError
from antecede.events.columns import decode_columns, get_column
from antecede.events.graph import EventGraph, build_event_graph
from antecede.kernels.vector_clocks import compute_clocks
from antecede.tables import EVENTS

TYPE = EVENTS.field("clock").type


def add_clocks(table: pa.Table) -> pa.Table:
    """The events with their clocks; if none has one, those that their causes in this table make."""
    if get_column(table, "clock").null_count < len(table):
        return table
    found = build_event_graph(table)
    rows = found.causes.order[found.events.is_step[found.causes.order]]
    _check_order(found, rows)
    place = np.full(len(found.messages.act), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    source, target = place[found.causes.edges.source], place[found.causes.edges.target]
    steps = (source >= 0) & (target >= 0)
    counts = compute_clocks(
        found.events.track[rows], source[steps], target[steps], len(found.events.process_names)
    )
    at, process = np.nonzero(counts)
    starts = np.append(0, np.cumsum(np.bincount(at, minlength=len(rows)))).astype(np.int32)
    keys, items = (
        found.events.process_names.take(pa.array(process)),
        pa.array(counts[at, process].astype(np.int64)),
    )
    maps = pa.MapArray.from_arrays(pa.array(starts), keys, items).cast(TYPE)
    events = decode_columns(found.events.table.take(pa.array(rows)))
    return events.set_column(events.column_names.index("clock"), EVENTS.field("clock"), maps)


def _check_order(found: EventGraph, rows: np.typing.NDArray[np.int64]) -> None:
    if len(found.causes.stuck):
        raise CallerError("the log has cycles, so its events have no clocks; repair these first")
    free = rows[found.events.track[rows] >= len(found.events.process_names)]
    if len(free):
        event, process = (
            get_column(found.events.table, name)[int(free[0])].as_py() for name in ("event", "process")
        )
        raise CallerError(
            f"the log does not tell where {event} stands in the order of process {process}, and ShiViz draws "
            "processes as lines; use --dot or --report"
        )
