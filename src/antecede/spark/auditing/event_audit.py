"""The audit of event logs of any size: findings with witnesses, totals for each execution, and a summary.

Executions are spread over partitions, and a partition is judged in one go. An execution that is too large for
that is judged by many tasks (`distributed_audit`), with the same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.judge import COUNTS, TOTALS, judge
from antecede.auditing.summary import (
    RANKED_FINDINGS,
    SAMPLE,
    Summary,
    nest_findings_in_totals,
    rank_findings_within_kind,
    summarize_audit,
    take_first_findings_of_each_kind,
)
from antecede.events.graph import build_event_graph
from antecede.events.kinds import NAME_KINDS, describe_unknown_words
from antecede.report.findings import LISTED_FINDINGS
from antecede.report.notebook import SHOWN_FINDINGS, render_table_columns, render_verdict
from antecede.report.page import render_page
from antecede.spark.arrow_batches import map_in_arrow
from antecede.spark.auditing.distributed_audit import (
    audit_executions,
    select_execution_totals,
    unnest_findings,
)
from antecede.spark.auditing.missing_causes import count_missing_causes_by_reason, explain_missing_causes
from antecede.spark.auditing.trace_ends import count_traces_by_state
from antecede.spark.event_columns import (
    add_missing_event_columns,
    convert_to_all_event_columns,
    list_unknown_kinds,
    select_cause_columns,
)
from antecede.spark.partition_kernel import read_chosen_partition_count
from antecede.spark.pictures.windows import build_log_view
from antecede.spark.repl import is_eager_display_enabled
from antecede.tables import FINDINGS

HUGE = 12_000_000
"""Events of an execution that are too many for one task.

One task takes 460 to 570 bytes for an event with short names, and some 95 more where its two threads work at
the same time (seen with 10 million events); the judging task of a distributed audit takes some 500. But the
whole audit takes a third of the processor time of a distributed one (seen with 1 and 2 million events).
"""
LIST_COLUMNS = ("clock", "parents", "receivers")
COUNTED_LISTS = ("clock", "parents")
LISTS = 2
"""For how many more events one counts that has a clock, or parents."""
TASK = 1_000_000
"""Events of many executions that a task judges together, about."""
FEW, MOST_TASKS = 50_000, 200
"""Events that a task judges at least, and such tasks, where nobody has chosen a number of partitions."""
SMALL = 20_000
"""Events that are judged sooner than other tasks would be up."""
BATCH = 1_000
"""Executions that are handed to Spark at once."""
_FINDING = [field for field in RANKED_FINDINGS if field.name != "execution"]
JUDGED_EXECUTIONS = TOTALS.append(pa.field("findings", pa.list_(pa.struct(_FINDING))))
"""An execution with its totals and its findings."""


@dataclass(frozen=True)
class SparkAudit:
    """What is wrong with a DataFrame of events.

    The audit runs when a table or the summary is first used, and what it found is kept on disk until the
    block ends, or `done` is called:

        with antecede.spark.audit(events) as audit:
            print(audit.summary().verdict)
            audit.findings.write.parquet("findings")
            audit.page("page.html")
    """

    totals: DataFrame
    """A row for each execution: how many events, messages and findings of each kind it has."""
    huge: int
    """How many executions were so large that many tasks judged them together."""
    _unexplained: DataFrame
    """RANKED_FINDINGS, without reasons for missing causes."""
    _events: DataFrame
    _sources: list[DataFrame]

    @property
    def findings(self) -> DataFrame:
        """A row for each fault, with its sentence and its witness; of each kind and execution at most 10,000.

        The audit is run if it was not yet: where causes are missing, all events are searched for them.
        """
        return self.ranked.select(*FINDINGS.names)

    @cached_property
    def ranked(self) -> DataFrame:
        """The findings, with the rank of each among those of its kind and execution."""
        missing = self._sums_over_executions["missing"]
        if not missing:
            return self._unexplained
        ranked = explain_missing_causes(self._unexplained, self._events, self.totals, missing)
        ranked = ranked.persist(StorageLevel.DISK_ONLY)
        self._sources.append(ranked)
        return ranked

    @cached_property
    def _sums_over_executions(self) -> dict[str, int]:
        """The sums of all numbers over executions, and how many executions there are. Runs the audit."""
        sums = [sf.sum(f"`{name}`").alias(name) for name in COUNTS]
        sizes = [sf.count("*").alias("executions"), sf.count("ordered_pairs").alias("counted")]
        (known,) = self.totals.agg(*sums, *sizes).toArrow().to_pylist()
        return dict(known)

    @cached_property
    def note(self) -> str | None:
        """A sentence where a word for a kind is not known; None if all are. Runs a job."""
        return describe_unknown_words(list_unknown_kinds(self._events), NAME_KINDS)

    def summary(self, sample: int = SAMPLE) -> Summary:
        """The audit in numbers, and so many findings of each kind, the first ones.

        The audit is run if it was not yet. What comes to the driver does not grow with the input.
        """
        known = self._sums_over_executions
        candidates = self.ranked.where(sf.col("rank") < sample).toArrow()
        sampled = take_first_findings_of_each_kind(candidates, sample)
        traces = count_traces_by_state(self.totals) if known["spans"] else {}
        reasons = count_missing_causes_by_reason(self.ranked) if known["missing"] else {}
        return summarize_audit(known["executions"], known["counted"], known, sampled, traces, reasons)

    def page(self, path: str | PathLike[str], title: str = "Audit") -> None:
        """Write a page (HTML) with the findings, and with the events around them to look at.

        Runs the audit if it was not run yet, and some more jobs over the events. The file is written by the
        driver, needs no network, and nothing that stands in a log can run in it.
        """
        summary = self.summary(LISTED_FINDINGS)
        view = build_log_view(convert_to_all_event_columns(self._events), self.ranked, self.totals, summary)
        text = render_page(summary.verdict, summary.numbers, summary.sample, view, title, summary.counts)
        Path(path).write_text(text, encoding="utf-8", errors="replace")

    def done(self) -> None:
        """Forget what was kept on disk."""
        for frame in self._sources:
            frame.unpersist()

    def __enter__(self) -> SparkAudit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.done()

    def _repr_html_(self) -> str:
        """For notebooks: the columns of the tables; and the verdict with some findings of each kind, in
        sessions that show DataFrames so (`spark.sql.repl.eagerEval.enabled`)."""
        if not is_eager_display_enabled(self.totals.sparkSession):
            return render_table_columns({"findings": FINDINGS.names, "totals": self.totals.columns})
        summary = self.summary(SHOWN_FINDINGS)
        return render_verdict(summary.verdict, summary.sample, self.note)


def audit(events: DataFrame, *, huge: int = HUGE, number: int | None = None) -> SparkAudit:
    """Say what is wrong with events: what is late, lost or twice, which clocks and times are wrong.

    `events` has columns of EVENTS (docs/tables.md); those that are not there are unknown, and others are not
    looked at. All executions are audited, each by itself; one of more than `huge` events by many tasks.

    A job that counts events runs at once, unless their `number` is given and too small for a huge execution;
    and some more where an execution is huge. All else runs when the result is used.

        with antecede.spark.read_logs(spark, "logs/") as logs, antecede.spark.audit(logs.events) as audit:
            print(audit.summary().counts)  # {"late": 2, "lost": 1}
    """
    named = events.select(*(column.alias(name) for name, column in select_cause_columns(events).items()))
    heaviest_event = 1 + sum(LISTS for name in COUNTED_LISTS if name in named.columns)
    if number is not None and number * heaviest_event <= huge:
        sizes = _Sizes(number, [], [])
    else:
        sizes = _count_events_and_find_huge_executions(named, huge)
    # Spark takes long to hand lists to Python, also where there are none.
    named = named.drop(*sizes.unused)
    is_large = sf.col("execution").isin(sizes.large)
    gathered = _repartition_by_execution(named.where(~is_large) if sizes.large else named, sizes.events)
    judged = map_in_arrow(gathered, _judge_executions_of_partition, from_arrow_schema(JUDGED_EXECUTIONS))
    judged = judged.persist(StorageLevel.DISK_ONLY)
    ranked, totals = unnest_findings(judged), select_execution_totals(judged)
    sources = [judged]
    if sizes.large:
        apart = audit_executions(add_missing_event_columns(named.where(is_large)))
        ranked, totals = ranked.unionByName(apart.findings), totals.unionByName(apart.totals)
        sources += apart.sources
    return SparkAudit(totals, len(sizes.large), ranked, events, sources)


def _repartition_by_execution(events: DataFrame, event_count: int) -> DataFrame:
    """Whole executions in each partition, of which there are enough for so many events."""
    # What is kept on disk Spark leaves in as many partitions as it is told, so it must be told.
    by_size = min(MOST_TASKS, -(-event_count // FEW))
    usual = read_chosen_partition_count(events.sparkSession) or by_size
    parts = 1 if event_count <= SMALL else max(usual, -(-event_count // TASK))
    return events.repartition(parts, "execution")


class _Sizes(NamedTuple):
    """How many events there are, the executions that many tasks are to judge, and columns that are null."""

    events: int
    large: list[str]
    unused: list[str]


def _count_events_and_find_huge_executions(events: DataFrame, huge: int) -> _Sizes:
    """Count events. Many tasks can judge an execution in which every event has a process and an index."""
    size = sf.count("*")
    lists = {name: sf.count(name) for name in LIST_COLUMNS if name in events.columns}
    counted_lists = [number for name, number in lists.items() if name in COUNTED_LISTS]
    weight = sum((LISTS * number for number in counted_lists), size)
    # One look at all of them is much cheaper than one by execution, and mostly enough.
    numbers = [number.alias(name) for name, number in lists.items()]
    (row,) = events.agg(size.alias("size"), weight.alias("weight"), *numbers).collect()
    unused = [name for name in lists if row[name] == 0]
    if row.weight <= huge:
        return _Sizes(row.size, [], unused)
    is_large = weight > huge
    for name in ("process", "index"):
        number = sf.count(name) if name in events.columns else sf.lit(0)
        is_large &= number == size
    executions = events.groupBy("execution").agg(is_large.alias("is_large"))
    large = executions.where("is_large").collect()
    return _Sizes(row.size, [execution.execution for execution in large], unused)


def _judge_executions_of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Judge all executions of a partition; gives JUDGED_EXECUTIONS."""
    parts = list(batches)
    if not parts:
        return
    table = [pa.Table.from_batches(parts)]
    del parts
    # Popped, so that nobody here holds the strings of the table while the graph is judged.
    findings, totals = judge(build_event_graph(table.pop()))
    ranked = findings.append_column("rank", pa.array(rank_findings_within_kind(findings)))
    judged = nest_findings_in_totals(ranked, totals).cast(JUDGED_EXECUTIONS)
    yield from judged.to_batches(max_chunksize=BATCH)
