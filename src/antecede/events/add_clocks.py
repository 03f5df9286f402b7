"""Clocks for events of a log that has none, where the log tells the order of every process."""

import numpy as np
import pyarrow as pa

from antecede.core.errors import CallerError
from antecede.events.columns import decode_dictionary_columns, get_column
from antecede.events.graph import EventGraph, build_event_graph
from antecede.kernels.ragged import Ints, compute_starts, find_places_among_chosen
from antecede.kernels.vector_clocks import Clocks, compute_clocks
from antecede.tables import EVENTS

TYPE = EVENTS.field("clock").type


def add_clocks_if_none_are_given(table: pa.Table) -> pa.Table:
    """The events with their clocks; if none has one, those that their causes in this table make."""
    if get_column(table, "clock").null_count < len(table):
        return table
    graph = build_event_graph(table)
    order = graph.causes.order
    rows = order[graph.events.is_step[order]]
    _refuse_cycles_and_unplaced_events(graph, rows)
    position = find_places_among_chosen(rows, len(order))
    source, target = (position[side] for side in graph.list_edges_among_steps())
    tracks = graph.events.track[rows]
    counts = compute_clocks(tracks, source, target, len(graph.events.process_names))
    events = decode_dictionary_columns(graph.events.table.take(pa.array(rows)))
    at = events.column_names.index("clock")
    maps = _build_clock_maps_without_zeros(counts, graph.events.process_names)
    return events.set_column(at, EVENTS.field("clock"), maps)


def _build_clock_maps_without_zeros(counts: Clocks, process_names: pa.Array) -> pa.MapArray:
    """Clocks as maps, without the zeros."""
    row, process = np.nonzero(counts)
    lengths = np.bincount(row, minlength=len(counts))
    starts = compute_starts(lengths).astype(np.int32)
    keys = process_names.take(pa.array(process))
    items = pa.array(counts[row, process].astype(np.int64))
    return pa.MapArray.from_arrays(pa.array(starts), keys, items).cast(TYPE)


def _refuse_cycles_and_unplaced_events(graph: EventGraph, step_rows: Ints) -> None:
    """Refuse events on cycles, and those that have no place in their process."""
    if len(graph.causes.stuck):
        raise CallerError("the log has cycles, so its events have no clocks; repair these first")
    alone = step_rows[graph.events.track[step_rows] >= len(graph.events.process_names)]
    if len(alone):
        row = int(alone[0])
        event = get_column(graph.events.table, "event")[row].as_py()
        process = get_column(graph.events.table, "process")[row].as_py()
        raise CallerError(
            f"the log does not tell where {event} stands in the order of process {process}, and ShiViz draws "
            "processes as lines; use --dot or --report"
        )
