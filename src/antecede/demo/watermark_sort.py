"""What is often written instead of causal order: wait for a watermark, sort by time, drop what is late."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa


class WatermarkSort:
    """Rows of micro-batches sorted by `time`, as far as the watermark has passed them.

    The watermark is so many ms behind the latest time that was seen before the micro-batch. What is older
    when it comes is dropped, as Spark drops it.
    """

    def __init__(self, delay_ms: float) -> None:
        self._delay = delay_ms
        self._waiting: pa.Table | None = None
        self._watermark = -np.inf
        self.batches = 0
        self.dropped = 0
        self.sorted: list[pa.Table] = []
        """What came out, one table for each micro-batch; `out` is when, in ms."""

    def add_batch(self, rows: pa.Table) -> None:
        """The rows of a micro-batch."""
        times = rows["time"].to_numpy()
        is_late = times < self._watermark
        self.dropped += int(is_late.sum())
        rows = rows.filter(pa.array(~is_late))
        waiting = rows if self._waiting is None else pa.concat_tables([self._waiting, rows])
        if len(times):
            self._watermark = max(self._watermark, float(times.max()) - self._delay)
        is_ready = waiting["time"].to_numpy() < self._watermark
        self._waiting = waiting.filter(pa.array(~is_ready))
        ready = waiting.filter(pa.array(is_ready)).sort_by("time")
        if len(ready):
            now = pa.array(np.full(len(ready), time.time() * 1000))
            self.sorted.append(ready.append_column("out", now))
        self.batches += 1

    @property
    def rows_out(self) -> int:
        """How many came out."""
        return sum(map(len, self.sorted))
