"""Lines of text files with their numbers, read inside Spark tasks.

A large file is the work of many tasks: each has a range of bytes, and the lines that begin in it (behind its
first byte; the file's first line belongs to the first range). Gzip is told by content and is one range.
Spark's own reader tells no line numbers, and goes by the name of a file: for gzip, globs and hidden files.
"""

import os
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import InputError
from antecede.formats.source import GZIP, UTF8, inflated

RANGE = 64 << 20
BLOCK = 4 << 20
"""Bytes that one task reads, and those it reads at a time."""
TASKS = 4
"""Tasks for each shuffle partition, at most."""

LINES = pa.schema(
    {
        "number": pa.int32(),  # of the file
        "line": pa.int64(),
        "text": pa.binary(),  # without the line's end; null where the file cannot be read on
        "error": pa.string(),  # why it cannot
    }
)
_RANGES = pa.schema(
    {
        "number": pa.int32(),
        "path": pa.string(),
        "low": pa.int64(),
        "high": pa.int64(),
        "packed": pa.bool_(),
        "first": pa.int64(),
        "task": pa.int32(),
    }
)
_COUNTS = pa.schema({"number": pa.int32(), "low": pa.int64(), "ends": pa.int64()})


class Range(NamedTuple):
    """A part of a file. The first line of the first range has number 1."""

    number: int
    path: str
    low: int
    high: int
    packed: bool
    first: int = 1


def lines(spark: SparkSession, files: list[str]) -> DataFrame:
    """All lines of these files, with the number of the file and of the line."""
    ranges = [one for number, file in enumerate(files) for one in _ranges(number, os.path.abspath(file))]
    if any(one.low for one in ranges):
        ranges = _numbered(ranges, _run(spark, ranges, _count, _COUNTS).collect())
    return _run(spark, ranges, _read, LINES)


def _ranges(number: int, path: str) -> list[Range]:
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == GZIP
        size = os.path.getsize(path)
    except OSError:  # the task says why
        return [Range(number, path, 0, 0, False)]
    if packed:
        return [Range(number, path, 0, size, True)]
    return [Range(number, path, low, min(low + RANGE, size), False) for low in range(0, size or 1, RANGE)]


def _run(spark: SparkSession, ranges: list[Range], task: Callable[..., Any], schema: pa.Schema) -> DataFrame:
    """Tasks with some ranges each."""
    tasks = min(len(ranges), TASKS * int(spark.conf.get("spark.sql.shuffle.partitions") or 1))
    rows = [{**one._asdict(), "task": at % tasks} for at, one in enumerate(ranges)]
    table = pa.Table.from_pylist(rows, _RANGES)
    spread = spark.createDataFrame(table).repartitionById(tasks, "task").drop("task")
    return spread.mapInArrow(task, from_arrow_schema(schema))


def _numbered(ranges: list[Range], counts: list[Any]) -> list[Range]:
    """With the number of the first line of each, from the line ends of those before it."""
    ends = {(row["number"], row["low"]): row["ends"] for row in counts}
    before = list(accumulate((ends.get(one[0:3:2], 0) for one in ranges), initial=0))
    start = {one.number: at for at, one in reversed(list(enumerate(ranges)))}
    return [
        one._replace(first=before[at] - before[start[one.number]] + 2) if one.low else one
        for at, one in enumerate(ranges)
    ]


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many lines end in each range."""
    for batch in batches:
        for row in batch.to_pylist():
            one = Range(**row)
            ends = 0 if one.packed else sum(_ends(one))
            yield pa.RecordBatch.from_pylist([{**row, "ends": ends}], _COUNTS)


def _ends(one: Range) -> Iterator[int]:
    try:
        with open(one.path, "rb") as file:
            file.seek(one.low)
            for low in range(one.low, one.high, BLOCK):
                yield file.read(min(BLOCK, one.high - low)).count(b"\n")
    except OSError:
        return


def _read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The lines of each range; what cannot be read on is told in a row of its own."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from _lines(Range(**row))


def _lines(one: Range) -> Iterator[pa.RecordBatch]:
    line = one.first
    try:
        for data in _unpacked(one) if one.packed else _blocks(one):
            texts = data.removesuffix(b"\n").split(b"\n")
            if line == 1:
                texts[0] = texts[0].removeprefix(UTF8)
            yield _batch(one.number, np.arange(line, line + len(texts)), texts, None)
            line += len(texts)
    except InputError as error:
        yield _batch(one.number, [line], [None], str(error))
    except OSError as error:
        remedy = "check its permissions; on a cluster every worker must see it"
        yield _batch(one.number, [None], [None], f"cannot be read ({error.strerror}); {remedy}")


def _batch(number: int, lines: Any, texts: Any, error: str | None) -> pa.RecordBatch:
    size = len(texts)
    columns = [np.full(size, number, np.int32), lines, texts, pa.repeat(pa.scalar(error, pa.string()), size)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, LINES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=LINES)


def _blocks(one: Range) -> Iterator[bytes]:
    """Whole lines: those that begin behind `low`, up to and with `high`."""
    with open(one.path, "rb") as file:
        file.seek(one.low)
        if one.low:
            file.readline()
        while (at := file.tell()) <= one.high:
            if not (data := file.read(min(BLOCK, one.high - at)) + file.readline()):
                return
            yield data


def _unpacked(one: Range) -> Iterator[bytes]:
    """Whole lines of a file that is packed; of a broken one also the piece of a line that is left."""
    rest = b""
    with open(one.path, "rb") as file:
        try:
            for part in inflated(file):
                rest += part
                if len(rest) > BLOCK and b"\n" in rest:
                    whole, _, rest = rest.rpartition(b"\n")
                    yield whole + b"\n"
        except InputError:
            if rest:
                yield rest
            raise
    if rest:
        yield rest
