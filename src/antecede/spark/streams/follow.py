"""A folder of files as a stream of messages: what is there first, then whatever comes."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from antecede.core.errors import NewColumnsError
from antecede.formats.message_files import list_followed_files_and_kind
from antecede.formats.text_lines import LINES
from antecede.ordering.text_tables import FILE, LINE, TextPlan, parse_lines_or_refuse_new_columns
from antecede.spark.reading.lines import plan_line_ranges
from antecede.spark.reading.message_tables import plan_text_parsing
from antecede.spark.reading.native import make_escaped_absolute_path
from antecede.spark.running import translate_spark_error
from antecede.spark.streams.batch import StreamSettings
from antecede.spark.streams.stream import PrepareBatch, start_stream
from antecede.streams.marks import list_marked_batches

_PAUSE = 1
"""Seconds between two looks at a query."""


def open_folder_stream(
    spark: SparkSession,
    paths: list[str],
    kind: str | None,
    read_options: dict[str, Any],
    files_per_batch: int,
) -> DataFrame:
    """The rows of a folder of Parquet or JSON lines; the columns are those of the files that are there."""
    files, kind = list_followed_files_and_kind(paths, kind)
    stream = spark.readStream.option("recursiveFileLookup", True).option(
        "maxFilesPerTrigger", files_per_batch
    )
    place = make_escaped_absolute_path(paths[0])
    if kind == "parquet":
        reader = spark.read.option("recursiveFileLookup", True).option("mergeSchema", True)
        schema = reader.parquet(place).schema
        return stream.schema(schema).parquet(place)
    plan = plan_text_parsing(spark, kind, files, plan_line_ranges(spark, files), read_options)
    return parse_line_stream(stream.text(place), plan)


def parse_line_stream(lines: DataFrame, plan: TextPlan) -> DataFrame:
    """The rows of a stream of lines; those that are none have the reason and the line beside them."""
    schema = pa.schema([field for field in plan.schema if field.name not in (FILE, LINE)])

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in parse_lines_or_refuse_new_columns(map(_make_lines_without_places, batches), plan):
            yield rows.select(schema.names)

    return lines.mapInArrow(parse, from_arrow_schema(schema))


def _make_lines_without_places(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Lines as a reader of files hands them over; a stream does not tell where they stood."""
    size = len(batch)
    text = batch.column(0).cast(pa.binary())
    columns = [pa.repeat(0, size), pa.nulls(size), text, pa.nulls(size)]
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, LINES, strict=True)], schema=LINES
    )


def run_stream_until_stopped(
    open_stream: Callable[[], DataFrame],
    settings: StreamSettings,
    trigger: dict[str, Any],
    is_stopping: Callable[[], bool],
    report_progress: Callable[[], None],
    prepare: PrepareBatch | None = None,
) -> DataFrame | None:
    """Run a stream until its trigger ends it or it is to stop; no micro-batch is broken off then.

    Where rows have columns that the stream does not know, it is opened anew, and the micro-batch is tried
    again. `report_progress` is called now and then meanwhile. Returns the stream as it was opened last, if it
    was.

    Who sends a signal to all processes of a group ends Spark, too. Then a micro-batch is broken off, as in a
    crash, and nothing more can be asked of Spark.
    """
    looked = stream = None
    while True:
        try:
            stream = open_stream()
            query = start_stream(
                stream, settings, trigger=trigger, may_begin=lambda: not is_stopping(), prepare=prepare
            )
            _wait_for_query_and_stop_if_asked(query, is_stopping, report_progress)
            return stream
        except (PySparkException, Py4JError, ConnectionError) as error:
            if is_stopping():
                return stream
            if not isinstance(error, StreamingQueryException):
                raise
            told = translate_spark_error(error)
            found = (str(told), list_marked_batches(settings.checkpoint))
            if not isinstance(told, NewColumnsError) or found == looked:
                raise
            looked = found


def _wait_for_query_and_stop_if_asked(
    query: StreamingQuery, is_stopping: Callable[[], bool], report_progress: Callable[[], None]
) -> None:
    while not query.awaitTermination(_PAUSE):
        report_progress()
        if is_stopping() and not query.status["isTriggerActive"]:
            query.stop()
