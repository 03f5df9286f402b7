"""Which traces are complete, on Spark: as `auditing.trace_ends` counts them."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from antecede.auditing.trace_ends import STATES


def find_log_end_and_longest_trace(totals: DataFrame) -> DataFrame:
    """One row: `log_until`, when the log ended, and `longest`, how long complete traces take at most."""
    length = sf.when(_is_trace_complete(), sf.col("until") - sf.col("since"))
    return totals.agg(sf.max("until").alias("log_until"), sf.max(length).alias("longest"))


def count_traces_by_state(totals: DataFrame) -> dict[str, int]:
    """How many executions with spans there are of each state. Runs a job."""
    log_end = sf.broadcast(find_log_end_and_longest_trace(totals))
    traces = totals.where("spans > 0").crossJoin(log_end)
    complete, running, broken = STATES
    state = sf.when(_is_trace_complete(), complete)
    state = state.when(_may_trace_be_running(), running)
    state = state.otherwise(broken)
    rows = traces.groupBy(state.alias("state")).count().collect()
    counts = {row["state"]: row["count"] for row in rows}
    return {name: counts.get(name, 0) for name in STATES}


def _is_trace_complete() -> Column:
    """Whether a trace has a root, and every cause that it names."""
    has_root = sf.coalesce("roots", sf.lit(0)) > 0
    return has_root & (sf.col("missing") == 0)


def _may_trace_be_running() -> Column:
    """Whether a trace was last heard of so late that one as long as the longest need not have ended."""
    silence = sf.col("log_until") - sf.col("until")
    return sf.coalesce(silence < sf.col("longest"), sf.lit(False))
