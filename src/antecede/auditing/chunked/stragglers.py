"""Stragglers of a huge trace: deliveries whose chunk does not read so far back as their sends.

Each chunk says what it does to any state (`summarised`, when the chunk is judged), the driver puts these
together to the state at the start of each chunk (`states`), and chunks are read once more (`Replay`).

A position is the number of the chunk, from 1, and in the lower half of the word the place within it. Chunks
do not know the positions of messages that come in, which go by their codes until the driver names them.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.chunked.chunks import PART, Cuts, Part, arranged, counted, raw
from antecede.auditing.chunked.linking import Events, whole
from antecede.kernels.lateness import OrderViolations
from antecede.kernels.links import DELIVER, SEND, Linked
from antecede.kernels.ragged import Ints
from antecede.kernels.stragglers import Boundary, Stragglers, Summary, replay, scan, summary

NEVER = 2**62
_NONE = np.empty(0, dtype=np.int64)


class Sent(NamedTuple):
    """Straggling messages of a chunk, where they are sent."""

    code: Ints
    position: Ints


class Copies(NamedTuple):
    """Straggling deliveries."""

    code: Ints
    sent: Ints  # position, once that is known
    sender: Ints
    other: Ints  # the index of the send
    delivered: Ints  # position
    process: Ints
    index: Ints  # type: ignore[assignment]

    def some(self, which: Any) -> Copies:
        return Copies(*(array[which] for array in self))

    def bare(self) -> Stragglers:
        return Stragglers(self.sent, self.sender, self.delivered, self.process)


class Coded(NamedTuple):
    """A summary, with the codes of what comes in and goes out."""

    summary: Summary
    incoming: Ints
    outgoing: Ints


class State(NamedTuple):
    """All that a chunk needs to know of those before it."""

    boundary: Boundary
    codes: Ints  # of the messages of the boundary, ascending
    positions: Ints
    copies: Copies


def pack(what: object) -> bytes:
    return zlib.compress(pickle.dumps(what), 1)


def unpack(blob: bytes) -> Any:
    return pickle.loads(zlib.decompress(blob))


def base(chunk: int) -> int:
    """The first position of a chunk."""
    return (chunk + 1) << 32


def summarised(part: Part, processes: int, cuts: Cuts) -> Iterator[pa.RecordBatch]:
    """What a chunk does to stragglers, as RAW rows: `far`, its own ones, and `summary`."""
    low, events = base(part.chunk), part.events.some(slice(part.low, None))
    until = _until(part.chunk, events, cuts)
    begins = np.append(-np.inf, cuts.bounds)[np.maximum(until, 0)]
    born = np.flatnonzero((until >= 0) & (begins > events.time + cuts.span))
    strays = np.flatnonzero((events.act == DELIVER) & (part.sent[part.low :] < 0))
    sender, other = events.sender[strays], events.other[strays]
    where = strays + low, events.process[strays], events.index[strays]
    copies = Copies(events.code[strays], np.full(len(strays), -1), sender, other, *where)
    yield from raw({"kind": ["far"], "blob": [pack((Sent(events.code[born], born + low), copies))]})
    incoming = _incoming(part, events)
    trace = _linked(part, events, until, incoming, np.arange(len(incoming)))
    never, who = np.full(len(born), NEVER), events.process[born]
    found = summary(trace, low, processes, Stragglers(born + low, who, never, who))
    coded = Coded(found, incoming, events.code[found.outgoing - low])
    yield from raw({"kind": ["summary"], "chunk": [part.chunk], "blob": [pack(coded)]})


def _until(chunk: int, events: Events, cuts: Cuts) -> Ints:
    """Of messages that leave the chunk, the chunk of the last delivery; else -1."""
    until = cuts.chunk(events.far)
    leaves = (events.act == SEND) & (until > chunk) & ~np.isnan(events.far)
    return np.where(leaves, until, -1)


def gathered(lists: Iterable[tuple[Sent, Copies]]) -> Copies:
    """All stragglers of all chunks, each with the position of its send."""
    sends, copies = zip(*lists, strict=True)
    code, position = (np.concatenate(column) for column in zip(*sends, strict=True))
    found = Copies(*(np.concatenate(column) for column in zip(*copies, strict=True)))
    rows = np.argsort(code)
    return found._replace(sent=position[rows][np.searchsorted(code[rows], found.code)])


def states(chunks: Iterable[Coded], processes: int, copies: Copies) -> dict[int, bytes]:
    """The state at the start of each chunk that has to do with stragglers, packed; chunks come in order."""
    known: list[tuple[Ints, Ints]] = []
    lows: list[int] = []

    def named() -> Iterator[Summary]:
        codes, positions, until = _NONE, _NONE, _NONE
        for chunk in chunks:
            found = chunk.summary
            lows.append(found.low)
            known.append((codes, positions))
            yield found._replace(incoming=_found(chunk.incoming, codes, positions))
            codes = np.concatenate((codes, chunk.outgoing))
            positions, until = (
                np.concatenate(pair) for pair in ((positions, found.outgoing), (until, found.until))
            )
            kept = np.flatnonzero(until >= found.high)
            kept = kept[np.argsort(codes[kept])]
            codes, positions, until = codes[kept], positions[kept], until[kept]

    packed = {}
    for low, (codes, positions), state in zip(
        lows, known, scan(named(), processes, copies.bare()), strict=True
    ):
        here = copies.some((copies.sent < low + 2**32) & (copies.delivered >= low))
        listed = np.isin(positions, state.messages)
        if len(here.code):
            packed[(low >> 32) - 1] = pack(State(state, codes[listed], positions[listed], here))
    return packed


def _found(codes: Ints, known: Ints, positions: Ints) -> Ints:
    """The positions of messages with these codes, 0 for those that are not known; known codes ascend."""
    if not len(known):
        return np.zeros(len(codes), dtype=np.int64)
    at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    return np.where(known[at] == codes, positions[at], 0)


class Replay(NamedTuple):
    """Called by Spark with the rows of one chunk, once more; says what became of stragglers as RAW rows."""

    processes: int
    cuts: Cuts
    states: dict[int, bytes]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = whole(batches, PART)
        if len(table) and (chunk := int(table["chunk"][0].as_py())) in self.states:
            yield from _replayed(
                arranged(table, self.processes), unpack(self.states[chunk]), self.processes, self.cuts
            )


def _replayed(part: Part, state: State, processes: int, cuts: Cuts) -> Iterator[pa.RecordBatch]:
    low, events = base(part.chunk), part.events.some(slice(part.low, None))
    incoming = _incoming(part, events)
    names = _found(incoming, state.codes, state.positions)
    trace = _linked(part, events, _until(part.chunk, events, cuts), incoming, names)
    found = replay(trace, low, processes, state.boundary, state.copies.bare())
    if found.pairs:
        yield from counted(events, found.early - low, found.pair_process, found.pairs)
        yield from _told(events, found, state.copies, low, part.chunk)


def _told(
    events: Events, found: OrderViolations, copies: Copies, low: int, chunk: int
) -> Iterator[pa.RecordBatch]:
    """For each straggler that is overtaken here one witness, if possible a message of the same sender."""
    which = _copy(copies, found.pair_cause, found.pair_process)
    early = found.pair_early - low
    other = events.sender[early] != copies.sender[which]
    line = np.lexsort((early, other, which))
    best = line[np.flatnonzero(np.diff(which[line], prepend=-1))]
    copy, early = copies.some(which[best]), early[best]
    witness = (
        copy.sender, copy.other, events.sender[early], events.other[early],
        events.process[early], events.index[early], copy.process, copy.index,
    )  # fmt: skip
    flat = pa.array(np.stack(witness, axis=1).reshape(-1))
    lists = pa.ListArray.from_arrays(pa.array(8 * np.arange(len(early) + 1), pa.int32()), flat)
    kind = np.where(other[best], "late", "fifo")
    where = {"chunk": np.full(len(early), chunk), "process": copy.process, "index": copy.index}
    yield from raw({"kind": kind, **where, "refs": lists})


def _copy(copies: Copies, sent: Ints, process: Ints) -> Ints:
    """Which of the copies was sent there and went to that process."""
    sends, width = np.unique(copies.sent), int(copies.process.max()) + 1
    keys = np.searchsorted(sends, copies.sent) * width + copies.process
    rows = np.argsort(keys)
    return rows[np.searchsorted(keys[rows], np.searchsorted(sends, sent) * width + process)]


def _incoming(part: Part, events: Events) -> Ints:
    """The codes of messages that are delivered in the chunk and sent before it, ascending."""
    return np.unique(events.code[(events.act == DELIVER) & (part.sent[part.low :] < part.low)])


def _linked(part: Part, events: Events, until: Ints, incoming: Ints, names: Ints) -> Linked:
    """The events of the chunk alone; messages that come in have the given names for positions.

    A message that leaves is under way until the chunk of its last delivery begins.
    """
    low, inside = base(part.chunk), part.sent[part.low :] - part.low
    across = (events.act == DELIVER) & (inside < 0)
    sent = np.where(inside >= 0, inside + low, -1)
    sent[across] = names[np.searchsorted(incoming, events.code[across])]
    sender = np.where(sent >= 0, events.sender, -1)
    return Linked(events.process, sender, sent, np.where(until >= 0, (until + 1) << 32, -1))
