"""Findings on their way into a table: rows of a trace first, then ids, sentences and places in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.sentences import KINDS, write_sentence
from antecede.auditing.wording import Event
from antecede.events.columns import decode_names, get_column
from antecede.events.graph import EventGraph
from antecede.kernels.ragged import Ints
from antecede.tables import FINDINGS

MOST_TOLD = 10_000
"""Findings of a kind and an execution that are told; totals count all."""


class FindingRows(NamedTuple):
    """Findings of one kind. Witness i is the rows events[starts[i]:starts[i + 1]], causes first."""

    kind: str
    at: Ints  # the row at fault
    starts: Ints
    events: Ints
    details: dict[str, Sequence[Any]]  # what the sentence is told besides, by name


def build_finding_rows(kind: str, at: Ints, *events: Ints, **details: Sequence[Any]) -> FindingRows:
    """Findings whose witnesses all have the same length; a row of -1 is left out."""
    witness = np.stack(events, axis=1) if events else np.empty((len(at), 0), dtype=np.int64)
    starts = np.append(0, np.cumsum((witness >= 0).sum(axis=1)))
    return FindingRows(kind, at, starts, witness[witness >= 0], details)


def count_findings(graph: EventGraph, parts: Iterable[FindingRows]) -> dict[str, Ints]:
    """How many findings of each kind each execution has."""
    size = len(graph.events.executions)
    counts = {kind: np.zeros(size, dtype=np.int64) for kind in KINDS}
    for part in parts:
        counts[part.kind] += np.bincount(graph.events.execution[part.at], minlength=size)
    return counts


def tell_findings(graph: EventGraph, parts: Iterable[FindingRows]) -> pa.Table:
    """The findings table, by kind and place in the graph, with as many of each kind as are told."""
    tables = [_build_table(graph, part) for part in parts if len(part.at)]
    return pa.concat_tables(tables) if tables else FINDINGS.empty_table()


def _build_table(graph: EventGraph, part: FindingRows) -> pa.Table:
    picks = pick_first_findings(graph.events.execution[part.at], part.at)
    at = pa.array(part.at[picks])
    witnesses = _list_witnesses(graph.events.table, part, picks)
    ids = [[event.event for event in line if event.event is not None] for line in witnesses]
    details = [{name: values[i] for name, values in part.details.items()} for i in picks.tolist()]
    sentences = [
        write_sentence(part.kind, line, **more) for line, more in zip(witnesses, details, strict=True)
    ]
    process, message, file, line = (
        decode_names(get_column(graph.events.table, name).take(at))
        for name in ("process", "message", "file", "line")
    )
    columns = [
        pa.array([part.kind] * len(picks), pa.string()),
        graph.events.executions.take(pa.array(graph.events.execution[part.at[picks]])),
        process,
        message,
        pa.array(ids, FINDINGS.field("events").type),
        pa.array(sentences, pa.string()),
        file,
        line,
    ]
    return pa.Table.from_arrays(columns, schema=FINDINGS)


def _list_witnesses(table: pa.Table, part: FindingRows, picks: Ints) -> list[list[Event]]:
    """The events of each finding that is told."""
    rows = [
        part.events[low:high] for low, high in zip(part.starts[picks], part.starts[picks + 1], strict=True)
    ]
    needed, place = np.unique(np.concatenate(rows), return_inverse=True)
    some = [get_column(table, name).take(pa.array(needed)).to_pylist() for name in Event._fields]
    events = [Event(*values) for values in zip(*some, strict=True)]
    ends = np.append(0, np.cumsum([len(line) for line in rows]))
    return [[events[i] for i in place[low:high]] for low, high in pairwise(ends)]


def pick_first_findings(execution: Ints, at: Ints) -> Ints:
    """Of findings in these executions at these rows, those that are told: the first of each execution."""
    order = np.lexsort((np.arange(len(at)), at, execution))
    line = execution[order]
    rank = np.arange(len(line)) - np.searchsorted(line, line)
    return order[rank < MOST_TOLD]
