"""Lines of text files, read inside Spark tasks: a large file is the work of many.

Spark's own reader tells no line numbers, and goes by the name of a file: for gzip, globs and hidden files.
"""

import os
from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.formats.text_lines import (
    LineRange,
    count_line_ends,
    read_lines,
    set_first_line_numbers,
    split_file_into_ranges,
)
from antecede.spark.reading.tasks import choose_reading_task_count

_RANGES = pa.schema(
    {
        "number": pa.int32(),
        "path": pa.string(),
        "low": pa.int64(),
        "high": pa.int64(),
        "is_packed": pa.bool_(),
        "first_line": pa.int64(),
        "task": pa.int32(),
    }
)
_COUNTS = pa.schema({"number": pa.int32(), "low": pa.int64(), "ends": pa.int64()})

LineTask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What is done with the lines (LINES) of a task."""


def plan_line_ranges(spark: SparkSession, files: list[str]) -> list[LineRange]:
    """The ranges of these files, with the numbers of their lines; a job counts these in large files."""
    ranges = [
        part
        for number, file in enumerate(files)
        for part in split_file_into_ranges(number, os.path.abspath(file))
    ]
    if not any(part.low for part in ranges):
        return ranges
    counts = _map_ranges_in_tasks(spark, ranges, _count_lines_of_ranges, _COUNTS).collect()
    return set_first_line_numbers(ranges, {(row["number"], row["low"]): row["ends"] for row in counts})


def map_lines(spark: SparkSession, ranges: list[LineRange], task: LineTask, schema: pa.Schema) -> DataFrame:
    """What a task makes of the lines of each range."""

    def run_task_on_lines_of_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in _decode_ranges(batches):
            yield from task(read_lines(part))

    return _map_ranges_in_tasks(spark, ranges, run_task_on_lines_of_ranges, schema)


def _map_ranges_in_tasks(
    spark: SparkSession, ranges: list[LineRange], task: LineTask, schema: pa.Schema
) -> DataFrame:
    """Tasks with some ranges each."""
    tasks = choose_reading_task_count(spark, len(ranges), sum(part.high - part.low for part in ranges))
    rows = [{**part._asdict(), "task": place % tasks} for place, part in enumerate(ranges)]
    table = pa.Table.from_pylist(rows, _RANGES)
    spread = spark.createDataFrame(table).repartitionById(tasks, "task").drop("task")
    return spread.mapInArrow(task, from_arrow_schema(schema))


def _decode_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[LineRange]:
    for batch in batches:
        yield from (LineRange(**row) for row in batch.to_pylist())


def _count_lines_of_ranges(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in _decode_ranges(batches):
        row = {"number": part.number, "low": part.low, "ends": count_line_ends(part)}
        yield pa.RecordBatch.from_pylist([row], _COUNTS)
