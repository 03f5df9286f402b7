"""Windows for pictures of a log on Spark: what was chosen is fetched from a log of any size.

Each question costs a job over the events; what comes to the driver does not grow with the log.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import Window as Over
from pyspark.sql import functions as sf

from antecede.auditing.sentences import KINDS
from antecede.auditing.summary import Summary
from antecede.auditing.views import build_view
from antecede.auditing.windows import IDENTITY, SPANS, EventName, build_windows_around_findings
from antecede.events.graph import EventGraph, build_event_graph
from antecede.tables import EVENTS, MARKS, LogView, Window

Row = dict[str, Any]

_INSIDE = """events.execution <=> spans.execution and (spans.radius is null
or (events.process = coalesce(spans.process, events.process) and abs(events.index - spans.at) <= spans.radius)
or (events.index is null and coalesce(events.file = spans.file, spans.file is null)
and abs(events.line - spans.line) <= spans.radius))"""
"""Whether an event is inside a span: by its index in a process; or, where it has none, by its line."""
_DISTANCE = "coalesce(abs(events.index - spans.at), abs(events.line - spans.line), 0)"


def pick_windows(events: DataFrame, ranked: DataFrame, totals: DataFrame, summary: Summary) -> list[Window]:
    """What is to be drawn of audited events, which have all columns of EVENTS, given what the audit gave."""
    return build_windows_around_findings(_SparkSource(events, ranked, totals), summary)


def build_log_view(events: DataFrame, ranked: DataFrame, totals: DataFrame, summary: Summary) -> LogView:
    """What a page holds of audited events, which have all columns of EVENTS, given what the audit gave."""
    return build_view(_SparkSource(events, ranked, totals), summary)


@dataclass(frozen=True)
class _SparkSource:
    """A `ViewSource` of DataFrames."""

    events: DataFrame
    ranked: DataFrame
    """The findings, with the rank of each among those of its kind and execution."""
    totals: DataFrame

    def list_execution_sizes(self, executions: list[str] | None, most: int) -> list[Row]:
        sizes = self.totals.select("execution", "events", "processes").orderBy("execution")
        if executions is not None:
            sizes = sizes.where(sf.col("execution").isin(executions))
        return list(sizes.limit(most).toArrow().to_pylist())

    def locate_events(self, names: list[EventName]) -> list[Row]:
        if not names:
            return []
        wanted = self._broadcast_table(pa.Table.from_pylist([name._asdict() for name in names]))
        places = self.events.select("execution", "event", "process", "index", "time", "file", "line")
        located = places.join(wanted, ["execution", "event"])
        return list(located.toArrow().to_pylist())

    def fetch_nearest_events_of_windows(self, spans: list[Row], windows: int) -> list[pa.Table]:
        if not spans:
            return [EVENTS.empty_table() for _ in range(windows)]
        wanted = self._broadcast_table(pa.Table.from_pylist(spans, SPANS)).alias("spans")
        inside = self.events.alias("events").join(wanted, sf.expr(_INSIDE))
        distance = sf.expr(_DISTANCE).alias("distance")
        columns = [f"events.{name}" for name in EVENTS.names]
        inside = inside.select("window", "most", distance, *columns)
        # Of what several spans have, the copy that is nearest; of all that a window has, the nearest.
        copies = Over.partitionBy("window", *IDENTITY).orderBy("distance")
        nearest = Over.partitionBy("window").orderBy("distance", *IDENTITY)
        inside = inside.withColumn("copy", sf.row_number().over(copies)).where("copy = 1")
        inside = inside.withColumn("rank", sf.row_number().over(nearest)).where("rank <= most")
        fetched = inside.toArrow()
        tables = []
        for window in range(windows):
            table = fetched.filter(pc.equal(fetched["window"], window))
            tables.append(table.select(EVENTS.names).cast(EVENTS))
        return tables

    def list_late_copies(self, executions: list[str], messages: Collection[str]) -> list[Row]:
        late = self.ranked.where("kind = 'late'")
        late = late.where(sf.col("execution").isin(executions))
        late = late.where(sf.col("message").isin(sorted(messages)))
        late = late.select("execution", "process", "message")
        return list(late.toArrow().to_pylist())

    def fetch_graph(self) -> EventGraph:
        return build_event_graph(self.events.select(*EVENTS.names).toArrow().cast(EVENTS))

    def list_worst_findings(self, most: int) -> pa.Table:
        kinds = sf.array(*(sf.lit(kind) for kind in KINDS))
        worst_first = self.ranked.orderBy(sf.array_position(kinds, sf.col("kind")), "execution", "rank")
        return worst_first.select(*MARKS.names).limit(most).toArrow().cast(MARKS)

    def _broadcast_table(self, table: pa.Table) -> DataFrame:
        """A small table, for each of Spark's tasks."""
        return sf.broadcast(self.events.sparkSession.createDataFrame(table))
