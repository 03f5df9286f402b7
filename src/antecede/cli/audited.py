"""What `antecede audit` says of an audit: lines for people, facts for programs, totals for the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.markup import escape

from antecede.cli.logs import file_facts, file_lines
from antecede.report.findings import MEANINGS, groups
from antecede.report.text import many, shown

if TYPE_CHECKING:
    from antecede.auditing.summary import Summary
    from antecede.formats.logs import FileRead
    from antecede.spark.auditing.event_audit import SparkAudit

SENTENCES = 3
"""Findings of a kind that are told on the screen."""
NAMES = {
    "events": "event", "processes": "process", "sends": "send", "deliveries": "delivery",
    "ordered_pairs": "ordered pair", "concurrent_pairs": "concurrent pair",
}  # fmt: skip
"""The totals that are told on the screen."""


UNSEEN = (
    "there, what is late was judged by messages and the order of processes alone; not looked at were "
    "parents, clocks of several processes together, false causality, messages astray and ids used twice"
)


class Audited(NamedTuple):
    """An audit and its summary, how the files were read, and the first records that could not be."""

    audit: SparkAudit
    summary: Summary
    files: list[FileRead]
    note: str | None
    refused: list[dict[str, Any]]

    @property
    def quarantined(self) -> int:
        return sum(file.quarantined for file in self.files)


def verdict(found: Audited) -> str:
    """The audit in one line."""
    summary, left = found.summary, many(found.quarantined, "record")
    if summary.findings:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in _ranked(summary))
        return f"{many(summary.findings, 'finding')}: {kinds}"
    if found.quarantined:
        return f"nothing found, but {left} cannot be read"
    if not summary.totals["events"]:
        return "no events, and so nothing to find"
    return f"clean: nothing found in {many(summary.totals['events'], 'event')}"


def totals(found: Audited) -> dict[str, str | int]:
    """The numbers for the page."""
    numbers: dict[str, str | int] = {"executions": found.summary.executions}
    numbers |= {name.replace("_", " "): count for name, count in found.summary.totals.items()}
    if found.summary.uncounted:
        numbers["executions with uncounted pairs"] = found.summary.uncounted
    return numbers | {"files": len(found.files), "records that cannot be read": found.quarantined}


def lines(found: Audited) -> Iterator[str]:
    """For people, in rich's markup: files, verdict, totals, findings by kind, records that cannot be read."""
    summary = found.summary
    yield from map(_safe, file_lines(found.files, found.note))
    bad = bool(summary.findings)
    color = "red" if bad else "yellow" if found.quarantined else "green"
    yield f"[bold {color}]{_safe(verdict(found))}[/]"
    numbers = [many(summary.totals[name], word) for name, word in NAMES.items()]
    yield f"{many(summary.executions, 'execution')}: {', '.join(numbers)}"
    if summary.uncounted:
        yield f"pairs were not counted in {many(summary.uncounted, 'execution')}"
    if found.audit.huge:
        yield f"{many(found.audit.huge, 'execution')} too large for one task: {UNSEEN}"
    tables = dict(groups(summary.sample))
    for kind, count in _ranked(summary):
        yield f"\n[bold]{kind}[/] {count:,}  [dim]{MEANINGS.get(kind, '')}[/]"
        yield from _told(tables[kind]["sentence"].slice(0, SENTENCES).to_pylist(), count)
    if found.refused:
        yield f"\n[bold]cannot be read[/] {found.quarantined:,}"
        yield from _told([_place(row) for row in found.refused[:SENTENCES]], found.quarantined)


def _told(sentences: list[str], count: int) -> Iterator[str]:
    yield from (f"  {_safe(sentence)}" for sentence in sentences)
    if count > len(sentences):
        yield f"  [dim]... and {count - len(sentences):,} more[/]"


def _place(row: dict[str, Any]) -> str:
    line = f":{row['line']}" if row["line"] is not None else ""
    return f"{row['file']}{line}: {row['reason'].removeprefix(row['file'] + ': ')}"


def _ranked(summary: Summary) -> list[tuple[str, int]]:
    return sorted(summary.counts.items(), key=lambda count: -count[1])


def _safe(text: str) -> str:
    return escape(shown(text))


def facts(found: Audited) -> dict[str, Any]:
    """For programs."""
    summary = found.summary
    return {
        "verdict": verdict(found),
        "clean": not summary.findings and not found.quarantined,
        "executions": summary.executions,
        "totals": summary.totals,
        "uncounted_executions": summary.uncounted,
        "counts": summary.counts,
        "findings": summary.sample.to_pylist(),
        "quarantined": found.quarantined,
        "quarantine": found.refused,
        "files": file_facts(found.files),
        "note": found.note,
    }
