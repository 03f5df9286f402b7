"""One line about a stream while it runs: on a terminal it changes, elsewhere it comes now and then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.status import Status

from antecede.cli.work import PATIENCE
from antecede.report.text import pluralize
from antecede.streams.marks import Mark, read_newest_mark
from antecede.streams.status import compute_mark_figures


class StreamLine:
    """Says on the error output what the newest micro-batch did, if it is called and there is a new one."""

    def __init__(self, checkpoint: Path, console: Console, status: Status) -> None:
        self._checkpoint, self._console, self._status = checkpoint, console, status
        self._told = read_newest_mark(checkpoint)
        self._last_line = 0.0

    def __call__(self) -> None:
        mark = read_newest_mark(self._checkpoint)
        if mark is None or mark == self._told:
            return
        if self._console.is_terminal:
            self._show_and_remember_batch(mark)
        elif time.monotonic() - self._last_line > PATIENCE:
            self._last_line = time.monotonic()
            self._show_and_remember_batch(mark)

    def _show_and_remember_batch(self, mark: Mark) -> None:
        self._told = mark
        line = describe_batch_progress(compute_mark_figures(mark))
        if self._console.is_terminal:
            self._status.update(line)
        else:
            self._console.print(line, soft_wrap=True, highlight=False, markup=False)


@contextmanager
def show_stream_progress(checkpoint: Path) -> Iterator[StreamLine]:
    """A line that is to be called now and then while the block runs."""
    console = Console(stderr=True)
    with console.status("waiting for rows") as status:
        yield StreamLine(checkpoint, console, status)


def describe_batch_progress(figures: dict[str, Any]) -> str:
    """What a micro-batch did, and what waits behind it."""
    last, totals = figures["last"], figures["totals"]
    words = [f"batch {figures['batch']:,}: {pluralize(last['input'], 'row')}"]
    if figures["rows_per_second"] is not None:
        words.append(f"{figures['rows_per_second']:,} rows/s")
    words.append(f"{totals['ordered']:,} ordered in all")
    for name, what in (("late", "late"), ("diverted", "held for good"), ("quarantined", "quarantined")):
        if totals[name]:
            words.append(f"{totals[name]:,} {what}")
    held = f"{figures['held']:,} held"
    if figures["held"]:
        held += f", the oldest for {figures['oldest_wait'] / 1000:,.0f} s"
    return ", ".join([*words, held])
