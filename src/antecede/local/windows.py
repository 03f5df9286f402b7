"""Windows for pictures of a log that is in memory."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.auditing.sentences import KINDS
from antecede.auditing.summary import Summary
from antecede.auditing.views import build_view
from antecede.auditing.windows import IDENTITY, EventName, build_windows_around_findings
from antecede.events.coercion import SAYS_NOTHING_OF_CAUSES
from antecede.events.columns import Bools, EncodedNames, encode_names_by_rank, get_column, to_integers
from antecede.events.graph import EventGraph
from antecede.kernels.ragged import Ints
from antecede.tables import EVENTS, MARKS, LogView, Window, fit_table_to_schema

Row = dict[str, Any]

_UNKNOWN = -(2**62)
"""The index and the line of an event that has none: far from every place."""


ROW = "row"
"""The column of a graph's table that tells the row of each event in the table that was audited."""


class AuditedEvents(Protocol):
    """An audit, with the events that were audited."""

    @property
    def findings(self) -> pa.Table: ...

    @property
    def totals(self) -> pa.Table: ...

    @property
    def _events(self) -> pa.Table: ...

    @property
    def _graph(self) -> EventGraph | None: ...


def pick_windows(audit: AuditedEvents, summary: Summary) -> list[Window]:
    """What is to be drawn of audited events."""
    return build_windows_around_findings(_LocalViewSource(audit), summary)


def build_log_view(audit: AuditedEvents, summary: Summary) -> LogView:
    """What a page holds of audited events."""
    return build_view(_LocalViewSource(audit), summary)


class _LocalViewSource:
    """A `ViewSource` of Arrow tables; names are looked up as codes."""

    def __init__(self, audit: AuditedEvents) -> None:
        self.audit = audit
        self.events = fit_table_to_schema(audit._events, EVENTS)
        self.findings = audit.findings
        self.totals = audit.totals

    @cached_property
    def _encoded_executions(self) -> EncodedNames:
        return encode_names_by_rank([get_column(self.events, "execution")])

    @cached_property
    def _encoded_processes(self) -> EncodedNames:
        return encode_names_by_rank([get_column(self.events, "process")])

    @cached_property
    def _encoded_files(self) -> EncodedNames:
        return encode_names_by_rank([get_column(self.events, "file")])

    @cached_property
    def _indexes_or_unknown(self) -> Ints:
        return to_integers(get_column(self.events, "index"), _UNKNOWN)

    @cached_property
    def _lines_or_unknown(self) -> Ints:
        return to_integers(get_column(self.events, "line"), _UNKNOWN)

    def list_execution_sizes(self, executions: list[str] | None, most: int) -> list[Row]:
        sizes = self.totals.select(["execution", "events", "processes"])
        sizes = sizes.sort_by("execution")
        if executions is not None:
            wanted = pa.array(executions, pa.string())
            sizes = sizes.filter(pc.is_in(sizes["execution"], wanted))
        return list(sizes.slice(0, most).to_pylist())

    def locate_events(self, names: list[EventName]) -> list[Row]:
        if not names:
            return []
        windows: dict[tuple[str, str], list[int]] = {}
        for name in names:
            windows.setdefault((name.execution, name.event), []).append(name.window)
        ids = pa.array(sorted({name.event for name in names}))
        places = self.events.filter(pc.is_in(self.events["event"], ids))
        places = places.select(["execution", "event", "process", "index", "time", "file", "line"])
        located = []
        for row in places.to_pylist():
            for window in windows.get((row["execution"], row["event"]), ()):
                located.append({"window": window, **row})
        return located

    def fetch_nearest_events_of_windows(self, spans: list[Row], windows: int) -> list[pa.Table]:
        distances: list[dict[int, int]] = [{} for _ in range(windows)]
        most = [0] * windows
        for span in spans:
            window = span["window"]
            most[window] = span["most"]
            nearest = distances[window]
            for row, distance in self._list_rows_with_distances(span):
                nearest[row] = min(distance, nearest.get(row, distance))
        return [self._take_nearest_events(*window) for window in zip(distances, most, strict=True)]

    def _list_rows_with_distances(self, span: Row) -> list[tuple[int, int]]:
        """The rows inside a span, and how far each is from its place."""
        inside = _find_rows_named(self._encoded_executions, span["execution"])
        by_index = _measure_distances(self._indexes_or_unknown, span.get("at"))
        by_line = _measure_distances(self._lines_or_unknown, span.get("line"))
        if span.get("radius") is not None:
            inside &= self._find_nearby_rows(span, by_index, by_line)
        rows = np.flatnonzero(inside)
        distance = np.where(by_index[rows] < 0, by_line[rows], by_index[rows])
        return list(zip(rows.tolist(), np.maximum(distance, 0).tolist(), strict=True))

    def _find_nearby_rows(self, span: Row, index_distances: Ints, line_distances: Ints) -> Bools:
        """Which rows are near by their index in the process of the span; or else, having none, by line."""
        near_by_index = (index_distances >= 0) & (index_distances <= span["radius"])
        if span.get("process") is not None:
            near_by_index &= _find_rows_named(self._encoded_processes, span["process"])
        else:
            near_by_index &= self._encoded_processes.codes[0] >= 0
        near_by_line = (line_distances >= 0) & (line_distances <= span["radius"])
        near_by_line &= self._indexes_or_unknown == _UNKNOWN
        if span.get("file") is not None:
            near_by_line &= _find_rows_named(self._encoded_files, span["file"])
        return np.asarray(near_by_index | near_by_line)

    def _take_nearest_events(self, distance_of_row: dict[int, int], most: int) -> pa.Table:
        """The nearest of these rows, given the distance of each."""
        if not distance_of_row:
            return EVENTS.empty_table()
        rows = sorted(distance_of_row)
        names = self.events.select(IDENTITY).take(pa.array(rows)).to_pylist()
        nearest: dict[tuple[Any, ...], tuple[int, int]] = {}
        for row, values in zip(rows, names, strict=True):
            identity = tuple((value is not None, value) for value in values.values())  # null comes first
            candidate = (distance_of_row[row], row)
            nearest[identity] = min(candidate, nearest.get(identity, candidate))
        ranked = sorted((distance, identity, row) for identity, (distance, row) in nearest.items())
        taken = [row for _, _, row in ranked[:most]]
        return self.events.take(pa.array(taken, pa.int64()))

    def list_late_copies(self, executions: list[str], messages: Collection[str]) -> list[Row]:
        findings = self.findings
        is_late = pc.equal(findings["kind"], "late")
        is_here = pc.is_in(findings["execution"], pa.array(executions, pa.string()))
        is_drawn = pc.is_in(findings["message"], pa.array(sorted(messages), pa.string()))
        late = findings.filter(pc.and_(is_late, pc.and_(is_here, is_drawn)))
        return list(late.select(["execution", "process", "message"]).to_pylist())

    def fetch_graph(self) -> EventGraph:
        graph = self.audit._graph
        assert graph is not None, "a page that holds all events belongs to an audit that kept their graph"
        # The audit left out what says nothing of causes, and sorted the rest.
        table = graph.events.table
        rows = get_column(table, ROW)
        for name in SAYS_NOTHING_OF_CAUSES:
            table = table.append_column(name, self.events[name].take(rows))
        return graph._replace(events=graph.events._replace(table=table))

    def list_worst_findings(self, most: int) -> pa.Table:
        findings = self.findings
        if not len(findings):  # of no rows Arrow 20 cannot select the first
            return findings.select(MARKS.names)
        rank = pc.index_in(findings["kind"], value_set=pa.array(KINDS))
        ranked = findings.select(MARKS.names).append_column("rank", rank)
        ranked = ranked.append_column("row", pa.array(np.arange(len(ranked))))
        order = [("rank", "ascending"), ("execution", "ascending"), ("row", "ascending")]
        rows = pc.select_k_unstable(ranked, min(most, len(ranked)), order)
        return findings.select(MARKS.names).take(rows)


def _find_rows_named(column: EncodedNames, name: str) -> Bools:
    """Which rows of a column have this name."""
    code: int = pc.index(column.names, name).as_py()
    codes = column.codes[0]
    if code < 0:  # nobody has it; rows without any name have the code -1, too
        return np.zeros(len(codes), dtype=bool)
    return np.asarray(codes == code)


def _measure_distances(values: Ints, place: int | None) -> Ints:
    """How far each value is from a place; -1 where one of the two is unknown."""
    if place is None:
        return np.full(len(values), -1, dtype=np.int64)
    return np.where(values == _UNKNOWN, -1, np.abs(values - place))
