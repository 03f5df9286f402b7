"""An audit in numbers that fit a screen, and a sample of its findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.auditing.judge import COUNT_COLUMNS, MEANT, NUMBERS
from antecede.auditing.trace_numbers import TRACE_NUMBERS
from antecede.auditing.wording import format_count
from antecede.events.columns import encode_names_by_rank, get_column, to_integers
from antecede.kernels.ragged import Ints, compute_starts
from antecede.tables import FINDINGS

SAMPLE = 20
"""Findings of each kind in a summary, unless the caller wants another number."""

RANKED_FINDINGS = FINDINGS.append(pa.field("rank", pa.int64()))
"""Findings with their rank among those of their kind, of an execution or of several."""

_LABELS = {
    "edges": "direct causes in other processes",
    "early": "early deliveries",
    "pairs": "pairs of early and late",
    "unordered_processes": "processes whose events have no order",
}
"""Totals whose names say too little on a page."""


@dataclass(frozen=True)
class Summary:
    """An audit in numbers that fit a screen."""

    executions: int
    counts: dict[str, int]
    """How many findings there are of each kind that was found, the worst kind first."""
    totals: dict[str, int]
    """The sums of the numbers of all executions: events, processes, sends, deliveries, ordered pairs, ..."""
    uncounted: int
    """Executions whose ordered and concurrent pairs were not counted, for cycles or their size."""
    sample: pa.Table
    """The first findings of each kind."""
    traces: dict[str, int]
    """How many executions with spans are complete, running and broken; empty if none has spans."""
    reasons: dict[str, int]
    """How many of the missing causes that are told are missing for which reason."""

    @property
    def findings(self) -> int:
        """How many findings there are."""
        return sum(self.counts.values())

    @property
    def verdict(self) -> str:
        """The audit in one line."""
        if self.findings:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.items())
            return f"{format_count(self.findings, 'finding')}: {kinds}"
        if not self.totals["events"]:
            return "no events, and so nothing to find"
        if self.unjudged:
            return f"nothing found in {format_count(self.totals['events'], 'event')}, but {self.unjudged}"
        return f"clean: nothing found in {format_count(self.totals['events'], 'event')}"

    @property
    def unjudged(self) -> str | None:
        """What the audit could not judge, if there is something."""
        number = self.totals["unordered_processes"]
        if not number:
            return None
        where = "1 process: the log does not tell the order of its events"
        if number > 1:
            where = f"{number:,} processes: the log does not tell the order of their events"
        return f"late and fifo are not judged in {where}"

    @property
    def numbers(self) -> dict[str, str | int]:
        """The totals under names that people read."""
        numbers: dict[str, str | int] = {"executions": self.executions}
        for name, count in self.totals.items():
            if name == "unordered_processes" and not count:
                continue
            numbers[_LABELS.get(name, name.replace("_", " "))] = count
        for state, count in self.traces.items():
            numbers[f"{state} traces"] = count
        if self.uncounted:
            numbers["executions with uncounted pairs"] = self.uncounted
        return numbers


def summarize_audit(
    execution_count: int,
    executions_with_counted_pairs: int,
    sums_of_totals: Mapping[str, int | None],
    sample: pa.Table,
    traces_by_state: dict[str, int],
    missing_causes_by_reason: dict[str, int],
) -> Summary:
    """The summary of an audit.

    `executions_with_counted_pairs` is how many know their ordered pairs; `sums_of_totals` has the sum of each
    column of totals over all executions, or None where no execution knows it.
    """
    known = [name for name in (*MEANT, *TRACE_NUMBERS) if sums_of_totals[name] is not None]
    counts_of_all_kinds = {kind: sums_of_totals[column] or 0 for kind, column in COUNT_COLUMNS.items()}
    counts = {kind: count for kind, count in counts_of_all_kinds.items() if count}
    return Summary(
        executions=execution_count,
        counts=counts,
        totals={name: sums_of_totals[name] or 0 for name in (*NUMBERS, *known)},
        uncounted=execution_count - executions_with_counted_pairs,
        sample=sample,
        traces=traces_by_state,
        reasons=missing_causes_by_reason,
    )


def rank_findings_within_kind(findings: pa.Table) -> Ints:
    """The place of each finding among those of its kind, from 0."""
    kind = encode_names_by_rank([get_column(findings, "kind")]).codes[0]
    order = np.argsort(kind, kind="stable")
    sorted_kind = kind[order]
    ranks = np.empty(len(kind), dtype=np.int64)
    ranks[order] = np.arange(len(kind)) - np.searchsorted(sorted_kind, sorted_kind)
    return ranks


def nest_findings_in_totals(findings: pa.Table, totals: pa.Table) -> pa.Table:
    """The totals of executions, each with a list of its findings in a column `findings`."""
    execution = get_column(findings, "execution")
    place = to_integers(pc.index_in(execution, value_set=get_column(totals, "execution")), -1)
    nested = findings.drop_columns("execution").take(pa.array(np.argsort(place, kind="stable")))
    structs = pa.StructArray.from_arrays(
        [get_column(nested, name) for name in nested.column_names], fields=list(nested.schema)
    )
    starts = compute_starts(np.bincount(place, minlength=len(totals)))
    lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), structs)
    return totals.append_column("findings", lists)


def take_first_findings_of_each_kind(ranked_findings: pa.Table, most_of_each_kind: int) -> pa.Table:
    """The first findings of each kind, by execution and, within an execution, by the column `rank`."""
    by_place = [("kind", "ascending"), ("execution", "ascending"), ("rank", "ascending")]
    findings = ranked_findings.sort_by(by_place)
    is_first = rank_findings_within_kind(findings) < most_of_each_kind
    return findings.filter(pa.array(is_first)).select(FINDINGS.names).cast(FINDINGS)
