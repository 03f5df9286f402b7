"""Why causes are missing, on Spark: all events are searched for them. See `auditing.missing_causes`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.missing_causes import (
    MOST_PLACES,
    SAMPLING_FIELDS,
    SeenEvent,
    explain_missing_causes_in_batches,
)
from antecede.auditing.summary import RANKED_FINDINGS
from antecede.auditing.wording import REASONS
from antecede.spark.arrow_batches import map_in_arrow
from antecede.spark.auditing.trace_ends import find_log_end_and_longest_trace
from antecede.spark.event_columns import add_missing_event_columns, select_cause_columns
from antecede.tables import OF_TRACE

MOST_BROADCAST = 1_000_000
"""Missing causes that are sent to every task; more of them are joined to the events in a shuffle."""


def explain_missing_causes(
    ranked: DataFrame, events: DataFrame, totals: DataFrame, missing_count: int
) -> DataFrame:
    """The findings, those on missing causes with their reasons. There are about so many of these."""
    cause, event = sf.get("events", sf.lit(0)), sf.element_at("events", -1)
    missing = ranked.where("kind = 'missing'")
    missing = missing.withColumns({"cause": _strip_trace_from_id(cause), "event": event})
    all_events = _select_columns_that_explain_missing_causes(events).withColumn(
        "cause", _strip_trace_from_id(sf.col("event"))
    )
    namesakes = _find_events_with_ids_of_missing_causes(
        all_events, _broadcast_if_small(missing.select("cause").distinct(), missing_count)
    )
    sampling = _find_sampling_fields(
        all_events, _broadcast_if_small(missing.select("execution", "event").distinct(), missing_count)
    )
    last_active = totals.where("spans > 0").select("execution", sf.col("until").alias("last_active"))
    looked_up = (
        missing.join(namesakes, "cause", "left")
        .join(sampling, ["execution", "event"], "left")
        .join(last_active, "execution", "left")
        .crossJoin(sf.broadcast(find_log_end_and_longest_trace(totals)))
    )
    explained = map_in_arrow(looked_up, explain_missing_causes_in_batches, from_arrow_schema(RANKED_FINDINGS))
    return ranked.where("kind != 'missing'").unionByName(explained)


def _select_columns_that_explain_missing_causes(events: DataFrame) -> DataFrame:
    """What is looked up, with the types of EVENTS, whatever the caller's table has of it."""
    columns = select_cause_columns(events)
    if "fields" in events.columns:
        columns["fields"] = sf.col("fields").cast("map<string,string>")
    named = events.select(*(column.alias(name) for name, column in columns.items()))
    return add_missing_event_columns(named).select(*SeenEvent._fields, "fields")


def count_missing_causes_by_reason(ranked: DataFrame) -> dict[str, int]:
    """How many missing causes there are for each reason. Runs a job."""
    counts = {row.reason: row["count"] for row in ranked.groupBy("reason").count().collect()}
    return {reason: counts[reason] for reason in REASONS if reason in counts}


def _strip_trace_from_id(event: Column) -> Column:
    """As `auditing.missing_causes.strip_trace_from_id` does."""
    return sf.substring_index(event, OF_TRACE, 1)


def _broadcast_if_small(names: DataFrame, name_count: int) -> DataFrame:
    return sf.broadcast(names) if name_count <= MOST_BROADCAST else names


def _find_events_with_ids_of_missing_causes(events: DataFrame, missing_causes: DataFrame) -> DataFrame:
    """The events that have the names of missing causes, some for each."""
    seen = sf.sort_array(sf.collect_list(sf.struct(*SeenEvent._fields)))
    few = sf.slice(seen, 1, MOST_PLACES).alias("namesakes")
    return events.join(missing_causes, "cause").groupBy("cause").agg(few)


def _find_sampling_fields(events: DataFrame, events_lacking_causes: DataFrame) -> DataFrame:
    """What the events that name missing causes say of sampling."""
    marks = sf.map_filter("fields", lambda key, _: key.isin(*SAMPLING_FIELDS))
    marked = events.join(events_lacking_causes, ["execution", "event"]).withColumn("sampling", marks)
    marked = marked.where(sf.size("sampling") > 0)
    first = sf.min_by("sampling", sf.struct("file", "line")).alias("sampling")
    return marked.groupBy("execution", "event").agg(first)
