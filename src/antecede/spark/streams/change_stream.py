"""Change events of Debezium as a stream: which transaction came before each one is told batch by batch.

A record tells its transaction, not the one before it: that is the order of the transaction topic. Kafka hands
over each partition in order, so whatever began before a transaction came in an earlier batch or in the same
one. The driver puts the transactions of a batch behind those before, and remembers the last ones by batch: a
batch that is tried again gets the same answer.
"""

from pathlib import Path

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import CallerError
from antecede.formats.debezium import Commits, TransactionMark, make_begin_id, make_end_id
from antecede.kafka_address import KafkaTopics
from antecede.ordering.change_tables import FROM_RECORDS, parse_change_records
from antecede.spark.arrow_batches import map_in_arrow
from antecede.spark.streams.kafka import check_topics_readable, open_record_stream
from antecede.streams.marks import KEPT_MARKS, write_file_atomically

HORIZON = 100_000
"""Rows whose ids are remembered, unless the user says otherwise."""
_FOLDER = "transactions"
_BEHIND = "antecede behind"


class _Begins(msgspec.Struct, frozen=True):
    """The transactions up to a batch, and the partition that tells of them."""

    place: str | None
    commits: Commits


def open_change_stream(spark: SparkSession, topics: KafkaTopics, records_per_batch: int) -> DataFrame:
    """The rows of topics that Debezium writes; `link_and_remember_transactions` tells the rest of a batch."""
    check_topics_readable(spark, topics)
    records = open_record_stream(spark, topics, records_per_batch)
    return map_in_arrow(records, parse_change_records, from_arrow_schema(FROM_RECORDS))


def link_and_remember_transactions(batch: DataFrame, batch_id: int, checkpoint: Path) -> DataFrame:
    """The rows of a batch, with each begin behind the end of the transaction before it."""
    columns = ("kafka_topic", "kafka_partition", "kafka_offset", "kind", "transaction")
    marks = batch.where("kind in ('begin', 'end')").select(*columns)
    found = sorted(tuple(row) for row in marks.collect())
    before = _read_begins_before_batch(checkpoint, batch_id)
    places = {before.place} if before.place is not None else set()
    places |= {f"partition {partition} of {topic}" for topic, partition, *_ in found}
    if len(places) > 1:
        raise CallerError(
            f"transactions begin or end in {' and in '.join(sorted(places))}, so nothing tells the order of "
            "commits: a transaction topic has one partition, and each connector's topics are a stream of "
            "their own"
        )
    in_order = [TransactionMark(kind, transaction) for *_, kind, transaction in found]
    commits = before.commits.add_transactions(in_order, most_remembered=None)
    _write_begins_and_remove_old(
        checkpoint, batch_id, _Begins(next(iter(places), None), before.commits.add_transactions(in_order))
    )
    begun = [mark.transaction for mark in in_order if mark.kind == "begin"]
    links = [
        (make_begin_id(name), [make_end_id(previous)]) for name in begun if (previous := commits.before[name])
    ]
    if not links:
        return batch
    frame = batch.sparkSession.createDataFrame(
        sorted(dict(links).items()), f"id string, `{_BEHIND}` array<string>"
    )
    linked = batch.join(sf.broadcast(frame), "id", "left")
    behind = sf.coalesce(sf.col(f"`{_BEHIND}`"), sf.col("stamp.behind"))
    stamp = sf.struct(behind.alias("behind"), sf.col("stamp.with").alias("with"))
    is_begin = sf.col(f"`{_BEHIND}`").isNotNull()
    return linked.withColumn("stamp", sf.when(is_begin, stamp).otherwise(sf.col("stamp"))).select(
        batch.columns
    )


def _read_begins_before_batch(checkpoint: Path, batch_id: int) -> _Begins:
    """What was so behind the batch before; the newest below this one."""
    folder = checkpoint / _FOLDER
    numbers = [int(file.stem) for file in folder.glob("*.json") if file.stem.isdigit()]
    earlier = [number for number in numbers if number < batch_id]
    if not earlier:
        return _Begins(None, Commits())
    return msgspec.json.decode((folder / f"{max(earlier)}.json").read_bytes(), type=_Begins)


def _write_begins_and_remove_old(checkpoint: Path, batch_id: int, begins: _Begins) -> None:
    folder = checkpoint / _FOLDER
    write_file_atomically(folder / f"{batch_id}.json", msgspec.json.encode(begins))
    for file in folder.glob("*.json"):
        if file.stem.isdigit() and int(file.stem) <= batch_id - KEPT_MARKS:
            file.unlink(missing_ok=True)
