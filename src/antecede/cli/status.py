"""`antecede status`: what a stream has done and what it waits for, told by its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from antecede.cli.output import Json, print_json, print_lines
from antecede.cli.signals import suppress_stop_message
from antecede.report.text import format_visible_line, pluralize
from antecede.streams.marks import read_newest_mark
from antecede.streams.running import is_running
from antecede.streams.status import build_empty_status, read_status

Checkpoint = Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="Folder of the stream's checkpoint.")]
Watch = Annotated[bool, typer.Option("--watch", help="Say it again whenever a micro-batch is done.")]
_PAUSE = 0.5
"""Seconds between two looks."""


def status_command(checkpoint: Checkpoint, json: Json = False, watch: Watch = False) -> None:
    """Say what a stream has done and what it waits for; it may run or be stopped.

    Example: antecede status state

    Exit code: 0 if nothing is held, 1 if something is, 2 for wrong usage.
    """
    if watch:
        suppress_stop_message()
    facts = _read_and_print_status(checkpoint, json)
    while watch:
        time.sleep(_PAUSE)
        mark = read_newest_mark(checkpoint)
        step = None if mark is None else (mark.batch, mark.tick)
        if step not in (None, (facts["batch"], facts["tick"])) or facts["running"] != is_running(checkpoint):
            if not json:
                print_lines([""])
            facts = _read_and_print_status(checkpoint, json)
    raise typer.Exit(1 if facts["held"] else 0)


def _read_and_print_status(checkpoint: Path, json: bool) -> dict[str, Any]:
    running = is_running(checkpoint)
    is_new = running is not None and read_newest_mark(checkpoint) is None
    facts = {"running": running} | (build_empty_status() if is_new else read_status(checkpoint))
    if json:
        print_json(facts)
    else:
        print_lines([*_describe_whether_running(running), *describe_status(facts)])
    return facts


def _describe_whether_running(running: bool | None) -> Iterator[str]:
    if running is not None:
        yield "[bold]running[/]" if running else "[bold]stopped[/]"


def describe_status(facts: dict[str, Any]) -> Iterator[str]:
    """Lines for people, in rich's markup."""
    if facts["batch"] is None:
        yield "no micro-batch is done yet"
        return
    speed = ""
    if facts["rows_per_second"] is not None:
        speed = f", in {facts['took'] / 1000:,.1f} s: {facts['rows_per_second']:,} rows/s"
    yield f"batch {facts['batch']:,} at {_format_utc_time(facts['time'])}{speed}"
    for title, name in (("in all", "totals"), ("last batch", "last")):
        yield f"{title}: {_describe_counts(facts[name])}"
    if not facts["held"]:
        yield "[bold green]nothing is held[/]"
        return
    since = _format_utc_time(facts["held_since"])
    size = f"about {facts['held_bytes']:,} bytes"
    yield f"[bold yellow]{pluralize(facts['held'], 'row')} held[/], {size}, the oldest since {since}"
    yield from describe_gaps(facts)


def describe_gaps(facts: dict[str, Any]) -> Iterator[str]:
    """What is missing, and how many rows wait for it; in rich's markup."""
    yield f"[bold]missing[/] {facts['gap_count']:,}"
    for gap in facts["gaps"]:
        place = f" to {gap['receiver']}" if gap["receiver"] else ""
        if gap["group"] and gap["group"] != gap["receiver"]:
            place += f" in {gap['group']}"
        verb = "waits" if gap["waiting"] == 1 else "wait"
        text = f"  {gap['missing']}{place}: {pluralize(gap['waiting'], 'row')} {verb} for it"
        yield escape(format_visible_line(text))
    if facts["gap_count"] > len(facts["gaps"]):
        yield f"  [dim]... and {facts['gap_count'] - len(facts['gaps']):,} more[/]"


def _describe_counts(counts: dict[str, int]) -> str:
    parts = [
        f"{counts['ordered']:,} ordered ({counts['released']:,} released)",
        f"{counts['late']:,} late",
        f"{counts['diverted']:,} held for good",
        f"{counts['quarantined']:,} quarantined ({counts['duplicates']:,} twice)",
    ]
    return f"{pluralize(counts['input'], 'row')}, {', '.join(parts)}"


def _format_utc_time(unix_milliseconds: int) -> str:
    return datetime.fromtimestamp(unix_milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
