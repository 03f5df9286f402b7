"""The main job in the demo: what landed out of order is audited, sorted by time, ordered causally, audited.

An audit asks of an order of the messages: would one who reads the lake in this order see an effect before
its cause? The causes are those of the people's own logs, which the order by stamps has never seen.

Everything here runs on Spark, in one session.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

from antecede.cli.steps import show_spark_stages
from antecede.cli.work import Work
from antecede.demo.shop import LAKE, PEOPLE, write_shop
from antecede.report.page import render_page

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from antecede.auditing.summary import Summary
    from antecede.spark.auditing.event_audit import SparkAudit

ROOMS, MESSAGES = 40, 5_000
"""Rooms, and messages in each."""
FAST_START = "-XX:TieredStopAtLevel=1"
"""For Java: compile quickly. In a run of half a minute, better code would not earn back what it costs."""
LOGGED = ("execution", "process", "index", "event", "kind", "message", "receivers", "time")
"""What the people's logs have; the other columns of events are empty, and need not travel."""


class LakeReading(NamedTuple):
    """An order in which the lake can be read, and what the audit says of it."""

    name: str
    seconds: float
    events: DataFrame
    audit: SparkAudit
    summary: Summary

    @property
    def late(self) -> int:
        """Messages that come behind something that depends on them."""
        return self.summary.counts.get("late", 0)


def show_lake(
    console: Console, folder: Path, rooms: int = ROOMS, messages: int = MESSAGES
) -> list[LakeReading]:
    """Tell the whole story; tables and page stay in the folder."""
    from antecede.spark.running import open_session

    console.print(
        f"\n[bold]A shop in three regions[/]: {len(PEOPLE)} people, {rooms:,} rooms, "
        f"{rooms * messages:,} messages. Their clocks disagree, and copies of all messages land in a lake.\n"
    )
    with Work("rooms simulated", rooms) as work:
        write_shop(folder, rooms, messages, work.advance)
    with open_session(spark_driver_extraJavaOptions=FAST_START) as spark:
        console.print(
            f"engine: spark (Spark {spark.version}, embedded, on all cores of this machine)", highlight=False
        )
        readings = _read_in_three_orders(spark, folder)
        console.print(_make_table(readings, rooms * messages))
        _explain(console, readings[0])
        place = _write_page(readings[0], folder)
    console.print(f"A page with pictures of what went wrong: {place}", soft_wrap=True, highlight=False)
    return readings


def _read_in_three_orders(spark: SparkSession, folder: Path) -> list[LakeReading]:
    """Audit the lake as it landed, by time, and in causal order."""
    people = spark.read.parquet(str(folder / "events")).select(*LOGGED)
    landed = spark.read.parquet(str(folder / "landed"))
    as_landed = _audit_order(spark, "as it landed", people, landed, "landed")
    # What the people's clocks say is known from the first audit; the others need not judge it again.
    people = people.drop("time")
    by_time = _audit_order(spark, "sorted by timestamp", people, landed, "time")
    start = monotonic()
    ordered = _put_in_causal_order(spark, landed, folder)
    seconds = monotonic() - start
    causal = _audit_order(spark, "in causal order", people, ordered, "position")
    return [as_landed, by_time, causal._replace(seconds=causal.seconds + seconds)]


def _put_in_causal_order(spark: SparkSession, landed: DataFrame, folder: Path) -> DataFrame:
    """The messages with their positions, as they are written to the folder."""
    from antecede.spark import order

    with show_spark_stages(spark, "ordering"):
        outcome = order(landed, group="room", sender="sender", stamp="stamp", arrival="landed")
        outcome.ordered.write.mode("overwrite").parquet(str(folder / "ordered"))
    ordered = spark.read.parquet(str(folder / "ordered"))
    number, expected = ordered.count(), landed.count()
    if number != expected:
        raise AssertionError(f"all messages landed, but only {number} of {expected} could be ordered")
    return ordered


def _audit_order(
    spark: SparkSession, name: str, people: DataFrame, landed: DataFrame, column: str
) -> LakeReading:
    """Audit the order of the messages in each room by a column."""
    from antecede.spark.auditing.event_audit import audit

    start = monotonic()
    deliveries = _make_deliveries(landed, column)
    events = people.unionByName(deliveries, allowMissingColumns=True)
    with show_spark_stages(spark, f"auditing {name}"):
        found = audit(events)
        summary = found.summary()
    return LakeReading(name, monotonic() - start, events, found, summary)


def _make_deliveries(landed: DataFrame, column: str) -> DataFrame:
    """The lake as a process to which the messages are delivered in this order."""
    place = f"row_number() over (partition by room order by {column}, message)"
    placed = landed.selectExpr("room", "message", "text", f"cast({place} - 1 as bigint) as index")
    return placed.selectExpr(
        "room as execution",
        f"'{LAKE}' as process",
        "index",
        f"concat('{LAKE}#', index) as event",
        "'deliver' as kind",
        "message",
        "text",
    )


def _make_table(readings: list[LakeReading], messages: int) -> Table:
    table = Table(title="Who reads the lake in this order ...", title_justify="left", title_style="bold")
    for name in ("order", "messages behind their effects", "of all", "pairs turned round", "seconds"):
        table.add_column(name, justify="left" if name == "order" else "right")
    for reading in readings:
        color = "red" if reading.late else "green"
        table.add_row(
            reading.name,
            f"[{color}]{reading.late:,}[/]",
            f"{100 * reading.late / messages:.1f} %",
            f"{reading.summary.totals['pairs']:,}",
            f"{reading.seconds:.0f}",
        )
    return table


def _explain(console: Console, reading: LakeReading) -> None:
    """One finding in words."""
    rows = reading.summary.sample.to_pylist()
    late = next((row for row in rows if row["kind"] == "late"), None)
    if late is not None:
        console.print(f"For example, {reading.name}: {late['sentence']}", highlight=False, markup=False)
    times = reading.summary.counts.get("timestamp", 0)
    console.print(f"{times:,} times a clock says that an effect came before its cause.", highlight=False)


def _write_page(reading: LakeReading, folder: Path) -> Path:
    """Pictures of the worst of it."""
    from antecede.spark.event_columns import add_missing_columns
    from antecede.spark.pictures.windows import pick_windows

    summary = reading.summary
    windows = pick_windows(add_missing_columns(reading.events), reading.audit, summary)
    totals: dict[str, str | int] = {name.replace("_", " "): count for name, count in summary.totals.items()}
    verdict = f"{reading.late:,} messages landed behind something that depends on them"
    text = render_page(
        verdict, totals, summary.sample, windows, "The shop's lake, as it landed", summary.counts
    )
    place = folder / "page.html"
    place.write_text(text, encoding="utf-8")
    reading.audit.done()
    return place
