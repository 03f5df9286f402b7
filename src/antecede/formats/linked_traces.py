"""Traces that are linked: a span that names a span of another trace came behind it: both are one execution.

A consumer of batches starts a trace of its own and links it to those of the messages in the batch. Readers
name such a cause by its span and its trace. When all files are there, the traces that lead to each other
through links become one execution, whose events are all called by their traces as well. Links to a trace of
which the log has nothing change nothing.
"""

from collections.abc import Collection, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from antecede.tables import EVENTS, OF_TRACE

WITH_LINKS = ("otlp", "otel-table", "jaeger")
"""Formats whose spans can be linked."""
TRACE_LINKS = pa.schema({"execution": pa.string(), "linked": pa.string()})
"""A trace, and another one to which a span of it is linked."""
JOINED_TRACES = pa.schema({"execution": pa.string(), "joined": pa.string()})
"""A trace, and the execution that it belongs to with others."""


def list_trace_links(events: pa.Table) -> pa.Table:
    """The links between traces that a file has, each once, as TRACE_LINKS."""
    parents = events["parents"].combine_chunks()
    names = pc.list_flatten(parents)
    is_foreign = pc.match_substring(names, OF_TRACE)
    if not pc.any(is_foreign).as_py():
        return TRACE_LINKS.empty_table()
    rows = pc.list_parent_indices(parents).filter(is_foreign)
    parts = pc.split_pattern(names.filter(is_foreign), OF_TRACE, max_splits=1, reverse=True)
    columns = [events["execution"].take(rows), pc.list_element(parts, 1)]
    links = pa.Table.from_arrays(columns, schema=TRACE_LINKS)
    return links.group_by(TRACE_LINKS.names).aggregate([])


def join_traces(links: pa.Table, present_traces: Collection[str]) -> pa.Table:
    """The executions of linked traces, as JOINED_TRACES; of `present_traces` there are events."""
    parent: dict[str, str] = {}

    def find_root(trace: str) -> str:
        parent.setdefault(trace, trace)
        while parent[trace] != trace:
            parent[trace] = parent[parent[trace]]
            trace = parent[trace]
        return trace

    for trace, linked in zip(links["execution"].to_pylist(), links["linked"].to_pylist(), strict=True):
        if linked in present_traces:
            # The smaller name is the root, so that the result does not depend on the order of links.
            low, high = sorted((find_root(trace), find_root(linked)))
            parent[high] = low
    members: dict[str, list[str]] = {}
    for trace in sorted(parent):
        members.setdefault(find_root(trace), []).append(trace)
    rows = list(_make_joined_trace_rows(members.values()))
    return pa.Table.from_pylist(rows, JOINED_TRACES)


def _make_joined_trace_rows(groups: Iterable[list[str]]) -> Iterable[dict[str, str]]:
    for traces in groups:
        if len(traces) > 1:
            name = f"{traces[0]} and {len(traces) - 1} more"
            yield from ({"execution": trace, "joined": name} for trace in traces)


def move_events_into_joined_traces(events: pa.Table, joined: pa.Table) -> pa.Table:
    """The events of traces, with those of joined ones in their execution, and called by their traces."""
    place = pc.index_in(events["execution"], value_set=joined["execution"].combine_chunks())
    is_joined = pc.is_valid(place)
    suffix = pc.binary_join_element_wise(pa.scalar(OF_TRACE.strip(" ")), events["execution"], " ")
    qualified = pc.binary_join_element_wise(events["event"], suffix, " ")
    columns = {
        "execution": pc.coalesce(joined["joined"].take(place), events["execution"]),
        "event": pc.if_else(is_joined, qualified, events["event"]),
        "parents": _add_trace_to_parent_ids(events["parents"].combine_chunks(), is_joined, suffix),
    }
    for name, column in columns.items():
        position = EVENTS.get_field_index(name)
        events = events.set_column(position, EVENTS.field(position), column)
    return events


def _add_trace_to_parent_ids(
    parents: pa.ListArray, is_joined: pa.ChunkedArray, suffix: pa.ChunkedArray
) -> pa.ListArray:
    """Parents that are named without their trace are those of the event's own."""
    rows = pc.list_parent_indices(parents)
    names = pc.list_flatten(parents)
    is_own = pc.invert(pc.match_substring(names, OF_TRACE))
    is_renamed = pc.and_(is_joined.take(rows), is_own)
    qualified = pc.binary_join_element_wise(names, suffix.take(rows), " ")
    renamed = pc.if_else(is_renamed, qualified, names).combine_chunks()
    sizes = pc.fill_null(pc.list_value_length(parents), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array([0, *sizes.cumsum().tolist()], pa.int32())
    mask = pc.is_null(parents)
    return pa.ListArray.from_arrays(offsets, renamed, mask=mask)
