"""Records of topics that were kept as Parquet, put before what the topics still have: no gap, no overlap.

Where the history of a partition ends is found once, when the stream begins, and remembered. What is below
that offset comes from the files, and what is at it or above from the topic, also if it is kept in a file that
comes later.
"""

import json
import os
from pathlib import Path

import msgspec
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import CallerError
from antecede.kafka_address import KafkaTopics
from antecede.ordering.kafka_records import RECORDS
from antecede.spark.column_names import quote_column
from antecede.spark.reading.native import make_escaped_absolute_path
from antecede.streams.marks import list_marked_batches, write_file_atomically

_FILE = "history.json"
"""In the checkpoint: the history of each partition."""
_NEEDED = ("kafka_topic", "kafka_partition", "kafka_offset", "kafka_value")
_SAMPLE_TIME = 10_000


class TopicHistory(msgspec.Struct, frozen=True):
    """A folder of records, and the offset behind the last record of each partition, by topic."""

    folder: str
    ends: dict[str, dict[str, int]]

    def make_history_end_column(self) -> Column:
        """The end of the history of each record's partition; null if it has none."""
        ends = {f"{t}/{p}": end for t, partitions in self.ends.items() for p, end in partitions.items()}
        place = sf.concat_ws("/", sf.col("kafka_topic"), sf.col("kafka_partition"))
        pairs = [sf.lit(part) for pair in ends.items() for part in pair]
        return sf.try_element_at(sf.create_map(*pairs), place)


def load_or_record_topic_history(
    spark: SparkSession, folder: str, topics: KafkaTopics, checkpoint: Path
) -> TopicHistory:
    """The history that the stream began with, or that is in the folder now."""
    folder = os.path.abspath(folder)
    if (kept := _read_kept_history(checkpoint)) is not None:
        if kept.folder != folder:
            raise CallerError(
                f"the stream began with the history in {kept.folder}, not in {folder}: name that"
            )
        return kept
    if list_marked_batches(checkpoint):
        raise CallerError(
            f"{checkpoint} began without history, and history comes first: leave out {folder}, or start with "
            "a new checkpoint and a new output folder"
        )
    records = _select_record_columns(
        spark.read.option("recursiveFileLookup", True).parquet(make_escaped_absolute_path(folder)), folder
    )
    last = records.groupBy("kafka_topic", "kafka_partition").agg(sf.max("kafka_offset").alias("last"))
    ends: dict[str, dict[str, int]] = {}
    for topic, partition, offset in last.where("last is not null").collect():
        ends.setdefault(str(topic), {})[str(partition)] = int(offset) + 1
    strange = sorted(set(ends) - set(topics.topics))
    if strange or not ends:
        found = f"records of {', '.join(strange)}" if strange else "no record of any topic"
        raise CallerError(
            f"{folder}: has {found}, and the topics are {', '.join(topics.topics)}: name all of them"
        )
    history = TopicHistory(folder, ends)
    _check_no_gap_after_history(spark, history, topics)
    write_file_atomically(checkpoint / _FILE, msgspec.json.encode(history))
    return history


def refuse_resuming_without_history(checkpoint: Path) -> None:
    """Refuse to go on without the history that the stream began with."""
    if (kept := _read_kept_history(checkpoint)) is not None:
        raise CallerError(f"the stream began with the history in {kept.folder}: name it before the topics")


def _read_kept_history(checkpoint: Path) -> TopicHistory | None:
    file = checkpoint / _FILE
    return msgspec.json.decode(file.read_bytes(), type=TopicHistory) if file.exists() else None


def prepend_history(
    spark: SparkSession, history: TopicHistory, records: DataFrame, files_per_batch: int
) -> DataFrame:
    """A stream of the records in the files and of those in the topics, each once."""
    place = make_escaped_absolute_path(history.folder)
    schema = spark.read.option("recursiveFileLookup", True).parquet(place).schema
    reader = spark.readStream.schema(schema).option("recursiveFileLookup", True)
    files = reader.option("maxFilesPerTrigger", files_per_batch).parquet(place)
    old = _select_record_columns(files, history.folder)
    end = history.make_history_end_column()
    old = old.where(sf.col("kafka_offset") < end)
    new = records.where(end.isNull() | (sf.col("kafka_offset") >= end))
    return old.unionByName(new)


def _select_record_columns(frame: DataFrame, folder: str) -> DataFrame:
    """Records under our names, be they as Spark's reader of topics names them or as our tables do."""
    columns = []
    for field in from_arrow_schema(RECORDS).fields:
        found = [name for name in (field.name, field.name.removeprefix("kafka_")) if name in frame.columns]
        if not found and field.name in _NEEDED:
            raise CallerError(
                f"{folder}: there is no column {field.name!r} or {field.name.removeprefix('kafka_')!r}, so "
                "these are no records of topics: keep topic, partition, offset and value, and key, timestamp "
                "and headers if you want them"
            )
        value = quote_column(found[0]) if found else sf.lit(None)
        columns.append(value.cast(field.dataType).alias(field.name))
    return frame.select(*columns)


def _check_no_gap_after_history(spark: SparkSession, history: TopicHistory, topics: KafkaTopics) -> None:
    """Refuse history whose last records the topics no longer have: nobody could tell what was in between."""
    partitions = {topic: sorted(map(int, ends)) for topic, ends in history.ends.items()}
    last = {topic: {p: end - 1 for p, end in ends.items()} for topic, ends in history.ends.items()}
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", topics.brokers)
    reader = reader.option("assign", json.dumps(partitions)).option("startingOffsets", json.dumps(last))
    reader = reader.option("endingOffsets", json.dumps(history.ends))
    reader = reader.option("kafkaConsumer.pollTimeoutMs", _SAMPLE_TIME)
    try:
        reader.load().select("offset").collect()
    except (PySparkException, Py4JError) as error:
        raise CallerError(
            f"{history.folder}: the topics no longer have the last records of the history, or never had "
            "them, so something may be missing between: take a newer history, or one of the same topics "
            f"(ends: {json.dumps(history.ends)[:300]})"
        ) from error
