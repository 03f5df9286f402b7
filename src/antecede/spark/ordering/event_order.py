"""Event logs in causal order: all that tells of causes counts, and time only breaks ties.

The causes are those of `events.graph`: the order of each process, clocks, parents and messages.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from antecede.ordering.events import order_event_partition
from antecede.spark.column_names import quote_column
from antecede.spark.event_columns import select_cause_columns
from antecede.spark.ordering.outcome import (
    ANSWER,
    OutcomePlan,
    OutcomeTables,
    SparkOutcome,
    choose_added_column_names,
)
from antecede.spark.partition_kernel import add_kernel_answers, repartition_by_key

_ANSWER_TYPE = "position bigint, missing array<string>, reason string, ghosts array<string>"


def order_events(events: DataFrame, partitions: int | None = None) -> SparkOutcome:
    """The events of each execution in one causal order, the same for the same set of events.

    `events` has columns of EVENTS (docs/tables.md); those that are not there are unknown. Nothing runs before
    a table of the outcome is used.

    - `ordered`: the events + `position`, from 0 in each execution, + `ghosts`: the parents of the event that
      are not in the log, null if none;
    - `quarantine`: the events that no order can keep, on a cycle or their own parent, + `reason`;
    - `held` has no rows here: an event whose parent is missing still comes out;
    - `gaps`: the ghosts of each execution, and how many events name each.

    An execution is handled in the memory of one task, together with the others of its partition; there are as
    many `partitions` as a shuffle of the session makes, unless a number is named.

        with antecede.spark.order_events(logs.events) as outcome:
            outcome.ordered.write.partitionBy("execution").parquet("ordered")
    """
    return SparkOutcome(plan_event_order(events, partitions))


def plan_event_order(events: DataFrame, partitions: int | None = None) -> OutcomePlan:
    """The same, as a plan."""
    names = choose_added_column_names(events, "position", "ghosts", "missing", "since", "reason")
    columns = select_cause_columns(events)
    execution = columns["execution"]
    gathered = repartition_by_key(events, partitions, execution)
    rows = add_kernel_answers(gathered, columns, order_event_partition, _ANSWER_TYPE, ANSWER)
    own = [quote_column(name) for name in events.columns]

    def split_into_tables(rows: DataFrame) -> OutcomeTables:
        return _split_into_outcome_tables(rows, own, names)

    def find_gaps(tables: OutcomeTables, rows: DataFrame) -> DataFrame:
        return _count_events_naming_ghosts(tables.ordered, execution, names["ghosts"])

    answer = sf.col(ANSWER)
    added = {names[name]: answer[name] for name in ("position", "ghosts", "reason")}
    return OutcomePlan(rows, names, added, split_into_tables, find_gaps, gaps_need_ordered=True)


def _split_into_outcome_tables(
    rows: DataFrame, own_columns: list[Column], added_names: dict[str, str]
) -> OutcomeTables:
    answer = sf.col(ANSWER)
    position, ghosts = answer["position"], answer["ghosts"]
    ordered = rows.where(position.isNotNull())
    added = position.alias(added_names["position"]), ghosts.alias(added_names["ghosts"])
    ordered = ordered.select(*own_columns, *added)
    since = sf.lit(None).cast("bigint")
    held = rows.where(answer["missing"].isNotNull())
    added = answer["missing"].alias(added_names["missing"]), since.alias(added_names["since"])
    held = held.select(*own_columns, *added)
    quarantine = rows.where(answer["reason"].isNotNull())
    quarantine = quarantine.select(*own_columns, answer["reason"].alias(added_names["reason"]))
    return OutcomeTables(ordered, held, quarantine)


def _count_events_naming_ghosts(ordered: DataFrame, execution: Column, ghosts_column: str) -> DataFrame:
    """Each ghost of an execution, with how many events name it."""
    named = sf.explode(quote_column(ghosts_column)).alias("missing")
    gaps = ordered.select(execution.alias("execution"), named)
    return gaps.groupBy("execution", "missing").agg(sf.count("*").alias("waiting"))
