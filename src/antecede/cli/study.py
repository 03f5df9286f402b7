"""`antecede study`: the experiments of the five papers, run to their end however often they are stopped."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from antecede.cli.engine import Engine, EngineOption, Master
from antecede.cli.folders import claim_folder, format_written_paths
from antecede.cli.logs import open_spark
from antecede.cli.output import Json, print_json, print_lines
from antecede.cli.work import WorkProgress
from antecede.core.errors import CallerError, SetupError
from antecede.report.text import pluralize

if TYPE_CHECKING:
    from antecede.study.experiment import Cell, Scale, Study
    from antecede.study.result import StudyRun
    from antecede.study.running import CellWork, Spread

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="sanchez, hoogerwoord, mattern, gambhire, mostefaoui, or all."),
]
Out = Annotated[
    str,
    typer.Option(help="Folder for what is found. If an earlier run was stopped, it goes on there."),
]
ScaleOption = Annotated[
    str,
    typer.Option("--scale", metavar="quick|paper", help="quick: a few minutes. paper: as in the papers."),
]
LOOK_EVERY = 0.5
"""Seconds between two looks at how many cells are finished."""
LISTED_FAILURES = 5


def study_command(
    name: Name,
    out: Out,
    scale: ScaleOption = "quick",
    engine: EngineOption = "auto",
    master: Master = None,
    json: Json = False,
) -> None:
    """Run the experiments that answer what a paper left open, and write what they show.

    A study is a grid of cells. Each is run once, by the real endpoints in the simulator, on all cores. A run
    that was stopped goes on if it gets the same --out. Writes the costs table (Parquet), a text with charts
    and 95 % intervals (result.md), and a page (page.html).

    Example: antecede study mostefaoui --out results

    Example: antecede study all --scale paper --out results

    Exit code: 0 if all cells were run, 1 if some failed (the costs table says why), 2 for wrong usage.
    """
    from antecede.study.registry import list_studies

    checked_scale = _parse_study_scale(scale)
    studies = list_studies(name)
    chosen = _choose_engine(engine, master)
    folders = [os.path.join(out, study.name) if name == "all" else out for study in studies]
    runs = []
    with claim_folder(Path(out).absolute(), f"--out {out}"):
        _check_all_studies(studies, folders, checked_scale)
        with _open_cell_runner(chosen, master) as spread:
            for study, folder in zip(studies, folders, strict=True):
                runs.append(_run_study_with_progress(study, folder, checked_scale, spread))
    if json:
        print_json([_build_study_json(run) for run in runs])
    else:
        print_lines([str(chosen)])
        for run in runs:
            print_lines(_describe_run(run))
    raise typer.Exit(1 if any(run.finished.failures for run in runs) else 0)


def _parse_study_scale(scale: str) -> Scale:
    from antecede.study.experiment import SCALES

    for known in SCALES:
        if scale == known:
            return known
    raise CallerError(f"--scale {scale}: choose quick or paper")


def _choose_engine(wanted: str, master: str | None) -> Engine:
    """Spark uses all cores; where it is not installed, this process uses one."""
    if wanted not in ("auto", "local", "spark"):
        raise CallerError(f"--engine {wanted}: choose auto, local or spark")
    if wanted == "local" and master is not None:
        raise CallerError(f"--engine local: --master {master} is for Spark; leave one of them out")
    if wanted != "auto":
        return Engine("local" if wanted == "local" else "spark", "as you chose")
    if master is None and find_spec("pyspark") is None:
        return Engine("local", "PySpark is not installed: one core")
    return Engine("spark", "all cores")


@contextmanager
def _open_cell_runner(engine: Engine, master: str | None) -> Iterator[Spread]:
    if engine.name == "local":
        from antecede.study.running import run_cells_in_process

        yield run_cells_in_process
        return
    with open_spark(master) as spark:
        from antecede.spark.cells import spread_over

        yield spread_over(spark)


def _check_all_studies(studies: list[Study], folders: list[str], scale: Scale) -> None:
    """Refuse before the first study is run what would be refused at the last."""
    from antecede.study.result import check_study_and_open_folder

    try:
        for study, folder in zip(studies, folders, strict=True):
            check_study_and_open_folder(study, folder, scale)
    except ModuleNotFoundError as error:  # what draws the charts is not there
        raise SetupError(str(error)) from None


def _run_study_with_progress(study: Study, folder: str, scale: Scale, spread: Spread) -> StudyRun:
    from antecede.study.result import run_study

    def spread_with_progress(cells: Sequence[Cell], work: CellWork) -> None:
        with WorkProgress(study.name, len(cells)) as bar, _show_finished_cell_count(work, bar):
            spread(cells, work)

    return run_study(study, folder, scale, spread_with_progress)


@contextmanager
def _show_finished_cell_count(work: CellWork, bar: WorkProgress) -> Iterator[None]:
    """Show how many cells are finished while the block runs: each leaves a file when it is."""
    before, over = work.store.count_results(), Event()

    def update_bar_until_over() -> None:
        while not over.wait(LOOK_EVERY):
            bar.show_done_count(work.store.count_results() - before)

    thread = Thread(target=update_bar_until_over, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _describe_run(run: StudyRun) -> Iterator[str]:
    """What was run and found, in rich's markup."""
    from rich.markup import escape

    finished = run.finished
    earlier = finished.cells - finished.run_now
    again = f" ({earlier:,} of them earlier)" if earlier else ""
    yield ""
    yield f"[bold]{escape(run.study.title)}[/]"
    yield f"{pluralize(finished.cells, 'cell')} at scale {run.scale}{again}"
    for answer in run.answers:
        yield ""
        yield f"[bold]{escape(answer.figure.title)}[/]"
        yield escape(answer.text)
    if finished.failures:
        yield from _describe_failures(run)
    yield ""
    yield from format_written_paths(run.written)


def _describe_failures(run: StudyRun) -> Iterator[str]:
    """How many cells failed, and the most frequent reasons."""
    from rich.markup import escape

    reasons = Counter(failure.reason for failure in run.finished.failures)
    yield ""
    yield f"[red]{pluralize(len(run.finished.failures), 'cell')} failed[/]"
    for reason, number in reasons.most_common(LISTED_FAILURES):
        yield escape(f"  {number:,}: {reason}")
    yield "Run the same command again to try them once more."


def _build_study_json(run: StudyRun) -> dict[str, Any]:
    """The same for programs."""
    finished = run.finished
    return {
        "study": run.study.name,
        "scale": run.scale,
        "cells": finished.cells,
        "run_now": finished.run_now,
        "failed": len(finished.failures),
        "failures": [
            {"figure": one.cell.figure, "protocol": one.cell.protocol, "reason": one.reason}
            for one in finished.failures[:LISTED_FAILURES]
        ],
        "answers": {answer.figure.name: answer.text for answer in run.answers},
        "written": run.written,
    }
