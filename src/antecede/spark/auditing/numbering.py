"""The events of huge executions with numbers: their places in the canonical order, and codes for processes.

What events tell of others by their ids is looked up here, too, since ids are strings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as sf

from antecede.auditing.distributed.catalog import ProcessCatalog
from antecede.auditing.distributed.layouts import NUMBERED
from antecede.kernels.linking import ARRIVE
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import Ints, compute_starts

_PLACE = ("index", "time", "line", "file", "event", "kind", "message", "sender")
"""What decides on the canonical order of the events of a process, as in `events.columns.canonical`."""


MOST_PROCESSES = 10_000
"""Of more, it is not found out whether they count their events without a gap: that takes 8 kB for each."""


class Participants(NamedTuple):
    """The catalog of processes, and what is known of all events."""

    catalog: ProcessCatalog
    codes: DataFrame  # execution, process; their code, their first row, whether the execution has deliveries
    event_count: int
    is_gapless: bool  # whether the indexes of each process are 0, 1, 2, ..., each once
    names_parents: bool  # whether any event does


def collect_participants(events: DataFrame) -> Participants:
    """Who acts; this runs one job, and another one where indexes may be without a gap."""
    processes = events.groupBy("execution", "process").agg(
        sf.count("*").alias("events"),
        sf.expr("min(index) = 0 and max(index) = count(*) - 1").alias("may_be_gapless"),
        sf.expr("coalesce(max(kind = 'deliver'), false)").alias("delivers"),
        sf.expr("coalesce(max(size(parents) > 0), false)").alias("names_parents"),
    )
    rows = sorted(processes.collect(), key=lambda row: (row.execution, row.process))
    first_rows = compute_starts([row.events for row in rows])
    event_count = int(first_rows[-1])
    may_be_gapless = len(rows) <= MOST_PROCESSES and all(row.may_be_gapless for row in rows)
    return Participants(
        catalog=_make_process_catalog(rows),
        codes=sf.broadcast(_make_process_code_table(events.sparkSession, rows, first_rows)),
        event_count=event_count,
        is_gapless=may_be_gapless and _sum_distinct_indexes_over_processes(events) == event_count,
        names_parents=any(row.names_parents for row in rows),
    )


def _make_process_catalog(processes: list[Row]) -> ProcessCatalog:
    executions = sorted({row.execution for row in processes})
    code_of_execution = {name: code for code, name in enumerate(executions)}
    return ProcessCatalog(
        executions=executions,
        names=[row.process for row in processes],
        execution=np.array([code_of_execution[row.execution] for row in processes], dtype=np.int64),
    )


def _make_process_code_table(spark: SparkSession, processes: list[Row], first_rows: Ints) -> DataFrame:
    """A row for each process with what its events need to know; its code is its place in the list."""
    delivering = {row.execution for row in processes if row.delivers}
    codes = [
        (row.execution, row.process, code, int(first_rows[code]), row.execution in delivering)
        for code, row in enumerate(processes)
    ]
    columns = "execution string, process string, code int, first_row long, has_deliveries boolean"
    return spark.createDataFrame(codes, columns)


def _sum_distinct_indexes_over_processes(events: DataFrame) -> int:
    """How many different indexes the processes have; in bitmaps, so that no event is sent anywhere."""
    index = sf.col("index")
    places = sf.bitmap_count(sf.bitmap_construct_agg(sf.bitmap_bit_position(index)))
    bitmaps = events.groupBy("execution", "process", sf.bitmap_bucket_number(index)).agg(
        places.alias("places")
    )
    (row,) = bitmaps.agg(sf.sum("places").alias("places")).collect()
    return int(row.places)


def number_events(events: DataFrame, participants: Participants) -> DataFrame:
    """The events with `row`, the code of their process and their act.

    Where an index is a place already, nothing has to be sorted. Else what was sorted is kept on disk.
    """
    place = sf.col("index")
    if not participants.is_gapless:
        order = [sf.col(name).asc_nulls_last() for name in _PLACE]
        place = sf.row_number().over(Window.partitionBy("code").orderBy(*order)) - 1
    numbered = events.join(participants.codes, ["execution", "process"])
    columns = {"row": (sf.col("first_row") + place).cast("long"), "act": _make_message_act_column()}
    numbered = numbered.withColumns(columns).drop("first_row", "has_deliveries")
    return numbered if participants.is_gapless else numbered.persist(StorageLevel.DISK_ONLY)


def _make_message_act_column() -> Column:
    """As `events.messages.classify_message_acts` does."""
    kind = sf.col("kind")
    act = sf.when(kind == "send", SEND).when(kind == "deliver", DELIVER)
    act = act.when((kind == "receive") & sf.col("has_deliveries"), ARRIVE).when(kind == "receive", DELIVER)
    return act.otherwise(OTHER).cast("tinyint")


def number_parents_and_repeated_ids(numbered: DataFrame, names_parents: bool) -> DataFrame:
    """NUMBERED rows: events with their parents, and the first one of the same id, by number.

    This runs a job.
    """
    ids = numbered.where("event is not null").groupBy("execution", "event")
    first = ids.agg(sf.min("row").alias("first"), sf.count("*").alias("uses"))
    rows = (
        _replace_parent_ids_by_rows(numbered, first) if names_parents else _add_empty_parent_columns(numbered)
    )
    namesake = sf.lit(None).cast("long")
    if _may_have_repeated_ids(numbered):
        repeated = first.where("uses > 1").select("execution", "event", "first")
        rows = rows.join(repeated, ["execution", "event"], "left")
        namesake = sf.when(sf.col("row") != sf.col("first"), sf.col("first"))
    rows = rows.withColumn("namesake", namesake)
    rows = rows.withColumns({"process": sf.col("code")})
    return rows.select(*NUMBERED.names)


def _add_empty_parent_columns(numbered: DataFrame) -> DataFrame:
    """An event that names no parents may say so with an empty list, and does then."""
    empty = sf.when(sf.col("parents").isNotNull(), sf.array().cast("array<bigint>"))
    nothing = {"missing_parents": sf.lit(None).cast("array<string>"), "is_own_parent": sf.lit(False)}
    return numbered.withColumns({"parents": empty} | nothing)


def _replace_parent_ids_by_rows(numbered: DataFrame, first_rows_of_ids: DataFrame) -> DataFrame:
    named = numbered.select("row", "execution", "event", sf.posexplode("parents").alias("place", "parent"))
    rows = first_rows_of_ids.select("execution", sf.col("event").alias("parent"), "first")
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
        sf.expr("array_distinct(array_compact(transform(items, i -> i.missing)))").alias("missing"),
        sf.expr("exists(items, i -> i.is_itself)").alias("is_itself"),
    )
    empty = sf.when(sf.col("parents").isNotNull(), sf.array().cast("array<bigint>"))
    columns = {
        "parents": sf.coalesce("parent_rows", empty),
        "missing_parents": sf.col("missing"),
        "is_own_parent": sf.coalesce("is_itself", sf.lit(False)),
    }
    return numbered.join(causes, "row", "left").withColumns(columns)


def _may_have_repeated_ids(numbered: DataFrame) -> bool:
    """Whether ids may be used twice: some have the same hash, which is faster to find out than the truth."""
    hashes = numbered.where("event is not null").select(sf.xxhash64("execution", "event").alias("hash"))
    return not hashes.groupBy("hash").count().where("count > 1").isEmpty()
