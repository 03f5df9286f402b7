"""Rows that come out of a stream, written to a topic as well: at least once, each with an id.

The rows of a step are written before its mark: if the step is tried again, they come again, under the same
ids. All rows of a group have one key, so they are in one partition; there they lie by position, and those
that come again are the last ones. So a consumer that passes over positions of a group which are not above
the last one has each row once, and in order.
"""

from collections.abc import Callable, Collection
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError
from antecede.kafka_address import KafkaTopics, parse_kafka_address
from antecede.spark.column_names import quote_column
from antecede.spark.reading.native import make_escaped_absolute_path
from antecede.streams.marks import Mark
from antecede.streams.stream_plan import StreamPlan

PUBLISHED = ("ordered", "late")
"""The tables whose rows come out."""
POSITION, TABLE, STREAM, RECEIVER, KEY = (
    f"antecede_{name}" for name in ("position", "table", "stream", "receiver", "key")
)
"""Headers: with the key, they are the id of a row."""
_GROUP, _TABLE = "antecede group", "antecede table"


def parse_sink_topic(address: str) -> KafkaTopics:
    """The topic that rows are written to; a sentence if it is not one."""
    topics = parse_kafka_address(address)
    if len(topics.topics) > 1:
        raise CallerError(f"{address}: rows are written to one topic: name one")
    return topics


def make_publisher(
    spark: SparkSession, topics: KafkaTopics, out: Path, plan: StreamPlan
) -> Callable[[Mark, Collection[str]], None]:
    """A function that writes the rows in new files of the tables to the topic, before their mark counts."""

    def publish(mark: Mark, paths: Collection[str]) -> None:
        tables = [_read_new_files(spark, out, name, paths) for name in PUBLISHED]
        frames = [frame for frame in tables if frame is not None]
        if not frames:
            return
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.unionByName(frame)
        records = _make_kafka_records(rows, plan, str(mark.query))
        writer = records.write.format("kafka").option("kafka.bootstrap.servers", topics.brokers)
        writer.option("topic", topics.topics[0]).save()

    return publish


def _read_new_files(spark: SparkSession, out: Path, table: str, paths: Collection[str]) -> DataFrame | None:
    files = [make_escaped_absolute_path(str(out / path)) for path in paths if path.startswith(f"{table}/")]
    if not files:
        return None
    return spark.read.parquet(*files).withColumn(_TABLE, sf.lit(table))


def _make_kafka_records(rows: DataFrame, plan: StreamPlan, query: str) -> DataFrame:
    """Key, value and headers; rows of a group lie together, by position."""
    group = plan.messages.group
    key = sf.lit("") if group is None else quote_column(group).cast("string")
    position = quote_column(plan.names["position"])
    by = [quote_column(_GROUP)]
    headers = {POSITION: position, TABLE: quote_column(_TABLE), STREAM: sf.lit(query)}
    if (
        plan.messages.receiver_column_if_it_splits_groups is not None
    ):  # each receiver has positions of its own
        headers[RECEIVER] = quote_column(plan.messages.receiver_column_if_it_splits_groups)
        by.append(headers[RECEIVER])
    lists = [sf.array(*(_make_record_header(name, value) for name, value in headers.items()))]
    own = [quote_column(name) for name in rows.columns if name != _TABLE]
    value = sf.to_json(sf.struct(*own)).cast("binary")
    if "kafka_value" in rows.columns:  # what came from a topic goes on as it came
        value = sf.col("kafka_value")
        kept_key = sf.array(_make_record_header(KEY, sf.col("kafka_key")))
        lists.append(sf.when(sf.col("kafka_key").isNotNull(), kept_key).otherwise(sf.array()))
        lists.insert(0, sf.coalesce(sf.col("kafka_headers"), sf.array()))
    keyed = rows.withColumn(_GROUP, key)
    sorted_rows = keyed.repartition(*by[:1]).sortWithinPartitions(*by, position)
    return sorted_rows.select(by[0].alias("key"), value.alias("value"), sf.concat(*lists).alias("headers"))


def _make_record_header(name: str, value: Column) -> Column:
    return sf.struct(sf.lit(name).alias("key"), value.cast("string").cast("binary").alias("value"))
