"""What a study found, as written by the command from its own costs: a text with tables, charts, a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from antecede.report.charts import (
    Chart,
    ChartWithRows,
    Section,
    TextTable,
    load_altair,
    write_chart_page,
    write_svg,
)
from antecede.report.text import pluralize
from antecede.scratch import replace_file_atomically
from antecede.study.estimates import Results, format_parameter
from antecede.study.experiment import Figure, Plot, Scale, Study
from antecede.study.running import (
    FinishedStudy,
    Spread,
    run_cells_in_process,
    run_unfinished_cells_and_collect_costs,
)
from antecede.study.store import CellStore

SHOWN_METRICS = 8
"""Columns of a table in the text; the costs table has them all."""


class StudyRun(NamedTuple):
    """A study that was run: its costs and what it found; `written` says where each thing is, by name."""

    study: Study
    scale: Scale
    finished: FinishedStudy
    answers: list[FigureAnswer]
    written: dict[str, str]


def run_study(
    study: Study, out: str, scale: Scale = "quick", spread: Spread = run_cells_in_process
) -> StudyRun:
    """Run what is not finished of a study, and write its costs, its text and its page into a folder.

    Give the same folder to go on with a run that was stopped. `spread` is the engine: cells one after the
    other in this process, or what `antecede.spark.spread_over(spark)` gives.
    """
    store = check_study_and_open_folder(study, out, scale)
    finished = run_unfinished_cells_and_collect_costs(study, store, scale, spread)
    # Costs come first: they are there whatever happens to the answers.
    written = {"costs": store.write_costs(finished.costs)}
    answers = [answer_question_of_figure(figure, finished.costs) for figure in study.figures]
    run = StudyRun(study, scale, finished, answers, written)
    run.written.update(write_study_result(run, store.folder))
    return run


def check_study_and_open_folder(study: Study, out: str, scale: Scale) -> CellStore:
    """Find out before any work is done whether a study can be run and written there: its folder."""
    load_altair()
    study.check(scale)
    return CellStore.open_folder(out, study)


class FigureAnswer(NamedTuple):
    """What one figure found."""

    figure: Figure
    text: str
    charts: list[ChartWithRows]
    table: TextTable


def answer_question_of_figure(figure: Figure, costs: pa.Table) -> FigureAnswer:
    """What one figure found, from the costs table alone."""
    results = Results.of_figure(costs, figure.name, figure.count_trials)
    if not results.metrics:
        return FigureAnswer(figure, "Nothing was measured.", [], TextTable([], []))
    charts = [make_chart(plot, results) for plot in figure.plots]
    try:
        text = figure.conclude(results)
    except (ArithmeticError, LookupError, ValueError):
        if not results.failed:
            raise
        text = "Some cells failed, and without them there is no answer; the costs table says why."
    return FigureAnswer(
        figure, text, charts, make_results_table(results, [plot.metric for plot in figure.plots])
    )


def make_chart(plot: Plot, results: Results) -> ChartWithRows:
    """A chart of a metric, with an interval at every point."""
    rows = []
    for protocol, parameters, estimate in results.list_points(plot.metric):
        named: dict[str, Any] = {"protocol": protocol, **parameters}
        if plot.x in named:
            rows.append(
                {
                    plot.x: named[plot.x],
                    plot.series: format_parameter(named.get(plot.series, "")),
                    plot.metric: estimate.mean,
                    "low": _null_if_nan(estimate.low),
                    "high": _null_if_nan(estimate.high),
                }
            )
    if plot.log_y:
        rows = _fit_rows_to_log_axis(rows, plot.metric)
    chart = Chart(
        title=plot.title,
        x=plot.x,
        y=plot.metric,
        low="low",
        high="high",
        series=plot.series,
        x_title=f"{plot.x} ({plot.unit})" if plot.unit else plot.x,
        y_title=plot.metric.replace("_", " "),
        log_x=plot.log_x,
        log_y=plot.log_y,
    )
    return ChartWithRows(chart, rows)


def _fit_rows_to_log_axis(rows: list[dict[str, Any]], metric: str) -> list[dict[str, Any]]:
    """The rows that a logarithmic axis can show: a mean of zero is left out (the table has it), and an
    interval that reaches zero ends at the least mean."""
    shown = [row for row in rows if row[metric] > 0]
    least = min((row[metric] for row in shown), default=0.0)
    for row in shown:
        if row["low"] is not None:
            row["low"] = max(row["low"], least)
    return shown


def _null_if_nan(value: float) -> float | None:
    """An end of an interval, where there is one."""
    return None if math.isnan(value) else value


def make_results_table(results: Results, drawn_metrics: Sequence[str] = ()) -> TextTable:
    """Every point with its parameters and its metrics, as mean ± half the 95 % interval: first what is drawn
    in charts, then more as long as there is room."""
    measured = results.metrics
    shown_first = [metric for metric in drawn_metrics if metric in measured]
    metrics = list(dict.fromkeys((*shown_first, *measured)))[: max(SHOWN_METRICS, len(shown_first))]
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    names: dict[str, None] = {}
    for metric in metrics:
        for protocol, parameters, estimate in results.list_points(metric):
            names |= dict.fromkeys(parameters)
            place = (protocol, *(f"{name}={format_parameter(value)}" for name, value in parameters.items()))
            cells.setdefault(place, {})[metric] = str(estimate)
    varied = [name for name in names if _count_parameter_values(cells, name) > 1]
    rows = []
    for (protocol, *settings), values in cells.items():
        chosen = dict(setting.split("=", 1) for setting in settings)
        parameters_shown = [chosen.get(name, "") for name in varied]
        rows.append([protocol, *parameters_shown, *(values.get(metric, "") for metric in metrics)])
    return TextTable(["protocol", *varied, *metrics], rows)


def _count_parameter_values(cells: dict[tuple[str, ...], dict[str, str]], name: str) -> int:
    """How many values a parameter has."""
    return len({setting for place in cells for setting in place if setting.startswith(f"{name}=")})


def describe_scale(run: StudyRun) -> str:
    """How large the run was, in a sentence."""
    seeds = sorted({figure.seeds[run.scale] for figure in run.study.figures})
    counted = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return (
        f"Scale {run.scale!r}: {run.finished.cells:,} cells, {counted} seeds for each point. "
        "Values are means with 95 % intervals (Student's t over the seeds). Where all seeds gave the same "
        "value, there is no ±; or for a rate of so many messages or programs, Wilson's interval."
    )


def write_study_result(run: StudyRun, folder: str) -> dict[str, str]:
    """Write the text, its charts as SVG and the page into the study's folder; where each is."""
    place = Path(folder)
    pictures = _write_pictures(run.answers, place / "charts")
    text = "\n".join(_format_markdown(run, pictures)) + "\n"
    replace_file_atomically(place / "result.md", text.encode())
    sections = [Section("What was run", [run.study.about, describe_scale(run)])]
    for answer in run.answers:
        figure = answer.figure
        sections.append(Section(figure.title, [figure.question, answer.text], (), answer.charts))
        sections.append(Section(f"{figure.title}: all values", (), [answer.table]))
    write_chart_page(place / "page.html", run.study.title, sections)
    return {"result": str(place / "result.md"), "page": str(place / "page.html")}


def _write_pictures(answers: list[FigureAnswer], folder: Path) -> dict[str, list[str]]:
    """An SVG for each chart; their names by figure."""
    folder.mkdir(exist_ok=True)
    pictures: dict[str, list[str]] = {}
    for answer in answers:
        names = []
        for number, chart in enumerate(answer.charts, start=1):
            name = f"{answer.figure.name}_{number}.svg"
            write_svg(folder / name, chart.chart, chart.rows)
            names.append(name)
        pictures[answer.figure.name] = names
    return pictures


def _format_markdown(run: StudyRun, pictures: dict[str, list[str]]) -> Iterator[str]:
    """The lines of the text, in Markdown."""
    yield from (f"# {run.study.title}", "", run.study.about, "", describe_scale(run), "")
    if run.finished.failures:
        failed = pluralize(len(run.finished.failures), "cell")
        yield from (f"**{failed} failed**; the costs table says why.", "")
    for answer in run.answers:
        figure = answer.figure
        yield from (f"## {figure.title}", "", f"*{figure.question}*", "", answer.text, "")
        for name in pictures[figure.name]:
            yield from (f"![{figure.title}](charts/{name})", "")
        if answer.table.rows:
            yield from _format_markdown_table(answer.table)
            yield ""


def _format_markdown_table(table: TextTable) -> Iterator[str]:
    yield _format_markdown_row(table.headings)
    yield f"|{'---|' * len(table.headings)}"
    yield from map(_format_markdown_row, table.rows)


def _format_markdown_row(cells: Sequence[str]) -> str:
    """A row of a table in Markdown, to which a bar in a text would be the end of a cell."""
    texts = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |"
