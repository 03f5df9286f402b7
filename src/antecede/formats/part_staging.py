"""One large file with lines, read in parts by the tasks of Spark: each stages its own part as Parquet.

A part is a range of bytes, and has the lines that begin in it. A first pass counts lines, so that each part
knows the number of its first one; the second reads and stages. What is plain Parquet knows no Spark.
"""

import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats.executions import find_own_entries
from antecede.formats.indexing import BY_CLOCK, BY_LINE, encode_processes
from antecede.formats.logs import list_unknown_kinds
from antecede.formats.parts import NotInParts, PartPlan, read_part
from antecede.formats.settings import Settings
from antecede.formats.staging import write_parquet_atomically
from antecede.tables import EVENTS

BUFFER_BYTES = 1_000_000

FILE_PARTS = pa.schema({"part": pa.int64(), "begin": pa.int64(), "end": pa.int64(), "first_line": pa.int64()})
"""Ranges of bytes, and the number of the first line that begins in each; null until lines are counted."""

LINE_COUNTS = pa.schema({"part": pa.int64(), "lines": pa.int64()})

STAGED_PARTS = pa.schema(
    {
        "part": pa.int64(),
        "events": pa.int64(),
        "quarantined": pa.int64(),
        "unknown": pa.list_(pa.string()),
        "basis": pa.string(),
        "unmatched": pa.bool_(),
        "alone": pa.bool_(),
    }
)
"""What a task says of a part; see `antecede.formats.parts`."""

PART_EVENTS = EVENTS.append(pa.field("part", pa.int64()))

PROCESS_SPANS_OF_PARTS = pa.schema(
    {
        "execution": pa.string(),
        "process": pa.string(),
        "part": pa.int64(),
        "rows": pa.int64(),
        "low": pa.int64(),  # own clock entries, 0 where there are none
        "high": pa.int64(),
    }
)
"""What a part has of each process."""

OFFSETS = pa.schema(
    {"part": pa.int64(), "execution": pa.string(), "process": pa.string(), "further": pa.int64()}
)
"""How much further the positions of a process's events are than its part tells."""


def split_file_into_parts(file_bytes: int, part_bytes: int) -> pa.Table:
    """The parts of a file of this size."""
    begins = np.arange(0, file_bytes, part_bytes)
    ends = np.append(begins[1:], file_bytes)
    columns = [
        pa.array(np.arange(len(begins))),
        pa.array(begins),
        pa.array(ends),
        pa.nulls(len(begins), pa.int64()),
    ]
    return pa.table(columns, schema=FILE_PARTS)


class LineCounter(NamedTuple):
    """Counts the lines that begin in parts of a file, called by Spark with batches of FILE_PARTS."""

    path: str

    def count_lines_of_parts(self, part_batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in part_batches:
            for part in batch.to_pylist():
                lines = self.count_lines_beginning_between(part["begin"], part["end"])
                yield pa.RecordBatch.from_pylist([{"part": part["part"], "lines": lines}], LINE_COUNTS)

    def count_lines_beginning_between(self, begin: int, end: int) -> int:
        """A line begins behind a line's end, and one at the beginning of the file."""
        count = 1 if begin == 0 else 0
        position = max(begin - 1, 0)
        with open(self.path, "rb") as file:
            file.seek(position)
            while position < end - 1:
                data = file.read(min(BUFFER_BYTES, end - 1 - position))
                if not data:
                    break
                count += data.count(b"\n")
                position += len(data)
        return count


class PartStagingTask(NamedTuple):
    """Reads parts of a file and stages them, called by Spark with batches of FILE_PARTS."""

    folder: str
    name: str
    path: str
    plan: PartPlan
    settings: Settings

    def stage_parts(self, part_batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in part_batches:
            for part in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([self.stage_part(**part)], STAGED_PARTS)

    def stage_part(self, part: int, begin: int, end: int, first_line: int) -> dict[str, Any]:
        """Read one part; what there is to say of it."""
        with open(self.path, "rb") as file:
            data = read_lines_beginning_between(file, begin, end)
        parsed = read_part(data, self.name, self.plan, self.settings, first_line)
        events = parsed.events
        numbers = pa.repeat(pa.scalar(part), len(events))
        tables = {
            "events": events.append_column("part", numbers),
            "quarantine": parsed.quarantine,
            "spans": measure_part_spans(events, part),
        }
        for kind, table in tables.items():
            if len(table):
                write_parquet_atomically(table, os.path.join(self.folder, kind, f"{part:08}.parquet"))
        return {
            "part": part,
            "events": len(events),
            "quarantined": len(parsed.quarantine),
            "unknown": list_unknown_kinds(events),
            "basis": parsed.basis,
            "unmatched": parsed.unmatched,
            "alone": parsed.alone,
        }


def read_lines_beginning_between(file: BinaryIO, begin: int, end: int) -> bytes:
    """The lines that begin in this range of bytes, each to its end."""
    if begin > 0:
        file.seek(begin - 1)
        begin += len(file.readline()) - 1  # to the end of a line that began before
    if begin >= end:
        return b""
    data = file.read(end - begin)
    return data if data.endswith(b"\n") else data + file.readline()


def measure_part_spans(events: pa.Table, part: int) -> pa.Table:
    """How many events of each process a part has, and between which own entries of clocks."""
    owns = pc.fill_null(find_own_entries(events), 0)
    table = events.select(["execution", "process"]).append_column("own", owns)
    spans = table.group_by(["execution", "process"]).aggregate(
        [("own", "count"), ("own", "min"), ("own", "max")]
    )
    spans = spans.rename_columns(["execution", "process", "rows", "low", "high"])
    spans = spans.append_column("part", pa.repeat(pa.scalar(part), len(spans)))
    return spans.select(PROCESS_SPANS_OF_PARTS.names).cast(PROCESS_SPANS_OF_PARTS)


def compute_part_offsets(spans: pa.Table, basis: str | None) -> pa.Table:
    """The OFFSETS of all parts. Raises NotInParts if clocks do not count on from part to part."""
    if basis not in (BY_LINE, BY_CLOCK):
        return OFFSETS.empty_table()
    spans = spans.sort_by("part")
    processes = encode_processes(spans)
    in_order = np.argsort(processes, kind="stable")
    processes = processes[in_order]
    spans = spans.take(pa.array(in_order))
    rows, low, high = (spans[name].to_numpy() for name in ("rows", "low", "high"))
    goes_on = processes[1:] == processes[:-1]
    if basis == BY_CLOCK and (goes_on & (low[1:] <= high[:-1])).any():
        raise NotInParts("own entries do not grow from part to part")
    before = np.cumsum(rows) - rows
    # What was counted before a process begins is taken off again.
    first = np.flatnonzero(np.append(True, ~goes_on)[: len(rows)])
    sizes = np.diff(np.append(first, len(rows)))
    further = before - np.repeat(before[first], sizes)
    return spans.append_column("further", pa.array(further)).select(OFFSETS.names).cast(OFFSETS)
