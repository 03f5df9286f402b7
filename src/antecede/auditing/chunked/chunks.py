"""Third step of the audit of a huge trace, in Spark tasks: each chunk of the line is judged by itself.

Chunk k begins where the k-th of the bounds is reached. Its task also reads what lies up to a *span* before,
and judges every delivery in the chunk whose send it has read. The others straggle, and `far` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.chunked.linking import BATCH, LINKED, Events, events_of, whole
from antecede.auditing.chunked.positions import lines
from antecede.events.columns import column, numbers
from antecede.kernels.hashed_linking import Floats, by_time, sends, straight
from antecede.kernels.lateness import find_chunk_violations
from antecede.kernels.links import Linked
from antecede.kernels.ragged import Ints
from antecede.kernels.topology import order
from antecede.kernels.witness import Chains, build_trace_graph, find_witnesses

PART = pa.schema([pa.field("chunk", pa.int32()), pa.field("home", pa.int32()), *list(LINKED)[:8]])
"""Rows as chunks read them; `home` is the chunk that an event lies in."""
RAW = pa.schema(
    {
        "kind": pa.string(),  # of a finding; or early, pairs, line, crooked, far, summary
        "chunk": pa.int32(),
        "process": pa.int32(),
        "index": pa.int64(),
        "count": pa.int64(),
        "refs": pa.list_(pa.int64()),  # process and index of each event of the witness, by turns
        "receiver": pa.string(),
        "blob": pa.binary(),
    }
)
"""What tasks have to say."""
PAIRS = 2**22
"""So many violating pairs of a chunk are looked at for witnesses; all are counted."""
STEPS = 2000
"""Events that are looked at for one chain of causes."""


class Cuts(NamedTuple):
    """Where chunks begin, but for the first; and how far before that they read."""

    bounds: Floats
    span: float

    def chunk(self, time: Floats) -> Ints:
        """The chunk that an event at this time lies in; the last one that reads it is that of time + span."""
        return np.searchsorted(self.bounds, time, side="right")


class Part(NamedTuple):
    """What a chunk reads, causes first."""

    chunk: int
    events: Events
    low: int  # before it lie the events of other chunks
    sent: Ints  # where in this part the send of each delivery is, or -1
    straight: bool  # whether events of each process are in the order of the process


class Near(NamedTuple):
    """Called by Spark with the rows of one chunk; says what it finds as RAW rows."""

    processes: int
    cuts: Cuts
    strays: bool  # whether there may be stragglers

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from antecede.auditing.chunked.stragglers import summarised

        table = whole(batches, PART)
        if len(table) == 0:
            return
        part = arranged(table, self.processes)
        if not part.straight:
            yield from raw({"kind": ["crooked"]})
            return
        yield from _ends(part)
        yield from _judged(part, self.processes)
        if self.strays:
            yield from summarised(part, self.processes, self.cuts)


def raw(columns: dict[str, object]) -> Iterator[pa.RecordBatch]:
    """Rows with all columns of RAW; those that are not there are null."""
    rows = pa.table(columns)
    arrays = [
        rows[field.name].cast(field.type) if field.name in columns else pa.nulls(len(rows), field.type)
        for field in RAW
    ]
    yield from pa.table(arrays, schema=RAW).to_batches(BATCH)


def arranged(table: pa.Table, processes: int) -> Part:
    """The rows of a chunk in a linear extension: by time, and at one moment by what causes what."""
    events = events_of(table)
    chunk, home = int(table["chunk"][0].as_py()), numbers(column(table, "home"), -1)
    low = int((home < chunk).sum())
    events = events.some(by_time(events.time, events.process, events.index, events.code))
    sent = sends(events.act, events.time, events.far, events.code)
    fine = straight(events.process, events.index, processes)
    if fine and (sent >= np.arange(len(sent))).any():
        letters = np.flatnonzero(sent >= 0)
        steps = lines(events.process)
        causes, effects = np.append(steps.source, sent[letters]), np.append(steps.target, letters)
        line = order(len(sent), causes, effects, (events.time,))
        events, fine = events.some(line.order), len(line.stuck) == 0
        sent = np.where(sent >= 0, line.position[sent], -1)[line.order]
    return Part(chunk, events, low, sent, fine)


def refs(events: Events, starts: Ints, rows: Ints) -> pa.ListArray:
    """Process and index of the events rows[starts[i]:starts[i + 1]], by turns."""
    flat = np.stack((events.process[rows], events.index[rows]), axis=1).reshape(-1)
    return pa.ListArray.from_arrays(pa.array(2 * starts, pa.int32()), pa.array(flat))


def _ends(part: Part) -> Iterator[pa.RecordBatch]:
    """The first and the last index of each process in the chunk, in `index` and `count`."""
    process, index = part.events.process[part.low :], part.events.index[part.low :]
    names, first = np.unique(process, return_index=True)
    last = len(process) - 1 - np.unique(process[::-1], return_index=True)[1]
    where = {"kind": ["line"] * len(names), "chunk": [part.chunk] * len(names)}
    yield from raw({**where, "process": names, "index": index[first], "count": index[last]})


def _judged(part: Part, processes: int) -> Iterator[pa.RecordBatch]:
    events, size = part.events, len(part.sent)
    sender = np.where(part.sent >= 0, events.sender, -1)
    trace = Linked(events.process, sender, part.sent, np.full(size, -1, dtype=np.int64))
    found = find_chunk_violations(trace, part.low, size, size, processes, PAIRS)
    if not found.pairs:
        return
    yield from counted(events, found.early, found.pair_process, found.pairs)
    told = find_witnesses(trace, found, build_trace_graph(trace), most=STEPS)
    starts, rows = _witnesses(told.chains, told.early, told.late)
    rest = np.setdiff1d(found.late, told.late)  # their pairs are beyond those that are looked at
    bare = np.stack((part.sent[rest], rest), axis=1).ravel()
    for late, ends, shown in ((told.late, starts, rows), (rest, 2 * np.arange(len(rest) + 1), bare)):
        kind = np.where(np.isin(late, found.fifo), "fifo", "late")
        subject = {"process": events.process[late], "index": events.index[late]}
        yield from raw({"kind": kind, **subject, "refs": refs(events, ends, shown)})


def counted(events: Events, early: Ints, where: Ints, pairs: int) -> Iterator[pa.RecordBatch]:
    """Rows for early deliveries, and how many pairs each process has; those not listed are the first's."""
    columns = {"kind": ["early"] * len(early), "process": events.process[early], "index": events.index[early]}
    yield from raw(columns)
    names, count = np.unique(where, return_counts=True)
    count[:1] += pairs - count.sum()
    yield from raw({"kind": ["pairs"] * len(names), "process": names, "count": count})


def _witnesses(chains: Chains, early: Ints, late: Ints) -> tuple[Ints, Ints]:
    """Each chain with the two deliveries behind it."""
    starts = chains.starts + 2 * np.arange(len(chains.starts))
    rows = np.empty(starts[-1], dtype=np.int64)
    ends = starts[1:]
    inside = np.ones(len(rows), dtype=bool)
    inside[ends - 1] = inside[ends - 2] = False
    rows[inside], rows[ends - 2], rows[ends - 1] = chains.events, early, late
    return starts, rows
