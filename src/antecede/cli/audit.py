"""`antecede audit`: whether logs keep causal order, with a witness for each fault; for people or as JSON."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from antecede.cli import logs as o
from antecede.cli.audit_runs import TABLES, AuditRun, run_audit
from antecede.cli.audit_words import (
    build_audit_json,
    count_quarantined,
    describe_audit,
    describe_audit_verdict,
    list_page_totals,
)
from antecede.cli.engine import EngineOption, Master, choose_engine
from antecede.cli.folders import (
    OutputFolder,
    Overwrite,
    check_output_file,
    format_written_paths,
    open_output_folder,
    write_text_and_describe_place,
)
from antecede.cli.output import Json, print_json, print_lines
from antecede.core.errors import CallerError
from antecede.formats.sources import list_files

if TYPE_CHECKING:
    from antecede.tables import Window

Report = Annotated[
    Path | None, typer.Option(help="Write a page with overview, findings and pictures (HTML).")
]
ShiViz = Annotated[Path | None, typer.Option("--shiviz", help="Write the log, or a part, for ShiViz.")]
Dot = Annotated[Path | None, typer.Option(help="Write the first picture for Graphviz.")]
Out = Annotated[str | None, typer.Option(help="Folder for the tables findings, totals and quarantine.")]
NAMED_INPUTS = 3
"""Inputs that the title of the page names."""


def audit_command(
    inputs: o.Inputs,
    report: Report = None,
    shiviz: ShiViz = None,
    dot: Dot = None,
    out: Out = None,
    overwrite: Overwrite = False,
    format: o.FormatName = None,
    regex: o.Regex = None,
    delimiter: o.Delimiter = None,
    field: o.Fields = None,
    kind: o.Kinds = None,
    engine: EngineOption = "auto",
    master: Master = None,
    staging: o.Staging = None,
    json: Json = False,
) -> None:
    """Say whether logs keep causal order: what is late, lost or twice, which clocks and times are wrong.

    Each finding has a witness: the events that prove it, with file and line.

    Example: antecede audit logs/*.log --report page.html

    Example: antecede audit events.parquet --json

    Exit code: 0 if nothing was found, 1 for findings or records that cannot be read, 2 for wrong usage.
    """
    settings = o.make_log_settings(regex, delimiter, field, kind)
    files = list_files(inputs)
    for file, option in ((report, "--report"), (shiviz, "--shiviz"), (dot, "--dot")):
        check_output_file(file, option, files)
    o.check_log_options(format, settings, staging)
    chosen = choose_engine(engine, inputs, master, out)
    folder = nullcontext() if out is None else open_output_folder(out, TABLES, files, overwrite)
    with folder as output, run_audit(chosen, inputs, format, settings, master, staging) as run:
        written = _write_outputs(run, _Wanted(inputs, report, shiviz, dot, output))
    if json:
        print_json(build_audit_json(run) | {"written": written})
    else:
        print_lines(describe_audit(run))
        print_lines(format_written_paths(written))
    raise typer.Exit(1 if run.summary.findings or count_quarantined(run) else 0)


class _Wanted(NamedTuple):
    """What is to be written."""

    inputs: list[str]
    report: Path | None
    shiviz: Path | None
    dot: Path | None
    output: OutputFolder | None


def _write_outputs(run: AuditRun, wanted: _Wanted) -> dict[str, str]:
    """Write everything that was asked for; where each thing is, by name."""
    written: dict[str, str] = {}
    if wanted.output is not None:
        run.write_tables(wanted.output)
        written |= wanted.output.publish_tables()
    if wanted.report is not None:
        written["report"] = _write_report(run, wanted)
    if wanted.dot is None and wanted.shiviz is None:
        return written
    windows = run.pick_windows()
    if wanted.dot is not None:
        written["dot"] = _write_first_window_as_dot(windows, wanted.dot)
    if wanted.shiviz is not None:
        written["shiviz"] = _write_log_or_first_window_for_shiviz(run, windows, wanted.shiviz)
    return written


def _write_report(run: AuditRun, wanted: _Wanted) -> str:
    from antecede.report.page import render_page

    name = ", ".join(wanted.inputs[:NAMED_INPUTS])
    if len(wanted.inputs) > NAMED_INPUTS:
        name += ", ..."
    html = render_page(
        describe_audit_verdict(run),
        list_page_totals(run),
        run.summary.sample,
        run.build_log_view_for_page(),
        f"Audit of {name}",
        run.summary.counts,
    )
    assert wanted.report is not None
    return write_text_and_describe_place(wanted.report, html, "--report")


def _write_first_window_as_dot(windows: list[Window], file: Path) -> str:
    from antecede.report.dot import render_dot
    from antecede.tables import EVENTS, Window

    first = windows[0] if windows else Window("no events", EVENTS.empty_table())
    text = render_dot(first.events, first.edges, first.late, first.ghosts)
    place = write_text_and_describe_place(file, text, "--dot")
    return f"{place}{_format_left_out_note(first)}"


def _write_log_or_first_window_for_shiviz(run: AuditRun, windows: list[Window], file: Path) -> str:
    """Write what ShiViz can draw in comfort: all, or else the first picture. Where that is, or why not."""
    from antecede.events.add_clocks import add_clocks_if_none_are_given
    from antecede.formats.shiviz_writer import COMFORTABLE, format_shiviz

    is_whole = run.summary.totals["events"] <= COMFORTABLE
    events = run.get_events_that_were_read() if is_whole else windows[0].events.slice(len(windows[0].ghosts))
    try:
        text = format_shiviz(add_clocks_if_none_are_given(events))
    except CallerError as error:
        return f"not written: {error}"
    place = write_text_and_describe_place(file, text, "--shiviz")
    return place if is_whole else f"{place}{_format_left_out_note(windows[0])}"


def _format_left_out_note(window: Window) -> str:
    return f" ({window.title}. {window.left_out})" if window.left_out else ""
