"""Deliveries far behind their sends, judged by chunks: those that `find_chunk_violations` leaves out.

Any prefix of a linear extension is a consistent cut. So `summary` reads one chunk without knowing what came
before it, and says which of the chunk's *sources* (the states of the processes, and the messages that were
under way at its start) reach which of its *sinks* (the same at its end). `scan` puts the summaries together
into the state at the start of every chunk, and `replay` reads each chunk again, now knowing that state. Only
messages that straggle have bits; chunks are cut anywhere and overlap nowhere. The list of stragglers, with a
row for each such delivery, goes to all three.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import grouped
from antecede.kernels.bits import BitSets, count_ones, count_words
from antecede.kernels.compiled import compiled
from antecede.kernels.delivery_pass import (
    DELIVERS,
    DUE,
    OVERTAKEN,
    OVERTAKEN_BY_SENDER,
    OWN,
    PAST,
    PassPlan,
    carry_bits,
    plan_slots,
)
from antecede.kernels.lateness import OrderViolations, check_events, collect_violations
from antecede.kernels.links import Linked
from antecede.kernels.ragged import Ints

Bits = NDArray[np.bool_]


class Stragglers(NamedTuple):
    """Deliveries more than a span behind their sends; positions, and processes."""

    sent: Ints
    sender: Ints
    delivered: Ints
    process: Ints


class Summary(NamedTuple):
    """What a chunk does to any state: bit k of `reach[s]` says that source k reaches sink s.

    Sources: the processes, the messages `incoming`, the stragglers `born` here. Sinks: the processes, the
    messages `outgoing`. Messages are positions of sends, ascending.
    """

    low: int
    high: int
    incoming: Ints
    outgoing: Ints
    until: Ints  # the last delivery of each outgoing message
    born: Ints
    reach: BitSets


class Boundary(NamedTuple):
    """The state at a position: row r of `known` says which of the stragglers `live` are in a past.

    First the rows of the processes, then those of the messages under way that carry any straggler.
    """

    messages: Ints
    until: Ints
    live: Ints
    known: Bits


class _Chunk(NamedTuple):
    """What both passes over a chunk need; messages that came in have the first rows, then those sent here."""

    plan: PassPlan
    incoming: Ints
    sends: Ints  # events of the chunk whose messages leave it
    rows: int
    bits: Ints  # the sends that have bits, ascending


def stragglers(events: Linked, low: int, span: int) -> Stragglers:
    """Those among the events, which begin at position `low`. Lists of several chunks may be put together."""
    position = low + np.arange(len(events.sent))
    far = (events.sent >= 0) & (events.sender >= 0) & (position - events.sent > span)
    late = np.flatnonzero(far)
    return Stragglers(events.sent[late], events.sender[late], position[late], events.process[late])


def summary(events: Linked, low: int, processes: int, copies: Stragglers) -> Summary:
    """Read the chunk that begins at position `low`."""
    high = low + len(events.process)
    trace = check_events(events, low, high, processes)
    born = _born(copies, low, high)
    chunk = _chunk(trace, low, np.empty(0, dtype=np.int64), born, copies)
    sources = processes + len(chunk.incoming)
    # Bits of sources come first, so the bits of the plan move up behind them.
    plan = chunk.plan._replace(bit=np.where(chunk.plan.bit >= 0, chunk.plan.bit + sources, -1))
    width = count_words(sources + len(born))
    sets = np.zeros((5, processes, width), dtype=np.uint64)
    rows = np.zeros((chunk.rows, width), dtype=np.uint64)
    identity = _packed(np.eye(sources, dtype=np.bool_), width)
    sets[PAST], rows[: len(chunk.incoming)] = identity[:processes], identity[processes:]
    carry_bits(plan, sets, rows, np.zeros(64 * width, dtype=np.int64), low, 0)
    reach = np.concatenate((sets[PAST], rows[plan.row[chunk.sends]]))
    return Summary(low, high, chunk.incoming, low + chunk.sends, trace.until[chunk.sends], born, reach)


def scan(summaries: Iterable[Summary], processes: int, copies: Stragglers) -> list[Boundary]:
    """The state at the start of each chunk; summaries are of consecutive chunks, the first at position 0."""
    none = np.empty(0, dtype=np.int64)
    state = Boundary(none, none, none, np.zeros((processes, 0), dtype=np.bool_))
    states = []
    for chunk in summaries:
        states.append(state)
        state = _after(state, chunk, processes, copies)
    return states


def replay(
    events: Linked, low: int, processes: int, state: Boundary, copies: Stragglers, cap: int = 2**62
) -> OrderViolations:
    """Judge what the chunk that begins at `low` does to stragglers: which it delivers others before.

    A straggler that is overtaken here is named late here, even if it is delivered in a later chunk.
    """
    high = low + len(events.process)
    trace = check_events(events, low, high, processes)
    chunk = _chunk(trace, low, state.live, _born(copies, low, high), copies)
    width = count_words(len(chunk.bits))
    sets = np.zeros((5, processes, width), dtype=np.uint64)
    rows = np.zeros((chunk.rows, width), dtype=np.uint64)
    sets[PAST] = _packed(state.known[:processes], width)
    rows[: len(chunk.incoming)] = _packed(_rows_of(state, chunk.incoming, processes), width)
    _await(sets, copies, chunk.bits, low)
    seen = carry_bits(chunk.plan, sets, rows, chunk.bits.copy(), low, cap)
    late, fifo = (_marked(sets[mark], copies, chunk.bits) for mark in (OVERTAKEN, OVERTAKEN_BY_SENDER))
    return collect_violations(trace, low, seen, late, fifo)


def _born(copies: Stragglers, low: int, high: int) -> Ints:
    """The stragglers that are sent in low..high-1."""
    return np.unique(copies.sent[(copies.sent >= low) & (copies.sent < high)])


def _chunk(trace: Linked, low: int, live: Ints, born: Ints, copies: Stragglers) -> _Chunk:
    """Rows and bits for a chunk; bits are those of `live`, then of the stragglers born here."""
    size, bits = len(trace.sent), np.concatenate((live, born))
    across = (trace.sent >= 0) & (trace.sent < low)
    incoming, which = np.unique(trace.sent[across], return_inverse=True)
    sent = np.where(trace.sent >= low, trace.sent - low, -1)
    sends = np.flatnonzero(trace.until >= low + size)
    left = np.bincount(sent[sent >= 0], minlength=size)
    left[sends] += 1
    act, row, rows = plan_slots(sent, left, len(incoming), -1)
    act[across], row[across] = DELIVERS, which
    bit = np.full(size, -1, dtype=np.int64)
    bit[born - low] = len(live) + np.arange(len(born))
    ending = (copies.delivered >= low) & (copies.delivered < low + size) & np.isin(copies.sent, bits)
    bit[copies.delivered[ending] - low] = np.searchsorted(bits, copies.sent[ending])
    here = np.flatnonzero((copies.sent >= low) & (copies.sent < low + size))
    starts, order = grouped(copies.sent[here] - low, size)
    plan = PassPlan(trace.process, trace.sender, act, row, bit, starts, copies.process[here][order])
    return _Chunk(plan, incoming, sends, rows, bits)


def _rows_of(state: Boundary, messages: Ints, processes: int) -> Bits:
    """What each of the messages carries; those that the state does not list carry nothing."""
    found = np.zeros((len(messages), len(state.live)), dtype=np.bool_)
    listed = np.isin(messages, state.messages)
    found[listed] = state.known[processes + np.searchsorted(state.messages, messages[listed])]
    return found


def _await(sets: BitSets, copies: Stragglers, bits: Ints, low: int) -> None:
    """Set what is due, and whose it is, at position `low`."""
    open_ = np.flatnonzero((copies.sent < low) & (copies.delivered >= low))
    bit = np.searchsorted(bits, copies.sent[open_])
    mask = np.uint64(1) << (bit % 64).astype(np.uint64)
    np.bitwise_or.at(sets[DUE], (copies.process[open_], bit // 64), mask)
    np.bitwise_or.at(sets[OWN], (copies.sender[open_], bit // 64), mask)


def _marked(marks: BitSets, copies: Stragglers, bits: Ints) -> Ints:
    """The positions of the deliveries that are marked."""
    here = np.flatnonzero(np.isin(copies.sent, bits))
    bit = np.searchsorted(bits, copies.sent[here])
    mask = np.uint64(1) << (bit % 64).astype(np.uint64)
    return np.sort(copies.delivered[here[(marks[copies.process[here], bit // 64] & mask) != 0]])


def _after(state: Boundary, chunk: Summary, processes: int, copies: Stragglers) -> Boundary:
    """The state behind a chunk: without stragglers that are delivered, and messages that carry none."""
    live = np.concatenate((state.live, chunk.born))
    sources = np.concatenate((state.known[:processes], _rows_of(state, chunk.incoming, processes)))
    reached = np.zeros((len(chunk.reach), len(live)), dtype=np.bool_)
    _compose(chunk.reach, sources, reached)
    older = np.zeros((len(state.messages), len(live)), dtype=np.bool_)
    older[:, : len(state.live)] = state.known[processes:]
    keep = np.isin(live, copies.sent[copies.delivered >= chunk.high])
    messages, until = (
        np.concatenate(pair) for pair in ((state.messages, chunk.outgoing), (state.until, chunk.until))
    )
    carried = np.concatenate((older, reached[processes:]))[:, keep]
    under_way = (until >= chunk.high) & carried.any(axis=1)
    known = np.concatenate((reached[:processes, keep], carried[under_way]))
    return Boundary(messages[under_way], until[under_way], live[keep], known)


def _packed(bits: Bits, width: int) -> BitSets:
    """The rows of bits in `width` words each."""
    padded = np.zeros((len(bits), 64 * width), dtype=np.bool_)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64, copy=False)


@compiled
def _compose(reach: BitSets, sources: Bits, reached: Bits) -> None:
    """What each sink knows: all that its sources know, and the stragglers born here that reach it."""
    known = sources.shape[1]
    for sink in range(len(reach)):
        for w in range(reach.shape[1]):
            rest = reach[sink, w]
            while rest:
                low = rest & (~rest + np.uint64(1))
                rest ^= low
                source = 64 * w + count_ones(low - np.uint64(1))
                if source >= len(sources):
                    reached[sink, known + source - len(sources)] = True
                else:
                    for k in range(known):
                        reached[sink, k] |= sources[source, k]
