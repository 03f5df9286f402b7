"""Logs into DataFrames: files are read inside Spark tasks and staged as Parquet; the driver sees counts only.

The staging folder must be one that the driver and all workers see. Our own events table as Parquet, where
its footer says that no row needs a second look, is read by Spark itself and not staged.
"""

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heapreplace
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import CallerError
from antecede.formats import Settings
from antecede.formats.across import CAN_BE_AMBIGUOUS, RULES
from antecede.formats.executions import SPANS, gather_executions
from antecede.formats.logs import (
    FileRead,
    Logs,
    check_any_readable,
    check_settings,
    describe_unknown_kinds,
    join_notes,
    quarantine_files,
)
from antecede.formats.native import count_native_rows
from antecede.formats.settings import DEFAULT
from antecede.formats.sources import PathLike, list_files, list_paths
from antecede.formats.staging import STAGED_EVENTS, STAGED_FILES, Stage
from antecede.spark.reading.across import describe_ambiguous_causes, settle_files
from antecede.spark.reading.gather import apply_gathering
from antecede.spark.reading.native import can_open, read_native_tables
from antecede.spark.reading.parts import PART_BYTES, read_in_parts
from antecede.tables import EVENTS, QUARANTINE

TASKS_PER_PARTITION = 4
"""Tasks for each shuffle partition, at most: more of them even out what sizes do not tell."""


@contextmanager
def staging_folder(parent: str | None = None) -> Iterator[str]:
    """A folder to stage in, gone when all is done; on a cluster in a parent that all machines share."""
    if parent is not None and not os.access(parent, os.W_OK):
        raise CallerError(f"{parent}: cannot be written; name a folder that all machines share")
    with TemporaryDirectory(dir=parent, prefix="antecede-", ignore_cleanup_errors=True) as folder:
        yield os.path.abspath(folder)


def read_logs(
    spark: SparkSession,
    paths: PathLike | Sequence[PathLike],
    format: str | None = None,
    settings: Settings = DEFAULT,
    staging: str | None = None,
    part_bytes: int = PART_BYTES,
) -> Logs[DataFrame]:
    """Read the logs in these files, folders and globs; runs jobs that stage their events.

    `staging` is an empty folder that all machines share; where none is named, a temporary one of this
    machine, which is gone when the program ends.

    A file that no reader knows is quarantined whole, unless there is none that can be read. If there is one
    file, it has lines and is larger than `part_bytes`, many tasks read parts of it.
    """
    check_settings(format, settings)
    names = list_files(list_paths(paths))
    staging = staging or _make_folder_until_exit()
    native_rows = {
        number: rows
        for number, name in enumerate(names)
        if can_open(name) and (rows := count_native_rows(name, format, settings))
    }
    to_stage = {number: name for number, name in enumerate(names) if number not in native_rows}
    reads = {number: FileRead(names[number], "parquet", rows, 0) for number, rows in native_rows.items()}
    parted, number = None, next(iter(to_stage), 0)
    if len(to_stage) == 1:
        parted = read_in_parts(spark, names[number], format, settings, staging, part_bytes)
    if parted is None:
        reads |= _stage_files(spark, to_stage, format, settings, staging)
        events, gather_note = _gather_files(spark, names, staging)
        quarantine = _load_staged(spark, staging, "quarantine", QUARANTINE)
    else:
        reads[number] = parted.file
        events, gather_note = parted.events.withColumn("number", sf.lit(number).cast("long")), None
        quarantine = parted.quarantine
    files = [reads[number] for number in range(len(names))]
    check_any_readable(files)
    events, across_note = _settle_formats(events, files, parted is not None and parted.is_unmatched)
    events = events.select(EVENTS.names)
    if native_rows:
        native = read_native_tables(spark, [names[number] for number in native_rows])
        events = events.unionByName(native)
    note = join_notes([gather_note, across_note, describe_unknown_kinds(files)])
    return Logs(events, _add_whole_files(quarantine, files), files, note)


def _make_folder_until_exit() -> str:
    folder = TemporaryDirectory(prefix="antecede-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    return folder.name


def _stage_files(
    spark: SparkSession, files: dict[int, str], format: str | None, settings: Settings, folder: str
) -> dict[int, FileRead]:
    """Read and stage these files in tasks of about equal size."""
    if not files:
        return {}
    tasks = min(len(files), TASKS_PER_PARTITION * int(spark.conf.get("spark.sql.shuffle.partitions") or 1))
    names = list(files.values())
    columns = {"number": list(files), "name": names, "path": list(map(os.path.abspath, names))}
    table = pa.table({**columns, "task": pa.array(_assign_tasks(names, tasks), pa.int32())})
    by_task = spark.createDataFrame(table).repartitionById(tasks, "task").drop("task")
    stage = Stage(folder, format, settings, len(files) > 1)
    rows = by_task.mapInArrow(stage.run, from_arrow_schema(STAGED_FILES)).collect()
    for row in rows:
        if row["is_callers_error"]:
            raise CallerError(row["error"])
    return {row["number"]: _make_file_read(files[row["number"]], row.asDict()) for row in rows}


def _make_file_read(name: str, row: dict[str, Any]) -> FileRead:
    if row["error"] is not None:
        return FileRead(name, None, 0, 1, str(row["error"]))
    return FileRead(name, row["format"], row["events"], row["quarantined"], None, tuple(row["unknown"]))


def _assign_tasks(paths: list[str], tasks: int) -> list[int]:
    """A task for each file: the largest first, each to the task that has least to do."""
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    loads = [(0, task) for task in range(tasks)]
    heapify(loads)
    result = [0] * len(paths)
    for at in sorted(range(len(paths)), key=lambda at: -sizes[at]):
        load, result[at] = loads[0]
        heapreplace(loads, (load + sizes[at] + 1, result[at]))
    return result


def _gather_files(spark: SparkSession, names: list[str], folder: str) -> tuple[DataFrame, str | None]:
    """The staged events with the number of their file, executions put together; and a note."""
    events, spans = _load_staged(spark, folder, "events", STAGED_EVENTS), os.path.join(folder, "spans")
    if not os.path.isdir(spans):
        return events, None
    gathering = gather_executions(pq.read_table(spans, schema=SPANS), names)
    return apply_gathering(spark, events, gathering), gathering.note


def _settle_formats(
    events: DataFrame, files: list[FileRead], is_unmatched: bool
) -> tuple[DataFrame, str | None]:
    """The events, with those settled that only all files of a format tell together; and a note.

    `is_unmatched` if a file was read in parts, and what is in them is still to be settled together.
    """
    note = None
    for format in RULES:
        numbers = [number for number, file in enumerate(files) if file.format == format]
        if len(numbers) > 1 or (numbers and is_unmatched):
            events = settle_files(events, format, numbers)
        if numbers and format == CAN_BE_AMBIGUOUS:
            note = describe_ambiguous_causes(events, numbers)
    return events, note


def _load_staged(spark: SparkSession, folder: str, name: str, schema: pa.Schema) -> DataFrame:
    """A staged table; an empty one if no file has a row of it."""
    path, columns = os.path.join(folder, name), from_arrow_schema(schema)
    if not os.path.isdir(path):
        return spark.createDataFrame([], columns)
    return spark.read.schema(columns).parquet(path)


def _add_whole_files(quarantine: DataFrame, files: list[FileRead]) -> DataFrame:
    """The records in quarantine, and the files that could not be read at all."""
    whole_files = quarantine_files(files)
    if not len(whole_files):
        return quarantine
    return quarantine.unionByName(quarantine.sparkSession.createDataFrame(whole_files))
