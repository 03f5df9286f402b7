"""Traces that are linked become one execution on Spark, as `formats.linked_traces` decides.

The driver has the links between traces, each once, which readers have staged.
"""

import os

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from antecede.formats.linked_traces import TRACE_LINKS, join_traces
from antecede.tables import OF_TRACE


def join_linked_traces(events: DataFrame, links_folder: str) -> DataFrame:
    """The events, with one execution of traces that are linked; runs a job if any are."""
    if not os.path.isdir(links_folder):
        return events
    links = pq.read_table(links_folder, schema=TRACE_LINKS)
    joined = join_traces(links, _list_present_traces(events, links))
    return _move_events_into_joined_traces(events, joined) if len(joined) else events


def _list_present_traces(events: DataFrame, links: pa.Table) -> set[str]:
    """The linked traces of which there are events."""
    linked = links.select(["linked"]).rename_columns(["execution"])
    wanted = events.sparkSession.createDataFrame(linked).distinct()
    present = events.select("execution").join(sf.broadcast(wanted), "execution", "left_semi").distinct()
    return {row.execution for row in present.collect()}


def _move_events_into_joined_traces(events: DataFrame, joined: pa.Table) -> DataFrame:
    """As `formats.linked_traces.move_events_into_joined_traces` does."""
    table = sf.broadcast(events.sparkSession.createDataFrame(joined))
    is_joined = sf.col("joined").isNotNull()
    suffix = sf.concat(sf.lit(OF_TRACE), "execution")
    parents = sf.transform(
        "parents", lambda name: sf.when(name.contains(OF_TRACE), name).otherwise(sf.concat(name, suffix))
    )
    columns = {
        "event": sf.when(is_joined, sf.concat("event", suffix)).otherwise(sf.col("event")),
        "parents": sf.when(is_joined, parents).otherwise(sf.col("parents")),
    }
    renamed = events.join(table, "execution", "left").withColumns(columns)
    # Not together with the others: inside a lambda, Spark takes the new column for the old one.
    return renamed.withColumn("execution", sf.coalesce("joined", "execution")).select(events.columns)
