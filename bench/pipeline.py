"""Section `pipeline`: order, audit and reading on Spark, against what Spark itself does with the same rows.

Everything is wall time of warm runs in one session, with results thrown away (Spark's `noop` sink); beside it
stand the seconds of processor time, which tell more on a busy machine.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

from antecede.formats.settings import Settings
from antecede.spark.auditing.event_audit import audit
from antecede.spark.ordering.message_order import order
from antecede.spark.reading.logs import read_logs
from antecede.spark.session import get_session
from bench import traffic
from bench.driver import memory
from bench.measure import Spent, count, spent, verdict
from bench.stamped import GROUPS, WIDTH, shiviz, stamped

PROCESSES = 200
MEMORY = "6g"


def tables(quick: bool) -> Iterator[Table]:
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        spark = get_session("local[*]", spark_driver_memory=MEMORY)
        yield _order(spark, Path(folder), 40_000 if quick else 2_000_000)
        yield _audit(spark, Path(folder), 20_000 if quick else 1_000_000)
        yield _read(spark, Path(folder), 4_000 if quick else 40_000)
        spark.stop()
        yield memory(Path(folder), 20_000 if quick else 1_000_000)


def best(*calls: Callable[[], object], warm: int = 1, rounds: int = 2) -> list[Spent]:
    """The least time of each call, in turn, after some to warm up.

    In turn, because whatever runs first in a session pays for machine code that the others use, too.
    """
    for call in calls * warm:
        call()
    times = [[spent(call) for call in calls] for _ in range(rounds)]
    return [min(some, key=lambda time: time.wall) for some in zip(*times, strict=True)]


def drain(frame: DataFrame) -> None:
    """Work out all rows, and throw them away."""
    frame.write.format("noop").mode("overwrite").save()


def _order(spark: SparkSession, folder: Path, size: int) -> Table:
    """Messages into causal order."""
    rows = spark.read.parquet(stamped(size, folder / "messages"))
    table = _table(f"Order: {count(size)} messages, {GROUPS} groups, vectors of {WIDTH}, shuffled", "against")
    ours, sort, same = best(
        lambda: _ordered(rows),
        lambda: drain(rows.repartition("group").sortWithinPartitions("time")),
        lambda: drain(rows.groupBy("group").applyInArrow(_identity, rows.schema)),
        warm=2,
        rounds=5,  # they take a few seconds, and vary by a tenth
    )
    _add(table, "repartition + sortWithinPartitions", ours, sort, 1.8)
    _add(table, "identity applyInArrow", ours, same, 1.4)
    return table


def _ordered(rows: DataFrame) -> None:
    found = order(rows, group="group", sender="sender", stamp="stamp", form="vector", time="time")
    drain(found.ordered)
    found.done()


def _identity(table: pa.Table) -> pa.Table:
    return table


def _audit(spark: SparkSession, folder: Path, size: int) -> Table:
    """An execution audited, and ten times as long a one."""
    title = f"Audit: {count(10 * size)} events of {PROCESSES} processes"
    table = _table(title, "against")
    few, many = (_write_events(spark, events, folder) for events in (size, 10 * size))
    small, large, sort = best(lambda: _audited(few), lambda: _audited(many), lambda: drain(many.sort("time")))
    _add(table, "sort of the same table", large, sort, 3.0)
    _add(table, f"audit of {count(size)}", large, small, 12.0)
    return table


def _write_events(spark: SparkSession, events: int, folder: Path) -> DataFrame:
    place = folder / f"events-{events}"
    place.mkdir()
    return spark.read.parquet(traffic.write(events, PROCESSES, place))


def _audited(rows: DataFrame) -> None:
    found = audit(rows)
    drain(found.findings)
    drain(found.totals)
    found.done()


def _read(spark: SparkSession, folder: Path, size: int) -> Table:
    """A ShiViz log read, and ten times as long a one."""
    table = _table(f"Reading: a ShiViz log of {count(size)} events, and of {count(10 * size)}", "against")
    few, many = (shiviz(events, folder / f"{events}.log") for events in (size, 10 * size))
    small, large = best(lambda: _logged(spark, few, folder), lambda: _logged(spark, many, folder))
    _add(table, "1 second", small, Spent(1.0, 1.0), 1.5)
    _add(table, f"reading {count(size)}", large, small, 12.0)
    return table


def _logged(spark: SparkSession, path: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as staging:
        drain(read_logs(spark, [path], None, Settings(), staging).events)


def _table(title: str, against: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.caption = "Wall time (processor time); results are thrown away."
    table.add_column(against, no_wrap=True)
    for name in ("ours", "theirs", "ratio", "of processor time", "bar", ""):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, name: str, ours: Spent, theirs: Spent, bar: float) -> None:
    ratio = ours.wall / theirs.wall
    shown = [f"{time.wall:.1f} s ({time.processor:.1f})" for time in (ours, theirs)]
    ratios = f"{ratio:.2f} ×", f"{ours.processor / max(theirs.processor, 0.01):.2f} ×"
    table.add_row(name, *shown, *ratios, f"{bar:g} ×", verdict(ratio <= bar))
