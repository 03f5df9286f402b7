"""A table of events as a graph: which event directly caused which, by all that the log tells.

Four things tell of causes: the order of each process (`index`, else own clock entries), clocks, parents and
messages. Time tells of none and only breaks ties. One table may hold any number of executions.

A process's sends, deliveries and local events are its steps. Where an execution has deliveries, its receives
without a clock are mere arrivals: behind their send and before their delivery, and no steps. Where it has
none, the receives are the deliveries. Steps that have no place in their process's order stand alone; but
where all causes together order the steps of a process, that is its order (`causal_lines`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.causal_lines import EventLines, OrderedRows, add_lines_of_processes_ordered_by_causes
from antecede.events.columns import (
    Bools,
    dictionary_encode_columns,
    get_column,
    take_table_rows,
    to_floats,
    to_integers,
    widen_offsets_of_huge_text_columns,
)
from antecede.events.ids import IdLinks, RepeatedIds, link_events_by_ids
from antecede.events.messages import (
    classify_message_acts,
    list_arrival_to_delivery_edges,
    list_edges_from_sends,
    match_events_by_message,
)
from antecede.events.processes import Actors, assign_tracks_and_places, encode_actors_and_clocks
from antecede.events.row_order import find_row_order
from antecede.kernels.causes import ANYTHING, CLOCK, MESSAGE, PARENT, PROCESS, Flags
from antecede.kernels.histories import Edges, find_clock_edges
from antecede.kernels.left_out import lead_edges_around_events_left_out
from antecede.kernels.linear_order import EdgePart, Ranks, order_events_by_edges, sort_by_ranks
from antecede.kernels.linking import ARRIVE, MessageLinks
from antecede.kernels.ragged import Ints, Rows
from antecede.kernels.topology import Cycles

FEW_NAMES = ("execution", "process", "kind", "sender", "file")
MANY_NAMES = ("message",)
"""Columns of names that are dictionaries in the table of a graph, most of them of few names. Ids of events
hardly ever repeat, and stay as they are."""


class GraphEvents(NamedTuple):
    """Rows are those of the table, which is in canonical order; all arrays over events follow it."""

    table: pa.Table  # EVENTS columns, but names are dictionaries (see `columns.decode_dictionary`)
    execution: Ints  # a code, ascending
    executions: pa.Array  # names by code
    process: Ints  # a code for each process of each execution; an event without one has its own
    process_names: pa.Array  # by code, also of processes that are only named
    is_step: Bools  # of its process; arrivals without a clock are none
    track: Ints  # the process if the event has a place in its order, else a code of its own behind all names
    place: Ints  # ascends along a track
    own: Ints  # own clock entry, 0 if there is none
    clocks: Rows  # over process codes
    repeated_ids: RepeatedIds

    def look_up_process_names(self, codes: Ints) -> list[str | None]:
        """The names of processes; None for a code of -1."""
        names: list[str | None] = self.process_names.take(pa.array(codes, mask=codes < 0)).to_pylist()
        return names

    def count_rows_by_execution(self, rows: Ints) -> Ints:
        """How many of these rows each execution has."""
        return np.bincount(self.execution[rows], minlength=len(self.executions))


class GraphMessages(NamedTuple):
    """How each event takes part in a message, and which belong together."""

    act: Ints  # SEND, DELIVER, ARRIVE, OTHER
    sender: Ints  # the process code that the event names as its sender, -1 if unknown
    links: MessageLinks


class GraphCauses(NamedTuple):
    """Which event caused which, and an order of all events by that."""

    edges: Edges  # direct causes, each once, by target
    known: Flags  # what each edge is known from: PROCESS, CLOCK, PARENT, MESSAGE
    unsent: Edges  # from sends to deliveries that lead to them; these are not among the edges
    own_parents: Ints  # events that are their own parent
    ghosts: pa.Table  # parents that are not in the log, and the row that names each (ids.GHOSTS)
    cycles: Cycles  # events that no order can keep
    order: Ints  # rows, causes first; executions one after the other; time, then line, break ties
    stuck: Ints  # rows on cycles, ascending: these have no right place in the order

    @property
    def rows_naming_ghosts(self) -> Ints:
        """The rows that name ghosts."""
        return to_integers(get_column(self.ghosts, "row"), -1)


class EventGraph(NamedTuple):
    """All that a table of events tells."""

    events: GraphEvents
    messages: GraphMessages
    causes: GraphCauses

    def list_edges_among_steps(self, known_from: int = ANYTHING) -> Edges:
        """The causes of steps that are steps, of what is known from any of these.

        Arrivals that are no steps lie between others where parents name them, or where they name parents.
        """
        edges, known, is_step = self.causes.edges, self.causes.known, self.events.is_step
        if known_from != ANYTHING:
            is_wanted = known & known_from > 0
            edges, known = Edges(edges.source[is_wanted], edges.target[is_wanted]), known[is_wanted]
        is_among_steps = is_step[edges.source] & is_step[edges.target]
        if is_among_steps.all():
            return edges
        if (known[~is_among_steps] == PARENT).any():
            return lead_edges_around_events_left_out(self.causes.order, is_step, self.events.track, edges)
        # Who has a message from its arrival has it from the send, too: there is nothing to lead around.
        return Edges(edges.source[is_among_steps], edges.target[is_among_steps])


class CodedEvents(NamedTuple):
    """Events in canonical order, with codes for all names."""

    table: pa.Table  # of which only `process`, `index`, `time`, `line` and the length of `parents` are read
    execution: Ints
    executions: pa.Array
    who: Actors
    act: Ints
    is_step: Bools
    track: Ints
    place: Ints


class LineOrders(NamedTuple):
    """What is known of order without messages and ids."""

    edges: list[EdgePart]  # of processes, and of clocks
    by_rank: Ints  # all rows, as they come where causes leave a choice


def build_event_graph(table: pa.Table) -> EventGraph:
    """The graph of all events of a table with EVENTS columns; columns that are not there are unknown.

    Of two events with one id in an execution, the first in canonical order is the one that others name.
    """
    table = widen_offsets_of_huge_text_columns(table)
    columns = table.column_names
    many_names = [name for name in MANY_NAMES if name in columns]
    with ThreadPoolExecutor(1) as other_thread:
        # To encode the ids of messages takes as long as to find out who acts.
        encoding = other_thread.submit(dictionary_encode_columns, table.select(many_names), MANY_NAMES)
        table = dictionary_encode_columns(table, FEW_NAMES)
        rows, execution, executions = find_row_order(table)
        table = _reorder_rows_in_one_piece(table.drop_columns(many_names), rows)
        ids = other_thread.submit(link_events_by_ids, table, execution, executions)
        who = encode_actors_and_clocks(table, execution)
        act = classify_message_acts(table, execution)
        encoded = _reorder_rows_in_one_piece(encoding.result(), rows)
        for name in many_names:
            table = table.append_column(name, encoded[name])
        events = locate_events_in_processes(table.select(columns), execution, executions, who, act)
        # Matching takes as long as all that needs no messages.
        line_orders = other_thread.submit(find_process_and_clock_edges_and_sort_rows_by_time, events)
        links = match_events_by_message(events.table, execution, act, who, events.track, events.place)
    graph = assemble_event_graph(events, line_orders.result(), links, ids.result())
    lines = _find_lines_made_by_causes(graph)
    if lines is None:
        return graph
    # Which send and which delivery come first, and so the edges, follow the order of processes.
    events = events._replace(track=lines.track, place=lines.place)
    links = match_events_by_message(events.table, execution, act, who, lines.track, lines.place)
    return assemble_event_graph(
        events, find_process_and_clock_edges_and_sort_rows_by_time(events), links, ids.result()
    )


def _find_lines_made_by_causes(graph: EventGraph) -> EventLines | None:
    """The lines of processes if causes make some that nothing else makes."""
    events, causes = graph.events, graph.causes
    lines = EventLines(events.process, events.is_step, events.track, events.place, len(events.process_names))
    ordered = OrderedRows(causes.order, causes.stuck, causes.edges)
    return add_lines_of_processes_ordered_by_causes(
        lines, events.execution, graph.messages.links.code >= 0, ordered
    )


def _reorder_rows_in_one_piece(table: pa.Table, rows: Ints) -> pa.Table:
    """These rows, in this order and in one piece: else every look at a column would make one."""
    if (rows[1:] < rows[:-1]).any():
        table = take_table_rows(table, rows)
    return table.combine_chunks()


def locate_events_in_processes(
    table: pa.Table, execution: Ints, executions: pa.Array, who: Actors, act: Ints
) -> CodedEvents:
    """The events with their places in the order of their processes."""
    has_clock = np.diff(who.clocks.starts) > 0
    is_step = (act != ARRIVE) | has_clock
    index = get_column(table, "index")
    track, place = assign_tracks_and_places(who.process, is_step, index, who.own, len(who.names))
    return CodedEvents(table, execution, executions, who, act, is_step, track, place)


def find_process_and_clock_edges_and_sort_rows_by_time(events: CodedEvents) -> LineOrders:
    """The edges of process order, those of clocks, and the order of rows by execution, time, line, index."""
    source, target = find_clock_edges(events.track, events.who.own, events.who.clocks, events.place)
    is_across = events.track[source] != events.track[target]
    edges = [
        (source[~is_across], target[~is_across], PROCESS),
        (source[is_across], target[is_across], CLOCK),
    ]
    ranks: Ranks = [
        events.execution,
        to_floats(get_column(events.table, "time")),
        to_integers(get_column(events.table, "line"), 2**62),
        to_integers(get_column(events.table, "index"), 2**62),
    ]
    return LineOrders(edges, sort_by_ranks(len(events.table), ranks))


def assemble_event_graph(
    coded_events: CodedEvents, lines: LineOrders, links: MessageLinks, ids: IdLinks
) -> EventGraph:
    """The graph of events whose messages and ids are matched."""
    who = coded_events.who
    events = GraphEvents(
        table=coded_events.table,
        execution=coded_events.execution,
        executions=coded_events.executions,
        process=who.process,
        process_names=who.names,
        is_step=coded_events.is_step,
        track=coded_events.track,
        place=coded_events.place,
        own=who.own,
        clocks=who.clocks,
        repeated_ids=ids.repeated_ids,
    )
    messages = GraphMessages(act=coded_events.act, sender=who.sender, links=links)
    return EventGraph(
        events=events, messages=messages, causes=_merge_edges_and_order_events(events, lines, links, ids)
    )


def _merge_edges_and_order_events(
    events: GraphEvents, lines: LineOrders, links: MessageLinks, ids: IdLinks
) -> GraphCauses:
    """All edges, and an order of the events by them."""
    message_edges = list_edges_from_sends(links, events.is_step)
    arrivals = list_edges_from_sends(links, ~events.is_step)
    steps = [*lines.edges, (*ids.parents, PARENT), (*message_edges, MESSAGE)]
    handovers = list_arrival_to_delivery_edges(links)
    linear = order_events_by_edges(lines.by_rank, steps, arrivals, handovers)
    return GraphCauses(
        edges=linear.merged.edges,
        known=linear.merged.known,
        unsent=linear.unsent,
        own_parents=ids.selves,
        ghosts=ids.ghosts,
        cycles=linear.cycles,
        order=linear.sorted.order,
        stuck=linear.sorted.stuck,
    )
