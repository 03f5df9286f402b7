"""`antecede compare`: what every protocol that fits would have cost on a log; for people or as JSON."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antecede.cli import logs as o
from antecede.cli.compare_runs import TABLES, CompareRun, run_comparison
from antecede.cli.compare_words import build_comparison_json, print_comparison, write_comparison_page
from antecede.cli.engine import EngineOption, Master, choose_engine
from antecede.cli.folders import (
    OutputFolder,
    Overwrite,
    check_output_file,
    format_written_paths,
    open_output_folder,
)
from antecede.cli.output import Json, print_json, print_lines
from antecede.core.errors import SetupError
from antecede.formats.sources import list_files

if TYPE_CHECKING:
    from antecede.study.advice import Advice

Weights = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=NUMBER,...", help="What matters: bytes, delay, packets. Else bytes=1,delay=1."
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="NAME=VALUE",
        help="At most so much: bytes, delay (50ms), delay_p99, packets, held, early, late (0.1%).",
    ),
]
Report = Annotated[Path | None, typer.Option(help="Write a page with tables and charts (HTML).")]
Out = Annotated[str | None, typer.Option(help="Folder for the tables costs and quarantine.")]


def compare_command(
    inputs: o.Inputs,
    weights: Weights = None,
    limit: Limits = None,
    report: Report = None,
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
    """Replay the communication of logs through every protocol that fits, and say which is best there.

    Who sends to whom, when, and how long it travels is taken from the log. Each protocol gets the same
    messages; the table says what it adds to them in bytes, packets and delay. A winner is named only where
    the 95 % intervals are apart.

    Example: antecede compare logs/*.log

    Example: antecede compare events.parquet --weights bytes=1,delay=2 --limit delay=50ms --report page.html

    Exit code: 0, 1 if some records cannot be read, 2 for wrong usage or logs without any communication.
    """
    from antecede.study.advice import advise_on_all_executions
    from antecede.study.compare_preferences import parse_preferences

    preferences = parse_preferences(weights, limit or [])
    settings = o.make_log_settings(regex, delimiter, field, kind)
    files = list_files(inputs)
    check_output_file(report, "--report", files)
    if report is not None:
        _check_charts_available()
    o.check_log_options(format, settings, staging)
    chosen = choose_engine(engine, inputs, master, out)
    folder = nullcontext() if out is None else open_output_folder(out, TABLES, files, overwrite)
    with folder as output, run_comparison(chosen, inputs, format, settings, master, staging) as run:
        advice = advise_on_all_executions(run.comparisons, preferences)
        written = _write_outputs(run, advice, report, output)
    if json:
        print_json(build_comparison_json(run, advice) | {"written": written})
    else:
        print_comparison(run, advice)
        print_lines(format_written_paths(written))
    raise typer.Exit(1 if any(file.quarantined for file in run.files) else 0)


def _check_charts_available() -> None:
    """Say before any work is done that charts cannot be drawn here."""
    from antecede.report.charts import load_altair

    try:
        load_altair()
    except ModuleNotFoundError as error:
        raise SetupError(f"--report: {error}") from None


def _write_outputs(
    run: CompareRun, advice: list[Advice], report: Path | None, output: OutputFolder | None
) -> dict[str, str]:
    """Write everything that was asked for; where each thing is, by name."""
    from antecede.study.compare_table import build_comparison_table

    written: dict[str, str] = {}
    if output is not None:
        run.write_tables(build_comparison_table(advice), output)
        written |= output.publish_tables()
    if report is not None:
        written["report"] = write_comparison_page(report, advice)
    return written
