"""The clocks of huge executions, process by process: what one process's own clocks show to be wrong.

A task judges some processes, each whole. What needs the clocks of several processes at a time (claims that
are not transitive, cyclic, or of events that are not there) is not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.clock_findings import clock_findings
from antecede.auditing.findings import MOST, counted, told
from antecede.events.graph import build_event_graph
from antecede.tables import FINDINGS

KINDS = ("clock-backwards", "clock-hole", "clock-repeat", "clock-restart", "clock-uncounted", "concurrent")
"""What the clocks of one process show."""
_NEEDED = ("execution", "process", "index", "event", "kind", "message", "clock", "time", "file", "line")
_ROWS = FINDINGS.append(pa.field("count", pa.int64()))
"""A finding; or, without a sentence, how many there are of a kind in an execution."""


def clock_rows(events: DataFrame, parts: int) -> DataFrame:
    """Findings and counts of all processes, kept on disk; `events` has the columns of EVENTS."""
    clocked = events.where("size(clock) > 0").select(*_NEEDED).repartition(parts, "execution", "process")
    return clocked.mapInArrow(_judged, from_arrow_schema(_ROWS)).persist(StorageLevel.DISK_ONLY)


def findings(rows: DataFrame) -> DataFrame:
    """FINDINGS rows: of each kind and execution the first."""
    line = Window.partitionBy("kind", "execution").orderBy("process", "file", "line", "sentence")
    first = rows.where("sentence is not null").withColumn("rank", sf.row_number().over(line))
    return first.where(f"rank <= {MOST}").select(*FINDINGS.names)


def totals(rows: DataFrame) -> DataFrame:
    """A row for each execution that has clocks: how many findings there are of each of KINDS."""
    number = rows.where("sentence is null").groupBy("execution").pivot("kind", list(KINDS))
    return number.agg(sf.sum("count"))


def _judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = list(batches)
    if not parts:
        return
    some = build_event_graph(pa.Table.from_batches(parts))
    del parts
    found = [part for part in clock_findings(some) if part.kind in KINDS]
    rows = told(some, found)
    yield from rows.append_column("count", pa.nulls(len(rows), pa.int64())).cast(_ROWS).to_batches()
    numbers = counted(some, found)
    for kind in KINDS:
        counts = {
            "kind": [kind] * len(some.events.executions),
            "execution": some.events.executions,
            "count": numbers[kind],
        }
        empty = {field.name: pa.nulls(len(some.events.executions), field.type) for field in _ROWS}
        yield pa.RecordBatch.from_pydict({**empty, **counts}, schema=_ROWS)
