"""A folder of files as a stream of messages: what is there first, then whatever comes."""

from collections.abc import Callable
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from antecede.core.errors import CallerError
from antecede.formats.message_files import find_table_kind
from antecede.formats.sources import list_files
from antecede.spark.reading.native import as_path
from antecede.spark.streams.batch import StreamSettings
from antecede.spark.streams.stream import start_stream

_PAUSE = 1
"""Seconds between two looks at a query."""


def follow_folder(spark: SparkSession, paths: list[str], kind: str | None) -> DataFrame:
    """The rows of a folder of Parquet; the columns are those of the files that are there."""
    if len(paths) > 1:
        raise CallerError("--follow reads one folder: name the one that new files come into")
    kind = find_table_kind(list_files(paths), kind)
    if kind != "parquet":
        raise CallerError(
            f"--follow reads folders of Parquet, and {paths[0]} is {kind}: write Parquet, or read the stream "
            "yourself and hand it to antecede.spark.order_stream"
        )
    place = as_path(paths[0])
    schema = spark.read.option("recursiveFileLookup", True).parquet(place).schema
    return spark.readStream.schema(schema).option("recursiveFileLookup", True).parquet(place)


def run_until_stopped(
    stream: DataFrame, settings: StreamSettings, trigger: dict[str, Any], is_stopping: Callable[[], bool]
) -> None:
    """Run a stream until its trigger ends it or it is to stop; no micro-batch is broken off then."""
    query = start_stream(stream, settings, trigger=trigger, may_begin=lambda: not is_stopping())
    try:
        while not query.awaitTermination(_PAUSE):
            if is_stopping() and not query.status["isTriggerActive"]:
                query.stop()
    except StreamingQueryException:
        if not is_stopping():
            raise
