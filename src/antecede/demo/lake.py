"""The main job in the demo: what landed out of order is audited, sorted by time, ordered causally, audited.

An audit asks of an order of the messages: would one who reads the lake in this order see an effect before
its cause? The causes are those of the people's own logs, which the order by stamps has never seen.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

from antecede.cli.steps import show_spark_stages
from antecede.cli.work import Work
from antecede.demo.shop import LAKE, PEOPLE, write
from antecede.report.page import render_page

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from antecede.auditing.summary import Summary
    from antecede.spark.auditing.event_audit import SparkAudit

ROOMS, MESSAGES = 40, 5_000
"""Rooms, and messages in each."""


class Reading(NamedTuple):
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


def show(console: Console, folder: Path, rooms: int = ROOMS, messages: int = MESSAGES) -> list[Reading]:
    """Tell the whole story; tables and page stay in the folder."""
    from antecede.spark.running import running

    console.print(
        f"\n[bold]A shop in three regions[/]: {len(PEOPLE)} people, {rooms:,} rooms, "
        f"{rooms * messages:,} messages. Their clocks disagree, and copies of all messages land in a lake.\n"
    )
    with Work("rooms simulated", rooms) as work:
        write(folder, rooms, messages, work.advance)
    with running() as spark:
        readings = _readings(spark, folder)
        console.print(_table(readings, rooms * messages))
        _explain(console, readings[0])
        place = _page(readings[0], folder)
    console.print(f"A page with pictures of what went wrong: {place}", soft_wrap=True, highlight=False)
    return readings


def _readings(spark: SparkSession, folder: Path) -> list[Reading]:
    """Audit the lake as it landed, by time, and in causal order."""
    from antecede.spark import order

    people = spark.read.parquet(str(folder / "events"))
    landed = spark.read.parquet(str(folder / "landed"))
    found = [
        _audited(spark, "as it landed", people, landed, "landed"),
        _audited(spark, "sorted by timestamp", people, landed, "time"),
    ]
    start = monotonic()
    with show_spark_stages(spark, "ordering"):
        outcome = order(landed, group="room", sender="sender", stamp="stamp", arrival="landed").keep()
        counts = outcome.counts()
        outcome.ordered.write.mode("overwrite").parquet(str(folder / "ordered"))
    if counts["ordered"] != counts["input"]:
        raise AssertionError(f"all messages landed, so none should be held: {counts}")
    ordered = spark.read.parquet(str(folder / "ordered"))
    seconds = monotonic() - start
    last = _audited(spark, "in causal order", people, ordered, "position")
    outcome.done()
    return [*found, last._replace(seconds=last.seconds + seconds)]


def _audited(spark: SparkSession, name: str, people: DataFrame, landed: DataFrame, column: str) -> Reading:
    """Audit the order of the messages in each room by a column."""
    from antecede.spark.auditing.event_audit import audit

    start = monotonic()
    events = people.unionByName(_deliveries(landed, column), allowMissingColumns=True)
    with show_spark_stages(spark, f"auditing {name}"):
        found = audit(events)
        told = found.summary()
    return Reading(name, monotonic() - start, events, found, told)


def _deliveries(landed: DataFrame, column: str) -> DataFrame:
    """The lake as a process to which the messages are delivered in this order."""
    index = f"cast(row_number() over (partition by room order by {column}, message) - 1 as bigint)"
    return landed.selectExpr("*", f"{index} as index").selectExpr(
        "room as execution",
        f"'{LAKE}' as process",
        "index",
        f"concat('{LAKE}#', index) as event",
        "'deliver' as kind",
        "message",
        "text",
    )


def _table(readings: list[Reading], messages: int) -> Table:
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


def _explain(console: Console, reading: Reading) -> None:
    """One finding in words."""
    rows = reading.summary.sample.to_pylist()
    late = next((row for row in rows if row["kind"] == "late"), None)
    if late is not None:
        console.print(f"For example, {reading.name}: {late['sentence']}", highlight=False, markup=False)
    times = reading.summary.counts.get("timestamp", 0)
    console.print(f"{times:,} times a clock says that an effect came before its cause.", highlight=False)


def _page(reading: Reading, folder: Path) -> Path:
    from antecede.spark.pictures.windows import pick_windows

    told = reading.summary
    windows = pick_windows(reading.events, reading.audit, told)
    totals: dict[str, str | int] = {name.replace("_", " "): count for name, count in told.totals.items()}
    verdict = f"{reading.late:,} messages landed behind something that depends on them"
    text = render_page(verdict, totals, told.sample, windows, "The shop's lake, as it landed", told.counts)
    place = folder / "page.html"
    place.write_text(text, encoding="utf-8")
    reading.audit.done()
    return place
