"""The audit of event logs of any size: findings with witnesses, totals for each execution, and a summary.

Executions are spread over partitions, and a partition is judged in one go. An execution that is too large for
that is judged by many tasks (`distributed_audit`), with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.judge import TOTALS, judge
from antecede.auditing.summary import (
    RANKED_FINDINGS,
    SAMPLE,
    Summary,
    nest_findings,
    rank_within_kind,
    sample_findings,
    summarize,
)
from antecede.events.graph import build_event_graph
from antecede.spark.arrow_batches import lift_arrow_batch_limit
from antecede.spark.auditing.distributed_audit import audit_executions, select_totals, unnest_findings
from antecede.spark.event_columns import add_missing_columns, event_columns
from antecede.tables import FINDINGS

HUGE = 12_000_000
"""Events of an execution that are too many for one task.

One task takes 460 to 570 bytes for an event with short names, and some 95 more where its two threads work at
the same time (seen with 10 million events); the judging task of a distributed audit takes some 500. But the
whole audit takes a third of the processor time of a distributed one (seen with 1 and 2 million events).
"""
COUNTED_LISTS = ("clock", "parents")
LISTS = 2
"""For how many more events one counts that has a clock, or parents."""
TASK = 1_000_000
"""Events of many executions that a task judges together, about."""
SMALL = 20_000
"""Events that are judged sooner than other tasks would be up."""
BATCH = 1_000
"""Executions that are handed to Spark at once."""
_FINDING = [field for field in RANKED_FINDINGS if field.name != "execution"]
JUDGED_EXECUTIONS = TOTALS.append(pa.field("findings", pa.list_(pa.struct(_FINDING))))
"""An execution with its totals and its findings."""


@dataclass(frozen=True)
class SparkAudit:
    """`findings` as in FINDINGS, by kind and execution at most 10,000; `totals` as in `judge.TOTALS`.

    Both are worked out at their first use, and kept on disk in `sources`; `done` gives the disk back. There
    were so many `huge` executions that many tasks judged together.
    """

    findings: DataFrame
    totals: DataFrame
    ranked: DataFrame
    sources: tuple[DataFrame, ...]
    huge: int = 0

    def summary(self, sample: int = SAMPLE) -> Summary:
        """The audit in numbers, and so many findings of each kind, the first ones.

        The audit is run if it was not yet. What comes to the driver does not grow with the input.
        """
        names = TOTALS.names[1:]
        sums = [sf.sum(f"`{name}`").alias(name) for name in names]
        sizes = [sf.count("*").alias("executions"), sf.count("ordered_pairs").alias("counted")]
        (known,) = self.totals.agg(*sums, *sizes).toArrow().to_pylist()
        candidates = self.ranked.where(sf.col("rank") < sample).toArrow()
        sampled = sample_findings(candidates, sample)
        return summarize(known["executions"], known["counted"], known, sampled)

    def done(self) -> None:
        """Forget what was kept on disk."""
        for frame in self.sources:
            frame.unpersist()


def audit(events: DataFrame, *, huge: int = HUGE, number: int | None = None) -> SparkAudit:
    """Audit all executions; `events` has columns of EVENTS, those that are not there are unknown.

    `number` of events, if it is known: where that is not huge, no execution is, and none need be counted.
    """
    lift_arrow_batch_limit(events.sparkSession)
    named = events.select(*(column.alias(name) for name, column in event_columns(events).items()))
    heaviest_event = 1 + sum(LISTS for name in COUNTED_LISTS if name in named.columns)
    if number is not None and number * heaviest_event <= huge:
        sizes = _Sizes(number, [])
    else:
        sizes = _measure_executions(named, huge)
    is_large = sf.col("execution").isin(sizes.large)
    usual = int(str(events.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    parts = 1 if sizes.events <= SMALL else max(usual, -(-sizes.events // TASK))
    spread = (named.where(~is_large) if sizes.large else named).repartition(parts, "execution")
    judged = spread.mapInArrow(_judge_partition, from_arrow_schema(JUDGED_EXECUTIONS))
    judged = judged.persist(StorageLevel.DISK_ONLY)
    ranked, totals = unnest_findings(judged), select_totals(judged)
    sources: tuple[DataFrame, ...] = (judged,)
    if sizes.large:
        apart = audit_executions(add_missing_columns(named.where(is_large)))
        ranked, totals = ranked.unionByName(apart.findings), totals.unionByName(apart.totals)
        sources += apart.sources
    findings = ranked.select(*FINDINGS.names)
    return SparkAudit(findings, totals, ranked, sources, len(sizes.large))


class _Sizes(NamedTuple):
    """How many events there are, and the executions that many tasks are to judge."""

    events: int
    large: list[str]


def _measure_executions(events: DataFrame, huge: int) -> _Sizes:
    """Count events. Many tasks can judge an execution in which every event has a process and an index."""
    size = sf.count("*")
    lists = [sf.count(name) for name in COUNTED_LISTS if name in events.columns]
    weight = sum((LISTS * number for number in lists), size)
    # One look at all of them is much cheaper than one by execution, and mostly enough.
    (row,) = events.agg(size.alias("size"), weight.alias("weight")).collect()
    if row.weight <= huge:
        return _Sizes(row.size, [])
    is_large = weight > huge
    for name in ("process", "index"):
        number = sf.count(name) if name in events.columns else sf.lit(0)
        is_large &= number == size
    executions = events.groupBy("execution").agg(is_large.alias("is_large"))
    large = executions.where("is_large").collect()
    return _Sizes(row.size, [execution.execution for execution in large])


def _judge_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Judge all executions of a partition; gives JUDGED_EXECUTIONS."""
    parts = list(batches)
    if not parts:
        return
    table = [pa.Table.from_batches(parts)]
    del parts
    # Popped, so that nobody here holds the strings of the table while the graph is judged.
    findings, totals = judge(build_event_graph(table.pop()))
    ranked = findings.append_column("rank", pa.array(rank_within_kind(findings)))
    judged = nest_findings(ranked, totals).cast(JUDGED_EXECUTIONS)
    yield from judged.to_batches(max_chunksize=BATCH)
