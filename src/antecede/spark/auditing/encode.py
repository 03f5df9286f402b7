"""Events as slim rows of numbers, as `linking` reads them: names become codes before anything is shuffled."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from antecede.auditing.chunked.linking import SLIM, Actors
from antecede.kernels.links import DELIVER, OTHER, SEND

_DELIVERS = "coalesce(max(kind = 'deliver'), false)"
_SENDERS = "coalesce(max(kind in ('deliver', 'receive') and sender is not null), false)"


class Cast(NamedTuple):
    """The processes of all executions, by name; and as a frame of execution, process, code, delivers."""

    actors: Actors
    executions: list[str]
    codes: DataFrame
    events: int
    senders: bool  # whether any delivery names its sender


def cast(events: DataFrame) -> Cast:
    """Who acts. An event without a process or a place in its order takes no part."""
    found = (
        placed(events)
        .groupBy("execution", "process")
        .agg(
            sf.count("*").alias("events"),
            sf.expr(_DELIVERS).alias("delivers"),
            sf.expr(_SENDERS).alias("senders"),
        )
    )
    rows = sorted(found.collect())
    executions = sorted({row.execution for row in rows})
    delivers = {row.execution for row in rows if row.delivers}
    codes = [(row.execution, row.process, code, row.execution in delivers) for code, row in enumerate(rows)]
    frame = events.sparkSession.createDataFrame(
        codes, "execution string, process string, code int, delivers boolean"
    )
    actors = Actors([row.process for row in rows], [executions.index(row.execution) for row in rows])
    count = sum(row.events for row in rows)
    return Cast(actors, executions, sf.broadcast(frame), count, any(row.senders for row in rows))


def placed(events: DataFrame) -> DataFrame:
    """The events that have a process and a place in its order; no execution is the one without a name."""
    named = events.where(sf.col("process").isNotNull() & sf.col("index").isNotNull())
    return named.withColumn("execution", sf.coalesce("execution", sf.lit("")))


def slim(events: DataFrame, who: Cast, parts: int) -> DataFrame:
    """SLIM rows, in so many parts that have all rows of a message together.

    Receives are mere arrivals, and no steps, in an execution that has deliveries, unless they have clocks.
    """
    known = ["process"] if len(who.executions) == 1 else ["execution", "process"]
    rows = placed(events).join(who.codes.select(*known, "code", "delivers"), known)
    if who.senders:
        names = who.codes.select(*known[:-1], sf.col("process").alias("sender"), sf.col("code").alias("from"))
        rows = rows.join(names, [*known[:-1], "sender"], "left")
    else:
        rows = rows.withColumn("from", sf.lit(None).cast("int"))
    rows = rows.where(~((sf.col("kind") == "receive") & sf.col("delivers") & sf.col("clock").isNull()))
    rows = rows.withColumn("act", _act())
    columns = {
        "process": sf.col("code"),
        "index": sf.col("index"),
        "act": sf.col("act"),
        "time": sf.col("time"),
        "code": _hash(1, known[:-1]),
        "check": _hash(2, known[:-1]),
        "sender": sf.col("from"),
        "receivers": sf.when(sf.col("act") == SEND, sf.col("receivers")),
    }
    return rows.select(*(columns[name].alias(name) for name in SLIM.names)).repartition(parts, "code")


def _act() -> Column:
    delivered = (sf.col("kind") == "deliver") | ((sf.col("kind") == "receive") & ~sf.col("delivers"))
    named = sf.col("message").isNotNull()
    act = sf.when(named & (sf.col("kind") == "send"), SEND).when(named & delivered, DELIVER).otherwise(OTHER)
    return act.cast("tinyint")


def _hash(seed: int, scope: list[str]) -> Column:
    """One of two hashes of a message; events without one are spread."""
    message = sf.xxhash64(sf.lit(seed), *scope, "message")
    return sf.when(sf.col("act") == OTHER, sf.xxhash64("process", "index")).otherwise(message)
