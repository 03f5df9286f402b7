"""The audit of event logs in this process: findings with witnesses, totals for each execution, a summary."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from antecede.auditing.judge import TOTALS, judge
from antecede.auditing.summary import SAMPLE, Summary, rank_within_kind, sample_findings, summarize
from antecede.events.coercion import SAYS_NOTHING_OF_CAUSES, coerce_events
from antecede.events.graph import build_event_graph
from antecede.local.arrow import to_arrow_table
from antecede.report.notebook import SHOWN_FINDINGS, render_verdict


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

    def summary(self, sample: int = SAMPLE) -> Summary:
        """The audit in numbers, and so many findings of each kind, the first ones."""
        sums = {name: pc.sum(self.totals[name]).as_py() for name in TOTALS.names[1:]}
        counted = len(self.totals) - self.totals["ordered_pairs"].null_count
        ranks = pa.array(rank_within_kind(self.findings))
        ranked = self.findings.append_column("rank", ranks)
        return summarize(len(self.totals), counted, sums, sample_findings(ranked, sample))

    def page(self, path: str | PathLike[str], title: str = "Audit") -> None:
        """Write a page (HTML) with the findings, and with the events around them to look at.

        The file needs no network, and nothing that stands in a log can run in it.
        """
        from antecede.local.windows import view_log
        from antecede.report.findings import LISTED_FINDINGS
        from antecede.report.page import render_page

        summary = self.summary(LISTED_FINDINGS)
        view = view_log(self._events, self.findings, self.totals, summary)
        text = render_page(summary.verdict, summary.numbers, summary.sample, view, title, summary.counts)
        Path(path).write_text(text, encoding="utf-8", errors="replace")

    def _repr_html_(self) -> str:
        """For notebooks: the verdict, and the first findings of each kind."""
        summary = self.summary(SHOWN_FINDINGS)
        return render_verdict(summary.verdict, summary.sample)


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
    findings, totals = judge(build_event_graph(table.drop_columns(unread)))
    return Audit(findings, totals, table)
