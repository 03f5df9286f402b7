"""The main job in the demo: what landed out of order is put in causal order; then that order, the one of
landing and the one of timestamps are audited.

The audit asks of an order of the messages: would one who reads the lake in this order see an effect before
its cause? The causes are those of the people's own logs, which the order by stamps has never seen. Each order
has a reader, a process to which the messages are delivered in this order, and one audit judges all of them.

Everything here runs on Spark, in one session.
"""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table

from antecede.cli.steps import show_spark_stages
from antecede.cli.work import WorkProgress
from antecede.demo.shop import LAKE, PEOPLE, name_room, simulate_shop_and_write_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from antecede.auditing.summary import Summary
    from antecede.spark.auditing.event_audit import SparkAudit

ROOMS, MESSAGES = 100, 2_000
"""Rooms, and messages in each."""
SHORT_RUN = {
    "spark_driver_extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark_sql_adaptive_enabled": "false",
}
"""For a session of half a minute: better machine code and better plans would not earn back what they cost."""
LOGGED = ("execution", "process", "index", "event", "kind", "message", "time")
"""Columns of the people's logs that the audit needs; what nobody needs does not travel."""
BY_TIME, CAUSAL = "lake sorted by timestamp", "lake in causal order"
"""Readers of the lake, beside the one who reads it as it landed."""


class LakeReading(NamedTuple):
    """An order in which the lake can be read, and what the audit says of it."""

    name: str
    late: int  # messages that come behind something that depends on them


class LakeStory(NamedTuple):
    """What the demo found."""

    readings: list[LakeReading]
    example: str  # a message that landed late, in words
    summary: Summary
    ordering_seconds: float
    audit_seconds: float


def show_lake_demo(
    console: Console,
    folder: Path,
    rooms: int = ROOMS,
    messages: int = MESSAGES,
) -> LakeStory:
    """Tell the whole story; tables and page stay in the folder."""
    from antecede.spark.running import open_session

    console.print(
        f"\n[bold]A shop in three regions[/]: {len(PEOPLE)} people, {rooms:,} rooms, "
        f"{rooms * messages:,} messages. Their clocks disagree, and copies of all messages land in a lake.\n"
    )
    with WorkProgress("rooms simulated", rooms) as work:
        simulate_shop_and_write_tables(folder, rooms, messages, work.advance)
    with open_session(**SHORT_RUN) as spark:
        console.print(
            f"engine: spark (Spark {spark.version}, embedded, on all cores of this machine)", highlight=False
        )
        story = _order_lake_and_audit_three_orders(spark, folder, rooms * messages)
        console.print(_make_table_of_readings(story.readings, rooms * messages))
        _print_seconds_and_example(console, story)
        place = _write_page_of_first_room(spark, folder)
    console.print(
        f"A page with pictures of what went wrong in {name_room(0)}: {place}", soft_wrap=True, highlight=False
    )
    return story


def _order_lake_and_audit_three_orders(spark: SparkSession, folder: Path, messages: int) -> LakeStory:
    """Put the lake in causal order; then audit that, and the lake as it landed and by time."""
    from antecede.spark.auditing.event_audit import audit

    landed = spark.read.parquet(str(folder / "landed"))
    start = monotonic()
    ordered = _write_lake_in_causal_order(spark, landed, folder)
    ordering_seconds = monotonic() - start
    readers = [
        _make_delivery_events_of_reader(LAKE, landed, "landed"),
        _make_delivery_events_of_reader(BY_TIME, landed, "time"),
        _make_delivery_events_of_reader(CAUSAL, ordered, "position"),
    ]
    events = spark.read.parquet(str(folder / "events")).select(*LOGGED)
    for reader in readers:
        events = events.unionByName(reader, allowMissingColumns=True)
    # Of each message there is an event for every person, and one for every reader of the lake.
    number = messages * (len(PEOPLE) + len(readers))
    start = monotonic()
    with show_spark_stages(spark, "auditing three orders"), audit(events, number=number) as spark_audit:
        summary = spark_audit.summary()
        readings = _count_late_by_reader(spark_audit)
        example = _find_example_of_late_message(spark_audit)
    return LakeStory(readings, example, summary, ordering_seconds, monotonic() - start)


def _count_late_by_reader(spark_audit: SparkAudit) -> list[LakeReading]:
    late = spark_audit.findings.where("kind = 'late'").groupBy("process").count().collect()
    late_of = {row["process"]: row["count"] for row in late}
    if late_of.get(CAUSAL):
        raise AssertionError(f"in causal order {late_of[CAUSAL]} messages come behind their effects")
    return [
        LakeReading("as it landed", late_of.get(LAKE, 0)),
        LakeReading("sorted by timestamp", late_of.get(BY_TIME, 0)),
        LakeReading("in causal order", 0),
    ]


def _find_example_of_late_message(spark_audit: SparkAudit) -> str:
    """The sentence of a message that landed late, "" if there is none."""
    late = spark_audit.findings.where("kind = 'late'")
    row = late.where(late["process"] == LAKE).select("sentence").first()
    return "" if row is None else str(row["sentence"])


def _write_lake_in_causal_order(spark: SparkSession, landed: DataFrame, folder: Path) -> DataFrame:
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


def _make_delivery_events_of_reader(reader: str, messages: DataFrame, order_column: str) -> DataFrame:
    """Who reads the lake in the order of a column, as a process to which the messages are delivered so."""
    place = f"row_number() over (partition by room order by {order_column}, message)"
    placed = messages.selectExpr("room", "message", "text", f"cast({place} - 1 as bigint) as index")
    return placed.selectExpr(
        "room as execution",
        f"'{reader}' as process",
        "index",
        f"concat('{reader}#', index) as event",
        "'deliver' as kind",
        "message",
        "text",
    )


def _make_table_of_readings(readings: list[LakeReading], messages: int) -> Table:
    table = Table(title="Who reads the lake in this order ...", title_justify="left", title_style="bold")
    for name in ("order", "messages behind their effects", "of all"):
        table.add_column(name, justify="left" if name == "order" else "right")
    for reading in readings:
        color = "red" if reading.late else "green"
        share = f"{100 * reading.late / messages:.1f} %"
        table.add_row(reading.name, f"[{color}]{reading.late:,}[/]", share)
    return table


def _print_seconds_and_example(console: Console, story: LakeStory) -> None:
    """How long it took, and one finding in words."""
    console.print(
        f"Seconds on Spark: {story.ordering_seconds:.0f} to put the messages in causal order, "
        f"{story.audit_seconds:.0f} to audit the three orders, {story.summary.totals['events']:,} events.",
        highlight=False,
    )
    if story.example:
        console.print(f"For example, as it landed: {story.example}", highlight=False, markup=False)
    times = story.summary.counts.get("timestamp", 0)
    console.print(f"{times:,} times a clock says that an effect came before its cause.", highlight=False)


def _write_page_of_first_room(spark: SparkSession, folder: Path) -> Path:
    """A page of the first room, as it landed, with pictures of what went wrong."""
    import antecede

    room = name_room(0)
    people = spark.read.parquet(str(folder / "events")).where(f"execution = '{room}'").select(*LOGGED)
    landed = spark.read.parquet(str(folder / "landed")).where(f"room = '{room}'")
    events = people.unionByName(
        _make_delivery_events_of_reader(LAKE, landed, "landed"), allowMissingColumns=True
    )
    place = folder / "page.html"
    antecede.audit(events.toArrow()).page(place, f"The shop's lake, as it landed: {room}")
    return place
