"""The audit of messages in an execution too large for one task: four steps, two shuffles of slim rows.

1. Events become rows of numbers; the rows of a message meet in a task, which finds the send of each delivery
   and what is lost, orphaned, sent or delivered twice (`slim`, `linking`).
2. A line through all events that keeps causes before effects: by time, by times set right, or by a pass over
   all events in one task where clocks are too wrong for that (`positions`).
3. Chunks of that line, each with an overlap, are judged in parallel (`chunks`); and
4. messages that outlast the overlap in a second pass (`far`). Together that is exactly the whole verdict.

What an execution says besides by clocks (see `huge_clocks`) and parents is not looked at here.
"""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.auditing.chunked.chunks import PART, RAW, Cuts, Near
from antecede.auditing.chunked.linking import LINKED, SPREAD, Link, Spread
from antecede.auditing.chunked.positions import Straighten, Untangle, offsets
from antecede.auditing.chunked.stragglers import Replay, gathered, states, unpack
from antecede.kernels.hashed_linking import LOST, Floats
from antecede.kernels.links import DELIVER
from antecede.spark.arrow_batches import lift_arrow_batch_limit
from antecede.spark.auditing.chunked_findings import findings, raw_findings, totals
from antecede.spark.auditing.encode import Cast, cast, slim

CHUNK = 2_000_000
MOST = 1000
"""Of more processes than these, clocks are not set right but all events go through one task."""
SHARE = 1.25
"""Of chunks: overlaps up to this that leave no stragglers cost less than the second pass over all chunks."""
RARE = 0.999
"""Otherwise so many of the messages are within the overlap."""


class Huge(NamedTuple):
    """Findings as in FINDINGS, for each execution a row of counts, and what is kept on disk for them."""

    findings: DataFrame
    totals: DataFrame
    sources: tuple[DataFrame, ...]


class _Line(NamedTuple):
    """LINKED rows whose times are a line that keeps causes before effects."""

    rows: DataFrame
    spread: list[Spread]


def audit_messages(events: DataFrame, *, span: float | None = None, chunk: int = CHUNK) -> Huge:
    """Judge the messages of one execution, or of a few; `events` has the columns of EVENTS.

    Chunks have some `chunk` events each, and read as far back as `span` (milliseconds by the events' times),
    by default as far as nearly all messages take. Events without a process or an index take no part.
    """
    lift_arrow_batch_limit(events.sparkSession)
    who = cast(events)
    parts = max(1, -(-who.events // chunk))
    linked = _line(slim(events, who, 2 * parts).mapInArrow(Link(who.actors).run, from_arrow_schema(LINKED)))
    line = _monotone(linked, len(who.actors.names))
    judged = _judged(line, who, parts, span)
    if _crooked(judged):
        _forget(judged, *([] if line is linked else [line.rows]))
        line = _untangled(linked, len(who.actors.names))
        judged = _judged(line, who, parts, span)
    found = _kept(raw_findings(linked.rows, None if line is linked else line.rows, judged))
    found.count()
    _forget(linked.rows, line.rows, judged)
    counts = sum((part.counts for part in linked.spread), np.zeros((3, 1), dtype=np.int64))
    told = findings(found, events, who)
    return Huge(told, totals(found, who, counts), (found, told))


def _kept(frame: DataFrame) -> DataFrame:
    return frame.persist(StorageLevel.DISK_ONLY)


def _forget(*frames: DataFrame) -> None:
    for frame in frames:
        frame.unpersist()


def _line(rows: DataFrame) -> _Line:
    """The rows worked out and kept, and how their times lie."""
    rows = _kept(rows)
    blobs = rows.where(sf.col("act") == SPREAD).select("blob").collect()
    return _Line(rows, [pickle.loads(row.blob) for row in blobs])


def _monotone(linked: _Line, processes: int) -> _Line:
    """A line on which no message is delivered before it is sent."""
    if any(part.timeless for part in linked.spread):
        return _untangled(linked, processes)
    if all(part.least >= 0 for part in linked.spread):
        return linked
    moves = _moves(linked, processes)
    if moves is None:
        return _untangled(linked, processes)
    return _line(_events(linked).mapInArrow(Straighten(moves).run, from_arrow_schema(LINKED)))


def _moves(linked: _Line, processes: int) -> Floats | None:
    """What sets the clocks right."""
    if processes > MOST:
        return None
    delays = sf.min(sf.col("time") - sf.col("far")).alias("least")
    pairs = linked.rows.where(sf.col("act") == DELIVER).groupBy("sender", "process").agg(delays).toArrow()
    sender, receiver, least = (pairs[name].to_numpy() for name in ("sender", "process", "least"))
    largest = max(np.abs(part.time).max() for part in linked.spread)
    return offsets(processes, sender, receiver, least, 8 * float(np.spacing(2 * largest)))


def _untangled(linked: _Line, processes: int) -> _Line:
    rows = _events(linked).coalesce(1)
    return _line(rows.mapInArrow(Untangle(processes).run, from_arrow_schema(LINKED)))


def _events(line: _Line) -> DataFrame:
    return line.rows.where(sf.col("act") < LOST)


def _judged(line: _Line, who: Cast, parts: int, span: float | None) -> DataFrame:
    """What all chunks have to say, as RAW rows."""
    cuts, strays = _cuts(line.spread, parts, span)
    home, last = _chunk(cuts.bounds, sf.col("time")), _chunk(cuts.bounds, sf.col("time") + cuts.span)
    rows = _events(line).withColumns({"home": home, "last": last})
    rows = rows.withColumn("chunk", sf.explode(sf.sequence("home", "last"))).select(*PART.names)
    rows = rows.repartitionById(len(cuts.bounds) + 1, "chunk")
    if strays:
        rows = _kept(rows)
    size = len(who.actors.names)
    near = _kept(rows.mapInArrow(Near(size, cuts, strays).run, from_arrow_schema(RAW)))
    if not strays:
        return near
    if _crooked(near):
        _forget(rows)
        return near
    lists = [unpack(row.blob) for row in near.where("kind = 'far'").select("blob").collect()]
    copies = gathered(lists)
    chunks = near.where("kind = 'summary'").orderBy("chunk").select("blob").toLocalIterator()
    known = states((unpack(row.blob) for row in chunks), size, copies)
    both = _kept(near.union(rows.mapInArrow(Replay(size, cuts, known).run, from_arrow_schema(RAW))))
    both.count()
    _forget(rows, near)
    return both


def _cuts(spread: list[Spread], parts: int, span: float | None) -> tuple[Cuts, bool]:
    """Chunks of about the same size, how far back they read, and whether that may be too short."""
    times = np.concatenate([np.empty(0), *(part.time for part in spread)])
    bounds = np.unique(np.quantile(times, np.arange(1, parts) / parts)) if len(times) else np.empty(0)
    most = max((part.most for part in spread), default=0.0)
    if span is None:
        length = np.median(np.diff(bounds)) if len(bounds) > 1 else np.inf
        delays = np.concatenate([np.zeros(1), *(part.delay for part in spread)])
        span = most if most <= SHARE * length else float(np.quantile(delays, RARE))
    return Cuts(bounds, span), len(bounds) > 0 and most > span


def _chunk(bounds: Floats, time: Column, low: int = 0) -> Column:
    """How many of the bounds are reached, as a tree of comparisons."""
    if not len(bounds):
        return sf.lit(low).cast("int")
    half = len(bounds) // 2
    before, after = _chunk(bounds[:half], time, low), _chunk(bounds[half + 1 :], time, low + half + 1)
    return sf.when(time < float(bounds[half]), before).otherwise(after)


def _crooked(judged: DataFrame) -> bool:
    """Whether the line is not in the order of some process."""
    before = sf.lag("count").over(Window.partitionBy("process").orderBy("chunk"))
    lines = judged.where("kind = 'line'").withColumn("before", before).where("before > index")
    return not judged.where("kind = 'crooked'").select("kind").union(lines.select("kind")).isEmpty()
