"""The audit of event logs in this process: findings with witnesses, totals for each execution, a summary."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.auditing.judge import COUNTS, judge
from antecede.auditing.missing_causes import (
    MOST_PLACES,
    SAMPLING_FIELDS,
    SeenEvent,
    TraceEnd,
    explain_missing_cause,
    strip_trace_from_id,
)
from antecede.auditing.summary import (
    SAMPLE,
    Summary,
    rank_findings_within_kind,
    summarize_audit,
    take_first_findings_of_each_kind,
)
from antecede.auditing.trace_ends import count_traces_by_state, find_log_end_and_longest_trace
from antecede.auditing.views import HELD_EVENTS
from antecede.auditing.wording import REASONS
from antecede.events.coercion import SAYS_NOTHING_OF_CAUSES, coerce_events
from antecede.events.columns import get_column
from antecede.events.graph import EventGraph, build_event_graph
from antecede.events.kinds import NAME_KINDS, describe_unknown_words, list_unknown_words
from antecede.local.arrow import to_arrow_table
from antecede.local.windows import ROW, build_log_view
from antecede.report.notebook import SHOWN_FINDINGS, render_verdict
from antecede.tables import EVENTS, FINDINGS, OF_TRACE, fit_table_to_schema


@dataclass(frozen=True)
class Audit:
    """What is wrong with a table of events.

    audit = antecede.audit(events)
    print(audit.summary().verdict)
    audit.page("page.html")
    """

    findings: pa.Table
    """A row for each fault, with its sentence and its witness; of each kind and execution at most 10,000."""
    totals: pa.Table
    """A row for each execution: how many events, messages and findings of each kind it has."""
    _events: pa.Table
    _graph: EventGraph | None
    """What the audit made of the events, for a page; None if there are more than a page can hold."""

    @property
    def note(self) -> str | None:
        """A sentence where a word for a kind is not known; None if all are."""
        return describe_unknown_words(list_unknown_words(get_column(self._events, "kind")), NAME_KINDS)

    def summary(self, sample: int = SAMPLE) -> Summary:
        """The audit in numbers, and so many findings of each kind, the first ones."""
        sums = {name: pc.sum(self.totals[name]).as_py() for name in COUNTS}
        counted = len(self.totals) - self.totals["ordered_pairs"].null_count
        ranks = pa.array(rank_findings_within_kind(self.findings))
        ranked = self.findings.append_column("rank", ranks)
        sampled = take_first_findings_of_each_kind(ranked, sample)
        traces, reasons = count_traces_by_state(self.totals), _count_missing_reasons(self.findings)
        return summarize_audit(len(self.totals), counted, sums, sampled, traces, reasons)

    def page(self, path: str | PathLike[str], title: str = "Audit") -> None:
        """Write a page (HTML) with the findings, and with the events around them to look at.

        The file needs no network, and nothing that stands in a log can run in it.
        """
        from antecede.report.findings import LISTED_FINDINGS
        from antecede.report.page import render_page

        summary = self.summary(LISTED_FINDINGS)
        view = build_log_view(self, summary)
        text = render_page(summary.verdict, summary.numbers, summary.sample, view, title, summary.counts)
        Path(path).write_text(text, encoding="utf-8", errors="replace")

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, and the first findings of each kind."""
        summary = self.summary(SHOWN_FINDINGS)
        return render_verdict(summary.verdict, summary.sample, self.note)


def audit(events: object) -> Audit:
    """Say what is wrong with events: what is late, lost or twice, which clocks and times are wrong.

    `events` is an Arrow table, or anything that hands itself over as one (`__arrow_c_stream__`: pandas,
    polars, DuckDB). It has columns of EVENTS (docs/tables.md); those that are not there are unknown, and
    others are not looked at. All executions are audited, each by itself.

        logs = antecede.read_logs("logs/")
        audit = antecede.audit(logs.events)
        audit.summary().counts  # {"late": 2, "lost": 1}
    """
    table = coerce_events(to_arrow_table(events))
    unread = [name for name in SAYS_NOTHING_OF_CAUSES if name in table.column_names]
    numbered = table.drop_columns(unread).append_column(ROW, pa.array(np.arange(len(table))))
    graph = build_event_graph(numbered)
    findings, totals = judge(graph)
    kept_graph = graph if len(table) <= HELD_EVENTS else None
    return Audit(_explain_missing_causes(findings, totals, table), totals, table, kept_graph)


def _explain_missing_causes(findings: pa.Table, totals: pa.Table, events: pa.Table) -> pa.Table:
    """The findings, those on missing causes with their reasons."""
    is_missing = pc.equal(findings["kind"], "missing")
    if not pc.any(is_missing).as_py():
        return findings
    missing = findings.filter(is_missing).to_pylist()
    seen = _SeenEvents(events, missing)
    ends = _TraceEnds(totals)
    explained = []
    for finding in missing:
        cause, event = finding["events"][0], finding["events"][-1]
        namesakes = seen.by_name.get(strip_trace_from_id(cause), [])
        fields = seen.sampling.get((finding["execution"], event), {})
        explained.append(
            explain_missing_cause(finding, namesakes, fields, ends.find_end(finding["execution"]))
        )
    table = pa.Table.from_pylist(explained, FINDINGS)
    # Back to their places: findings are by kind, and those of a kind stand together.
    place = np.full(len(findings), -1)
    rows = np.flatnonzero(is_missing.to_numpy())
    place[rows] = np.arange(len(rows)) + len(findings)
    place = np.where(place < 0, np.arange(len(findings)), place)
    return pa.concat_tables([findings, table]).take(pa.array(place))


class _SeenEvents:
    """The events that have the names of missing causes, and what those that name them say of sampling."""

    def __init__(self, events: pa.Table, missing: list[dict[str, Any]]) -> None:
        names = {strip_trace_from_id(finding["events"][0]) for finding in missing}
        naming = {(finding["execution"], finding["events"][-1]) for finding in missing}
        self.by_name: dict[str, list[SeenEvent]] = {}
        self.sampling: dict[tuple[str, str], dict[str, str]] = {}
        wanted = pa.array(sorted(names | {event for _, event in naming}), pa.string())
        ids = get_column(events, "event")
        short_ids = pc.replace_substring_regex(ids, f"(?s){OF_TRACE}.*", "")
        is_wanted = pc.or_(pc.is_in(ids, value_set=wanted), pc.is_in(short_ids, value_set=wanted))
        few = fit_table_to_schema(events.filter(is_wanted), EVENTS).select([*SeenEvent._fields, "fields"])
        for row in few.to_pylist():
            fields = dict(row.pop("fields") or ())
            seen = SeenEvent(**row | {"execution": row["execution"] or ""})
            self.by_name.setdefault(strip_trace_from_id(seen.event), []).append(seen)
            marks = {name: fields[name] for name in SAMPLING_FIELDS if name in fields}
            if marks and (seen.execution, seen.event) in naming:
                self.sampling.setdefault((seen.execution, seen.event), marks)
        for name, found in self.by_name.items():
            self.by_name[name] = sorted(found, key=_make_seen_event_sort_key)[:MOST_PLACES]


def _make_seen_event_sort_key(seen: SeenEvent) -> tuple[Any, ...]:
    """The order in which Spark sorts them: what is unknown comes first."""
    return seen.execution, seen.event, seen.file or "", -1 if seen.line is None else seen.line


class _TraceEnds:
    def __init__(self, totals: pa.Table) -> None:
        self.log_end = find_log_end_and_longest_trace(totals)
        traces = totals.filter(pc.is_valid(totals["spans"]))
        self.until = dict(zip(traces["execution"].to_pylist(), traces["until"].to_pylist(), strict=True))

    def find_end(self, execution: str) -> TraceEnd:
        return self.log_end._replace(until=self.until.get(execution))


def _count_missing_reasons(findings: pa.Table) -> dict[str, int]:
    counts = {row["values"]: row["counts"] for row in findings["reason"].value_counts().to_pylist()}
    return {reason: counts[reason] for reason in REASONS if reason in counts}
