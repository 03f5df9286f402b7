"""How long the next micro-batch is put off while more rows wait than there should be.

It is put off in proportion: with twice as many rows as allowed, half as many batches begin in the same time.
Never for ever, since what the waiting rows wait for can only come with another batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from antecede.streams.marks import read_newest_mark

LONGEST = 10.0
"""Seconds that a batch is put off at most."""
SHORTEST_BATCH = 1.0
"""Seconds that a batch is taken to need at least: so often triggers are looked at."""
_SLICE = 0.2


def split_batch_delay_into_pauses(checkpoint: Path, max_held: int | None) -> Iterator[float]:
    """Seconds to sleep, one small piece after the other; ends as soon as few enough rows wait."""
    slept = 0.0
    while slept < compute_batch_delay_seconds(checkpoint, max_held):
        yield _SLICE
        slept += _SLICE


def compute_batch_delay_seconds(checkpoint: Path, max_held: int | None) -> float:
    """Seconds by which the next batch is put off."""
    mark = None if max_held is None else read_newest_mark(checkpoint)
    if mark is None or max_held is None or mark.held_rows <= max_held:
        return 0.0
    batch_seconds = max((mark.took or 0) / 1000, SHORTEST_BATCH)
    return min(LONGEST, batch_seconds * (mark.held_rows / max_held - 1))
