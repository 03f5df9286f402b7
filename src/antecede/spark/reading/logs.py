"""Logs into tables: files are read inside Spark tasks and staged as Parquet; the driver sees counts only.

The staging folder must be one that the driver and all workers see. Our own events table as Parquet, where
its footer says that no row needs a second look, is read by Spark itself and not staged.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heapreplace
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import CallerError, InputError
from antecede.formats import FORMATS, Settings
from antecede.formats.regexes import compiled
from antecede.formats.shiviz_forms import GROUPS
from antecede.formats.sources import expand
from antecede.formats.staging import SPANS, STAGED, TOLD, WORDS, Stage
from antecede.spark.reading.across import AGAIN, across, ambiguous
from antecede.spark.reading.gather import Gathered, gathered
from antecede.spark.reading.native import native, rows_of_native
from antecede.tables import QUARANTINE

TASKS = 4
"""Tasks for each shuffle partition, at most: more of them even out what sizes do not tell."""


class FileRead(NamedTuple):
    """What came of one file."""

    name: str
    format: str | None
    events: int
    quarantined: int
    error: str | None = None
    unknown: tuple[str, ...] = ()


class Logs(NamedTuple):
    """The events of all files, the records that could not be read, how each file was read, and a sentence
    where files that look like one log were taken for several, a cause is ambiguous or a kind not known."""

    events: DataFrame
    quarantine: DataFrame
    files: list[FileRead]
    note: str | None = None


@contextmanager
def staging(parent: str | None = None) -> Iterator[str]:
    """A folder to stage in, gone when all is done; on a cluster in a parent that all machines share."""
    if parent is not None and not os.access(parent, os.W_OK):
        raise CallerError(f"{parent}: cannot be written; name a folder that all machines share")
    with TemporaryDirectory(dir=parent, prefix="antecede-", ignore_cleanup_errors=True) as folder:
        yield os.path.abspath(folder)


def read(
    spark: SparkSession, paths: Sequence[str], format: str | None, settings: Settings, staging: str
) -> Logs:
    """The logs in these files, folders and globs. A file that no reader knows is quarantined whole, unless
    there is none that can be read."""
    _check(format, settings)
    files = expand(list(paths))
    own = {at: rows for at, path in enumerate(files) if (rows := rows_of_native(path, format, settings))}
    told = {at: FileRead(files[at], "parquet", rows, 0) for at, rows in own.items()}
    told |= _staged(
        spark, {at: path for at, path in enumerate(files) if at not in own}, format, settings, staging
    )
    found = [told[at] for at in range(len(files))]
    if all(file.error for file in found):
        raise InputError(str(found[0].error) + _others(len(found) - 1))
    events, note = _events(spark, files, staging)
    events, note = _together(events, note, found)
    if own:
        events = events.unionByName(native(spark, [files[at] for at in own]))
    return Logs(events, _quarantine(spark, found, staging), found, note)


def _check(format: str | None, settings: Settings) -> None:
    """What is wrong with the settings is the caller's fault, and said before any file is read."""
    if format is not None and format not in FORMATS:
        raise CallerError(f"no format {format!r}; choose one of {', '.join(FORMATS)}")
    if settings.regex:
        compiled(settings.regex, GROUPS, "regex")
    if settings.delimiter:
        compiled(settings.delimiter, (), "delimiter")


def _others(number: int) -> str:
    return f" (and {number:,} other file{'s' * (number > 1)} cannot be read either)" if number else ""


def _staged(
    spark: SparkSession, files: dict[int, str], format: str | None, settings: Settings, folder: str
) -> dict[int, FileRead]:
    """Read and stage these files in tasks of about equal size."""
    if not files:
        return {}
    tasks = min(len(files), TASKS * int(spark.conf.get("spark.sql.shuffle.partitions") or 1))
    names = list(files.values())
    columns = {"number": list(files), "name": names, "path": list(map(os.path.abspath, names))}
    table = pa.table({**columns, "task": pa.array(_shared_out(names, tasks), pa.int32())})
    spread = spark.createDataFrame(table).repartitionById(tasks, "task").drop("task")
    rows = spread.mapInArrow(
        Stage(folder, format, settings, len(files) > 1).run, from_arrow_schema(TOLD)
    ).collect()
    for row in rows:
        if row["caller"]:
            raise CallerError(row["error"])
    return {row["number"]: _told(files[row["number"]], row.asDict()) for row in rows}


def _told(path: str, row: dict[str, Any]) -> FileRead:
    if row["error"] is not None:
        return FileRead(path, None, 0, 1, str(row["error"]))
    return FileRead(path, row["format"], row["events"], row["quarantined"], None, tuple(row["unknown"]))


def _shared_out(paths: list[str], tasks: int) -> list[int]:
    """A task for each file: the largest first, each to the task that has least to do."""
    sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
    loads = [(0, task) for task in range(tasks)]
    heapify(loads)
    result = [0] * len(paths)
    for at in sorted(range(len(paths)), key=lambda at: -sizes[at]):
        load, result[at] = loads[0]
        heapreplace(loads, (load + sizes[at] + 1, result[at]))
    return result


def _events(spark: SparkSession, files: list[str], folder: str) -> Gathered:
    staged, spans = _loaded(spark, folder, "events", STAGED), os.path.join(folder, "spans")
    if not os.path.isdir(spans):
        return Gathered(staged.drop("number"), None)
    return gathered(spark, staged, pq.read_table(spans, schema=SPANS), files)


def _together(events: DataFrame, note: str | None, files: list[FileRead]) -> tuple[DataFrame, str | None]:
    """What only all files of a format tell together; and another sentence, if there is one to say."""
    for format in AGAIN:
        names = [file.name for file in files if file.format == format]
        if len(names) > 1:
            events = across(events, format, names)
        if names and format == "cloudevents":
            note = "; ".join(filter(None, (note, ambiguous(events)))) or None
    return events, "; ".join(filter(None, (note, _unknown(files)))) or None


def _unknown(files: list[FileRead]) -> str | None:
    words = sorted({word for file in files for word in file.unknown})
    if not words:
        return None
    listed = ", ".join(words[:WORDS]) + (", ..." if len(words) > WORDS else "")
    remedy = f"say what they are, as in --kind {words[0]}=send"
    return f"kinds that are not known are taken as local: {listed}; {remedy}"


def _loaded(spark: SparkSession, folder: str, name: str, schema: pa.Schema) -> DataFrame:
    """A staged table; an empty one if no file has a row of it."""
    path, kind = os.path.join(folder, name), from_arrow_schema(schema)
    return spark.read.schema(kind).parquet(path) if os.path.isdir(path) else spark.createDataFrame([], kind)


def _quarantine(spark: SparkSession, files: list[FileRead], folder: str) -> DataFrame:
    refused = _loaded(spark, folder, "quarantine", QUARANTINE)
    whole = [(file.name, None, file.error, None) for file in files if file.error]
    if not whole:
        return refused
    return refused.unionByName(spark.createDataFrame(whole, from_arrow_schema(QUARANTINE)))
