"""A stream of messages in causal order, for any streaming DataFrame."""

import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from time import sleep
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.utils import is_remote

from antecede.core.errors import AntecedeError, CallerError
from antecede.spark.streams.batch import StreamSettings, make_stream_settings, order_and_write_batch
from antecede.spark.streams.kafka import check_topics_readable
from antecede.spark.streams.ticks import start_lock_and_tick_thread
from antecede.streams.back_pressure import split_batch_delay_into_pauses
from antecede.streams.marks import read_newest_mark
from antecede.streams.stream_plan import (
    check_bucket_count_unchanged,
    check_plan_unchanged,
    check_sink_unchanged,
)


class StoppedError(AntecedeError):
    """A stream was asked to stop."""


PrepareBatch = Callable[[DataFrame, int], DataFrame]
"""From the rows of a batch and its number to rows with the same columns."""
SPARK = "spark"
"""Spark's own checkpoint, inside ours."""

_CALL_FAILED = "py4j.protocol.Py4JJavaError: An error occurred while calling Java"
_INTERRUPTIONS = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
    "cancelled job group",
)
"""What Spark takes for a stop, if it was asked to stop."""


def order_stream(
    messages: DataFrame,
    *,
    out: str | Path,
    checkpoint: str | Path,
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
    max_held: int | None = None,
    sink: str = "parquet",
    to: str | None = None,
    trigger: dict[str, Any] | None = None,
    name: str | None = None,
) -> StreamingQuery:
    """Start a query that puts each message out in the first micro-batch in which all that caused it is out.

    The columns are named as for `antecede.spark.order`. `out` gets four tables of Parquet, a folder for each
    micro-batch in each; every row ends in exactly one of them, or waits in `checkpoint`:

    - `ordered`: the messages + `position`, from 0 in each group over all batches, + `arrival` + `missed`:
      what was given up that the message lacked, null as a rule;
    - `late`: the same, for messages that something came before that they caused;
    - `held`: messages that were put aside for good + `missing` + `since`, their arrival;
    - `quarantine`: the messages + `reason`: duplicates and malformed stamps.

    `give_up` says what becomes of rows that have waited too long (`after_seconds`, or while more than
    `after_rows` or `after_bytes` of a group wait): `hold` waits for ever, `release` lets them out with what
    they missed, `divert` puts them aside. It is looked at whenever a micro-batch comes, and by time every
    second while none comes (not through Spark Connect).

    While more than `max_held` rows are held, micro-batches begin later: with twice as many, half as often. So
    less comes in if the source bounds what a micro-batch takes (`maxFilesPerTrigger`, for Kafka
    `maxOffsetsPerTrigger`).

    With `sink="delta"` the tables are Delta tables (extra `delta`); a micro-batch is one commit in each.

    `to="kafka://host:port/topic"` writes what comes out (ordered and late) to a topic as well, at least once:
    the key is the group, the headers `antecede_stream` and `antecede_position` tell a row that came again.

    `horizon` bounds the ids that form `parents` remembers to those of each group's last rows. Groups are
    spread over `buckets`, for ever; `partitions` are the tasks of a micro-batch. `trigger` and `name` are
    Spark's, as in `trigger={"availableNow": True}`.
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
        max_held=max_held,
        sink=sink,
        to=to,
    )
    return start_stream(messages, settings, trigger=trigger, name=name)


def start_stream(
    messages: DataFrame,
    settings: StreamSettings,
    *,
    trigger: dict[str, Any] | None = None,
    name: str | None = None,
    may_begin: Callable[[], bool] = lambda: True,
    prepare: PrepareBatch | None = None,
) -> StreamingQuery:
    """The same, with the settings in one piece; the query ends before a batch that may not begin.

    What is to be put in order is what `prepare` makes of a batch, if it is there.
    """
    if not messages.isStreaming:
        raise CallerError("this DataFrame is a table and not a stream: antecede.spark.order puts it in order")
    _check_checkpoint_fits_stream(messages, settings)
    if settings.to is not None:
        check_topics_readable(messages.sparkSession, settings.to)
    place = settings.checkpoint / SPARK
    batch_lock = threading.Lock()

    def delay_and_write_batch(batch: DataFrame, batch_id: int) -> None:
        for pause in split_batch_delay_into_pauses(settings.checkpoint, settings.max_held):
            _raise_if_stopping(may_begin, batch_id)
            sleep(pause)
        _raise_if_stopping(may_begin, batch_id)
        try:
            with batch_lock:
                _prepare_and_write_batch(batch, batch_id, settings, prepare)
        except Exception as error:
            _raise_shorter_if_interrupted(error)
            raise

    def delay_and_write_batch_on_server(batch: DataFrame, batch_id: int) -> None:
        for pause in split_batch_delay_into_pauses(settings.checkpoint, settings.max_held):
            sleep(pause)
        _prepare_and_write_batch(batch, batch_id, settings, prepare)

    # Spark Connect runs the function in another process, which no lock and no request to stop reaches.
    is_elsewhere = is_remote()
    write = delay_and_write_batch_on_server if is_elsewhere else delay_and_write_batch
    writer = messages.writeStream.foreachBatch(write)
    writer = writer.option("checkpointLocation", str(place))
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    query = writer.start()
    has_ticks = settings.give_up.seconds is not None and not is_elsewhere
    ledger = settings.make_ledger(messages) if has_ticks else None
    start_lock_and_tick_thread(query, settings.checkpoint, ledger, batch_lock)
    return query


def _prepare_and_write_batch(
    batch: DataFrame, batch_id: int, settings: StreamSettings, prepare: PrepareBatch | None
) -> None:
    if prepare is not None:
        batch = prepare(batch, batch_id)
    query = _read_query_id(settings.checkpoint / SPARK)
    order_and_write_batch(batch, batch_id, settings._replace(query=query))


def _raise_shorter_if_interrupted(error: Exception) -> None:
    """Say in one line that a batch was interrupted: so it is where a query is stopped in the middle of one.

    Spark looks for that in the text of the error, with a regular expression that takes stack for each
    character: a text with Java's trace overflows it, and the trace of that fills the screen.
    """
    for line in str(error).splitlines():
        if any(sign in line for sign in _INTERRUPTIONS):
            raise StoppedError(f"{_CALL_FAILED}: {line}") from None


def _raise_if_stopping(may_begin: Callable[[], bool], batch_id: int) -> None:
    if not may_begin():
        raise StoppedError(f"batch {batch_id} is left to the next run")


def _check_checkpoint_fits_stream(messages: DataFrame, settings: StreamSettings) -> None:
    """Refuse what cannot go on from the checkpoint before anything is started."""
    ledger = settings.make_ledger(messages)
    mark = read_newest_mark(settings.checkpoint)
    if mark is None:
        return
    check_sink_unchanged(settings.sink, mark, str(settings.checkpoint))
    check_plan_unchanged(ledger.plan, mark, str(settings.checkpoint))
    check_bucket_count_unchanged(settings.buckets, mark, str(settings.checkpoint))
    if mark.query is not None and _read_query_id(settings.checkpoint / SPARK) != mark.query:
        raise CallerError(
            f"{settings.checkpoint} has our state, but not Spark's offsets that belong to it: copy its "
            f"folder {SPARK!r} along, or start with a new checkpoint and a new output folder"
        )


def _read_query_id(spark_checkpoint: Path) -> str | None:
    """The id that Spark gave the query when its checkpoint was made."""
    try:
        return str(json.loads((spark_checkpoint / "metadata").read_text())["id"])
    except (OSError, ValueError, KeyError):
        return None
