"""Progress of Spark's stages on the screen: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from antecede.cli.work import PATIENCE
from antecede.report.text import many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from antecede.spark import progress


@contextmanager
def stages(spark: SparkSession, what: str) -> Iterator[None]:
    """Show how far Spark is while the block runs, on the error output."""
    from antecede.spark.progress import watched

    console = Console(stderr=True)
    if not console.is_terminal:
        with watched(spark, Lines(console, what)):
            yield
        return
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(found: progress.Progress) -> None:
            bar.update(task, description=words(found), completed=found.done, total=found.tasks)

        with watched(spark, tell):
            yield


class Lines:
    """A line now and then; what is quick says nothing."""

    def __init__(self, console: Console, what: str) -> None:
        self.console, self.what, self.told = console, what, time.monotonic()

    def __call__(self, found: progress.Progress) -> None:
        if time.monotonic() - self.told > PATIENCE:
            self.told = time.monotonic()
            self.console.print(f"{self.what}: {words(found)}", highlight=False)


def words(found: progress.Progress) -> str:
    rows = f", {many(found.rows, 'row')}" if found.rows else ""
    return f"stage {found.stage}, {found.done:,} of {many(found.tasks, 'task')}{rows}"
