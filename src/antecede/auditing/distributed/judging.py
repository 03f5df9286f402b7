"""The task that judges a huge execution: it gets every event as a few numbers, and none of the strings.

The numbers make the same graph that `events.graph` makes of a table of events, and the same functions judge
it. Only what they find is told in another way: by the numbers of events, for the tasks that have the strings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.distributed.catalog import ProcessCatalog
from antecede.auditing.distributed.layouts import DETAILS, JUDGED, NUMBERED_FINDINGS
from antecede.auditing.findings import FindingRows, pick_reported_findings
from antecede.auditing.judge import find_findings_and_totals
from antecede.auditing.summary import nest_findings_in_totals, rank_findings_within_kind
from antecede.events.columns import (
    Bools,
    encode_names_by_appearance,
    encode_names_by_rank,
    flatten_lists,
    get_column,
    to_integers,
)
from antecede.events.graph import (
    EventGraph,
    assemble_event_graph,
    find_process_and_clock_edges_and_sort_rows_by_time,
    locate_events_in_processes,
)
from antecede.events.ids import GHOSTS, IdLinks, RepeatedIds
from antecede.events.processes import Actors, clean_clocks_and_find_own_entries
from antecede.kernels.histories import Edges
from antecede.kernels.linking import MessageLinks
from antecede.kernels.links import OTHER
from antecede.kernels.ragged import Ints, compute_starts, expand_ranges, invert_permutation, join_keys

_STRINGS = pa.array([], pa.string())
_READ_LATER = ["process", "index", "time", "line", "parents"]
"""Columns that are read when the graph is judged."""


class JudgeTask(NamedTuple):
    """Called by Spark with all MATCHED rows of some executions; gives JUDGED rows."""

    catalog: ProcessCatalog

    def judge_matched_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = list(batches)
        if not parts:
            return
        table = pa.Table.from_batches(parts)
        first_event_number = int(get_column(table, "row").to_numpy().min())
        graph = build_graph_from_matched_rows(table, self.catalog)
        # What is not in the graph needs no memory while the graph is judged.
        del parts, table
        yield from judge_executions(graph, first_event_number).to_batches()


def judge_executions(graph: EventGraph, first_event_number: int) -> pa.Table:
    """JUDGED rows of all executions of a graph whose first event has this number."""
    examined = find_findings_and_totals(graph)
    parts = [
        _build_numbered_table_of_reported_findings(graph, findings_of_kind, first_event_number)
        for findings_of_kind in examined.parts
        if len(findings_of_kind.at)
    ]
    findings = pa.concat_tables([NUMBERED_FINDINGS.empty_table(), *parts])
    rank = pa.array(rank_findings_within_kind(findings))
    findings = findings.set_column(findings.column_names.index("rank"), "rank", rank)
    return nest_findings_in_totals(findings, examined.totals).cast(JUDGED)


class _Names(NamedTuple):
    """The processes of a task, with codes from 0: those that act, then those that are only named."""

    names: pa.Array
    lost_receiver: Ints  # of each lost copy, -1 for nobody
    wrong_sender: Ints  # of each event that names a wrong one
    clock_slots: Ints  # of all entries of all clocks


def build_graph_from_matched_rows(matched_rows: pa.Table, catalog: ProcessCatalog) -> EventGraph:
    """The graph of MATCHED rows in any order: all of some executions whose codes follow one another."""
    row = to_integers(get_column(matched_rows, "row"), -1)
    first_event_number = int(row.min())
    matched_rows = matched_rows.take(pa.array(invert_permutation(row - first_event_number)))
    execution = to_integers(get_column(matched_rows, "execution"), -1)
    first, last = int(execution[0]), int(execution[-1])
    executions = pa.array(catalog.executions[first : last + 1], pa.string())
    names = _number_acting_and_named_processes(matched_rows, execution, catalog)
    process = to_integers(get_column(matched_rows, "process"), -1)
    process = process - process[0]
    execution = execution - first
    entries = flatten_lists(get_column(matched_rows, "clock_counts"))
    counts = to_integers(entries.items[0], -1) if entries.items else names.clock_slots
    clocks, own = clean_clocks_and_find_own_entries(entries.starts, names.clock_slots, counts, process)
    sender = np.full(len(matched_rows), -1, dtype=np.int64)
    sender[_mark_non_null(get_column(matched_rows, "wrong_sender"))] = names.wrong_sender
    no_receivers = (np.zeros(len(matched_rows) + 1, dtype=np.int64), sender[:0])
    who = Actors(process, names.names, sender, no_receivers, clocks, own)
    act = to_integers(get_column(matched_rows, "act"), OTHER)
    events = locate_events_in_processes(matched_rows.select(_READ_LATER), execution, executions, who, act)
    links = _read_message_links(matched_rows, first_event_number, names)
    ids = _read_id_links(matched_rows, first_event_number, execution, executions)
    return assemble_event_graph(
        events, find_process_and_clock_edges_and_sort_rows_by_time(events), links, ids
    )


def _number_acting_and_named_processes(
    matched_rows: pa.Table, execution: Ints, catalog: ProcessCatalog
) -> _Names:
    """Codes for all processes that act or are named anywhere: of lost copies, wrong senders and clocks."""
    lost, strangers = (
        flatten_lists(get_column(matched_rows, "lost_receivers")),
        flatten_lists(get_column(matched_rows, "clock_strangers")),
    )
    wrong = get_column(matched_rows, "wrong_sender")
    is_wrong = _mark_non_null(wrong)
    named = [
        lost.items[0] if lost.items else _STRINGS,
        wrong.drop_null(),
        strangers.items[0] if strangers.items else _STRINGS,
    ]
    names, (name,) = encode_names_by_appearance([pa.concat_arrays(named)])
    scope = np.concatenate(
        (execution[lost.row_of_item], execution[is_wrong], execution[strangers.row_of_item])
    )
    code = catalog.look_up_process_codes(scope, names, name)
    is_stranger = (code < 0) & (name >= 0)
    strangers_named = names.take(pa.array(name[is_stranger]))
    stranger_names, stranger = _list_and_number_processes_without_events(scope[is_stranger], strangers_named)
    process = to_integers(get_column(matched_rows, "process"), -1)
    first, end = int(process[0]), int(process[-1]) + 1
    code = np.where(code < 0, -1, code - first)
    code[is_stranger] = end - first + stranger
    ends = np.cumsum([len(part) for part in named])
    lost_receiver, wrong_sender, clock_strangers = np.split(code, ends[:-1])
    known = flatten_lists(get_column(matched_rows, "clock_processes"))
    slots = to_integers(known.items[0], -1) - first if known.items else code[:0]
    slots[slots < 0] = clock_strangers
    acting = pa.array(catalog.names[first:end], pa.string())
    return _Names(pa.concat_arrays([acting, stranger_names]), lost_receiver, wrong_sender, slots)


def _list_and_number_processes_without_events(executions: Ints, names: pa.Array) -> tuple[pa.Array, Ints]:
    """The processes that do not act, by execution and name; and the number of each that is given."""
    distinct_names, (code,) = encode_names_by_rank([names])
    width = max(len(distinct_names), 1)
    keys, number = np.unique(join_keys(executions, code, width), return_inverse=True)
    return distinct_names.take(pa.array(keys % width)), number


def _mark_non_null(array: pa.Array) -> Bools:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _convert_event_numbers_to_local_rows(event_numbers: pa.Array, first_event_number: int) -> Ints:
    """Numbers of events as rows of the task, and -1 for null."""
    return to_integers(event_numbers, first_event_number - 1) - first_event_number


def _read_message_links(matched_rows: pa.Table, first_event_number: int, names: _Names) -> MessageLinks:
    """The messages; a code tells only whether an event has one."""
    send, cause, arrival, original = (
        _convert_event_numbers_to_local_rows(get_column(matched_rows, name), first_event_number)
        for name in ("send", "cause", "arrival", "original")
    )
    has_message = get_column(matched_rows, "has_message").to_numpy(zero_copy_only=False)
    lost_send = flatten_lists(get_column(matched_rows, "lost_receivers")).row_of_item
    # By send, and then by receiver, as the linking kernel has them.
    order = np.lexsort((names.lost_receiver, lost_send))
    return MessageLinks(
        code=np.where(has_message, 0, -1),
        first_send=send[:0],
        send=send,
        cause=cause,
        arrival=arrival,
        original=original,
        misdelivered=get_column(matched_rows, "is_misdelivered").to_numpy(zero_copy_only=False),
        wrong_sender=_mark_non_null(get_column(matched_rows, "wrong_sender")),
        lost_send=lost_send[order],
        lost_receiver=names.lost_receiver[order],
    )


def _read_id_links(
    matched_rows: pa.Table, first_event_number: int, execution_codes: Ints, execution_names: pa.Array
) -> IdLinks:
    """What events tell of others by their ids."""
    parents, missing = (
        flatten_lists(get_column(matched_rows, "parents")),
        flatten_lists(get_column(matched_rows, "missing_parents")),
    )
    source = parents.row_of_item
    if parents.items:
        source = _convert_event_numbers_to_local_rows(parents.items[0], first_event_number)
    is_edge = source >= 0
    ghosts = pa.Table.from_arrays(
        [
            execution_names.take(pa.array(execution_codes[missing.row_of_item])),
            missing.items[0] if missing.items else _STRINGS,
            pa.array(missing.row_of_item),
        ],
        schema=GHOSTS,
    )
    namesake = _convert_event_numbers_to_local_rows(get_column(matched_rows, "namesake"), first_event_number)
    repeats = np.flatnonzero(namesake >= 0)
    return IdLinks(
        Edges(source[is_edge], parents.row_of_item[is_edge]),
        np.flatnonzero(get_column(matched_rows, "is_own_parent").to_numpy(zero_copy_only=False)),
        ghosts,
        RepeatedIds(namesake[repeats], repeats),
    )


def _build_numbered_table_of_reported_findings(
    graph: EventGraph, findings_of_kind: FindingRows, first_event_number: int
) -> pa.Table:
    """NUMBERED_FINDINGS of one kind, as many as are reported, not yet ranked."""
    execution = graph.events.execution
    picks = pick_reported_findings(execution[findings_of_kind.at], findings_of_kind.at)
    at = findings_of_kind.at[picks]
    lengths = np.diff(findings_of_kind.starts)[picks]
    witness = (
        findings_of_kind.events[expand_ranges(findings_of_kind.starts[picks], lengths)] + first_event_number
    )
    unknown = set(findings_of_kind.details) - {field.name for field in DETAILS}
    if unknown:
        raise KeyError(f"DETAILS lacks {', '.join(sorted(unknown))}: the sentence would be another one")
    details = []
    for field in DETAILS:
        values = findings_of_kind.details.get(field.name)
        chosen = [None] * len(picks) if values is None else [values[i] for i in picks]
        details.append(pa.array(chosen, field.type))
    columns = {
        "kind": pa.array([findings_of_kind.kind] * len(picks), pa.string()),
        "execution": graph.events.executions.take(pa.array(execution[at])),
        "rank": pa.nulls(len(picks), pa.int64()),
        "row": pa.array(at + first_event_number),
        "witness": pa.ListArray.from_arrays(pa.array(compute_starts(lengths), pa.int32()), pa.array(witness)),
        "details": pa.StructArray.from_arrays(details, fields=list(DETAILS)),
    }
    return pa.table([columns[name] for name in NUMBERED_FINDINGS.names], schema=NUMBERED_FINDINGS)
