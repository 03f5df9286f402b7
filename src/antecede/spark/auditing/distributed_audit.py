"""The audit of executions too large for one task.

1. Events are numbered in the canonical order, and ids become numbers (`numbering`).
2. Events that have to do with one message meet in a task, which matches them (`matching.MatchTask`).
3. The events of an execution, now a few numbers each, meet in a task, which judges them as any audit does
   (`judging.JudgeTask`). It needs some 500 bytes of memory for each event, and more for clocks.
4. The strings of events that findings name are looked up, and findings get their sentences
   (`sentences.write_finding_sentences`).
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.distributed.judging import JudgeTask
from antecede.auditing.distributed.layouts import JUDGED, MATCHED
from antecede.auditing.distributed.matching import MatchTask
from antecede.auditing.distributed.sentences import TELLABLE, write_finding_sentences
from antecede.auditing.judge import TOTALS
from antecede.auditing.summary import RANKED_FINDINGS
from antecede.auditing.wording import Event
from antecede.kernels.links import OTHER
from antecede.spark.arrow_batches import map_in_arrow
from antecede.spark.auditing.numbering import (
    collect_participants,
    number_events,
    number_parents_and_repeated_ids,
)
from antecede.spark.partition_kernel import read_chosen_partition_count

MATCHED_TOGETHER = 1_000_000
"""Events that a task matches, about."""
JUDGES = 16
"""Tasks that judge, at most; a task has one execution or several."""


class DistributedAudit(NamedTuple):
    """Findings as in RANKED_FINDINGS, totals as in TOTALS, and what is kept on disk for them."""

    findings: DataFrame
    totals: DataFrame
    sources: tuple[DataFrame, ...]


def audit_executions(events: DataFrame) -> DistributedAudit:
    """Audit huge executions; `events` has the columns of EVENTS, and all have a process and an index.

    This runs jobs that look at names and ids; all else is done when findings or totals are asked for.
    """
    participants = collect_participants(events)
    catalog = participants.catalog
    numbered = number_events(events, participants)
    chosen = read_chosen_partition_count(events.sparkSession)
    tasks = max(chosen or 1, -(-participants.event_count // MATCHED_TOGETHER))
    by_message = number_parents_and_repeated_ids(numbered, participants.names_parents).repartition(
        tasks, _make_partition_key_by_message()
    )
    matched = map_in_arrow(by_message, MatchTask(catalog).match_numbered_batches, from_arrow_schema(MATCHED))
    judges = min(len(catalog.executions), JUDGES)
    # Executions that a task judges follow one another, and so do the numbers of their events.
    judge = sf.floor(sf.col("execution") * judges / len(catalog.executions)).cast("int")
    by_execution = matched.repartitionById(judges, judge)
    judged = map_in_arrow(by_execution, JudgeTask(catalog).judge_matched_batches, from_arrow_schema(JUDGED))
    judged = judged.persist(StorageLevel.DISK_ONLY)
    findings = _build_findings_with_sentences(judged, numbered).persist(StorageLevel.DISK_ONLY)
    return DistributedAudit(findings, select_execution_totals(judged), (findings, judged, numbered))


def select_execution_totals(judged: DataFrame) -> DataFrame:
    """The totals of executions, without their findings."""
    return judged.select(*(f"`{name}`" for name in TOTALS.names))


def _make_partition_key_by_message() -> Column:
    """The same for all events of a message; the others are spread."""
    has_message = sf.col("message").isNotNull() & (sf.col("act") != OTHER)
    return sf.when(has_message, sf.xxhash64("message")).otherwise(sf.col("row"))


def unnest_findings(judged: DataFrame) -> DataFrame:
    """The findings of executions that each have a list of them."""
    findings = judged.select("execution", sf.explode("findings").alias("finding"))
    return findings.select("execution", "finding.*")


def _build_findings_with_sentences(judged: DataFrame, numbered: DataFrame) -> DataFrame:
    """RANKED_FINDINGS of JUDGED rows; a finding is known by its kind, execution and rank."""
    key = ["kind", "execution", "rank"]
    found = unnest_findings(judged)
    rows = sf.concat(sf.array("row"), "witness")
    named = found.select(*key, "details", sf.posexplode(rows).alias("place", "row"))
    words = sf.struct(*Event._fields).alias("words")
    wanted = named.select("row").distinct()
    strings = numbered.join(sf.broadcast(wanted), "row").select("row", words)
    events = sf.sort_array(sf.collect_list(sf.struct("place", "words")))
    whole = (
        named.join(strings, "row")
        .groupBy(*key)
        .agg(
            sf.any_value("details").alias("details"),
            sf.transform(events, lambda event: event.words).alias("events"),
        )
    )
    columns = {"fault": sf.col("events")[0], "witness": sf.slice("events", 2, sf.size("events"))}
    tellable = whole.withColumns(columns).select(*TELLABLE.names)
    return map_in_arrow(tellable, write_finding_sentences, from_arrow_schema(RANKED_FINDINGS))
