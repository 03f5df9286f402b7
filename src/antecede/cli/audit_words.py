"""What `antecede audit` says of an audit: lines for people, facts for programs, totals for the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from antecede.auditing.wording import REASONS
from antecede.cli.logs import build_files_json, describe_files
from antecede.cli.sentences import (
    SHOWN_SENTENCES,
    format_first_quarantined_rows,
    format_first_sentences,
    format_visible_line_for_rich,
)
from antecede.report.findings import MEANINGS, group_findings_by_kind
from antecede.report.text import pluralize

if TYPE_CHECKING:
    from antecede.auditing.summary import Summary
    from antecede.cli.audit_runs import AuditRun

SHOWN_TOTALS = {
    "events": "event",
    "processes": "process",
    "sends": "send",
    "deliveries": "delivery",
    "ordered_pairs": "ordered pair",
    "concurrent_pairs": "concurrent pair",
}
"""The totals that are told on the screen, and what one of each is called."""


def count_quarantined(run: AuditRun) -> int:
    """Records that cannot be read."""
    return sum(file.quarantined for file in run.files)


def describe_audit_verdict(run: AuditRun) -> str:
    """The audit in one line."""
    quarantined = count_quarantined(run)
    if quarantined and not run.summary.findings:
        return f"nothing found, but {pluralize(quarantined, 'record')} cannot be read"
    return run.summary.verdict


def list_page_totals(run: AuditRun) -> dict[str, str | int]:
    """The numbers for the page."""
    counts: dict[str, str | int] = {"files": len(run.files)}
    counts["records that cannot be read"] = count_quarantined(run)
    return run.summary.numbers | counts


def describe_audit(run: AuditRun) -> Iterator[str]:
    """For people, in rich's markup: files, verdict, totals, findings by kind, records that cannot be read."""
    summary = run.summary
    quarantined = count_quarantined(run)
    yield from map(format_visible_line_for_rich, describe_files(run.files, run.note))
    yield f"[dim]{format_visible_line_for_rich(str(run.engine))}[/]"
    color = "red" if summary.findings else "yellow" if quarantined or summary.unjudged else "green"
    yield f"[bold {color}]{format_visible_line_for_rich(describe_audit_verdict(run))}[/]"
    numbers = [pluralize(summary.totals[name], word) for name, word in SHOWN_TOTALS.items()]
    yield f"{pluralize(summary.executions, 'execution')}: {', '.join(numbers)}"
    if summary.traces:
        yield _describe_trace_states(summary)
    if summary.uncounted:
        yield f"pairs were not counted in {pluralize(summary.uncounted, 'execution')}"
    if summary.unjudged and (summary.findings or quarantined):
        yield summary.unjudged
    tables = dict(group_findings_by_kind(summary.sample))
    for kind, count in summary.counts.items():
        yield f"\n[bold]{kind}[/] {count:,}  [dim]{MEANINGS.get(kind, '')}[/]"
        if kind == "missing" and summary.reasons:
            yield f"  {_describe_missing_cause_reasons(summary)}"
        sentences = tables[kind]["sentence"].slice(0, SHOWN_SENTENCES).to_pylist()
        yield from format_first_sentences(sentences, count)
    if run.refused:
        yield f"\n[bold]cannot be read[/] {quarantined:,}"
        yield from format_first_quarantined_rows(run.refused, quarantined)


def _describe_trace_states(summary: Summary) -> str:
    words = {"complete": "complete", "running": "may still be running", "broken": "incomplete"}
    states = [f"{count:,} {words[state]}" for state, count in summary.traces.items() if count]
    return f"{pluralize(sum(summary.traces.values()), 'trace')}: {', '.join(states)}"


def _describe_missing_cause_reasons(summary: Summary) -> str:
    return "; ".join(f"{count:,} {REASONS[reason]}" for reason, count in summary.reasons.items())


def build_audit_json(run: AuditRun) -> dict[str, Any]:
    """For programs."""
    summary = run.summary
    quarantined = count_quarantined(run)
    return {
        "verdict": describe_audit_verdict(run),
        "clean": not summary.findings and not quarantined,
        "engine": run.engine.name,
        "executions": summary.executions,
        "totals": summary.totals,
        "uncounted_executions": summary.uncounted,
        "traces": summary.traces,
        "missing_reasons": summary.reasons,
        "counts": summary.counts,
        "findings": summary.sample.to_pylist(),
        "quarantined": quarantined,
        "quarantine": run.refused,
        "files": build_files_json(run.files),
        "note": run.note,
    }
