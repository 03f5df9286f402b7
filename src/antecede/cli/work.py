"""Progress on long work: a bar on a terminal, a line now and then where the output is no terminal."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PATIENCE = 10.0
"""Seconds between two lines where there is no terminal."""


class WorkProgress:
    """Say `advance` as things get done; what is quick shows nothing. Goes to the error output."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self.console = Console(stderr=True)
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=self.console, transient=True)
        self.task = self.bar.add_task(what, total=total)
        self.last_line = time.monotonic()

    def __enter__(self) -> "WorkProgress":
        if self.console.is_terminal:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.console.is_terminal:
            self.bar.stop()

    def advance(self, newly_done: int) -> None:
        """So many more are done."""
        self.show_done_count(self.done + newly_done)

    def show_done_count(self, done: int) -> None:
        """So many are done."""
        self.done = done
        self.bar.update(self.task, completed=done)
        if not self.console.is_terminal and time.monotonic() - self.last_line > PATIENCE:
            self.last_line = time.monotonic()
            self.console.print(f"{self.what}: {done:,} of {self.total:,}", highlight=False)
