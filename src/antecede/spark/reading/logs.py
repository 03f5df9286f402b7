"""Logs into DataFrames: files are read inside Spark tasks and staged as Parquet; the driver sees counts only.

The staging folder must be one that the driver and all workers see. Our own events table as Parquet, where
its footer says that no row needs a second look, is read by Spark itself and not staged.
"""

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from heapq import heapify, heapreplace
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import CallerError
from antecede.formats import Settings
from antecede.formats.across import CAN_BE_AMBIGUOUS, RULES
from antecede.formats.executions import SPANS, group_files_into_executions
from antecede.formats.logs import (
    FileRead,
    check_and_list_row_counts,
    check_any_file_readable,
    check_format_and_settings,
    describe_file_counts,
    describe_unknown_kinds,
    join_notes,
    list_unreadable_files,
)
from antecede.formats.native import count_native_rows
from antecede.formats.settings import DEFAULT
from antecede.formats.sources import PathLike, list_files, normalize_paths
from antecede.formats.staging import STAGED_EVENTS, STAGED_FILES, FileStagingTask, make_staged_file_path
from antecede.report.notebook import preview_files, render_heading_with_previews
from antecede.scratch import make_scratch_folder
from antecede.spark.reading.across import describe_ambiguous_causes, link_events_of_files
from antecede.spark.reading.gather import join_files_into_executions
from antecede.spark.reading.linked_traces import join_linked_traces
from antecede.spark.reading.native import does_spark_accept_file_name, read_native_tables
from antecede.spark.reading.parts import PART_BYTES, load_staged_table, read_large_file_in_parts
from antecede.spark.reading.tasks import choose_reading_task_count
from antecede.tables import EVENTS, QUARANTINE


@dataclass(frozen=True)
class SparkLogs:
    """`events, quarantine, files = read_logs(...)`: every record is an event, or in quarantine.

    What was read is staged in files until `done` is called, the block ends or the program does:

        with antecede.spark.read_logs(spark, "logs/") as logs:
            antecede.spark.audit(logs.events).page("page.html")
    """

    events: DataFrame
    """The events of all files, with the columns of EVENTS (docs/tables.md)."""
    quarantine: DataFrame
    """The records that could not be read: `file`, `line`, `reason`, and `raw`, what stood there."""
    files: list[FileRead]
    """How each file was read."""
    note: str | None
    """A sentence where files that look like one log were taken for several, a cause is ambiguous, or a kind
    not known."""
    _staging: ExitStack

    def __iter__(self) -> Iterator[Any]:
        return iter((self.events, self.quarantine, self.files))

    def counts(self) -> dict[str, int]:
        """How many files, events and quarantined records there are; an error if that is not what was read.

        Runs two jobs.
        """
        return check_and_list_row_counts(self.files, self.events.count(), self.quarantine.count())

    def done(self) -> None:
        """Remove what was staged: the tables cannot be used any more."""
        atexit.unregister(self._staging.close)
        self._staging.close()

    def __enter__(self) -> "SparkLogs":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.done()

    def _repr_html_(self) -> str:
        """For notebooks: how each file was read."""
        return render_heading_with_previews(
            describe_file_counts(self.files), preview_files(self.files, self.note)
        )


def read_logs(
    spark: SparkSession,
    paths: PathLike | Sequence[PathLike],
    format: str | None = None,
    settings: Settings = DEFAULT,
    staging: str | None = None,
    part_bytes: int = PART_BYTES,
) -> SparkLogs:
    """Read the logs in these files, folders and globs into a DataFrame of events.

    Not lazy: tasks read the files at once and stage their events, and the driver gets counts only. They are
    staged in a folder of their own inside of `staging`, which all machines must share, or else among the
    temporary files of this machine; it goes with `done`.

    The format of each file is told by its content, unless one is named. A file that no reader knows is
    quarantined whole, unless there is none that can be read: that is an InputError. Files that belong
    together become one execution; `note` says where that was a guess. If there is one file, it has lines and
    is larger than `part_bytes`, many tasks read parts of it.

        events, quarantine, files = antecede.spark.read_logs(spark, ["gateway.log", "workers/"])
    """
    check_format_and_settings(format, settings)
    names = list_files(normalize_paths(paths))
    _make_staging_folder(staging)
    until_done = ExitStack()
    atexit.register(until_done.close)  # which also keeps the folder while only its tables are known
    try:
        folder = until_done.enter_context(make_scratch_folder(staging))
        return _read_files(spark, names, format, settings, folder, until_done, part_bytes)
    except BaseException:
        until_done.close()
        raise


def _make_staging_folder(staging: str | None) -> None:
    """Make the folder to stage in, if one is named that is not there."""
    if staging is None:
        return
    try:
        os.makedirs(staging, exist_ok=True)
    except OSError as error:
        reason = f"{staging}: cannot be made ({error.strerror})"
        raise CallerError(f"{reason}; name a folder that all machines share") from None
    if not os.access(staging, os.W_OK):
        raise CallerError(f"{staging}: cannot be written; name a folder that all machines share")


def _read_files(
    spark: SparkSession,
    names: list[str],
    format: str | None,
    settings: Settings,
    staging: str,
    until_done: ExitStack,
    part_bytes: int,
) -> SparkLogs:
    native_rows = {
        number: rows
        for number, name in enumerate(names)
        if does_spark_accept_file_name(name) and (rows := count_native_rows(name, format, settings))
    }
    to_stage = {number: name for number, name in enumerate(names) if number not in native_rows}
    reads = {number: FileRead(names[number], "parquet", rows, 0) for number, rows in native_rows.items()}
    parted, number = None, next(iter(to_stage), 0)
    if len(to_stage) == 1:
        parted = read_large_file_in_parts(spark, names[number], format, settings, staging, part_bytes)
    if parted is None:
        reads |= _stage_files(spark, to_stage, format, settings, staging)
        events, gather_note = _load_staged_events_and_join_executions(spark, names, staging)
        events = join_linked_traces(events, os.path.join(staging, "links"))
        quarantine = load_staged_table(spark, os.path.join(staging, "quarantine"), QUARANTINE)
    else:
        reads[number] = parted.file
        events, gather_note = parted.events.withColumn("number", sf.lit(number).cast("long")), None
        quarantine = parted.quarantine
    files = [reads[number] for number in range(len(names))]
    check_any_file_readable(files)
    events, across_note = _link_events_across_files_by_format(
        events, files, parted is not None and parted.is_unmatched
    )
    events = events.select(EVENTS.names)
    if native_rows:
        native = read_native_tables(spark, [names[number] for number in native_rows])
        events = events.unionByName(native)
    note = join_notes([gather_note, across_note, describe_unknown_kinds(files)])
    return SparkLogs(events, _add_unreadable_files(quarantine, files), files, note, until_done)


def _stage_files(
    spark: SparkSession, files: dict[int, str], format: str | None, settings: Settings, folder: str
) -> dict[int, FileRead]:
    """Read and stage these files in tasks of about equal size."""
    if not files:
        return {}
    names = list(files.values())
    sizes = [os.path.getsize(name) if os.path.exists(name) else 0 for name in names]
    tasks = choose_reading_task_count(spark, len(names), sum(sizes))
    columns = {"number": list(files), "name": names, "path": list(map(os.path.abspath, names))}
    table = pa.table({**columns, "task": pa.array(_assign_files_to_tasks(sizes, tasks), pa.int32())})
    by_task = spark.createDataFrame(table).repartitionById(tasks, "task").drop("task")
    task = FileStagingTask(folder, format, settings, len(files) > 1)
    rows = by_task.mapInArrow(task.stage_files, from_arrow_schema(STAGED_FILES)).collect()
    for row in rows:
        if row["is_callers_error"]:
            raise CallerError(row["error"])
    _check_staged_files_visible(folder, [row["number"] for row in rows if row["events"]])
    return {row["number"]: _make_file_read(files[row["number"]], row.asDict()) for row in rows}


def _check_staged_files_visible(folder: str, file_numbers: list[int]) -> None:
    """Refuse a folder in which the driver does not find what workers wrote."""
    paths = (make_staged_file_path(folder, "events", number) for number in file_numbers)
    if not all(map(os.path.exists, paths)):
        raise CallerError(
            f"workers write what they read into {folder}, where this machine does not see it: name a folder "
            "that all machines share (--staging)"
        )


def _make_file_read(name: str, staged_row: dict[str, Any]) -> FileRead:
    if staged_row["error"] is not None:
        return FileRead(name, None, 0, 1, str(staged_row["error"]))
    counts = staged_row["events"], staged_row["quarantined"]
    return FileRead(name, staged_row["format"], *counts, None, tuple(staged_row["unknown"]))


def _assign_files_to_tasks(sizes: list[int], tasks: int) -> list[int]:
    """A task for each file: the largest first, each to the task that has least to do."""
    loads = [(0, task) for task in range(tasks)]
    heapify(loads)
    result = [0] * len(sizes)
    for at in sorted(range(len(sizes)), key=lambda at: -sizes[at]):
        load, result[at] = loads[0]
        heapreplace(loads, (load + sizes[at] + 1, result[at]))
    return result


def _load_staged_events_and_join_executions(
    spark: SparkSession, file_names: list[str], staging: str
) -> tuple[DataFrame, str | None]:
    """The staged events with the number of their file, executions put together; and a note."""
    events = load_staged_table(spark, os.path.join(staging, "events"), STAGED_EVENTS)
    spans = os.path.join(staging, "spans")
    if not os.path.isdir(spans):
        return events, None
    gathering = group_files_into_executions(pq.read_table(spans, schema=SPANS), file_names)
    return join_files_into_executions(spark, events, gathering), gathering.note


def _link_events_across_files_by_format(
    events: DataFrame, files: list[FileRead], has_unmatched_parts: bool
) -> tuple[DataFrame, str | None]:
    """The events, linked where only all files of a format together tell how; and a note.

    `has_unmatched_parts` if a file was read in parts, and what is in them is still to be settled together.
    """
    note = None
    for format in RULES:
        file_numbers = [number for number, file in enumerate(files) if file.format == format]
        if len(file_numbers) > 1 or (file_numbers and has_unmatched_parts):
            events = link_events_of_files(events, format, file_numbers)
        if file_numbers and format == CAN_BE_AMBIGUOUS:
            note = describe_ambiguous_causes(events, file_numbers)
    return events, note


def _add_unreadable_files(quarantine: DataFrame, files: list[FileRead]) -> DataFrame:
    """The records in quarantine, and the files that could not be read at all."""
    whole_files = list_unreadable_files(files)
    if not len(whole_files):
        return quarantine
    return quarantine.unionByName(quarantine.sparkSession.createDataFrame(whole_files))
