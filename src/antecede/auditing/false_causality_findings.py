"""False causality: what causal order orders although the application says that it does not depend on it.

That is known of an execution in which every send names the events it depends on as its parents (none, if the
list is empty), where some name any, and all that are named are in the log. What is received depends on what
was sent; a delivery or a local event depends on nothing else of its process but what it names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.auditing.findings import MOST_TOLD, FindingRows
from antecede.events.columns import get_column
from antecede.events.graph import EventGraph
from antecede.kernels.causes import MESSAGE, PARENT
from antecede.kernels.false_causality import Waits, find_waits
from antecede.kernels.links import DELIVER, SEND, LinkedTrace, link_positions
from antecede.kernels.pair_counts import count_ordered_pairs
from antecede.kernels.ragged import Ints, compress_codes
from antecede.kernels.witness import CauseGraph, build_graph, find_chains

PAIRS = 2**20
"""Most pairs that are listed at once."""
Bools = NDArray[np.bool_]


class FalseCausality(NamedTuple):
    """Findings, and numbers by execution: -1 where dependencies are not known."""

    part: FindingRows
    counts: dict[str, Ints]


class _Events(NamedTuple):
    """The events of the executions whose dependencies are known, in linear order."""

    rows: Ints
    execution: Ints
    linked: LinkedTrace
    past: CauseGraph
    meant: CauseGraph
    arrival: Ints  # the position of the arrival of each delivery, or -1


def judge_false_causality(graph: EventGraph, ordered: Ints) -> FalseCausality:
    """Pairs in which a message was delivered before another one on which it depends by causal order alone.

    Besides, how often a message that was there had to wait for such a one, and how many of the ordered pairs
    of events are not meant, given how many each execution has.
    """
    known = _find_known_executions(graph)
    size = len(graph.events.executions)
    none = np.full(size, -1, dtype=np.int64)
    if not known.any():
        empty = FindingRows("false-causality", none[:0], np.zeros(1, dtype=np.int64), none[:0], {})
        zero = np.zeros(size, dtype=np.int64)
        return FalseCausality(empty, {"false-causality": zero, "needless_waits": none, "false_pairs": none})
    events = _collect_events(graph, known)
    found = find_waits(events.linked, events.past, events.meant, cap=PAIRS)
    counts = {
        "false-causality": _sum_by_execution(events, found.needless, size),
        "needless_waits": np.where(known, _sum_by_execution(events, _count_needless_waits(events), size), -1),
        "false_pairs": np.where(known & (ordered >= 0), ordered - _count_meant_pairs(graph, known), -1),
    }
    return FalseCausality(_list_first(graph, events, found), counts)


def _find_known_executions(graph: EventGraph) -> Bools:
    """Which executions tell what their sends depend on."""
    size = len(graph.events.executions)
    parents = get_column(graph.events.table, "parents")
    count = np.asarray(pc.fill_null(pc.list_value_length(parents), -1), dtype=np.int64)
    sends = (graph.messages.act == SEND) & (graph.messages.links.code >= 0)
    some = np.bincount(graph.events.execution[sends & (count > 0)], minlength=size) > 0
    lacking = [np.flatnonzero(sends & (count < 0)), graph.causes.stuck, graph.causes.own_parents]
    lacking.append(np.asarray(graph.causes.ghosts["row"].to_numpy(), dtype=np.int64))
    some[graph.events.execution[np.concatenate(lacking)]] = False
    return some


def _collect_events(graph: EventGraph, known: Bools) -> _Events:
    rows = graph.causes.order[known[graph.events.execution[graph.causes.order]]]
    place = _find_positions(graph, rows)
    source, target, what = _list_edges(graph, rows)
    send = graph.messages.links.delivered_sends(graph.messages.act)[rows]
    process = compress_codes(graph.events.process[rows]).codes
    linked = link_positions(process, np.where(send >= 0, place[send], -1))
    track = compress_codes(graph.events.track[rows]).codes
    named = what & PARENT > 0
    over = (
        (what & MESSAGE > 0)
        & ~graph.events.is_step[rows[source]]
        & (graph.messages.act[rows[target]] == DELIVER)
    )
    arrival = np.full(len(rows), -1, dtype=np.int64)
    arrival[target[over]] = source[over]
    past, meant = build_graph(track, source, target), build_graph(track, source[named], target[named])
    return _Events(rows, graph.events.execution[rows], linked, past, meant, arrival)


def _find_positions(graph: EventGraph, rows: Ints) -> Ints:
    """The position of each row of the trace among these, or -1."""
    place = np.full(len(graph.messages.act), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return place


def _list_edges(graph: EventGraph, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """The edges among these rows, by their positions, and what each is known from."""
    place = _find_positions(graph, rows)
    source, target = place[graph.causes.edges.source], place[graph.causes.edges.target]
    inside = (source >= 0) & (target >= 0)
    return source[inside], target[inside], graph.causes.known[inside].astype(np.int64)


def _count_needless_waits(events: _Events) -> Ints:
    """Of each event, how many messages keep the one that is there at last waiting without need."""
    asked = events.linked.sent.copy()
    early = np.flatnonzero((asked >= 0) & (events.arrival >= 0))
    asked[events.arrival[early]] = asked[early]
    asked[early] = -1
    return find_waits(events.linked, events.past, events.meant, asked, cap=0).needless


def _sum_by_execution(events: _Events, counts: Ints, size: int) -> Ints:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, events.execution, counts)
    return sums


def _count_meant_pairs(graph: EventGraph, known: Bools) -> Ints:
    """How many pairs of steps are ordered by what they depend on; too much to count is none."""
    order = graph.causes.order
    rows = order[known[graph.events.execution[order]] & graph.events.is_step[order]]
    source, target, what = _list_edges(graph, rows)
    real = what & (PARENT | MESSAGE) > 0
    starts = np.searchsorted(graph.events.execution[rows], np.arange(len(graph.events.executions) + 1))
    counts = count_ordered_pairs(starts, np.arange(len(rows)), source[real], target[real], 0)
    return np.maximum(counts, 0)


def _list_first(graph: EventGraph, events: _Events, found: Waits) -> FindingRows:
    """As many as are told, with the chain that orders the two."""
    execution = events.execution[found.at]
    picks = np.flatnonzero(np.arange(len(execution)) - np.searchsorted(execution, execution) < MOST_TOLD)
    at, cause = found.at[picks], found.cause[picks]
    shown = find_chains(events.past, cause, events.linked.sent[at])
    receiver = graph.events.process_names.take(graph.events.process[events.rows[at]]).to_pylist()
    rows = events.rows[shown.events]
    return FindingRows("false-causality", events.rows[at], shown.starts, rows, {"receiver": receiver})
