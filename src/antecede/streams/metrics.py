"""The figures of a stream for Prometheus, read from its checkpoint whenever they are asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from antecede.core.errors import CallerError, SetupError
from antecede.streams.marks import Mark, read_newest_mark
from antecede.streams.status import EXPLAINED_ROWS, find_largest_gaps

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.registry import Collector
except ImportError:
    raise SetupError("--metrics-port needs prometheus-client; run: pip install prometheus-client") from None

COUNTERS = {
    "input": "Rows that came.",
    "ordered": "Rows that came out in causal order.",
    "late": "Rows that came out behind something that they caused.",
    "diverted": "Rows that were put aside for good, in the table held.",
    "quarantined": "Rows that are malformed or there twice.",
    "released": "Rows among the ordered ones that did not wait for all that caused them.",
    "duplicates": "Rows among the quarantined ones that came before.",
}


class StreamCollector(Collector):
    """Reads the newest mark of a checkpoint; before there is one, there are no figures."""

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._explained: tuple[Mark, dict[str, Any]] | None = None

    def collect(self) -> Iterator[Metric]:
        """All figures."""
        mark = read_newest_mark(self._checkpoint)
        if mark is not None:
            yield from list_stream_metrics(mark, time.time() * 1000)
            yield from self._list_gap_metrics(mark)

    def _list_gap_metrics(self, mark: Mark) -> Iterator[Metric]:
        """What rows wait for, by name; told anew only if something has changed, or else never read."""
        if mark.held_rows > EXPLAINED_ROWS:
            return
        if self._explained is None or self._explained[0] != mark:
            with suppress(FileNotFoundError):  # the stream went on meanwhile: the next one who asks is told
                self._explained = mark, find_largest_gaps(self._checkpoint, mark)
        if self._explained is None:
            return
        facts = self._explained[1]
        text = "What is waited for and is not there."
        yield GaugeMetricFamily("antecede_stream_gaps", text, value=facts["gap_count"])
        labels = ["group", "receiver", "missing"]
        waiting = GaugeMetricFamily("antecede_stream_gap_waiting", "Rows that wait for it.", labels=labels)
        for gap in facts["gaps"]:
            waiting.add_metric([gap[label] or "" for label in labels], gap["waiting"])
        yield waiting


def list_stream_metrics(mark: Mark, now_ms: float) -> Iterator[Metric]:
    """The figures of a mark at a time, in ms."""
    for name, text in COUNTERS.items():
        yield CounterMetricFamily(f"antecede_stream_{name}_rows", text, value=getattr(mark.totals, name))
    oldest_wait = 0.0 if mark.oldest_waiting_ms is None else max(0.0, now_ms - mark.oldest_waiting_ms) / 1000
    gauges = {
        "batch": ("Number of the last micro-batch.", mark.batch),
        "batch_rows": ("Rows of the last micro-batch.", mark.counts.input),
        "batch_seconds": ("Seconds that it took.", (mark.took or 0) / 1000),
        "batch_time_seconds": ("When it began, in seconds since 1970.", mark.time / 1000),
        "held_rows": ("Rows that wait.", mark.held_rows),
        "held_bytes": ("About how many bytes they have.", mark.held_bytes),
        "oldest_wait_seconds": ("Seconds that the first of them has waited.", oldest_wait),
    }
    for name, (text, value) in gauges.items():
        yield GaugeMetricFamily(f"antecede_stream_{name}", text, value=value)


class StreamMetricsServer:
    """Serves /metrics until it is closed."""

    def __init__(self, checkpoint: Path, host: str, port: int) -> None:
        registry = CollectorRegistry(auto_describe=False)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except (OSError, OverflowError) as error:
            raise CallerError(
                f"metrics cannot be served at {host}:{port}: {error}; choose another --metrics-port or "
                "--metrics-host"
            ) from None
        registry.register(StreamCollector(checkpoint))
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
