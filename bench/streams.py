"""Section `streams`: micro-batches in causal order, against what else one could do with the same rows.

Warm micro-batches of one session, each written to Parquet. In a round every contender takes the same new
files, one in each micro-batch; the first of these does not count, since Spark may have ended the Python
processes that had nothing to do while the others ran. Growth with what waits and with groups is measured
without Spark, in seconds of processor time.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from rich.table import Table

from antecede.ordering.message_plan import MessageOptions, TableColumns
from antecede.ordering.stream.give_up import GiveUp
from antecede.spark import order_stream
from antecede.spark.kafka_connector import fetch_connector_and_make_settings
from antecede.spark.session import get_session
from antecede.streams.bucket import order_and_write_bucket
from antecede.streams.ledger import Ledger
from antecede.streams.stream_plan import plan_stream
from bench.measure import Spent, count, processor_time, spent, verdict
from bench.stream_latency import measure_latency
from bench.workload import updates

GROUPS, WIDTH = 200, 50
MEMBERS = [f"replica {number}" for number in range(WIDTH)]
MEMORY = "6g"
ROUNDS, BATCHES = 4, 3
"""Rounds, of which the first does not count, and micro-batches in each."""
DISPLACED = 20.0
"""By so many places of its group a row comes later than it was written, on average."""
ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SCHEMA = "group string, sender int, stamp array<int>, time double, payload string"
AT_ONCE = {"availableNow": True}


def tables(quick: bool) -> Iterator[Table]:
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        yield _compare_batches(Path(folder), 20_000 if quick else 500_000)
    yield _grow_held([1_000, 10_000] if quick else [10_000, 100_000, 1_000_000, 10_000_000])
    yield _grow_groups([1_000, 10_000] if quick else [1_000, 10_000, 100_000, 1_000_000])
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        rate, seconds, warm = (1_000, 20, 4) if quick else (20_000, 45, 20)
        yield measure_latency(Path(folder), rate, seconds, warm)


# -- micro-batches on Spark ----------------------------------------------------------------------------


def _compare_batches(folder: Path, size: int) -> Table:
    """A micro-batch of ours against the same rows sorted, written as they are, or through Spark's state."""
    # Jars reach a Java process only when it starts, and that of the latency below is this one.
    settings = fetch_connector_and_make_settings() | {
        "spark_sql_streaming_stateStore_providerClass": ROCKS_DB
    }
    spark = get_session("local[*]", spark_driver_memory=MEMORY, **settings)
    files = write_batches(folder / "batches", size, ROUNDS * BATCHES)
    contenders: dict[str, Callable[[], StreamingQuery]] = {
        "ours": lambda: _order(spark, folder),
        "repartition + sortWithinPartitions": lambda: _write(spark, folder, "sorted", _sort),
        "pass-through": lambda: _write(spark, folder, "passed", _pass),
        "identity transformWithStateInPandas": lambda: _write(spark, folder, "stateful", _pass, _keep_state),
    }
    (folder / "in").mkdir()
    times: dict[str, list[Spent]] = {name: [] for name in contenders}
    for number in range(ROUNDS):
        for file in files[number * BATCHES : (number + 1) * BATCHES]:
            shutil.copyfile(file, folder / "in" / file.name)
        for name, start in contenders.items():
            took = _time_batches(start())
            if number:
                times[name] += took[1:]
    spark.stop()
    title = f"Micro-batches of {count(size)} rows: {GROUPS} groups, vectors of {WIDTH}, written to Parquet"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = (
        f"Median of {(ROUNDS - 1) * (BATCHES - 1)} warm micro-batches, in turn: wall time (processor time).\n"
        "Ours keeps states, held rows, positions and marks."
    )
    for name in ("against", "ours", "theirs", "ratio", "of processor time", "bar", ""):
        table.add_column(name, justify="left" if name == "against" else "right", no_wrap=True)
    ours = _take_median(times["ours"])
    for name, bar in (
        ("repartition + sortWithinPartitions", 1.6),
        ("pass-through", 2.5),
        ("identity transformWithStateInPandas", 1 / 1.7),
    ):
        theirs = _take_median(times[name])
        shown = [f"{time.wall:.1f} s ({time.processor:.1f})" for time in (ours, theirs)]
        ratio = ours.wall / theirs.wall
        of_processor = ours.processor / max(theirs.processor, 0.01)
        table.add_row(
            name, *shown, f"{ratio:.2f} ×", f"{of_processor:.2f} ×", f"{bar:.2g} ×", verdict(ratio <= bar)
        )
    return table


def _time_batches(query: StreamingQuery) -> list[Spent]:
    """What each micro-batch of a query took, which ends by itself."""
    used = [processor_time()]
    while True:
        is_over = query.awaitTermination(0.05)
        done = len(query.recentProgress)
        used += [processor_time()] * (done + 1 - len(used))
        if is_over:
            break
    walls = [progress["durationMs"]["triggerExecution"] / 1000 for progress in query.recentProgress]
    return [Spent(wall, end - start) for wall, start, end in zip(walls, used, used[1:], strict=False)]


def _take_median(times: list[Spent]) -> Spent:
    return Spent(median(time.wall for time in times), median(time.processor for time in times))


def write_batches(folder: Path, size: int, number: int) -> list[Path]:
    """So many files; each goes on where the last one stopped, but for rows that are late."""
    folder.mkdir()
    per_group = size * number // GROUPS
    parts: list[list[pa.Table]] = [[] for _ in range(number)]
    for group in range(GROUPS):
        table = _make_group(group, per_group)
        cuts = np.linspace(0, len(table), number + 1).astype(int)
        for batch in range(number):
            parts[batch].append(table.slice(cuts[batch], cuts[batch + 1] - cuts[batch]))
    files = []
    random = np.random.default_rng(2)
    for batch, tables in enumerate(parts):
        table = pa.concat_tables(tables)
        file = folder / f"{batch:03}.parquet"
        shuffled = table.take(pa.array(random.permutation(len(table))))
        pq.write_table(shuffled, file, row_group_size=max(1, len(table) // 8))
        files.append(file)
    return files


def _make_group(group: int, size: int) -> pa.Table:
    """A history of a group, in the order in which it comes."""
    history = updates(size, WIDTH, "in order", seed=group)
    random = np.random.default_rng(group)
    order = np.argsort(np.arange(size) + random.exponential(DISPLACED, size), kind="stable")
    stamps = pa.FixedSizeListArray.from_arrays(pa.array(history.stamps[order].reshape(-1)), WIDTH)
    columns = {
        "group": pa.repeat(f"group {group:03}", size),
        "sender": pa.array(history.writer[order].astype(np.int32)),
        "stamp": stamps.cast(pa.list_(pa.int32())),
        "time": pa.array(order + random.normal(0, 20, size)),
        "payload": pa.array([f"message {number} of group {group}" for number in order.tolist()]),
    }
    return pa.table(columns)


def _read(spark: SparkSession, folder: Path) -> DataFrame:
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return stream.parquet(str(folder / "in"))


def _order(spark: SparkSession, folder: Path) -> StreamingQuery:
    return order_stream(
        _read(spark, folder),
        out=folder / "ordered",
        checkpoint=folder / "ordered-checkpoint",
        group="group",
        stamp="stamp",
        form="vector",
        time="time",
        members=MEMBERS,
        trigger=AT_ONCE,
    )


def _write(
    spark: SparkSession,
    folder: Path,
    name: str,
    change: Callable[[DataFrame], DataFrame],
    prepare: Callable[[DataFrame], DataFrame] = lambda rows: rows,
) -> StreamingQuery:
    """What anybody would write: a foreachBatch that overwrites the folder of its batch."""

    def write(batch: DataFrame, number: int) -> None:
        change(batch).write.mode("overwrite").parquet(str(folder / name / f"batch={number}"))

    rows = prepare(_read(spark, folder))
    writer = rows.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / f"{name}-state"))
    return writer.trigger(**AT_ONCE).start()


def _sort(batch: DataFrame) -> DataFrame:
    return batch.repartition("group").sortWithinPartitions("group", "time")


def _pass(batch: DataFrame) -> DataFrame:
    return batch


class _CountRows(StatefulProcessor):
    """Hands rows on as they are, with one state for each group that is read and written once."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802
        seen = self._count.get()[0] if self._count.exists() else 0
        for frame in rows:
            seen += len(frame)
            yield frame
        self._count.update((seen,))

    def close(self) -> None:
        """Nothing is open."""


def _keep_state(rows: DataFrame) -> DataFrame:
    return rows.groupBy("group").transformWithStateInPandas(
        _CountRows(), outputStructType=SCHEMA, outputMode="append", timeMode="None"
    )


# -- growth, without Spark -----------------------------------------------------------------------------


class Stream(NamedTuple):
    """A stream in a folder, without Spark; groups are spread over buckets by number."""

    ledger: Ledger
    schema: pa.Schema
    buckets: int = 16

    def run(self, batch: int, rows: pa.Table, groups: np.ndarray[Any, Any]) -> float:
        """Seconds of processor time of a micro-batch; `groups` has the number of each row's group."""
        parts = [
            (bucket, rows.filter(pa.array(groups % self.buckets == bucket))) for bucket in range(self.buckets)
        ]

        def run() -> None:
            turn = self.ledger.begin_batch(batch, 1000 * batch, self.buckets)
            assert turn is not None
            reports = [
                order_and_write_bucket(turn.make_task(bucket), part) for bucket, part in parts if len(part)
            ]
            turn.commit_batch(reports, self.schema)

        return spent(run).processor


_ROWS = pa.schema({"group": pa.string(), "sender": pa.string(), "stamp": pa.map_(pa.string(), pa.int64())})


def _start(folder: str) -> Stream:
    columns = TableColumns(_ROWS.names, lambda name: _ROWS.field(name).type)
    plan = plan_stream(columns, MessageOptions(group="group"), GiveUp(), None)
    return Stream(Ledger(Path(folder) / "checkpoint", Path(folder) / "out", plan), _ROWS)


def _make_rows(groups: np.ndarray[Any, Any], sender: str, stamps: dict[str, Any]) -> pa.Table:
    """A row of a sender for each of the groups; `stamps` has the counts of each name."""
    size, names = len(groups), list(stamps)
    counts = np.stack([np.broadcast_to(stamps[name], size) for name in names], axis=1)
    offsets = pa.array(np.arange(size + 1) * len(names), pa.int32())
    maps = pa.MapArray.from_arrays(offsets, pa.array(names * size), pa.array(counts.reshape(-1)))
    labels = pa.array([f"group {number}" for number in groups.tolist()])
    return pa.table([labels, pa.repeat(sender, size), maps], schema=_ROWS)


def _grow_held(sizes: list[int]) -> Table:
    """Micro-batches of rows that go through, in groups where so many others wait for what does not come."""
    groups, batch_rows = 1_000, 100_000
    title = (
        f"Micro-batches of {count(batch_rows)} rows in {count(groups)} groups, while rows of theirs are held"
    )
    table = _make_growth_table(title, "held rows", "the same with what came back")
    group = np.arange(batch_rows) % groups
    first = None
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
            stream = _start(folder)
            waiting = np.arange(size) % groups
            # Rows of d wait for the first message of a, which is missing.
            held = _make_rows(waiting, "d", {"a": 1, "d": 1 + np.arange(size) // groups})
            stream.run(0, held, waiting)
            times = []
            for number in range(1, 4):
                mine = (number - 1) * (batch_rows // groups) + 1 + np.arange(batch_rows) // groups
                times.append(stream.run(number, _make_rows(group, "b", {"b": mine}), group))
            back = np.arange(groups)
            wake = stream.run(4, _make_rows(back, "a", {"a": 1}), back)
        first = first or min(times)
        table.add_row(count(size), f"{min(times):.2f} s", f"{min(times) / first:.2f} ×", f"{wake:.2f} s")
    return table


def _grow_groups(sizes: list[int]) -> Table:
    """Micro-batches that touch some of many groups."""
    touched = min(10_000, sizes[-1] // 10)
    title = f"Micro-batches that touch {count(touched)} groups, one row in each"
    table = _make_growth_table(title, "groups in all", "the first, with a row in all")
    least = {}
    random = np.random.default_rng(1)
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
            stream = _start(folder)
            everyone = np.arange(size)
            first = stream.run(0, _make_rows(everyone, "a", {"a": 1}), everyone)
            some = np.sort(random.permutation(size)[:touched])
            times = [
                stream.run(number, _make_rows(some, "a", {"a": number + 1}), some) for number in range(1, 6)
            ]
        least[size] = min(times)
        base = least.get(touched, least[size])
        table.add_row(count(size), f"{min(times):.2f} s", f"{min(times) / base:.2f} ×", f"{first:.2f} s")
    ratio = least[sizes[-1]] / least[touched]
    table.caption = (
        f"{table.caption}\n{count(sizes[-1])} groups against {count(touched)} in all: {ratio:.2f} ×, "
        f"bar 2 ×: {verdict(ratio <= 2)}"
    )
    return table


def _make_growth_table(title: str, size: str, last: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = "Least processor time of some micro-batches, without Spark."
    for name in (size, "a micro-batch", "ratio", last):
        table.add_column(name, justify="right", no_wrap=True)
    return table
