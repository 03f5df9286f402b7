"""Events near others, fetched from a log of any size: by position in their process, or else by line."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from antecede.tables import EVENTS

SPANS = pa.schema(
    {
        "window": pa.int64(),
        "most": pa.int64(),  # events of the window
        "execution": pa.string(),
        "process": pa.string(),
        "at": pa.int64(),  # position in the process
        "file": pa.string(),
        "line": pa.int64(),
        "radius": pa.int64(),
    }
)
"""A part of a window: what is at most a radius away from a place; null is any process, file or distance."""

_INSIDE = """events.execution <=> spans.execution and (spans.radius is null
or (events.process = coalesce(spans.process, events.process) and abs(events.index - spans.at) <= spans.radius)
or (events.index is null and coalesce(events.file = spans.file, spans.file is null)
and abs(events.line - spans.line) <= spans.radius))"""
_DISTANCE = "coalesce(abs(events.index - spans.at), abs(events.line - spans.line), 0)"


def rows_of(events: DataFrame, wanted: list[tuple[int, str, str]]) -> list[dict[str, Any]]:
    """The rows of events, named by window, execution and id, that the log has."""
    if not wanted:
        return []
    names = ["window", "execution", "event"]
    columns = dict(zip(names, map(list, zip(*wanted, strict=True)), strict=True))
    by = sf.broadcast(events.sparkSession.createDataFrame(pa.table(columns)))
    found = events.select(*names[1:], "process", "index", "file", "line").join(by, names[1:])
    return list(found.toArrow().to_pylist())


def fetched(events: DataFrame, spans: list[dict[str, Any]], windows: int) -> list[pa.Table]:
    """The events of each window: of those inside its spans the nearest, each once."""
    if not spans:
        return [EVENTS.empty_table() for _ in range(windows)]
    by = sf.broadcast(events.sparkSession.createDataFrame(pa.Table.from_pylist(spans, SPANS)))
    joined = events.alias("events").join(by.alias("spans"), sf.expr(_INSIDE))
    own = [sf.col(f"events.{name}") for name in EVENTS.names]
    joined = joined.select("window", "most", sf.expr(_DISTANCE).alias("distance"), *own)
    same = Window.partitionBy("window", "process", "index", "event", "file", "line").orderBy("distance")
    near = Window.partitionBy("window").orderBy("distance", "file", "line", "process", "index", "event")
    once = joined.withColumn("copy", sf.row_number().over(same)).where("copy = 1")
    table = once.withColumn("rank", sf.row_number().over(near)).where("rank <= most").toArrow()
    parts = [table.filter(pc.equal(table["window"], window)) for window in range(windows)]
    return [part.select(EVENTS.names).cast(EVENTS) for part in parts]
