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

from antecede.auditing.summary import Summary
from antecede.auditing.windows import SPANS, EventName, choose_windows
from antecede.spark.auditing.event_audit import SparkAudit
from antecede.tables import EVENTS, Window

Row = dict[str, Any]

_INSIDE = """events.execution <=> spans.execution and (spans.radius is null
or (events.process = coalesce(spans.process, events.process) and abs(events.index - spans.at) <= spans.radius)
or (events.index is null and coalesce(events.file = spans.file, spans.file is null)
and abs(events.line - spans.line) <= spans.radius))"""
_DISTANCE = "coalesce(abs(events.index - spans.at), abs(events.line - spans.line), 0)"


def pick_windows(events: DataFrame, audit: SparkAudit, summary: Summary) -> list[Window]:
    """What is to be drawn of audited events, which have all columns of EVENTS."""
    return choose_windows(_SparkSource(events, audit), summary)


@dataclass(frozen=True)
class _SparkSource:
    """A `WindowSource` of DataFrames."""

    events: DataFrame
    audit: SparkAudit

    def execution_sizes(self, executions: list[str] | None, most: int) -> list[Row]:
        sizes = self.audit.totals.select("execution", "events", "processes").orderBy("execution")
        if executions is not None:
            sizes = sizes.where(sf.col("execution").isin(executions))
        return list(sizes.limit(most).toArrow().to_pylist())

    def locate_events(self, names: list[EventName]) -> list[Row]:
        if not names:
            return []
        columns = dict(zip(EventName._fields, map(list, zip(*names, strict=True)), strict=True))
        wanted = sf.broadcast(self.events.sparkSession.createDataFrame(pa.table(columns)))
        places = self.events.select("execution", "event", "process", "index", "file", "line")
        return list(places.join(wanted, ["execution", "event"]).toArrow().to_pylist())

    def fetch_spans(self, spans: list[Row], windows: int) -> list[pa.Table]:
        if not spans:
            return [EVENTS.empty_table() for _ in range(windows)]
        table = pa.Table.from_pylist(spans, SPANS)
        wanted = sf.broadcast(self.events.sparkSession.createDataFrame(table))
        joined = self.events.alias("events").join(wanted.alias("spans"), sf.expr(_INSIDE))
        own = [sf.col(f"events.{name}") for name in EVENTS.names]
        joined = joined.select("window", "most", sf.expr(_DISTANCE).alias("distance"), *own)
        same = Over.partitionBy("window", "process", "index", "event", "file", "line").orderBy("distance")
        near = Over.partitionBy("window").orderBy("distance", "file", "line", "process", "index", "event")
        once = joined.withColumn("copy", sf.row_number().over(same)).where("copy = 1")
        fetched = once.withColumn("rank", sf.row_number().over(near)).where("rank <= most").toArrow()
        parts = [fetched.filter(pc.equal(fetched["window"], window)) for window in range(windows)]
        return [part.select(EVENTS.names).cast(EVENTS) for part in parts]

    def late_copies(self, executions: list[str], messages: Collection[str]) -> list[Row]:
        late = self.audit.findings.where((sf.col("kind") == "late") & sf.col("execution").isin(executions))
        late = late.where(sf.col("message").isin(sorted(messages)))
        return list(late.select("execution", "process", "message").toArrow().to_pylist())
