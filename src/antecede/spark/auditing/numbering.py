"""The events of huge executions with numbers: their places in the canonical order, and codes for processes.

What events tell of others by their ids is looked up here, too, since ids are strings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from antecede.auditing.distributed.catalog import ProcessCatalog
from antecede.auditing.distributed.layouts import NUMBERED
from antecede.kernels.linking import ARRIVE
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import starts_of_lengths

_PLACE = ("index", "time", "line", "file", "event", "kind", "message", "sender")
"""What decides on the canonical order of the events of a process, as in `events.columns.canonical`."""


class Participants(NamedTuple):
    """The catalog of processes, and what is known of all events."""

    catalog: ProcessCatalog
    codes: DataFrame  # execution, process; their code, their first row, whether the execution has deliveries
    events: int
    names_parents: bool  # whether any event does


def collect_participants(events: DataFrame) -> Participants:
    """Who acts; this runs a job."""
    processes = events.groupBy("execution", "process").agg(
        sf.count("*").alias("events"),
        sf.expr("coalesce(max(kind = 'deliver'), false)").alias("delivers"),
        sf.expr("coalesce(max(size(parents) > 0), false)").alias("names_parents"),
    )
    rows = sorted(processes.collect(), key=lambda row: (row.execution, row.process))
    executions = sorted({row.execution for row in rows})
    code_of_execution = {name: code for code, name in enumerate(executions)}
    delivering = {row.execution for row in rows if row.delivers}
    first_row = starts_of_lengths([row.events for row in rows])
    catalog = ProcessCatalog(
        executions=executions,
        names=[row.process for row in rows],
        execution=np.array([code_of_execution[row.execution] for row in rows], dtype=np.int64),
    )
    codes = [
        (row.execution, row.process, code, int(first_row[code]), row.execution in delivering)
        for code, row in enumerate(rows)
    ]
    columns = "execution string, process string, code int, first_row long, has_deliveries boolean"
    frame = events.sparkSession.createDataFrame(codes, columns)
    names_parents = any(row.names_parents for row in rows)
    return Participants(catalog, sf.broadcast(frame), int(first_row[-1]), names_parents)


def number_events(events: DataFrame, participants: Participants) -> DataFrame:
    """The events with `row`, the code of their process and their act; kept on disk from the first use on."""
    order = [sf.col(name).asc_nulls_last() for name in _PLACE]
    place = sf.row_number().over(Window.partitionBy("code").orderBy(*order))
    numbered = events.join(participants.codes, ["execution", "process"])
    columns = {"row": (sf.col("first_row") + place - 1).cast("long"), "act": _classify_act()}
    numbered = numbered.withColumns(columns).drop("first_row", "has_deliveries")
    return numbered.persist(StorageLevel.DISK_ONLY)


def _classify_act() -> Column:
    """As `events.messages.classify_acts` does."""
    kind = sf.col("kind")
    act = sf.when(kind == "send", SEND).when(kind == "deliver", DELIVER)
    act = act.when((kind == "receive") & sf.col("has_deliveries"), ARRIVE).when(kind == "receive", DELIVER)
    return act.otherwise(OTHER).cast("tinyint")


def number_ids(numbered: DataFrame, names_parents: bool) -> DataFrame:
    """NUMBERED rows: events with their parents, and the first one of the same id, by number.

    This runs a job.
    """
    ids = numbered.where("event is not null").groupBy("execution", "event")
    first = ids.agg(sf.min("row").alias("first"), sf.count("*").alias("uses"))
    rows = _add_parents(numbered, first) if names_parents else _add_no_parents(numbered)
    rows = _add_namesakes(rows, first.where("uses > 1"))
    rows = rows.withColumns({"process": sf.col("code")})
    return rows.select(*NUMBERED.names)


def _add_no_parents(numbered: DataFrame) -> DataFrame:
    """An event that names no parents may say so with an empty list, and does then."""
    empty = sf.when(sf.col("parents").isNotNull(), sf.array().cast("array<bigint>"))
    nothing = {"missing_parents": sf.lit(None).cast("array<string>"), "is_own_parent": sf.lit(False)}
    return numbered.withColumns({"parents": empty} | nothing)


def _add_parents(numbered: DataFrame, first: DataFrame) -> DataFrame:
    named = numbered.select("row", "execution", "event", sf.posexplode("parents").alias("place", "parent"))
    rows = first.select("execution", sf.col("event").alias("parent"), "first")
    found = named.join(rows, ["execution", "parent"], "left")
    is_itself = sf.col("event").eqNullSafe(sf.col("parent")) & sf.col("parent").isNotNull()
    items = sf.struct(
        "place",
        sf.when(~is_itself, sf.col("first")).alias("row"),
        sf.when(sf.col("first").isNull(), sf.col("parent")).alias("missing"),
        is_itself.alias("is_itself"),
    )
    causes = found.groupBy("row").agg(sf.sort_array(sf.collect_list(items)).alias("items"))
    causes = causes.select(
        "row",
        sf.expr("transform(items, i -> i.row)").alias("parent_rows"),
        sf.expr("transform(filter(items, i -> i.missing is not null), i -> i.missing)").alias("missing"),
        sf.expr("exists(items, i -> i.is_itself)").alias("is_itself"),
    )
    empty = sf.when(sf.col("parents").isNotNull(), sf.array().cast("array<bigint>"))
    columns = {
        "parents": sf.coalesce("parent_rows", empty),
        "missing_parents": sf.col("missing"),
        "is_own_parent": sf.coalesce("is_itself", sf.lit(False)),
    }
    return numbered.join(causes, "row", "left").withColumns(columns)


def _add_namesakes(rows: DataFrame, repeated: DataFrame) -> DataFrame:
    """The first event with the same id; looked for only if ids are used twice at all."""
    repeated = repeated.select("execution", "event", "first").persist(StorageLevel.DISK_ONLY)
    if repeated.isEmpty():
        repeated.unpersist()
        return rows.withColumn("namesake", sf.lit(None).cast("long"))
    namesake = sf.when(sf.col("row") != sf.col("first"), sf.col("first"))
    return rows.join(repeated, ["execution", "event"], "left").withColumn("namesake", namesake)
