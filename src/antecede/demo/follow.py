"""The shop live: messages are put in causal order while they land, beside a job that waits for a watermark.

Now and then both outputs are audited, as one who reads them in this order would see them. The causes are
those of the people's own logs, which neither job has seen.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console

from antecede.demo.feed import STALLED, Feed, LiveShop
from antecede.demo.shop import PEOPLE
from antecede.demo.watermark_sort import WatermarkSort
from antecede.report.text import pluralize
from antecede.streams.marks import Mark, list_marked_batches, read_newest_mark
from antecede.streams.status import find_largest_gaps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CAUSAL, SORTED = "causal order", "watermark and sort"
DELAY = 5.0
"""Seconds that the watermark stays behind: far more than a copy needs to land, as a rule."""
LOOK_EVERY = 10.0
"""Seconds between two audits."""
LONGEST_WAIT = 60.0
"""Seconds that the end waits for what has landed to come out."""
SCHEMA = (
    "room string, sender string, message string, text string, time double, stamp map<string, bigint>, "
    "landed double"
)
_TRIGGER = {"processingTime": "500 milliseconds"}


class JobOutput(NamedTuple):
    """What has come out of a job, in the order in which it did in each room."""

    rows: pa.Table  # room, message, and in ms: landed, out
    dropped: int

    def compute_median_and_99th_percentile_latency_seconds(self, since_ms: float) -> list[float]:
        """Seconds within which half of the rows came out that did so since a time in ms, and 99 of 100."""
        out = self.rows["out"].to_numpy()
        latency = (out - self.rows["landed"].to_numpy())[out > since_ms] / 1000
        return np.quantile(latency, [0.5, 0.99]).tolist() if len(latency) else []


class Snapshot(NamedTuple):
    """What was so at a moment."""

    seconds: float
    landed: int
    mark: Mark | None
    gaps: list[dict[str, Any]]
    outputs: dict[str, JobOutput]
    late: dict[str, int]
    """Messages of each output that come behind something that depends on them."""


def run_live_shop_demo(
    console: Console,
    folder: Path,
    shop: LiveShop | None = None,
    delay_seconds: float = DELAY,
    look_every_seconds: float = LOOK_EVERY,
) -> Snapshot:
    """Tell the story while it happens; the tables stay in the folder. Returns what was so at its end."""
    from antecede.demo.lake import SHORT_RUN
    from antecede.spark.running import open_session

    shop = shop or LiveShop()
    console.print(
        f"\n[bold]The shop, live[/]: {len(PEOPLE)} people write in {pluralize(shop.rooms, 'room')} for "
        f"{shop.seconds:.0f} s. Copies of all messages land out of order; those of {STALLED} not at all "
        f"between second {shop.stall_begins:.0f} and {shop.stall_ends:.0f}.\n"
        f"One job puts them in causal order by their stamps. Another sorts by time, behind a watermark of "
        f"{delay_seconds:g} s.\n",
        highlight=False,
    )
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "landed").mkdir(parents=True)
    events, landed = shop.simulate_events_and_landed_copies()
    feed = Feed(landed, folder / "landed")
    sorting = WatermarkSort(1000 * delay_seconds)
    with (
        # Embedded, whatever the environment says: both jobs hand their rows to this process.
        open_session("local[*]", **SHORT_RUN) as spark,
        _run_ordering_and_sorting_jobs(spark, folder, sorting) as raise_job_error,
    ):
        viewer = _Viewer(console, folder, events, feed, sorting)
        feed.write_first_copies()
        viewer.wait_for_first_batches(raise_job_error)
        feed.start()
        try:
            viewer.watch_until_all_is_out(look_every_seconds, raise_job_error)
        finally:
            feed.stop()
        last = viewer.audit_and_print_outputs()
    _check_and_print_conclusion(console, last, len(landed))
    return last


@contextmanager
def _run_ordering_and_sorting_jobs(
    spark: SparkSession, folder: Path, sorting: WatermarkSort
) -> Iterator[Callable[[], None]]:
    """Both jobs while the block runs; what is handed over raises what one of them died of."""
    from antecede.spark import order_stream

    def open_landed_stream() -> DataFrame:
        return spark.readStream.schema(SCHEMA).parquet(str(folder / "landed"))

    def sort_batch(batch: DataFrame, number: int) -> None:
        sorting.add_batch(batch.toArrow())

    places: dict[str, Any] = {"out": folder / "tables", "checkpoint": folder / "checkpoint"}
    ordering = order_stream(
        open_landed_stream(), group="room", stamp="stamp", trigger=_TRIGGER, buckets=4, **places
    )
    queries = [
        ordering,
        open_landed_stream().writeStream.foreachBatch(sort_batch).trigger(**_TRIGGER).start(),
    ]

    def raise_job_error() -> None:
        for query in queries:
            if (error := query.exception()) is not None:
                raise error

    try:
        yield raise_job_error
    finally:
        for query in queries:
            query.stop()


class _Viewer:
    """Looks at what has come out, audits it, and tells."""

    def __init__(
        self, console: Console, folder: Path, events: pa.Table, feed: Feed, sorting: WatermarkSort
    ) -> None:
        self._console, self._folder, self._events = console, folder, events
        self._feed, self._sorting = feed, sorting
        self._last_look = 0.0

    def wait_for_first_batches(self, raise_job_error: Callable[[], None]) -> None:
        """Wait until both jobs have done a micro-batch: the first takes long."""
        with self._console.status("Spark warms up"):
            while not (self._count_ordered_rows() and self._sorting.batches):
                raise_job_error()
                time.sleep(0.1)
        self._last_look = time.time() * 1000

    def watch_until_all_is_out(self, look_every_seconds: float, raise_job_error: Callable[[], None]) -> None:
        """Look now and then, until all that has landed is out, or far too much time has passed."""
        next_look = look_every_seconds
        deadline = None
        with self._console.status("") as status:
            while deadline is None or (
                self._count_ordered_rows() < self._feed.rows and time.monotonic() < deadline
            ):
                raise_job_error()
                if deadline is None and self._feed.is_done:
                    deadline = time.monotonic() + LONGEST_WAIT
                status.update(self._describe_progress())
                if self._feed.seconds_open >= next_look:
                    next_look += look_every_seconds
                    self.audit_and_print_outputs()
                time.sleep(0.2)

    def _count_ordered_rows(self) -> int:
        mark = read_newest_mark(self._folder / "checkpoint")
        return 0 if mark is None else mark.totals.ordered

    def _describe_progress(self) -> str:
        mark = read_newest_mark(self._folder / "checkpoint")
        held = 0 if mark is None else mark.held_rows
        words = f"{self._feed.rows:,} landed, {self._count_ordered_rows():,} out, {held:,} held"
        return f"{self._feed.seconds_open:.0f} s: {words}"

    def audit_and_print_outputs(self) -> Snapshot:
        """Audit what has come out so far, and tell."""
        checkpoint = self._folder / "checkpoint"
        mark = read_newest_mark(checkpoint)
        gaps = []
        if mark is not None:
            try:
                gaps = find_largest_gaps(checkpoint, mark)["gaps"]
            except FileNotFoundError:  # the stream went on meanwhile
                gaps = []
        outputs = {CAUSAL: self._read_ordered_output(mark), SORTED: self._collect_sorted_output()}
        late = count_late_messages(self._events, {name: output.rows for name, output in outputs.items()})
        snapshot = Snapshot(self._feed.seconds_open, self._feed.rows, mark, gaps, outputs, late)
        for line in describe_snapshot(snapshot, self._last_look):
            self._console.print(line, highlight=False, soft_wrap=True)
        self._last_look = time.time() * 1000
        return snapshot

    def _read_ordered_output(self, mark: Mark | None) -> JobOutput:
        if mark is None:
            return JobOutput(_NOTHING.empty_table(), 0)
        checkpoint = self._folder / "checkpoint"
        table = pq.read_table(self._folder / "tables" / "ordered")
        table = table.filter(pc.less_equal(table["batch"], mark.batch)).sort_by([("position", "ascending")])
        commits = checkpoint / "commits"
        times = {
            batch: (commits / f"{batch}.json").stat().st_mtime * 1000
            for batch in list_marked_batches(checkpoint)
        }
        out = [times.get(batch, mark.time) for batch in table["batch"].to_pylist()]
        table = table.append_column("out", pa.array(out, pa.float64()))
        return JobOutput(table.select(_NOTHING.names).cast(_NOTHING), 0)

    def _collect_sorted_output(self) -> JobOutput:
        tables = [table.select(_NOTHING.names).cast(_NOTHING) for table in list(self._sorting.sorted)]
        return JobOutput(pa.concat_tables([_NOTHING.empty_table(), *tables]), self._sorting.dropped)


_NOTHING = pa.schema(
    {"room": pa.string(), "message": pa.string(), "landed": pa.float64(), "out": pa.float64()}
)


def count_late_messages(events: pa.Table, orders: dict[str, pa.Table]) -> dict[str, int]:
    """How many messages come behind something that depends on them, for a reader of each of these orders."""
    from antecede import audit

    readers = [_make_delivery_events_of_reader(name, rows) for name, rows in orders.items()]
    findings = audit(pa.concat_tables([events, *readers], promote_options="default")).findings
    late = findings.filter(pc.equal(findings["kind"], "late"))["process"].to_pylist()
    return {name: late.count(name) for name in orders}


def _make_delivery_events_of_reader(reader: str, rows: pa.Table) -> pa.Table:
    """Who reads the rows in this order, as a process of each room that they are delivered to."""
    rooms = rows["room"].combine_chunks().dictionary_encode()
    code = rooms.indices.to_numpy(zero_copy_only=False)
    by_room = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[by_room], code[by_room])
    index = np.empty(len(code), dtype=np.int64)
    index[by_room] = np.arange(len(code)) - starts
    numbers = pc.cast(pa.array(index), pa.string())
    return pa.table(
        {
            "execution": rows["room"],
            "process": pa.repeat(reader, len(rows)),
            "index": pa.array(index),
            "event": pc.binary_join_element_wise(reader, numbers, "#"),
            "kind": pa.repeat("deliver", len(rows)),
            "message": rows["message"],
        }
    )


def describe_snapshot(snapshot: Snapshot, latencies_since_ms: float) -> Iterator[str]:
    """Lines in rich's markup; latencies are those of rows that came out since a time in ms."""
    yield f"[bold]{snapshot.seconds:.0f} s[/], {snapshot.landed:,} messages landed"
    for name, output in snapshot.outputs.items():
        words = [f"{len(output.rows):>7,} out"]
        if name == CAUSAL and snapshot.mark is not None:
            words.append(f"{snapshot.mark.held_rows:,} held")
        if output.dropped:
            words.append(f"[red]{output.dropped:,} dropped[/]")
        if latency := output.compute_median_and_99th_percentile_latency_seconds(latencies_since_ms):
            words.append(f"half within {latency[0]:.1f} s, 99 % within {latency[1]:.1f} s")
        color = "red" if snapshot.late[name] else "green"
        words.append(f"audit: [{color}]{snapshot.late[name]:,} behind their effects[/]")
        yield f"  {name:<20}" + ", ".join(words)
    if snapshot.gaps:
        gap = snapshot.gaps[0]
        place = f" in {gap['group']}"
        yield f"  missing above all: {gap['missing']}{place}, for which {gap['waiting']:,} wait"


def _check_and_print_conclusion(console: Console, last: Snapshot, messages: int) -> None:
    ours, theirs = last.outputs[CAUSAL], last.outputs[SORTED]
    if last.late[CAUSAL] or len(ours.rows) != messages:
        raise AssertionError(
            f"{len(ours.rows)} of {messages} messages came out, {last.late[CAUSAL]} behind their effects"
        )
    waiting = messages - len(theirs.rows) - theirs.dropped
    console.print(
        f"\nIn causal order: all {messages:,} messages, none behind an effect of it. "
        f"Sorted behind a watermark: {last.late[SORTED]:,} behind their effects, {theirs.dropped:,} dropped, "
        f"{waiting:,} still wait for the watermark.",
        highlight=False,
        soft_wrap=True,
    )
