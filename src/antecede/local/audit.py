"""The audit of event logs in this process: findings with witnesses, totals for each execution, a summary."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from antecede.auditing.judge import TOTALS, judge
from antecede.auditing.summary import SAMPLE, Summary, rank_within_kind, sample_findings, summarize
from antecede.events.coercion import SAYS_NOTHING_OF_CAUSES, coerce_events
from antecede.events.graph import build_event_graph
from antecede.local.arrow import to_arrow_table


@dataclass(frozen=True)
class Audit:
    """`findings` as in FINDINGS, by kind and execution at most 10,000; `totals` as in `judge.TOTALS`."""

    findings: pa.Table
    totals: pa.Table

    def summary(self, sample: int = SAMPLE) -> Summary:
        """The audit in numbers, and so many findings of each kind, the first ones."""
        sums = {name: pc.sum(self.totals[name]).as_py() for name in TOTALS.names[1:]}
        counted = len(self.totals) - self.totals["ordered_pairs"].null_count
        ranks = pa.array(rank_within_kind(self.findings))
        ranked = self.findings.append_column("rank", ranks)
        return summarize(len(self.totals), counted, sums, sample_findings(ranked, sample))


def audit(events: object) -> Audit:
    """Audit all executions of a table of events.

    `events` is an Arrow table, or anything that hands itself over as one (`__arrow_c_stream__`: pandas,
    polars, DuckDB). It has columns of EVENTS; those that are not there are unknown.
    """
    table = coerce_events(to_arrow_table(events))
    unread = [name for name in SAYS_NOTHING_OF_CAUSES if name in table.column_names]
    findings, totals = judge(build_event_graph(table.drop_columns(unread)))
    return Audit(findings, totals)
