"""A table of events as a graph: which event directly caused which, by all that the log tells.

Four things tell of causes: the order of each process (`index`, else own clock entries), clocks, parents and
messages. Time tells of none and only breaks ties. One table may hold any number of executions.

A process's sends, deliveries and local events are its steps. Where an execution has deliveries, its receives
without a clock are mere arrivals: behind their send and before their delivery, and no steps. Where it has
none, the receives are the deliveries. Steps that have no place in their process's order stand alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.columns import Bools, Floats, canonical, coded, column, floats, lists, numbers
from antecede.events.messages import classify_acts, list_handovers, list_message_edges, match_events
from antecede.events.processes import Actors, actors, tracks
from antecede.kernels.causes import CLOCK, MESSAGE, PARENT, PROCESS, Flags
from antecede.kernels.histories import Edges, edges_of_clocks
from antecede.kernels.linear_order import order_events
from antecede.kernels.linking import ARRIVE, MessageLinks
from antecede.kernels.ragged import Ints, Rows
from antecede.kernels.topology import Cycles, Sorted

GHOSTS = pa.schema({"execution": pa.string(), "event": pa.string(), "row": pa.int64()})
_NONE = np.empty(0, dtype=np.int64)


class Trace(NamedTuple):
    """Rows are those of the table, which is in canonical order; all arrays over events follow it."""

    table: pa.Table
    execution: Ints  # a code, ascending
    executions: pa.Array  # names by code
    process: Ints  # a code for each process of each execution; an event without one has its own
    names: pa.Array  # of processes by code, also of those that are only named
    sender: Ints  # a process code, -1 if unknown
    receivers: tuple[Ints, Ints]  # those of event i are at starts[i]:starts[i + 1] of the second
    track: Ints  # the process if the event has a place in its order, else a code of its own behind all names
    place: Ints  # ascends along a track
    act: Ints  # SEND, DELIVER, ARRIVE, OTHER
    is_step: Bools  # of its process; arrivals without a clock are none
    own: Ints  # own clock entry, 0 if there is none
    clocks: Rows  # over process codes
    messages: MessageLinks
    edges: Edges  # direct causes, each once, by target
    known: Flags  # what each edge is known from: PROCESS, CLOCK, PARENT, MESSAGE
    unsent: Edges  # from sends to deliveries that lead to them; these are not among the edges
    selves: Ints  # events that are their own parent
    ghosts: pa.Table  # parents that are not in the log, and the row that names each (GHOSTS)
    doubles: tuple[
        Ints, Ints
    ]  # of events with the id of another in the execution: that one, the first, and they
    cycles: Cycles  # events that no order can keep
    sorted: Sorted  # causes first; executions one after the other; time, then line, break ties


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


class IdLinks(NamedTuple):
    """What events tell of others by their ids; as in the graph."""

    parents: Edges
    selves: Ints
    ghosts: pa.Table
    doubles: tuple[Ints, Ints]


def trace(table: pa.Table) -> Trace:
    """The graph of all events of a table with EVENTS columns; columns that are not there are unknown.

    Of two events with one id in an execution, the first in canonical order is the one that others name.
    """
    rows, execution, names = canonical(table)
    if (rows[1:] < rows[:-1]).any():
        table = table.take(pa.array(rows))
    who = actors(table, execution)
    events = place_events(table, execution, names, who, classify_acts(table, execution))
    links = match_events(table, execution, events.act, who, events.track, events.place)
    return assemble_graph(events, links, _link_ids(table, execution, names))


def place_events(
    table: pa.Table, execution: Ints, executions: pa.Array, who: Actors, act: Ints
) -> CodedEvents:
    """The events with their places in the order of their processes."""
    is_step = (act != ARRIVE) | (np.diff(who.clocks.starts) > 0)
    track, place = tracks(who.process, is_step, column(table, "index"), who.own, len(who.names))
    return CodedEvents(table, execution, executions, who, act, is_step, track, place)


def assemble_graph(events: CodedEvents, links: MessageLinks, ids: IdLinks) -> Trace:
    """The graph of events whose messages and ids are matched."""
    table, execution, names, who, act, is_step, track, place = events
    parts = [
        *_histories(track, place, who),
        (*ids.parents, PARENT),
        (*list_message_edges(links, is_step), MESSAGE),
    ]
    ranks: list[Ints | Floats] = [
        execution,
        floats(column(table, "time")),
        numbers(column(table, "line"), 2**62),
        numbers(column(table, "index"), 2**62),
    ]
    arrivals = list_message_edges(links, ~is_step)
    graph = order_events(len(table), parts, arrivals, list_handovers(links), ranks)
    return Trace(
        table, execution, names, who.process, who.names, who.sender, who.receivers, track, place, act,
        is_step, who.own, who.clocks, links, graph.merged.edges, graph.merged.known, graph.unsent,
        ids.selves, ids.ghosts, ids.doubles, graph.cycles, graph.sorted,
    )  # fmt: skip


def _histories(track: Ints, place: Ints, who: Actors) -> list[tuple[Ints, Ints, int]]:
    """The edges of process order, and those of clocks."""
    found = edges_of_clocks(track, who.own, who.clocks, place)
    across = track[found.source] != track[found.target]
    parts = ((~across, PROCESS), (across, CLOCK))
    return [(found.source[mask], found.target[mask], known) for mask, known in parts]


def _link_ids(table: pa.Table, execution: Ints, executions: pa.Array) -> IdLinks:
    """The edges of parents, events that name themselves, what is named and not there, ids used twice."""
    doubles = _doubles(table, execution)
    flat = lists(column(table, "parents"))
    if not flat.items or not len(flat.items[0]):
        return IdLinks(Edges(_NONE, _NONE), _NONE, GHOSTS.empty_table(), doubles)
    event, parent = (found := coded([column(table, "event"), flat.items[0]])).codes
    child = flat.rows
    known, first = np.unique((execution * len(found.names) + event)[event >= 0], return_index=True)
    first = np.flatnonzero(event >= 0)[first]
    wanted = execution[child] * len(found.names) + parent
    at = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    there = (known[at] == wanted) if len(known) else np.zeros(len(wanted), dtype=bool)
    itself, named = (event[child] == parent) & (parent >= 0), parent >= 0
    edge, ghost = there & ~itself & named, ~there & named
    names = [executions.take(pa.array(execution[child[ghost]])), found.names.take(pa.array(parent[ghost]))]
    ghosts = pa.Table.from_arrays([*names, pa.array(child[ghost])], schema=GHOSTS)
    return IdLinks(Edges(first[at[edge]], child[edge]), np.unique(child[itself]), ghosts, doubles)


def _doubles(table: pa.Table, execution: Ints) -> tuple[Ints, Ints]:
    """The first event of each id that several have, for each of the others; and these."""
    names, (event,) = coded([column(table, "event")])
    rows = np.flatnonzero(event >= 0)
    keys = execution[rows] * len(names) + event[rows]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    first = rows[first][which]
    again = first != rows
    return first[again], rows[again]
