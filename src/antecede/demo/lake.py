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
from antecede.demo.shop import LAKE, PEOPLE, name_room, write_shop

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
"""Columns of the people's logs that the first audit needs; what nobody needs does not travel."""
BY_TIME, CAUSAL = "lake sorted by timestamp", "lake in causal order"
"""Readers of the lake, as processes of the second audit."""


class LakeAudit(NamedTuple):
    """An audit of people and readers of the lake."""

    seconds: float
    events: DataFrame
    audit: SparkAudit
    summary: Summary


class LakeReading(NamedTuple):
    """An order in which the lake can be read, and what the audit says of it."""

    name: str
    late: int  # messages that come behind something that depends on them
    pairs: int  # of messages turned round


class LakeStory(NamedTuple):
    """What the demo found."""

    readings: list[LakeReading]
    audits: list[LakeAudit]
    ordering_seconds: float


def show_lake(
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
    with Work("rooms simulated", rooms) as work:
        write_shop(folder, rooms, messages, work.advance)
    with open_session(**SHORT_RUN) as spark:
        console.print(
            f"engine: spark (Spark {spark.version}, embedded, on all cores of this machine)", highlight=False
        )
        story = _audit_three_orders(spark, folder, rooms * messages)
        console.print(_make_table(story.readings, rooms * messages))
        _explain(console, story)
        place = _write_page(story.audits[0], folder)
    console.print(
        f"A page with pictures of what went wrong in {name_room(0)}: {place}", soft_wrap=True, highlight=False
    )
    return story


def _audit_three_orders(spark: SparkSession, folder: Path, messages: int) -> LakeStory:
    """Audit the lake as it landed; then, together, by time and in causal order.

    Of each message there is an event for every person, and one for every reader of the lake.
    """
    people = spark.read.parquet(str(folder / "events")).select(*LOGGED)
    landed = spark.read.parquet(str(folder / "landed"))
    reader = _make_reader(LAKE, landed, "landed")
    events = people.unionByName(reader, allowMissingColumns=True)
    number = messages * (len(PEOPLE) + 1)
    first = _audit_events(spark, "auditing as it landed", events, number)
    start = monotonic()
    ordered = _put_in_causal_order(spark, landed, folder)
    seconds = monotonic() - start
    events = people
    for reader in (_make_reader(BY_TIME, landed, "time"), _make_reader(CAUSAL, ordered, "position")):
        events = events.unionByName(reader, allowMissingColumns=True)
    # The people's clocks need not be judged again, and nothing of this audit is drawn.
    few_columns = events.drop("time", "event", "text")
    second = _audit_events(spark, "auditing other orders", few_columns, number + messages)
    readings = [
        LakeReading("as it landed", first.summary.counts.get("late", 0), first.summary.totals["pairs"]),
        *_split_by_reader(second),
    ]
    return LakeStory(readings, [first, second], seconds)


def _split_by_reader(second: LakeAudit) -> list[LakeReading]:
    """The second audit counts the pairs of both readers; but one of them has none."""
    late = second.audit.findings.where("kind = 'late'").groupBy("process").count().collect()
    late_of = {row["process"]: row["count"] for row in late}
    if late_of.get(CAUSAL):
        raise AssertionError(f"in causal order {late_of[CAUSAL]} messages come behind their effects")
    by_time = LakeReading("sorted by timestamp", late_of.get(BY_TIME, 0), second.summary.totals["pairs"])
    return [by_time, LakeReading("in causal order", 0, 0)]


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


def _audit_events(spark: SparkSession, what: str, events: DataFrame, number: int) -> LakeAudit:
    """Audit people and readers together, so many events."""
    from antecede.spark.auditing.event_audit import audit

    start = monotonic()
    with show_spark_stages(spark, what):
        spark_audit = audit(events, number=number)
        summary = spark_audit.summary()
    return LakeAudit(monotonic() - start, events, spark_audit, summary)


def _make_reader(name: str, messages: DataFrame, column: str) -> DataFrame:
    """Who reads the lake in the order of a column, as a process to which the messages are delivered so."""
    place = f"row_number() over (partition by room order by {column}, message)"
    placed = messages.selectExpr("room", "message", "text", f"cast({place} - 1 as bigint) as index")
    return placed.selectExpr(
        "room as execution",
        f"'{name}' as process",
        "index",
        f"concat('{name}#', index) as event",
        "'deliver' as kind",
        "message",
        "text",
    )


def _make_table(readings: list[LakeReading], messages: int) -> Table:
    table = Table(title="Who reads the lake in this order ...", title_justify="left", title_style="bold")
    for name in ("order", "messages behind their effects", "of all", "pairs turned round"):
        table.add_column(name, justify="left" if name == "order" else "right")
    for reading in readings:
        color = "red" if reading.late else "green"
        table.add_row(
            reading.name,
            f"[{color}]{reading.late:,}[/]",
            f"{100 * reading.late / messages:.1f} %",
            f"{reading.pairs:,}",
        )
    return table


def _explain(console: Console, story: LakeStory) -> None:
    """How long it took, and one finding in words."""
    first, second = story.audits
    console.print(
        f"Seconds on Spark: {first.seconds:.0f} for the audit as it landed, {story.ordering_seconds:.0f} to "
        f"put the messages in causal order, {second.seconds:.0f} to audit the two other orders.",
        highlight=False,
    )
    rows = first.summary.sample.to_pylist()
    late = next((row for row in rows if row["kind"] == "late"), None)
    if late is not None:
        console.print(f"For example, as it landed: {late['sentence']}", highlight=False, markup=False)
    times = first.summary.counts.get("timestamp", 0)
    console.print(f"{times:,} times a clock says that an effect came before its cause.", highlight=False)


def _write_page(first: LakeAudit, folder: Path) -> Path:
    """A page of the first room, as it landed, with pictures of what went wrong."""
    import antecede

    room = name_room(0)
    events = first.events.where(first.events["execution"] == room).toArrow()
    place = folder / "page.html"
    antecede.audit(events).page(place, f"The shop's lake, as it landed: {room}")
    first.audit.done()
    return place
