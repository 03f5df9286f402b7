"""Progress on the error output: what a command is doing, and on Spark how far it is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from antecede.cli.work import PATIENCE
from antecede.report.text import pluralize

if TYPE_CHECKING:
    from rich.console import Console

    from antecede.spark import progress


@contextmanager
def show_activity(activity: str) -> Iterator[None]:
    """Say what goes on in this process while the block runs: on a terminal, and gone when it is done."""
    from rich.console import Console

    with Console(stderr=True).status(activity):
        yield


@contextmanager
def show_spark_stages(spark: object, activity: str) -> Iterator[None]:
    """Show how far Spark is while the block runs: a bar on a terminal, a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from antecede.spark.progress import watch_jobs

    console = Console(stderr=True)
    if not console.is_terminal:
        with watch_jobs(spark, StageLines(console, activity)):  # type: ignore[arg-type]
            yield
        return
    columns = (TextColumn(activity), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def update_bar(state: progress.Progress) -> None:
            bar.update(task, description=describe_stage(state), completed=state.done, total=state.tasks)

        with watch_jobs(spark, update_bar):  # type: ignore[arg-type]
            yield


class StageLines:
    """A line now and then; what is quick says nothing."""

    def __init__(self, console: Console, activity: str) -> None:
        self.console, self.what = console, activity
        self.last_line = time.monotonic()

    def __call__(self, state: progress.Progress) -> None:
        if time.monotonic() - self.last_line > PATIENCE:
            self.last_line = time.monotonic()
            self.console.print(f"{self.what}: {describe_stage(state)}", highlight=False)


def describe_stage(state: progress.Progress) -> str:
    rows = f", {pluralize(state.rows, 'row')}" if state.rows else ""
    return f"stage {state.stage}, {state.done:,} of {pluralize(state.tasks, 'task')}{rows}"
