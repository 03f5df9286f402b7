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

from antecede.auditing.findings import MOST_REPORTED, FindingRows, build_finding_rows
from antecede.events.columns import get_column
from antecede.events.graph import EventGraph
from antecede.kernels.causes import MESSAGE, PARENT
from antecede.kernels.false_causality import Waits, find_needless_waits
from antecede.kernels.links import DELIVER, SEND, LinkedTrace, build_linked_trace
from antecede.kernels.pair_counts import count_ordered_pairs
from antecede.kernels.ragged import Ints, compress_codes, find_places_among_chosen, rank_within_runs
from antecede.kernels.witness import CauseGraph, build_cause_graph, find_shortest_chains

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


def judge_false_causality(graph: EventGraph, ordered_pair_counts: Ints) -> FalseCausality:
    """Pairs in which a message was delivered before another one on which it depends by causal order alone.

    Besides, how often a message that was there had to wait for such a one, and how many of the ordered pairs
    of events are not meant, given how many each execution has.
    """
    is_known = _find_executions_naming_dependencies(graph)
    if not is_known.any():
        return _make_unknown_false_causality(len(is_known))
    events = _collect_events_with_dependencies(graph, is_known)
    waits = find_needless_waits(events.linked, events.past, events.meant, cap=PAIRS)
    needless_waits = _sum_counts_by_execution(events, _count_needless_waits_by_event(events), len(is_known))
    false_pairs = ordered_pair_counts - _count_dependent_pairs_by_execution(graph, is_known)
    counts = {
        "false-causality": _sum_counts_by_execution(events, waits.needless, len(is_known)),
        "needless_waits": np.where(is_known, needless_waits, -1),
        "false_pairs": np.where(is_known & (ordered_pair_counts >= 0), false_pairs, -1),
    }
    return FalseCausality(_build_reported_findings(graph, events, waits), counts)


def _make_unknown_false_causality(execution_count: int) -> FalseCausality:
    """What is found where no execution tells what its sends depend on."""
    unknown = np.full(execution_count, -1, dtype=np.int64)
    zero = np.zeros(execution_count, dtype=np.int64)
    counts = {"false-causality": zero, "needless_waits": unknown, "false_pairs": unknown}
    return FalseCausality(build_finding_rows("false-causality", unknown[:0]), counts)


def _find_executions_naming_dependencies(graph: EventGraph) -> Bools:
    """Which executions tell what their sends depend on."""
    execution = graph.events.execution
    lengths = pc.list_value_length(get_column(graph.events.table, "parents"))
    parents = np.asarray(pc.fill_null(lengths, -1), dtype=np.int64)
    is_send = (graph.messages.act == SEND) & (graph.messages.links.code >= 0)
    telling_sends = np.flatnonzero(is_send & (parents > 0))
    is_known = graph.events.count_rows_by_execution(telling_sends) > 0
    silent_sends = np.flatnonzero(is_send & (parents < 0))
    causes = graph.causes
    for rows in (silent_sends, causes.stuck, causes.own_parents, causes.rows_naming_ghosts):
        is_known[execution[rows]] = False
    return is_known


def _collect_events_with_dependencies(graph: EventGraph, is_known_execution: Bools) -> _Events:
    """The events of these executions, with what orders them and what is meant to."""
    order = graph.causes.order
    rows = order[is_known_execution[graph.events.execution[order]]]
    position = find_places_among_chosen(rows, len(order))
    source, target, known_from = _list_edges_with_origins_among_rows(graph, rows)
    send = graph.messages.links.find_sends_of_deliveries(graph.messages.act)[rows]
    sent = np.where(send >= 0, position[send], -1)
    process = compress_codes(graph.events.process[rows]).codes
    track = compress_codes(graph.events.track[rows]).codes
    is_named = known_from & PARENT > 0
    is_handover = (known_from & MESSAGE > 0) & ~graph.events.is_step[rows[source]]
    is_handover &= graph.messages.act[rows[target]] == DELIVER
    arrival = np.full(len(rows), -1, dtype=np.int64)
    arrival[target[is_handover]] = source[is_handover]
    return _Events(
        rows=rows,
        execution=graph.events.execution[rows],
        linked=build_linked_trace(process, sent),
        past=build_cause_graph(track, source, target),
        meant=build_cause_graph(track, source[is_named], target[is_named]),
        arrival=arrival,
    )


def _list_edges_with_origins_among_rows(graph: EventGraph, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """The edges among these rows, by their positions, and what each is known from."""
    position = find_places_among_chosen(rows, len(graph.causes.order))
    source, target = (position[side] for side in graph.causes.edges)
    is_inside = (source >= 0) & (target >= 0)
    known_from = graph.causes.known[is_inside].astype(np.int64)
    return source[is_inside], target[is_inside], known_from


def _count_needless_waits_by_event(events: _Events) -> Ints:
    """Of each event, how many messages keep the one that is there at last waiting without need."""
    asked = events.linked.sent.copy()
    early = np.flatnonzero((asked >= 0) & (events.arrival >= 0))
    asked[events.arrival[early]] = asked[early]
    asked[early] = -1
    return find_needless_waits(events.linked, events.past, events.meant, asked, cap=0).needless


def _sum_counts_by_execution(events: _Events, counts_by_event: Ints, execution_count: int) -> Ints:
    """The sum of what was counted for the events of each execution."""
    sums = np.zeros(execution_count, dtype=np.int64)
    np.add.at(sums, events.execution, counts_by_event)
    return sums


def _count_dependent_pairs_by_execution(graph: EventGraph, is_known_execution: Bools) -> Ints:
    """How many pairs of steps are ordered by what they depend on; too much to count is none."""
    order, execution = graph.causes.order, graph.events.execution
    rows = order[is_known_execution[execution[order]] & graph.events.is_step[order]]
    position = find_places_among_chosen(rows, len(order))
    source, target = (position[side] for side in graph.list_edges_among_steps(PARENT | MESSAGE))
    is_inside = target >= 0
    starts = np.searchsorted(execution[rows], np.arange(len(is_known_execution) + 1))
    counts = count_ordered_pairs(starts, np.arange(len(rows)), source[is_inside], target[is_inside], 0)
    return np.maximum(counts, 0)


def _build_reported_findings(graph: EventGraph, events: _Events, waits: Waits) -> FindingRows:
    """The findings that are reported, each with the chain that orders the two messages."""
    picks = rank_within_runs(events.execution[waits.at]) < MOST_REPORTED
    at, cause = waits.at[picks], waits.cause[picks]
    chains = find_shortest_chains(events.past, cause, events.linked.sent[at])
    rows = events.rows[at]
    receivers = graph.events.look_up_process_names(graph.events.process[rows])
    witness = events.rows[chains.events]
    return FindingRows("false-causality", rows, chains.starts, witness, {"receiver": receivers})
