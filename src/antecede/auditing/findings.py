"""Findings on their way into a table: rows of a graph first, then ids, sentences and places in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.sentences import KINDS, write_sentence
from antecede.auditing.wording import Event
from antecede.events.columns import decode_dictionary, get_column, to_python_list
from antecede.events.graph import EventGraph
from antecede.kernels.ragged import Ints, compute_starts, expand_ranges, rank_within_runs
from antecede.tables import FINDINGS

MOST_REPORTED = 10_000
"""Most findings of a kind that are reported for an execution; totals count all."""


class FindingRows(NamedTuple):
    """Findings of one kind. Witness i is the rows events[starts[i]:starts[i + 1]], causes first."""

    kind: str
    at: Ints  # the row at fault
    starts: Ints
    events: Ints
    details: dict[str, Sequence[Any]]  # what the sentence is told besides, by name


def build_finding_rows(
    kind: str, rows_at_fault: Ints, *witness_columns: Ints, **details: Sequence[Any]
) -> FindingRows:
    """Findings whose witnesses all have the same length; a row of -1 is left out."""
    no_events = np.empty((len(rows_at_fault), 0), dtype=np.int64)
    witness = np.stack(witness_columns, axis=1) if witness_columns else no_events
    is_there = witness >= 0
    starts = compute_starts(is_there.sum(axis=1))
    return FindingRows(kind, rows_at_fault, starts, witness[is_there], details)


def count_findings_by_kind_and_execution(graph: EventGraph, parts: Iterable[FindingRows]) -> dict[str, Ints]:
    """How many findings of each kind each execution has."""
    executions = len(graph.events.executions)
    counts = {kind: np.zeros(executions, dtype=np.int64) for kind in KINDS}
    for part in parts:
        counts[part.kind] += graph.events.count_rows_by_execution(part.at)
    return counts


def build_table_of_reported_findings(graph: EventGraph, parts: Iterable[FindingRows]) -> pa.Table:
    """The findings table, by kind and place in the graph, with as many of each kind as are reported."""
    tables = [_build_table_of_reported_findings_of_kind(graph, part) for part in parts if len(part.at)]
    return pa.concat_tables(tables) if tables else FINDINGS.empty_table()


def _build_table_of_reported_findings_of_kind(graph: EventGraph, part: FindingRows) -> pa.Table:
    """The findings of one kind that are reported, as FINDINGS."""
    picks = pick_reported_findings(graph.events.execution[part.at], part.at)
    at = part.at[picks]
    witnesses = _list_witness_events(graph.events.table, part, picks)
    event_ids = _list_witness_event_ids(part, picks, witnesses)
    sentences = _write_sentences(part, picks, witnesses)
    columns = {
        "kind": pa.array([part.kind] * len(picks), pa.string()),
        "execution": graph.events.executions.take(pa.array(graph.events.execution[at])),
        "events": pa.array(event_ids, FINDINGS.field("events").type),
        "sentence": pa.array(sentences, pa.string()),
        "reason": pa.nulls(len(picks), pa.string()),
    }
    for name in ("process", "message", "file", "line"):
        columns[name] = _take_finding_column(graph.events.table, name, at)
    return pa.Table.from_arrays([columns[name] for name in FINDINGS.names], schema=FINDINGS)


def _take_finding_column(table: pa.Table, name: str, rows: Ints) -> pa.Array:
    """What a column has in these rows, as FINDINGS wants it."""
    taken = decode_dictionary(get_column(table, name).take(pa.array(rows)))
    return taken.cast(FINDINGS.field(name).type)


def _list_witness_event_ids(part: FindingRows, picks: Ints, witnesses: list[list[Event]]) -> list[list[str]]:
    """The ids of the events of each witness that have one; a missing cause is known by nothing else."""
    if part.kind != "missing":
        return [list_ids_of_one_witness(witness) for witness in witnesses]
    absent = part.details["name"]
    return [
        list_ids_of_one_witness(witness, absent[pick]) for pick, witness in zip(picks, witnesses, strict=True)
    ]


def list_ids_of_one_witness(witness: list[Event], missing_cause: str | None = None) -> list[str]:
    """The ids of a witness, behind that of a cause which is missing."""
    ids = [event.event for event in witness if event.event is not None]
    return ids if missing_cause is None else [missing_cause, *ids]


def _write_sentences(part: FindingRows, picks: Ints, witnesses: list[list[Event]]) -> list[str]:
    """A sentence for each finding, with the details that its kind wants."""
    sentences = []
    for pick, witness in zip(picks.tolist(), witnesses, strict=True):
        details = {name: values[pick] for name, values in part.details.items()}
        sentences.append(write_sentence(part.kind, witness, **details))
    return sentences


def _list_witness_events(table: pa.Table, part: FindingRows, picks: Ints) -> list[list[Event]]:
    """The events of each finding that is reported."""
    lengths = np.diff(part.starts)[picks]
    rows = part.events[expand_ranges(part.starts[picks], lengths)]
    needed, place = np.unique(rows, return_inverse=True)
    columns = [_take_values(table, name, needed) for name in Event._fields]
    events = [Event(*values) for values in zip(*columns, strict=True)]
    in_line = [events[i] for i in place.tolist()]
    ends = compute_starts(lengths).tolist()
    return [in_line[low:high] for low, high in pairwise(ends)]


def _take_values(table: pa.Table, name: str, rows: Ints) -> list[Any]:
    """What a column has in these rows."""
    return to_python_list(decode_dictionary(get_column(table, name).take(pa.array(rows))))


def pick_reported_findings(execution: Ints, row: Ints) -> Ints:
    """Which findings are reported, given the execution and the row of each: the first MOST_REPORTED of each
    execution."""
    by_row = np.lexsort((row, execution))
    rank = rank_within_runs(execution[by_row])
    return by_row[rank < MOST_REPORTED]
