"""Topics of Kafka as a stream of messages.

All topics are one source, whose offsets Spark keeps by topic and partition: a topic that is named later is
read from its beginning, and those that were there go on.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import AntecedeError, CallerError, SetupError
from antecede.kafka_address import KafkaTopics
from antecede.ordering.kafka_records import (
    RECORDS,
    RecordPlan,
    choose_stamp_kind_of_records,
    list_possible_stamp_kinds,
    parse_records,
    plan_records,
)
from antecede.ordering.message_plan import MessageOptions
from antecede.spark.arrow_batches import map_in_arrow
from antecede.spark.streams.history import (
    load_or_record_topic_history,
    prepend_history,
    refuse_resuming_without_history,
)
from antecede.streams.marks import write_file_atomically

ANSWER_TIME = 10
"""Seconds in which a broker must answer."""
RECORDS_PER_BATCH = 1_000_000
"""So many records are taken in a micro-batch at most, unless the user says otherwise."""
SAMPLE = 1000
"""Records that are looked at to tell what stamps are."""
_TIMES = ("kafka.default.api.timeout.ms", "kafka.request.timeout.ms")
_KIND_FILE = "stamps.json"
"""In the checkpoint: what stamps are, found when the stream began."""


def check_some_broker_reachable(topics: KafkaTopics) -> None:
    """Refuse brokers that nobody listens at, before anything is started."""
    faults = []
    for broker in topics.brokers.split(","):
        host, _, port = broker.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_TIME).close()
            return
        except (OSError, OverflowError) as error:
            faults.append(f"{broker} ({error})")
    raise _make_broker_error(", ".join(faults))


def open_record_stream(spark: SparkSession, topics: KafkaTopics, records_per_batch: int) -> DataFrame:
    """A stream of the records of topics, from their beginnings on."""
    reader = spark.readStream.format("kafka").options(**_make_reader_options(topics))
    return _select_record_columns(reader.option("maxOffsetsPerTrigger", records_per_batch).load())


def open_message_stream(
    spark: SparkSession,
    topics: KafkaTopics,
    options: MessageOptions,
    checkpoint: Path,
    history: str | None = None,
    files_per_batch: int = 1000,
    records_per_batch: int = RECORDS_PER_BATCH,
) -> DataFrame:
    """The rows of topics, from their beginnings on; those that are none have the reason beside them.

    With a folder of history, what is there comes from the folder, and the topics go on behind it.
    """
    kind = _load_or_choose_stamp_kind(spark, topics, options, checkpoint)
    records = open_record_stream(spark, topics, records_per_batch)
    if history is None:
        refuse_resuming_without_history(checkpoint)
    else:
        kept = load_or_record_topic_history(spark, history, topics, checkpoint)
        records = prepend_history(spark, kept, records, files_per_batch)
    return _parse_records(records, plan_records(options, kind))


def _parse_records(records: DataFrame, plan: RecordPlan) -> DataFrame:
    """The rows of a stream of records."""

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return parse_records(batches, plan)

    return map_in_arrow(records, parse, from_arrow_schema(plan.schema))


def _load_or_choose_stamp_kind(
    spark: SparkSession, topics: KafkaTopics, options: MessageOptions, checkpoint: Path
) -> str:
    """What stamps are: as when the stream began, or the only thing that they can be, or as most are now."""
    file = checkpoint / _KIND_FILE
    if file.exists():
        check_topics_readable(spark, topics)
        return msgspec.json.decode(file.read_bytes(), type=str)
    sample = _read_sample_records(spark, topics, SAMPLE)
    kinds = list_possible_stamp_kinds(options)
    if not kinds:
        raise CallerError(f"stamps of form {options.form!r} cannot be put in order while rows come")
    kind = kinds[0] if len(kinds) == 1 else choose_stamp_kind_of_records(sample.to_batches(), options)
    write_file_atomically(file, msgspec.json.encode(kind))
    return kind


def check_topics_readable(spark: SparkSession, topics: KafkaTopics) -> None:
    """Raise an error if the broker does not answer, or a topic is not there."""
    check_some_broker_reachable(topics)
    _read_sample_records(spark, topics, 1)


def _read_sample_records(spark: SparkSession, topics: KafkaTopics, most: int) -> pa.Table:
    """Some of the first records; a sentence if the broker does not answer, or a topic is not there."""
    with explain_kafka_errors(topics):
        times = {name: str(1000 * ANSWER_TIME) for name in _TIMES}
        reader = spark.read.format("kafka").options(**_make_reader_options(topics), **times)
        frame = reader.option("fetchOffset.numRetries", 1).load()
        rows = _select_record_columns(frame).limit(most).collect()
    return pa.Table.from_pylist([row.asDict(recursive=True) for row in rows], RECORDS)


def _make_reader_options(topics: KafkaTopics) -> dict[str, str]:
    return {
        "kafka.bootstrap.servers": topics.brokers,
        "subscribe": ",".join(topics.topics),
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def _select_record_columns(frame: DataFrame) -> DataFrame:
    return frame.select(*(sf.col(name.removeprefix("kafka_")).alias(name) for name in RECORDS.names))


@contextmanager
def explain_kafka_errors(topics: KafkaTopics) -> Iterator[None]:
    """What Spark and Kafka say, in words of ours."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise _explain_kafka_error(error, topics) or error from error


def _explain_kafka_error(error: Exception, topics: KafkaTopics) -> AntecedeError | None:
    text = str(error)
    if isinstance(error, AnalysisException) and "kafka" in text.lower() and "find" in text.lower():
        return SetupError(
            "this Spark session has no Kafka connector: start it with spark.jars.packages="
            "org.apache.spark:spark-sql-kafka-0-10_2.13 of Spark's version"
        )
    if "UnknownTopicOrPartition" in text:
        names = ", ".join(topics.topics)
        return CallerError(
            f"a topic is not there at {topics.brokers} (asked for: {names}): make it, or name another"
        )
    if "not available in Kafka any more" in text or "may have been missed" in text:
        return CallerError(
            f"records that the stream has not read are gone from {topics.brokers}, or a topic is no longer "
            "asked for: name all topics that the stream had, or start with a new checkpoint and a new output "
            "folder"
        )
    if "TimeoutException" in text or "timed out" in text.lower():
        return _make_broker_error(f"{topics.brokers} does not answer as Kafka does, or is too busy")
    return None


def _make_broker_error(why: str) -> CallerError:
    return CallerError(f"no broker answers within {ANSWER_TIME} seconds: {why}; start it, or name another")
