"""What `antecede order` says of what it did: for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.markup import escape

from antecede.cli.folders import format_written_paths
from antecede.cli.order_runs import TABLES, OrderRun
from antecede.cli.sentences import format_first_quarantined_rows, format_visible_line_for_rich
from antecede.report.text import format_visible_line, pluralize


def build_order_json(run: OrderRun) -> dict[str, Any]:
    """The same for programs."""
    return {
        **run.counts,
        "gaps": run.gaps,
        "gap_count": run.gap_count,
        "written": run.places,
        "engine": run.engine.name,
        **run.facts,
    }


def describe_order(run: OrderRun) -> Iterator[str]:
    """Lines for people, in rich's markup."""
    yield from (escape(format_visible_line(line)) for line in run.lines)
    yield escape(f"{run.engine}")
    parts = " + ".join(f"{run.counts[name]:,} {name}" for name in TABLES)
    color = "green" if run.is_clean else "yellow"
    yield f"[bold {color}]{pluralize(run.counts['input'], 'row')} = {parts}[/]"
    yield from _describe_gaps(run)
    if run.refused:
        yield f"[bold]quarantined[/] {run.counts['quarantined']:,}"
        yield from format_first_quarantined_rows(run.refused, run.counts["quarantined"])
    yield from (format_visible_line_for_rich(f"note: {note}") for note in run.facts["notes"])
    yield from format_written_paths(run.places)


def _describe_gaps(run: OrderRun) -> Iterator[str]:
    if run.gaps:
        yield f"[bold]missing[/] {run.gap_count:,}"
    for gap in run.gaps:
        # Events have an execution; messages have a group, and some a receiver, which may be the group.
        where, receiver = gap.get("execution", gap.get("group")), gap.get("receiver")
        place = f" to {receiver}" if receiver else ""
        if where and str(where) != receiver:
            place += f" in {where}"
        # Messages wait for what is missing; an event whose parent is missing comes out and names it.
        rows = pluralize(gap["waiting"], "event" if "execution" in gap else "row")
        verb = ("names", "name") if "execution" in gap else ("waits for", "wait for")
        text = f"{gap['missing']}{place}: {rows} {verb[gap['waiting'] != 1]} it"
        yield escape(format_visible_line(f"  {text}"))
    if run.gap_count > len(run.gaps):
        yield f"  [dim]... and {run.gap_count - len(run.gaps):,} more[/]"
