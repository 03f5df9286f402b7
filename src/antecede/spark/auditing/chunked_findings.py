"""What was found in a huge trace as the tables that all audits give: findings with witnesses, and counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.chunked.positions import MISTIMED
from antecede.auditing.findings import MOST
from antecede.auditing.sentences import say
from antecede.auditing.wording import Event
from antecede.kernels.hashed_linking import LOST, acts
from antecede.kernels.links import DELIVER, DUPLICATE, ORPHAN, RESENT, UNSENT
from antecede.kernels.ragged import Ints
from antecede.spark.auditing.encode import Cast, placed
from antecede.tables import FINDINGS

COLUMNS = ("kind", "process", "index", "count", "refs", "receiver")
KINDS = ("late", "fifo", "lost", "orphan", "duplicate", "unsent", "resent", "timestamp")
_HERE, _THERE = ("process", "index"), ("sender", "other")
_FAULTS = {
    LOST: ("lost", _HERE),
    acts(ORPHAN): ("orphan", _HERE),
    acts(DUPLICATE): ("duplicate", (*_THERE, *_HERE)),
    acts(RESENT): ("resent", (*_THERE, *_HERE)),
}
_LATER = {acts(UNSENT): ("unsent", (*_HERE, *_THERE)), MISTIMED: ("timestamp", (*_THERE, *_HERE))}
_MEANINGS = _FAULTS | {MISTIMED: _LATER[MISTIMED]}
"""What acts of LINKED rows mean, and their witnesses: those from linking, and those from untangling."""


def raw_findings(linked: DataFrame, line: DataFrame | None, judged: DataFrame) -> DataFrame:
    """All findings, with events by number, and counts besides; `line` if it is not `linked` itself."""
    mistimed = (sf.col("act") == DELIVER) & (sf.col("time") < sf.col("far"))
    act = sf.when(mistimed, MISTIMED).otherwise(sf.col("act"))
    late = _merged(judged)
    parts = [
        _faults(linked.withColumn("act", act), _MEANINGS),
        *([] if line is None else [_faults(line, _LATER)]),
        late.withColumn("kind", sf.lit("late")),
        late.where("kind = 'fifo'"),
        judged.where("kind = 'early'").select(*COLUMNS).distinct(),
        judged.where("kind = 'pairs'").select(*COLUMNS),
    ]
    return reduce(DataFrame.unionByName, parts)


def totals(found: DataFrame, who: Cast, counts: Ints) -> DataFrame:
    """A row for each execution."""
    spark = found.sparkSession
    weight = sf.coalesce(sf.col("count"), sf.lit(1))
    told = found.groupBy("kind", "process").agg(sf.sum(weight).alias("count")).collect()
    executions, names = who.actors.executions, ("events", "sends", "deliveries")
    rows: list[dict[str, Any]] = [
        {"execution": name, "processes": executions.count(i)} for i, name in enumerate(who.executions)
    ]
    for row in rows:
        row |= dict.fromkeys((*names, *KINDS, "early", "pairs"), 0)
    for code, execution in enumerate(executions):
        for name, count in zip(names, counts[:, code].tolist(), strict=True):
            rows[execution][name] += count
    for kind, process, count in told:
        rows[executions[process]][kind] += count
    kinds = ", ".join(f"{name} {'string' if name == 'execution' else 'long'}" for name in rows[0])
    return spark.createDataFrame(rows, kinds)


def findings(found: DataFrame, events: DataFrame, who: Cast) -> DataFrame:
    """FINDINGS rows: of each kind and execution the first by process and index."""
    line = Window.partitionBy("kind", "execution").orderBy("process", "index", "refs", "receiver")
    names = who.codes.select("execution", sf.col("code").alias("process"))
    named = found.where(sf.col("kind").isin(*KINDS)).join(names, "process")
    first = named.withColumn("rank", sf.row_number().over(line)).where(f"rank <= {MOST}")
    pairs = sf.expr("transform(sequence(0, size(refs) div 2 - 1), k -> struct(refs[2*k], refs[2*k+1]))")
    parts = first.select("kind", "refs", "receiver", "process", sf.posexplode(pairs))
    parts = parts.withColumns({"code": sf.col("col.col1").cast("int"), "index": sf.col("col.col2")})
    wanted = parts.join(_details(events, who, parts), ["code", "index"])
    detail = sf.struct("pos", "detail")
    grouped = wanted.groupBy("kind", "refs", "receiver").agg(
        sf.sort_array(sf.collect_set(detail)).alias("events")
    )
    told = (
        grouped.select("kind", "receiver", "events.detail")
        .repartition(1)
        .sortWithinPartitions("kind", "detail")
    )
    return told.mapInArrow(_tell, from_arrow_schema(FINDINGS)).persist()


def _details(events: DataFrame, who: Cast, parts: DataFrame) -> DataFrame:
    """What there is to say of the events that findings name."""
    keys = parts.select("code", "index").distinct().join(who.codes, "code")
    rows = placed(events).join(sf.broadcast(keys), ["execution", "process", "index"])
    detail = sf.struct("execution", *Event._fields)
    order = sf.struct("time", "line", "file", "event", "kind", "message")
    return rows.groupBy("code", "index").agg(sf.min_by(detail, order).alias("detail"))


def _faults(rows: DataFrame, meanings: Mapping[int, tuple[str, tuple[str, ...]]]) -> DataFrame:
    act, kind, refs = sf.col("act"), sf.lit(None), sf.lit(None)
    for value, (name, witness) in meanings.items():
        kind = sf.when(act == value, name).otherwise(kind)
        refs = sf.when(act == value, _array(*witness)).otherwise(refs)
    return _shaped(rows.where(act.isin(*meanings)), kind, refs)


def _shaped(rows: DataFrame, kind: Column, refs: Column) -> DataFrame:
    once = sf.lit(1).cast("long").alias("count")
    return rows.select(kind.alias("kind"), "process", "index", once, refs.alias("refs"), "receiver")


def _array(*names: str) -> Column:
    return sf.array(*(sf.col(name).cast("long") for name in names))


def _merged(judged: DataFrame) -> DataFrame:
    """Late deliveries, `fifo` if so; a straggler may be overtaken in several chunks, and counts once."""
    rows = judged.where(sf.col("kind").isin("late", "fifo"))
    first = sf.min(sf.struct("kind", "chunk", "refs")).alias("first")
    best = rows.groupBy("process", "index").agg(first).withColumn("receiver", sf.lit(None).cast("string"))
    return _shaped(best, sf.col("first.kind"), sf.col("first.refs"))


def _tell(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [_finding(**row) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pylist(rows, FINDINGS)


def _finding(kind: str, receiver: str | None, detail: list[dict[str, Any]]) -> dict[str, Any]:
    """A row of FINDINGS; the event at fault is the last of the witness, or the delivery before its send."""
    at = detail[0] if kind == "unsent" else detail[-1]
    events = [Event(**{name: event[name] for name in Event._fields}) for event in detail]
    more = {"receiver": receiver} if kind == "lost" else {}
    place = {name: at[name] for name in ("execution", "process", "message", "file", "line")}
    ids = [event.event for event in events if event.event is not None]
    return {"kind": kind, **place, "events": ids, "sentence": say(kind, events, **more)}
