"""One large file read by many tasks, where its format has lines: the result is that of reading it whole."""

import os
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.events.kinds import LISTED_WORDS
from antecede.formats import NotInParts, Settings, find_common_index_basis, plan_parts, read_part
from antecede.formats.logs import FileRead
from antecede.formats.part_staging import (
    LINE_COUNTS,
    PART_EVENTS,
    PROCESS_SPANS_OF_PARTS,
    STAGED_PARTS,
    LineCounter,
    PartStagingTask,
    compute_part_offsets,
    split_file_into_parts,
)
from antecede.formats.parts import HEAD_BYTES
from antecede.tables import EVENTS, QUARANTINE

PART_BYTES = 32_000_000
"""What a task reads of a file that is larger."""


class PartedLog(NamedTuple):
    """A file that was read in parts."""

    file: FileRead
    events: DataFrame
    quarantine: DataFrame
    is_unmatched: bool
    """Whether sends and receives are still to be matched, in all parts together."""


def read_large_file_in_parts(
    spark: SparkSession, name: str, format: str | None, settings: Settings, folder: str, part_bytes: int
) -> PartedLog | None:
    """Read a file in parts of about so many bytes; None if it is not larger, or must be read as a whole.

    Runs two jobs: one counts lines, and one reads and stages.
    """
    path, folder = os.path.abspath(name), os.path.join(folder, "parts")
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            plan = plan_parts(file.read(HEAD_BYTES), name, format, settings) if size > part_bytes else None
    except OSError:
        return None
    if plan is None:
        return None
    read_part(b"", name, plan, settings, first_line=1)  # wrong settings are told here, not in a task
    parts = _add_first_line_numbers(spark, path, split_file_into_parts(size, part_bytes))
    os.makedirs(folder, exist_ok=True)
    task = PartStagingTask(folder, name, path, plan, settings)
    staged = (
        _make_one_task_per_part(spark, parts)
        .mapInArrow(task.stage_parts, from_arrow_schema(STAGED_PARTS))
        .toArrow()
    )
    try:
        columns = [staged[key].to_pylist() for key in ("basis", "unmatched", "alone")]
        basis, is_unmatched = find_common_index_basis(zip(*columns, strict=True))
        offsets = compute_part_offsets(_load_process_spans_of_parts(folder), basis)
    except NotInParts:
        return None
    events = load_staged_table(spark, os.path.join(folder, "events"), PART_EVENTS)
    events = _fill_missing_event_ids(_offset_event_indexes(spark, events, offsets), name)
    quarantine = load_staged_table(spark, os.path.join(folder, "quarantine"), QUARANTINE)
    return PartedLog(
        _make_file_read(name, plan.format, staged), events.select(EVENTS.names), quarantine, is_unmatched
    )


def _add_first_line_numbers(spark: SparkSession, path: str, parts: pa.Table) -> pa.Table:
    """The parts with the numbers of their first lines."""
    counts = (
        _make_one_task_per_part(spark, parts)
        .mapInArrow(LineCounter(path).count_lines_of_parts, from_arrow_schema(LINE_COUNTS))
        .toArrow()
    )
    lines = counts.sort_by("part")["lines"].to_numpy()
    first_lines = 1 + np.cumsum(lines) - lines
    return parts.set_column(3, "first_line", pa.array(first_lines))


def _make_one_task_per_part(spark: SparkSession, parts: pa.Table) -> DataFrame:
    """A task for each part."""
    tasks = parts.append_column("task", parts["part"].cast(pa.int32()))
    return spark.createDataFrame(tasks).repartitionById(len(parts), "task").drop("task")


def _make_file_read(name: str, format: str, staged_parts: pa.Table) -> FileRead:
    events, quarantined = (sum(staged_parts[key].to_pylist()) for key in ("events", "quarantined"))
    words = {word for some in staged_parts["unknown"].to_pylist() for word in some}
    return FileRead(name, format, events, quarantined, None, tuple(sorted(words)[:LISTED_WORDS]))


def _load_process_spans_of_parts(staging_folder: str) -> pa.Table:
    path = os.path.join(staging_folder, "spans")
    if not os.path.isdir(path):
        return PROCESS_SPANS_OF_PARTS.empty_table()
    return pq.read_table(path, schema=PROCESS_SPANS_OF_PARTS)


def load_staged_table(spark: SparkSession, path: str, schema: pa.Schema) -> DataFrame:
    """A staged table; an empty one if no file has a row of it."""
    columns = from_arrow_schema(schema)
    if not os.path.isdir(path):
        return spark.createDataFrame([], columns)
    return spark.read.schema(columns).parquet(path)


def _offset_event_indexes(spark: SparkSession, events: DataFrame, offsets: pa.Table) -> DataFrame:
    """Positions that count on from part to part."""
    if not len(offsets):
        return events
    keys = ["part", "execution", "process"]
    joined = events.join(sf.broadcast(spark.createDataFrame(offsets)), keys, "left")
    return joined.withColumn("index", sf.col("index") + sf.col("further"))


def _fill_missing_event_ids(events: DataFrame, file_name: str) -> DataFrame:
    """Ids for events that have none, as `formats.indexing` makes them."""
    by_index = sf.concat(sf.col("process"), sf.lit("#"), sf.col("index"))
    by_line = sf.concat(sf.lit(f"{file_name}:"), sf.col("line"))
    return events.withColumn("event", sf.coalesce("event", by_index, by_line))
