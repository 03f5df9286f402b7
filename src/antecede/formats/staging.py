"""One log file inside a Spark task: read it, stage its events and refused records, and say how it went.

Only Spark's reading stages anything: tables that are read in this process stay in its memory. What is staged
is plain Parquet, so this knows no Spark.

A task writes under a name made from the file's number, and renames when all is written: tried again, or
tried twice at a time, it leaves the same files. No error of a file leaves the task; it is told in a row.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import AntecedeError, CallerError, SetupError
from antecede.formats import Parsed, Settings, read
from antecede.formats.executions import measure_process_spans
from antecede.formats.linked_traces import WITH_LINKS, list_trace_links
from antecede.formats.logs import list_unknown_kinds
from antecede.formats.native import count_native_rows, read_native_table
from antecede.tables import EVENTS, QUARANTINE

STAGED_FILES = pa.schema(
    {
        "number": pa.int64(),
        "format": pa.string(),
        "events": pa.int64(),
        "quarantined": pa.int64(),
        "unknown": pa.list_(pa.string()),  # words for kinds that are not known, some
        "error": pa.string(),
        "is_callers_error": pa.bool_(),  # it would be the same for every file
    }
)
"""What a task says of a file."""

STAGED_EVENTS = EVENTS.append(pa.field("number", pa.int64()))
"""Events with the number of their file."""
ROW_GROUP_SIZE = 100_000
"""Rows of a row group: what Spark can split a staged file at."""


class FileStagingTask(NamedTuple):
    """Reads files, called by Spark with batches of number, name and path: workers may run in another folder
    than the one in which files were named."""

    folder: str
    format: str | None
    settings: Settings
    is_one_of_several: bool
    """Whether there are other files, so that what a file has of each process matters."""

    def stage_files(self, file_batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in file_batches:
            for file in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([self.stage_file(**file)], STAGED_FILES)

    def stage_file(self, number: int, name: str, path: str) -> dict[str, Any]:
        """Read one file; what there is to say of it."""
        try:
            return {"number": number, **self._read_and_stage_tables(number, name, path)}
        except SetupError:  # no fault of this file
            raise
        except AntecedeError as error:
            is_callers = isinstance(error, CallerError)
            return {"number": number, "error": str(error), "is_callers_error": is_callers}
        except OSError as error:
            remedy = "check the path and its permissions; on a cluster every worker must see it"
            return {"number": number, "error": f"{name}: cannot be read ({error.strerror}); {remedy}"}

    def _read_and_stage_tables(self, number: int, name: str, path: str) -> dict[str, Any]:
        is_native = bool(count_native_rows(path, self.format, self.settings))
        if is_native:
            parsed = Parsed(read_native_table(path, name), QUARANTINE.empty_table(), "parquet")
        else:
            with open(path, "rb") as file:
                parsed = read(file.read(), name, self.format, self.settings)
        events, quarantine = parsed.events, parsed.quarantine
        numbers = pa.repeat(pa.scalar(number), len(events))
        tables = {"events": events.append_column("number", numbers), "quarantine": quarantine}
        if self.is_one_of_several and not is_native:
            tables["spans"] = measure_process_spans(events, parsed.format, number)
        if parsed.format in WITH_LINKS:
            tables["links"] = list_trace_links(events)
        for kind, table in tables.items():
            if len(table):
                write_parquet_atomically(table, make_staged_file_path(self.folder, kind, number))
        unknown = [] if is_native else list_unknown_kinds(events)
        counts = {"events": len(events), "quarantined": len(quarantine)}
        return {"format": parsed.format, "unknown": unknown, **counts}


def make_staged_file_path(folder: str, kind: str, file_number: int) -> str:
    """Where the rows of a kind that a file has are staged."""
    return os.path.join(folder, kind, f"{file_number:08}.parquet")


def write_parquet_atomically(table: pa.Table, path: str) -> None:
    """Write Parquet; the file appears when all of it is there."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.{uuid4().hex}")
    try:
        # Only the last folder is made: a task that outlives its run must not bring back what was removed.
        with suppress(FileExistsError):
            os.mkdir(folder)
        pq.write_table(table, part, row_group_size=ROW_GROUP_SIZE)
        os.replace(part, path)
    except OSError as error:
        remedy = "make room, or name another folder with --staging"
        raise SetupError(f"{folder}: cannot be written ({error.strerror or error}); {remedy}") from None
