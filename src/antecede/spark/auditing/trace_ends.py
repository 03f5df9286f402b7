"""Which traces are complete, on Spark: as `auditing.trace_ends` counts them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from antecede.auditing.trace_ends import STATES


def find_log_end(totals: DataFrame) -> DataFrame:
    """One row: `log_until`, when the log ended, and `longest`, how long complete traces take at most."""
    length = sf.when(_is_complete(), sf.col("until") - sf.col("since"))
    return totals.agg(sf.max("until").alias("log_until"), sf.max(length).alias("longest"))


def count_traces(totals: DataFrame) -> dict[str, int]:
    """How many executions with spans there are of each state. Runs a job."""
    traces = totals.where("spans > 0").crossJoin(sf.broadcast(find_log_end(totals)))
    is_open = sf.coalesce(sf.col("log_until") - sf.col("until") < sf.col("longest"), sf.lit(False))
    complete, running, broken = STATES
    state = sf.when(_is_complete(), complete).when(is_open, running).otherwise(broken)
    counts = {row.state: row["count"] for row in traces.groupBy(state.alias("state")).count().collect()}
    return {state: counts.get(state, 0) for state in STATES}


def _is_complete() -> Column:
    return (sf.coalesce("roots", sf.lit(0)) > 0) & (sf.col("missing") == 0)
