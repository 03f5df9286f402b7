"""How long rows take through Kafka into tables: in causal order, and sorted behind a watermark.

A process of its own writes records at a steady rate, each when it would arrive after a delay that some ways
make long. Both jobs read the same records, one job after the other, from topics of their own. The watermark
is as far behind as it takes to be right for 99.9 % of the rows; times are true, so that sorting by them is
right as far as nothing is dropped.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from rich.table import Table

from antecede.demo.watermark_sort import WatermarkSort
from antecede.spark import order_stream
from antecede.spark.kafka_connector import fetch_connector_and_make_settings
from antecede.spark.session import get_session
from antecede.streams.marks import list_marked_batches, read_newest_mark
from bench.live.others import quieten_client, start_broker
from bench.measure import count, verdict
from bench.workload import updates

GROUPS, PEOPLE, PARTITIONS = 2_000, 5, 4
USUAL, SLOW, SLOW_SHARE = 100.0, 5_000.0, 0.005
"""Delays in ms: the mean of the usual one; up to so much more for a share of the rows."""
RIGHT = 0.999
SCHEMA = "group string, sender string, stamp map<string, bigint>, time double"
MEMORY = "4g"
LONGEST_WAIT = 120.0
Floats = NDArray[np.float64]


class Traffic(NamedTuple):
    """Rows in the order of their arrival: when each was sent and arrives, in ms, and its record."""

    sent: Floats
    arrives: Floats
    partition: NDArray[np.int64]
    values: list[bytes]

    def find_delay(self) -> float:
        """How far a watermark must be behind, in ms, to drop hardly a row."""
        latest = np.maximum.accumulate(self.sent)
        return float(np.quantile(latest - self.sent, RIGHT))


def make_traffic(rate: int, seconds: float) -> Traffic:
    """What people of many groups write to each other in so many seconds."""
    random = np.random.default_rng(4)
    size = max(1, round(rate * seconds / GROUPS))
    names = [f"p{person}" for person in range(PEOPLE)]
    sent, records = [], []
    for group in range(GROUPS):
        history = updates(size, PEOPLE, "in order", seed=group)
        times = np.sort(random.uniform(0, 1000 * seconds, size))
        sent.append(times)
        for writer, stamp, moment in zip(
            history.writer, history.stamps.tolist(), times.tolist(), strict=True
        ):
            stamps = {name: number for name, number in zip(names, stamp, strict=True) if number}
            row = {"group": f"g{group}", "sender": names[writer], "stamp": stamps, "time": moment}
            records.append(msgspec.json.encode(row))
    all_sent = np.concatenate(sent)
    delay = random.exponential(USUAL, len(all_sent))
    is_slow = random.random(len(all_sent)) < SLOW_SHARE
    delay[is_slow] += random.uniform(0, SLOW, int(is_slow.sum()))
    arrives = all_sent + delay
    order = np.argsort(arrives)
    partition = random.integers(0, PARTITIONS, len(order))
    return Traffic(all_sent[order], arrives[order], partition, [records[row] for row in order.tolist()])


def write_traffic(broker: str, topic: str, rate: int, seconds: float, begin: Any) -> None:
    """What the process does that writes: all records, each when it arrives; `begin` hears when that began."""
    asyncio.run(_write_traffic(broker, topic, make_traffic(rate, seconds), begin))


async def _write_traffic(broker: str, topic: str, traffic: Traffic, begin: Any) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker, acks=1, max_batch_size=1 << 18)
    await producer.start()
    start = time.time()
    begin.put(start * 1000)
    at = 0
    while at < len(traffic.values):
        end = int(np.searchsorted(traffic.arrives, 1000 * (time.time() - start)))
        for partition in range(PARTITIONS):
            rows = at + np.flatnonzero(traffic.partition[at:end] == partition)
            await _send(producer, topic, partition, [traffic.values[row] for row in rows.tolist()])
        at = max(at, end)
        await asyncio.sleep(0.02)
    await producer.stop()


async def _send(producer: Any, topic: str, partition: int, values: list[bytes]) -> None:
    """Some records, in batches that are made here: much cheaper than one by one."""
    batch = producer.create_batch()
    for value in values:
        if batch.append(key=None, value=value, timestamp=None) is None:
            await producer.send_batch(batch, topic, partition=partition)
            batch = producer.create_batch()
            batch.append(key=None, value=value, timestamp=None)
    if batch.record_count():
        await producer.send_batch(batch, topic, partition=partition)


class Arrivals(NamedTuple):
    """Rows that came out: when each was sent and came out, in ms from the beginning; how many did not."""

    sent: Floats
    out: Floats
    missing: int

    def find_latency(self, after: float) -> list[float]:
        """Seconds from being sent to being out, of rows sent after so many ms: half, and 99 of 100."""
        latency = (self.out - self.sent)[self.sent > after] / 1000
        return np.quantile(latency, [0.5, 0.99]).tolist()


def measure_latency(folder: Path, rate: int, seconds: float, warm: float) -> Table:
    """Both jobs at a rate, one after the other; those rows count that are sent after so many seconds.

    Before, both run on a little traffic that does not count: Java compiles what runs often.
    """
    delay = make_traffic(rate, seconds).find_delay()
    arrivals: list[Arrivals] = []
    with start_broker() as broker:
        spark = get_session("local[*]", spark_driver_memory=MEMORY, **fetch_connector_and_make_settings())
        for length in (warm, seconds):
            arrivals = []
            for name, run in (("ours", _run_ordered), ("theirs", _run_sorted)):
                job = Job(
                    spark,
                    folder / f"{name}-{length}",
                    broker.address,
                    f"{name}-{length}",
                    rate,
                    length,
                    delay,
                )
                arrivals.append(run(job))
        spark.stop()
    latency = [came.find_latency(1000 * warm / 2) for came in arrivals]
    rows = round(rate * seconds)
    title = f"Latency through Kafka at {count(rate)} rows/s for {seconds:.0f} s: {count(GROUPS)} groups"
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = (
        f"Seconds from sending to the table, warm. Rows need {USUAL:.0f} ms on average, "
        f"{100 * SLOW_SHARE:g} % up to {SLOW / 1000:g} s more.\n"
        f"The watermark is {delay / 1000:.1f} s behind: right for {100 * RIGHT:g} %."
    )
    for name in ("", "p50", "p99", "dropped"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    names = ("causal order", "watermark and sort")
    for name, came, (half, most) in zip(names, arrivals, latency, strict=True):
        share = f"{100 * came.missing / rows:.2f} %"
        table.add_row(name, f"{half:.2f} s", f"{most:.2f} s", f"{came.missing:,} ({share})")
    is_lower = all(mine < other for mine, other in zip(*latency, strict=True))
    table.add_row("lower at both", verdict(is_lower), "", "")
    return table


class Job(NamedTuple):
    """What a job reads, and for how long."""

    spark: SparkSession
    folder: Path
    address: str
    topic: str
    rate: int
    seconds: float
    delay: float  # of the watermark, in ms

    @property
    def rows(self) -> int:
        return GROUPS * max(1, round(self.rate * self.seconds / GROUPS))

    def read_topic(self) -> DataFrame:
        """The rows of a new topic."""
        asyncio.run(_create_topic(self.address, self.topic))
        self.folder.mkdir()
        options = {
            "kafka.bootstrap.servers": self.address,
            "subscribe": self.topic,
            "startingOffsets": "earliest",
        }
        records = self.spark.readStream.format("kafka").options(**options).load()
        row = sf.from_json(sf.col("value").cast("string"), SCHEMA).alias("row")
        return records.select(row).select("row.*")

    @contextmanager
    def write_meanwhile(self) -> Iterator[float]:
        """Let another process write; tells when it began, in ms. Ends when all is written."""
        processes = multiprocessing.get_context("spawn")
        begin: Any = processes.Queue()
        words = (self.address, self.topic, self.rate, self.seconds, begin)
        writer = processes.Process(target=write_traffic, args=words)
        writer.start()
        try:
            yield begin.get()
            writer.join()
        finally:
            writer.terminate()


async def _create_topic(address: str, name: str) -> None:
    quieten_client()
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    await admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    await admin.close()


def _wait_until(is_done: Callable[[], bool], query: Any) -> None:
    deadline = time.monotonic() + LONGEST_WAIT
    while not is_done() and time.monotonic() < deadline:
        if (error := query.exception()) is not None:
            raise error
        time.sleep(0.05)


def _run_ordered(job: Job) -> Arrivals:
    checkpoint, out = job.folder / "checkpoint", job.folder / "out"
    query = order_stream(job.read_topic(), group="group", out=out, checkpoint=checkpoint, buckets=4)
    times: dict[int, float] = {}

    def note_marks() -> bool:
        """Note when marks appear, of which old ones go; whether all rows are out."""
        for batch in list_marked_batches(checkpoint):
            if batch not in times:
                times[batch] = (checkpoint / "commits" / f"{batch}.json").stat().st_mtime * 1000
        mark = read_newest_mark(checkpoint)
        return mark is not None and mark.totals.ordered == job.rows

    with job.write_meanwhile() as begin:
        end = time.monotonic() + job.seconds
        while time.monotonic() < end:
            note_marks()
            time.sleep(0.5)
    _wait_until(note_marks, query)
    query.stop()
    note_marks()  # the last mark may have come between the list and the look at the newest one
    table = pq.read_table(out / "ordered", columns=["time", "batch"])
    moment = np.array([times[batch] for batch in table["batch"].to_pylist()])
    return Arrivals(table["time"].to_numpy(), moment - begin, job.rows - len(table))


def _run_sorted(job: Job) -> Arrivals:
    sorting = WatermarkSort(job.delay)
    taken = 0

    def write(batch: DataFrame, number: int) -> None:
        nonlocal taken
        done = len(sorting.sorted)
        table = batch.toArrow()
        sorting.add_batch(table)
        for part in sorting.sorted[done:]:
            pq.write_table(part, job.folder / f"{number}.parquet")
        taken += len(table)

    query = job.read_topic().writeStream.foreachBatch(write).start()
    with job.write_meanwhile() as begin:
        pass
    _wait_until(lambda: taken == job.rows, query)
    query.stop()
    table = pa.concat_tables(sorting.sorted)
    return Arrivals(table["time"].to_numpy(), table["out"].to_numpy() - begin, sorting.dropped)
