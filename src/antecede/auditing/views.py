"""What a page holds of a log: all of its events, or of a large log those around its findings, with what led
to what. It is the same for both engines.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.auditing.summary import Summary
from antecede.auditing.windows import EventName, WindowSource, fetch_events_around_findings
from antecede.events.columns import Bools, decode_dictionary, get_column, to_integers
from antecede.events.graph import EventGraph, build_event_graph
from antecede.kernels.arrays import group_by_key
from antecede.kernels.causes import PROCESS
from antecede.kernels.linking import ARRIVE
from antecede.kernels.ragged import Ints, invert_permutation
from antecede.tables import EVENTS, LINKS, MESSAGE_LINK, STEP_LINK, UNSENT_LINK, WAIT_LINK, LogView

HELD_EVENTS = 1_500_000
"""Events up to which a page holds all of a log."""
HELD_MARKS = 200_000
"""Findings that a page marks, at most."""
_SHOWN = [
    "execution", "process", "index", "event", "kind", "message", "clock", "time", "text", "fields", "file",
    "line",
]  # fmt: skip
"""The columns of EVENTS that a page shows; it has causes as links."""


class ViewSource(WindowSource, Protocol):
    """A log and its audit, as far as a page wants to know of them."""

    def fetch_graph(self) -> EventGraph:
        """The graph of every event; its table has all columns of EVENTS that a page shows."""

    def list_worst_findings(self, most: int) -> pa.Table:
        """The findings that are told, without their sentences (MARKS): the first ones by kind, as KINDS has
        them, and execution."""


class _Links(NamedTuple):
    """Rows of causes and of effects, and what kind of link leads from one to the other."""

    source: Ints
    target: Ints
    kind: Ints


def build_view(source: ViewSource, summary: Summary) -> LogView:
    """What the page of an audit holds of its log."""
    marks = source.list_worst_findings(HELD_MARKS)
    size = summary.totals["events"]
    if size <= HELD_EVENTS:
        graph = source.fetch_graph()
        events, links = _build_sorted_event_and_link_tables(graph, _list_ghosts_of_missing_causes(graph))
        return LogView(events, links, marks, events)
    graph = build_event_graph(fetch_events_around_findings(source, summary))
    absent = _list_ghosts_of_missing_causes(graph)
    ghosts = absent.filter(_mark_ghosts_absent_from_whole_log(source, absent))
    events, links = _build_sorted_event_and_link_tables(graph, ghosts)
    left_out = (
        f"This page holds {len(graph.events.table):,} of the {size:,} events: those around findings of each "
        f"kind. It can hold all of a log of up to {HELD_EVENTS:,} events."
    )
    return LogView(events, links, marks, _locate_witness_ends(source, marks), left_out)


def _list_ghosts_of_missing_causes(graph: EventGraph) -> pa.Table:
    """What events name and the log has not: each once, as execution, event, and the first row to name it."""
    ghosts = graph.causes.ghosts.group_by(["execution", "event"]).aggregate([("row", "min")])
    return ghosts.rename_columns({"row_min": "row"}).sort_by([("row", "ascending"), ("event", "ascending")])


def _mark_ghosts_absent_from_whole_log(source: ViewSource, ghosts: pa.Table) -> pa.Array:
    """Which ghosts of a part of a log are not in the rest of it either."""
    names = [EventName(0, row["execution"], row["event"]) for row in ghosts.to_pylist()]
    present = {(row["execution"], row["event"]) for row in source.locate_events(names)}
    return pa.array([(name.execution, name.event) not in present for name in names], pa.bool_())


def _locate_witness_ends(source: ViewSource, marks: pa.Table) -> pa.Table:
    """Where and when the first and the last event of each witness were."""
    names: set[tuple[str, str]] = set()
    for row in marks.select(["execution", "events"]).to_pylist():
        witness = row["events"] or []
        names |= {(row["execution"], event) for event in (*witness[:1], *witness[-1:])}
    located = source.locate_events([EventName(0, *name) for name in sorted(names)])
    columns = [EVENTS.field(name) for name in ("execution", "process", "index", "event", "time")]
    return pa.Table.from_pylist(located, pa.schema(columns))


def _build_sorted_event_and_link_tables(graph: EventGraph, ghosts: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The events, causes first, each ghost just before the first event that names it; and their links."""
    order = graph.causes.order
    if len(ghosts):
        known = invert_permutation(order)
        # Half a place before the event that names it: between that event and the one before.
        before = known[to_integers(get_column(ghosts, "row"), -1)] - 0.5
        order = np.argsort(np.concatenate((known, before)), kind="stable")
    events = _append_ghosts_to_events(graph, ghosts).take(pa.array(order))
    place = invert_permutation(order)
    links = _list_drawn_links(graph, ghosts)
    source, target = place[links.source], place[links.target]
    _, by_target = group_by_key(target, len(order))
    columns = [pa.array(column[by_target]) for column in (source, target, links.kind)]
    return events, pa.table(columns, schema=LINKS)


def _append_ghosts_to_events(graph: EventGraph, ghosts: pa.Table) -> pa.Table:
    """The events with their acts, and the ghosts, of which nothing is known but the name, behind all."""
    events = graph.events
    is_arrival = (graph.messages.act == ARRIVE) & ~events.is_step
    columns = {name: get_column(events.table, name) for name in _SHOWN}
    if is_arrival.any():
        kind = decode_dictionary(columns["kind"]).cast(pa.string())
        columns["kind"] = pc.if_else(pa.array(is_arrival), "arrival", kind)
    columns["execution"] = pa.DictionaryArray.from_arrays(pa.array(events.execution), events.executions)
    if not len(ghosts):
        return pa.table(columns)
    known = {"kind": pa.array(["ghost"] * len(ghosts))}
    known |= {name: get_column(ghosts, name) for name in ("execution", "event")}
    for name, column in columns.items():
        plain = decode_dictionary(column)
        added = known.get(name, pa.nulls(len(ghosts), plain.type)).cast(plain.type)
        columns[name] = pa.concat_arrays([plain, added])
    return pa.table(columns)


def _list_drawn_links(graph: EventGraph, ghosts: pa.Table) -> _Links:
    """Steps of processes, messages and other causes, the waiting of what has arrived, and what ghosts cause.

    A message goes to its arrival, and from there waits for its delivery.
    """
    messages = graph.messages.links
    source, target = graph.causes.edges
    is_step = (graph.causes.known & PROCESS) != 0
    # Into a delivery whose message has an arrival, there leads only the arrival's own link, below.
    arrival = messages.arrival[target]
    is_from_message = (messages.send[target] == source) | (arrival == source)
    is_waiting = (arrival >= 0) & is_from_message
    is_told_elsewhere = is_waiting | _is_implied_by_process_order(graph, source, target)
    is_drawn = is_step | ~is_told_elsewhere
    kind = np.where(is_step, STEP_LINK, MESSAGE_LINK)
    is_arrival = (graph.messages.act == ARRIVE) & ~graph.events.is_step
    arrived = np.flatnonzero(is_arrival & (messages.send >= 0))
    delivered = np.flatnonzero(messages.arrival >= 0)
    named, naming = _list_ghost_rows_and_naming_rows(graph, ghosts)
    parts = [
        _Links(source[is_drawn], target[is_drawn], kind[is_drawn]),
        _make_links_of_kind(messages.send[arrived], arrived, MESSAGE_LINK),
        _make_links_of_kind(messages.arrival[delivered], delivered, WAIT_LINK),
        _make_links_of_kind(*graph.causes.unsent, UNSENT_LINK),
        _make_links_of_kind(named, naming, MESSAGE_LINK),
    ]
    return _Links(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _make_links_of_kind(source: Ints, target: Ints, kind: int) -> _Links:
    return _Links(source, target, np.full(len(source), kind))


def _list_ghost_rows_and_naming_rows(graph: EventGraph, ghosts: pa.Table) -> tuple[Ints, Ints]:
    """The row of each ghost behind the events of a graph, and the rows that name it."""
    drawn_ghosts = _list_executions_and_events_of_ghosts(ghosts)
    numbers = {name: number for number, name in enumerate(drawn_ghosts)}
    named_ghosts = _list_executions_and_events_of_ghosts(graph.causes.ghosts)
    named = [numbers.get(name, -1) for name in named_ghosts]
    number = np.array(named, dtype=np.int64)
    is_known = number >= 0
    return len(graph.events.table) + number[is_known], graph.causes.rows_naming_ghosts[is_known]


def _list_executions_and_events_of_ghosts(ghosts: pa.Table) -> list[tuple[str, str]]:
    """The execution and the event of each."""
    return list(zip(ghosts["execution"].to_pylist(), ghosts["event"].to_pylist(), strict=True))


def _is_implied_by_process_order(graph: EventGraph, source: Ints, target: Ints) -> Bools:
    """Which edges join two events of one process that its own order already joins."""
    events = graph.events
    is_same_track = events.track[source] == events.track[target]
    are_steps = events.is_step[source] & events.is_step[target]
    is_before = events.place[source] < events.place[target]
    return np.asarray(is_same_track & are_steps & is_before)
