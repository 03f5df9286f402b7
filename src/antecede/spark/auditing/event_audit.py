"""The audit of event logs of any size: findings with witnesses, totals for each execution, and a summary.

Executions are spread over partitions, and a partition is judged in one go. A huge execution of messages
is judged in chunks by several tasks instead, and there only its messages, its times and what the clocks of
each process show by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.judge import TOTALS, judge
from antecede.auditing.summary import SAMPLE, Summary, rank_within_kind, sample_findings, summarize
from antecede.events.columns import column
from antecede.events.graph import build_event_graph
from antecede.spark.arrow_batches import lift_arrow_batch_limit
from antecede.spark.auditing import chunked_clocks as huge_clocks
from antecede.spark.auditing.chunked_audit import audit_messages
from antecede.spark.event_columns import complete, event_columns
from antecede.tables import FINDINGS

HUGE = 5_000_000
"""Events of an execution that are too many for one task."""
TASK = 1_000_000
"""Events of many executions that a task judges together, about."""
SMALL = 20_000
"""Events that are judged sooner than other tasks would be up."""
BATCH = 100_000
_NAMES = TOTALS.names[1:]
_ROWS = FINDINGS.append(pa.field("rank", pa.int64())).append(pa.field("counts", pa.list_(pa.int64())))
"""A finding and its rank among those of its kind in a partition; or, of kind null, totals of an execution."""


@dataclass(frozen=True)
class SparkAudit:
    """`findings` as in FINDINGS, by kind and execution at most 10,000; `totals` as in `judge.TOTALS`.

    Both are parts of `rows`, kept on disk from its first use on; `done` gives the disk back. Of `huge`
    executions, what their totals do not have was not looked at.
    """

    findings: DataFrame
    totals: DataFrame
    rows: DataFrame
    huge: int = 0
    sources: tuple[DataFrame, ...] = ()

    def summary(self, sample: int = SAMPLE) -> Summary:
        """The audit in numbers, and so many findings of each kind, the first ones.

        The audit is run if it was not yet. What comes to the driver does not grow with the input.
        """
        sums = [sf.sum(f"`{name}`").alias(name) for name in _NAMES]
        sizes = [sf.count("*").alias("executions"), sf.count("ordered_pairs").alias("counted")]
        (known,) = self.totals.agg(*sums, *sizes).toArrow().to_pylist()
        is_candidate = sf.col("kind").isNotNull() & (sf.col("rank") < sample)
        candidates = self.rows.where(is_candidate).toArrow()
        sampled = sample_findings(candidates, sample)
        return summarize(known["executions"], known["counted"], known, sampled)

    def done(self) -> None:
        """Forget what was kept on disk."""
        for frame in (self.rows, *self.sources):
            frame.unpersist()


def audit(events: DataFrame, *, huge: int = HUGE, number: int | None = None) -> SparkAudit:
    """Audit all executions; `events` has columns of EVENTS, those that are not there are unknown.

    `number` of events, if it is known: then small logs need not be counted first.
    """
    lift_arrow_batch_limit(events.sparkSession)
    named = events.select(*(column.alias(name) for name, column in event_columns(events).items()))
    few = number is not None and number <= min(huge, SMALL)
    size, large = (number or 0, []) if few else _sizes(named, huge)
    apart = sf.col("execution").isin(large)
    usual = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    parts = 1 if size <= SMALL else max(usual, -(-size // TASK))
    spread = (named.where(~apart) if large else named).repartition(parts, "execution")
    rows = spread.mapInArrow(_judged, from_arrow_schema(_ROWS))
    sources: tuple[DataFrame, ...] = ()
    if large:
        chunked, sources = _chunked(complete(named.where(apart)), parts)
        rows = rows.unionByName(chunked)
    rows = rows.persist(StorageLevel.DISK_ONLY)
    findings = rows.where("kind is not null").select(*FINDINGS.names)
    places = enumerate(_NAMES)
    totals = rows.where("kind is null").select(
        "execution", *(sf.col("counts")[i].alias(name) for i, name in places)
    )
    return SparkAudit(findings, totals, rows, len(large), sources)


def _sizes(events: DataFrame, huge: int) -> tuple[int, list[str]]:
    """How many events there are, and the executions too large for one task that many tasks can judge.

    Those are executions with messages in which every event has a place.
    """
    size = sf.count("*")
    counts = [
        sf.count(name) if name in events.columns else sf.lit(0) for name in ("message", "process", "index")
    ]
    large = (size > huge) & (counts[0] > 0) & (counts[1] == size) & (counts[2] == size)
    found = events.groupBy("execution").agg(size.alias("size"), large.alias("large"))
    names = sf.collect_list(sf.when(sf.col("large"), sf.col("execution")))
    (row,) = found.agg(sf.sum("size").alias("size"), names.alias("large")).collect()
    return row.size or 0, row.large


def _chunked(events: DataFrame, parts: int) -> tuple[DataFrame, tuple[DataFrame, ...]]:
    """Huge executions, judged by many tasks, as rows of _ROWS; what is not counted there is null.

    And what is kept on disk for them.
    """
    found, clocks = audit_messages(events), huge_clocks.clock_rows(events, parts)
    ranks = Window.partitionBy("kind").orderBy("execution", "file", "line", "process", "message", "sentence")
    rank = (sf.row_number().over(ranks) - 1).cast("long")
    findings = found.findings.unionByName(huge_clocks.findings(clocks))
    findings = findings.withColumns({"rank": rank, "counts": sf.lit(None).cast("array<bigint>")})
    totals = found.totals.join(huge_clocks.totals(clocks), "execution", "left")
    unknown = sf.lit(None).cast("long")
    numbers = [sf.col(f"`{name}`") if name in totals.columns else unknown for name in _NAMES]
    columns = {"execution": sf.col("execution"), "counts": sf.array(*numbers)}
    schema = from_arrow_schema(_ROWS)
    empty = {field.name: sf.lit(None).cast(field.dataType).alias(field.name) for field in schema}
    totals = totals.select(*({**empty, **columns}[name].alias(name) for name in schema.names))
    return findings.select(*schema.names).unionByName(totals), (*found.sources, clocks)


def _judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Judge a whole partition."""
    parts = list(batches)
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    del parts
    findings, totals = judge(build_event_graph(table))
    nothing = pa.nulls(len(findings), pa.list_(pa.int64()))
    ranked = findings.append_column("rank", pa.array(rank_within_kind(findings))).append_column(
        "counts", nothing
    )
    for part in (ranked, _tagged(totals)):
        yield from part.cast(_ROWS).to_batches(max_chunksize=BATCH)


def _tagged(totals: pa.Table) -> pa.Table:
    """Totals as rows of kind null."""
    numbers = [column(totals, name) for name in _NAMES]
    flat = pa.concat_arrays(numbers)
    size, width = len(totals), len(numbers)
    turned = flat.take(pa.array(np.arange(size * width).reshape(width, size).T.ravel()))
    counts = pa.ListArray.from_arrays(pa.array(np.arange(size + 1) * width, pa.int32()), turned)
    columns = {"execution": totals["execution"], "counts": counts}
    return pa.table([columns.get(field.name, pa.nulls(size, field.type)) for field in _ROWS], schema=_ROWS)
