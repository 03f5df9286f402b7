"""`antecede audit`: whether logs keep causal order, with a witness for each fault; for people or as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import typer
from rich.console import Console

from antecede.cli import logs as o
from antecede.cli.audited import Audited, facts, lines, totals, verdict
from antecede.cli.folders import Overwrite, check_file, checked, saved, stored
from antecede.cli.options import Json
from antecede.cli.stages import stages
from antecede.core.errors import CallerError
from antecede.formats.shiviz_writer import COMFORTABLE, write
from antecede.report.dot import dot as drawn
from antecede.report.page import page
from antecede.tables import EVENTS, Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from antecede.formats.logs import Logs

Report = Annotated[Path | None, typer.Option(help="Write a page with findings and pictures (HTML).")]
ShiViz = Annotated[Path | None, typer.Option("--shiviz", help="Write the log, or a part, for ShiViz.")]
Dot = Annotated[Path | None, typer.Option(help="Write the first picture for Graphviz.")]
Out = Annotated[str | None, typer.Option(help="Folder for the tables findings, totals and quarantine.")]
SAMPLE = 500
"""Findings of each kind that come to the driver."""
QUARANTINED = 100
"""Records that could not be read, of those the same."""


def audit_command(
    inputs: o.Inputs, report: Report = None, shiviz: ShiViz = None, dot: Dot = None, out: Out = None,
    overwrite: Overwrite = False, format: o.FormatName = None, regex: o.Regex = None,
    delimiter: o.Delimiter = None, field: o.Fields = None, kind: o.Kinds = None, master: o.Master = None,
    staging: o.Staging = None, json: Json = False,
) -> None:  # fmt: skip
    """Say whether logs keep causal order: what is late, lost or twice, which clocks and times are wrong.

    Each finding has a witness: the events that prove it, with file and line.

    Example: antecede audit logs/*.log --report page.html

    Example: antecede audit events.parquet --json

    Exit code: 0 if nothing was found, 1 for findings or records that cannot be read, 2 for wrong usage.
    """
    settings = o.settings_of(regex, delimiter, field, kind)
    if out is not None:
        checked(out, overwrite)
    for file, option in ((report, "--report"), (shiviz, "--shiviz"), (dot, "--dot")):
        check_file(file, option)
    o.check_inputs(inputs)
    with o.on_spark(master) as spark, o.logs(spark, inputs, format, settings, staging) as read:
        found = _audited(spark, read)
        with stages(spark, "writing"):
            written = _written(read, found, Wanted(inputs, report, shiviz, dot, out, overwrite))
        found.audit.done()
    if json:
        sys.stdout.write(msgspec.json.encode(facts(found) | {"written": written}).decode() + "\n")
    else:
        console = Console()
        for line in lines(found):
            console.print(line, soft_wrap=True, highlight=False)
        for name, place in written.items():
            console.print(f"{name}: {place}", soft_wrap=True, highlight=False, markup=False)
    raise typer.Exit(1 if found.summary.findings or found.quarantined else 0)


class Wanted(NamedTuple):
    """What is to be written."""

    inputs: list[str]
    report: Path | None
    shiviz: Path | None
    dot: Path | None
    out: str | None
    overwrite: bool


def _audited(spark: SparkSession, read: Logs[DataFrame]) -> Audited:
    from antecede.spark.auditing.event_audit import audit

    with stages(spark, "auditing"):
        found = audit(read.events, number=sum(file.events for file in read.files))
        told = found.summary(SAMPLE)
        some = any(file.quarantined for file in read.files)
        refused = read.quarantine.orderBy("file", "line").limit(QUARANTINED).collect() if some else []
    return Audited(found, told, read.files, read.note, [row.asDict() for row in refused])


def _written(read: Logs[DataFrame], found: Audited, wanted: Wanted) -> dict[str, str]:
    """Where everything that was asked for is, by name."""
    written = {}
    if wanted.out is not None:
        tables = {
            "findings": found.audit.findings,
            "totals": found.audit.totals,
            "quarantine": read.quarantine,
        }
        for name, table in tables.items():
            written[name] = stored(table, wanted.out, name, wanted.overwrite)
    if wanted.report is None and wanted.shiviz is None and wanted.dot is None:
        return written
    windows = _windows(read, found)
    if wanted.report is not None:
        name = ", ".join(wanted.inputs[:3]) + ("" if len(wanted.inputs) < 4 else ", ...")
        parts = (verdict(found), totals(found), found.summary.sample, windows, f"Audit of {name}")
        written["report"] = saved(wanted.report, page(*parts, found.summary.counts), "--report")
    if wanted.dot is not None:
        first = windows[0] if windows else Window("no events", EVENTS.empty_table())
        text = drawn(first.events, first.edges, first.late, first.ghosts)
        written["dot"] = f"{saved(wanted.dot, text, '--dot')}{_part(first)}"
    if wanted.shiviz is not None:
        written["shiviz"] = _shiviz(read, found, windows, wanted.shiviz)
    return written


def _windows(read: Logs[DataFrame], found: Audited) -> list[Window]:
    from antecede.spark.pictures.windows import pick_windows

    return pick_windows(read.events, found.audit, found.summary)


def _shiviz(read: Logs[DataFrame], found: Audited, windows: list[Window], file: Path) -> str:
    """Write what ShiViz can draw in comfort: all, or else the first picture. Where that is, or why not."""
    from antecede.events.clocked import clocked

    few = found.summary.totals["events"] <= COMFORTABLE
    events = read.events.toArrow() if few else windows[0].events.slice(len(windows[0].ghosts))
    try:
        text = write(clocked(events))
    except CallerError as error:
        return f"not written: {error}"
    return f"{saved(file, text, '--shiviz')}{'' if few else _part(windows[0])}"


def _part(window: Window) -> str:
    return f" ({window.title}. {window.left_out})" if window.left_out else ""
