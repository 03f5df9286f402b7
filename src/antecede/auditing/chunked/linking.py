"""First step of the audit of a huge trace, in Spark tasks: deliveries find their sends, message by message.

A task gets all rows of its messages as slim rows of numbers (SLIM), and gives them on as LINKED rows, with
rows for lost copies besides, and one row that says how the times of causes and effects lie: a `Spread`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import Lists, column, floats, lists, numbers
from antecede.kernels.hashed_linking import LOST, Flags, Floats, Paired, Sheet, pair
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import Ints

SLIM = pa.schema(
    {
        "process": pa.int32(),
        "index": pa.int64(),
        "act": pa.int8(),
        "time": pa.float64(),
        "code": pa.int64(),
        "check": pa.int64(),
        "sender": pa.int32(),
        "receivers": pa.list_(pa.string()),
    }
)
LINKED = pa.schema(
    {
        "process": pa.int32(),
        "index": pa.int64(),
        "act": pa.int8(),
        "time": pa.float64(),
        "code": pa.int64(),
        "sender": pa.int32(),  # the process of the partner (see `Paired`), or -1
        "other": pa.int64(),  # the index of the partner
        "far": pa.float64(),  # the time of the partner
        "receiver": pa.string(),  # of a lost copy
        "blob": pa.binary(),
    }
)
SPREAD = 100
"""An act of rows that say something of the others."""
SAMPLE = 4096
BATCH = 200_000


class Actors(NamedTuple):
    """All processes: name and execution by code."""

    names: list[str]
    executions: list[int]


class Events(NamedTuple):
    """Linked events as arrays."""

    process: Ints
    index: Ints  # type: ignore[assignment]
    act: Flags
    time: Floats
    code: Ints
    sender: Ints
    other: Ints
    far: Floats

    def some(self, which: Any) -> Events:
        """Those at the given places."""
        arrays: list[Any] = [array[which] for array in self]
        return Events(*arrays)


class Spread(NamedTuple):
    """Times of the events of a task: what is exact of all of them, and a sample."""

    counts: Ints  # rows: events, sends, deliveries; a column for each process
    least: float  # the least time from a send to its delivery
    most: float
    timeless: bool  # whether any event has no time
    time: Floats  # of a sample of events
    delay: Floats  # of a sample of deliveries


class Link(NamedTuple):
    """Called by Spark with the slim rows of some messages."""

    actors: Actors

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = whole(batches, SLIM)
        if len(table):
            sheet, names = _sheet(table, self.actors)
            paired = pair(sheet, len(self.actors.names))
            yield from told(_events(sheet, paired), len(self.actors.names))
            yield from _lost(sheet, paired, names)


def whole(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """All that Spark gives a task, in one table."""
    rows = list(batches)
    return pa.Table.from_batches(rows) if rows else schema.empty_table()


def told(events: Events, processes: int) -> Iterator[pa.RecordBatch]:
    """The events as LINKED rows, and their spread."""
    yield blob(SPREAD, spread(events, processes))
    rows = pa.table(dict(zip(Events._fields, events, strict=True)))
    yield from complete(rows).to_batches(BATCH)


def complete(rows: pa.Table) -> pa.Table:
    """The rows with all columns of LINKED; those that are not there are null."""
    arrays = [column_of(rows, field) for field in LINKED]
    return pa.table(arrays, schema=LINKED)


def column_of(rows: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    return (
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(len(rows), field.type)
    )


def blob(act: int, what: object) -> pa.RecordBatch:
    """A row that carries an object."""
    row = pa.table({"act": [act], "blob": [pickle.dumps(what)]})
    return complete(row).to_batches()[0]


def events_of(table: pa.Table) -> Events:
    """Arrays of LINKED rows."""
    process, index, code, sender, other = (
        numbers(column(table, name), -1) for name in ("process", "index", "code", "sender", "other")
    )
    act = numbers(column(table, "act"), OTHER).astype(np.int8)
    time, far = floats(column(table, "time")), floats(column(table, "far"))
    return Events(process, index, act, time, code, sender, other, far)


def spread(events: Events, processes: int) -> Spread:
    """How the times of the events lie."""
    deliveries = np.flatnonzero(events.act == DELIVER)
    delay = events.time[deliveries] - events.far[deliveries]
    masks = (events.act >= 0, events.act == SEND, events.act == DELIVER)
    counts = np.array([np.bincount(events.process[mask], minlength=processes) for mask in masks])
    some = slice(None, None, max(1, len(events.time) // SAMPLE))
    few = deliveries[slice(None, None, max(1, len(deliveries) // SAMPLE))]
    timeless = bool(np.isnan(events.time).any())
    least, most = float(delay.min(initial=np.inf)), float(delay.max(initial=0))
    return Spread(counts, least, most, timeless, events.time[some], events.time[few] - events.far[few])


def _sheet(table: pa.Table, actors: Actors) -> tuple[Sheet, pa.Array]:
    """The sheet of slim rows, and the names of its targets."""
    process, index, code, check, sender = (
        numbers(column(table, name), -1) for name in ("process", "index", "code", "check", "sender")
    )
    receivers = _named(lists(column(table, "receivers")))
    act = numbers(column(table, "act"), OTHER).astype(np.int8)
    names = receivers.items[0]
    targets = _codes(names, process[receivers.rows], actors)
    time = floats(column(table, "time"))
    return Sheet(process, index, act, time, code, check, sender, receivers.starts, targets), names


def _named(found: Lists) -> Lists:
    """The lists without nulls."""
    if not found.items[0].null_count:
        return found
    known = found.items[0].is_valid().to_numpy(zero_copy_only=False)
    return Lists(np.append(0, np.cumsum(known))[found.starts], [found.items[0].drop_null()])


def _codes(names: pa.Array, senders: Ints, actors: Actors) -> Ints:
    """The processes that have these names in the executions of their senders, or -1."""
    known = pa.array(sorted(set(actors.names)), pa.string())
    execution = np.array(actors.executions)
    codes = np.full((execution.max(initial=0) + 1, len(known) + 1), -1, dtype=np.int64)
    own = numbers(pc.index_in(pa.array(actors.names, pa.string()), value_set=known), -1)
    codes[execution, own] = np.arange(len(actors.names))
    found: Ints = codes[execution[senders], numbers(pc.index_in(names, value_set=known), -1)]
    return found


def _events(sheet: Sheet, paired: Paired) -> Events:
    return Events(sheet.process, sheet.index, paired.act, sheet.time, paired.code, *partners(sheet, paired))


def partners(sheet: Sheet, paired: Paired) -> tuple[Ints, Ints, Floats]:
    """Process, index and time of each row's partner."""
    alone = paired.partner < 0
    sender, other = (np.where(alone, -1, array[paired.partner]) for array in (sheet.process, sheet.index))
    return sender, other, np.where(alone, np.nan, sheet.time[paired.partner])


def _lost(sheet: Sheet, paired: Paired, names: pa.Array) -> Iterator[pa.RecordBatch]:
    """Rows for lost copies."""
    items = pa.array(paired.target, mask=paired.target < 0)
    columns = {
        "process": sheet.process[paired.lost],
        "index": sheet.index[paired.lost],
        "act": np.full(len(paired.lost), LOST, dtype=np.int8),
        "receiver": names.take(items),
    }
    yield from complete(pa.table(columns)).to_batches(BATCH)
