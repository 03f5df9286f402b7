"""One micro-batch in causal order, exactly once however often Spark tries it."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from time import time as now
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError
from antecede.kafka_address import KafkaTopics
from antecede.ordering.message_plan import MessageOptions, TableColumns, check_and_list_member_names
from antecede.ordering.stream.give_up import GiveUp
from antecede.ordering.text_tables import RAW, REASON
from antecede.spark.arrow_batches import map_in_arrow
from antecede.spark.arrow_types import convert_to_arrow_schema
from antecede.spark.column_names import quote_column
from antecede.spark.ordering.message_order import find_arrow_type
from antecede.spark.ordering.outcome import is_case_sensitive
from antecede.spark.partition_kernel import read_chosen_partition_count
from antecede.spark.streams.kafka_sink import make_publisher, parse_sink_topic
from antecede.streams.bucket import BucketReport, order_and_write_bucket
from antecede.streams.ledger import Ledger, Turn
from antecede.streams.marks import Mark
from antecede.streams.stream_plan import StreamPlan, plan_stream

SINKS = ("parquet", "delta")
_BUCKET = "antecede bucket"
_NO_ROW = "antecede no row"
"""Marks what only makes a task look at its bucket."""


class StreamSettings(NamedTuple):
    """How a stream is put in order, and where it is kept."""

    out: Path
    checkpoint: Path
    options: MessageOptions
    give_up: GiveUp
    horizon: int | None
    buckets: int | None
    partitions: int | None
    query: str | None = None
    max_held: int | None = None
    sink: str = "parquet"
    to: KafkaTopics | None = None
    """A topic that rows which come out are written to, too."""

    def make_ledger(self, frame: DataFrame) -> Ledger:
        """The ledger of a stream with the columns of this frame; a sentence if there can be none."""
        plan = self._make_stream_plan(frame)
        publish = None
        if self.to is not None:
            publish = make_publisher(frame.sparkSession, self.to, self.out, plan)
        return Ledger(self.checkpoint, self.out, plan, self.query, self.sink, publish)

    def _make_stream_plan(self, frame: DataFrame) -> StreamPlan:
        names = [name for name in frame.columns if name not in (RAW, REASON)]
        columns = TableColumns(names, lambda name: find_arrow_type(frame, name))
        exact_names = is_case_sensitive(frame.sparkSession)
        return plan_stream(columns, self.options, self.give_up, self.horizon, exact_names=exact_names)


def make_stream_settings(
    *,
    out: str | Path,
    checkpoint: str | Path,
    group: str | None,
    sender: str,
    stamp: str,
    form: str | None,
    receiver: str | None,
    number: str | None,
    id: str | None,
    arrival: str | None,
    time: str | None,
    members: Iterable[str | int] | None,
    give_up: str,
    after_seconds: float | None,
    after_rows: int | None,
    after_bytes: int | None,
    horizon: int | None,
    buckets: int | None,
    partitions: int | None,
    query: str | None = None,
    max_held: int | None = None,
    sink: str = "parquet",
    to: str | None = None,
) -> StreamSettings:
    """The settings that a caller's arguments make."""
    options = MessageOptions(
        group,
        sender,
        stamp,
        form,
        receiver,
        number,
        None,
        id,
        arrival,
        time,
        check_and_list_member_names(members),
    )
    policy = GiveUp(give_up, after_seconds, after_rows, after_bytes)
    for name, count in (("buckets", buckets), ("partitions", partitions), ("max_held", max_held)):
        if count is not None and count < 1:
            raise CallerError(f"{name}= must be at least 1, and is {count}")
    return StreamSettings(
        _resolve_local_folder(out, "out"),
        _resolve_local_folder(checkpoint, "checkpoint"),
        options,
        policy,
        horizon,
        buckets,
        partitions,
        query,
        max_held,
        check_sink_is_known_and_installed(sink),
        None if to is None else parse_sink_topic(to),
    )


def check_sink_is_known_and_installed(sink: str) -> str:
    """The same; refuses what there is not."""
    if sink not in SINKS:
        raise CallerError(f"tables can be of {' or '.join(SINKS)}, not {sink!r}")
    if sink == "delta":
        import_module("antecede.streams.delta")  # tells what is to be installed before anything runs
    return sink


def _resolve_local_folder(place: str | Path, option: str) -> Path:
    """A folder that tasks can open by its path."""
    text = str(place)
    path = text.removeprefix("file://") if text.startswith("file:///") else text.removeprefix("file:")
    if "://" in path:
        raise CallerError(
            f"{option}={text!r} is an address, and a stream keeps its files in a folder that all machines "
            "can open by one path: mount it, and name the path"
        )
    return Path(path).absolute()


def write_ordered(
    batch: DataFrame,
    batch_id: int,
    *,
    out: str | Path,
    checkpoint: str | Path,
    query: str | None = None,
    group: str | None = None,
    sender: str = "sender",
    stamp: str = "stamp",
    form: str | None = None,
    receiver: str | None = None,
    number: str | None = None,
    id: str | None = None,
    arrival: str | None = None,
    time: str | None = None,
    members: Iterable[str | int] | None = None,
    give_up: str = "hold",
    after_seconds: float | None = None,
    after_rows: int | None = None,
    after_bytes: int | None = None,
    horizon: int | None = None,
    buckets: int | None = None,
    partitions: int | None = None,
    sink: str = "parquet",
) -> dict[str, int] | None:
    """Put a micro-batch in order inside your own `foreachBatch`.

    Returns how many rows went where, and how many are held behind it; None if the batch was done before.
    The options are those of `order_stream`. `checkpoint` is a folder of ours: not that of Spark, and not that
    of another stream; `query` is anything that tells this stream from others (the id of the query), so that
    one that starts anew is not taken for a replay. Rows of a batch must be the same whenever Spark tries it.
    """
    settings = make_stream_settings(
        out=out,
        checkpoint=checkpoint,
        group=group,
        sender=sender,
        stamp=stamp,
        form=form,
        receiver=receiver,
        number=number,
        id=id,
        arrival=arrival,
        time=time,
        members=members,
        give_up=give_up,
        after_seconds=after_seconds,
        after_rows=after_rows,
        after_bytes=after_bytes,
        horizon=horizon,
        buckets=buckets,
        partitions=partitions,
        query=query,
        sink=sink,
    )
    if sink == "delta" and query is None:
        raise CallerError(
            "sink='delta' needs query=, which tells in the tables' logs whose commits are whose"
        )
    mark = order_and_write_batch(batch, batch_id, settings)
    return None if mark is None else {**msgspec.structs.asdict(mark.counts), "held": mark.held_rows}


def order_and_write_batch(batch: DataFrame, batch_id: int, settings: StreamSettings) -> Mark | None:
    """The mark behind the batch; None if it was done before."""
    ledger = settings.make_ledger(batch)
    start = int(now() * 1000)
    turn = ledger.begin_batch(batch_id, start, settings.buckets)
    if turn is None:
        return None
    reports = _order_and_write_buckets_in_tasks(batch, turn, settings.partitions)
    took = max(0, int(now() * 1000) - start)
    return turn.commit_batch(reports, convert_to_arrow_schema(batch.schema), took)


def _order_and_write_buckets_in_tasks(
    batch: DataFrame, turn: Turn, partitions: int | None
) -> list[BucketReport]:
    """Let tasks put the rows of their buckets in order; one job."""
    wanted = partitions or read_chosen_partition_count(batch.sparkSession) or turn.bucket_count
    tasks = min(wanted, turn.bucket_count)
    rows = batch.withColumns({_BUCKET: _make_bucket_column(turn), _NO_ROW: sf.lit(False)})
    if expired := turn.list_expired_buckets():
        rows = rows.union(_make_placeholder_rows(rows, expired))
    turn = turn._replace(ledger=turn.ledger._replace(publish=None))  # that is for the driver to do
    spread = rows.repartitionById(tasks, sf.pmod(sf.col(f"`{_BUCKET}`"), sf.lit(tasks)))

    def order_and_write_buckets_of_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = list(batches)
        if parts:
            reports = _order_and_write_buckets(turn, pa.Table.from_batches(parts))
            texts = [msgspec.json.encode(report).decode() for report in reports]
            yield pa.RecordBatch.from_pydict({"report": pa.array(texts, pa.string())})

    reports = map_in_arrow(spread, order_and_write_buckets_of_partition, "report string").collect()
    return [msgspec.json.decode(row["report"], type=BucketReport) for row in reports]


def _make_bucket_column(turn: Turn) -> Column:
    """The bucket of each row: the same for all rows of a group, for ever."""
    group = turn.ledger.plan.messages.group
    if group is None:
        return sf.lit(0)
    name = quote_column(group).cast("string")
    return sf.pmod(sf.xxhash64(name), sf.lit(turn.bucket_count)).cast("int")


def _make_placeholder_rows(rows: DataFrame, buckets: list[int]) -> DataFrame:
    """Something for the tasks of these buckets, whether rows come or not."""
    frame = rows.sparkSession.createDataFrame([(bucket,) for bucket in buckets], f"`{_BUCKET}` int")
    nulls = [
        sf.lit(None).cast(field.dataType).alias(field.name)
        for field in rows.schema.fields
        if field.name not in (_BUCKET, _NO_ROW)
    ]
    return frame.select(*nulls, quote_column(_BUCKET), sf.lit(True).alias(_NO_ROW))


def _order_and_write_buckets(turn: Turn, table: pa.Table) -> Iterator[BucketReport]:
    """Put the rows of each bucket in order."""
    bucket_of_row = table[_BUCKET].to_numpy()
    is_row = ~table[_NO_ROW].to_numpy().astype(bool)
    rows = table.drop_columns([_BUCKET, _NO_ROW])
    for bucket in np.unique(bucket_of_row).tolist():
        chosen = rows.filter(pa.array((bucket_of_row == bucket) & is_row))
        yield order_and_write_bucket(turn.make_task(bucket), chosen)
