"""False causality: what happened-before orders and the application did not mean.

An application may say which own events a send depends on. Besides everything that happened before an event,
there is then what it depends on: through what it names, and through the messages it got. Where a message m
happened before m', both go to one process, and m' does not depend on m, causal order makes m' wait for m
without need.

The pairs that matter are those in which m is not yet delivered when m' is there. They are found in one pass
with two sets of bits for each event, its past and what it depends on, over the messages in flight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from antecede.core.errors import CallerError
from antecede.kernels.arrays import grouped, whole
from antecede.kernels.bits import ENDS, SENDS, SWEEPS, BitSets, count_ones, count_words, plan_slots
from antecede.kernels.compiled import compiled, inlined
from antecede.kernels.links import Linked
from antecede.kernels.ragged import Ints
from antecede.kernels.vector_clocks import open_rows
from antecede.kernels.witness import CauseGraph, build_graph

_ALL = 2**61
_BLOCK = 1024  # sources whose effects are counted in one pass
_ONE = np.uint64(1)
_LOW = np.uint64(63)


class Waits(NamedTuple):
    """Messages that causal order makes wait for another: pairs that the application did not mean.

    A pair says that the message judged at `at`, at `process`, depends in no way on the one sent at `cause`,
    which happened before it and is not delivered there.
    """

    at: Ints
    cause: Ints
    process: Ints
    needless: Ints  # of each event, how many such pairs are judged there, also beyond the cap
    meant: Ints  # of each event, how many others: those that the application means


class _Table(NamedTuple):
    """Causes of each event, and the row that keeps its set while it may be asked for."""

    starts: Ints
    causes: Ints
    row: Ints
    used: int


def find_waits(
    trace: Linked, past: CauseGraph, meant: CauseGraph, judged: ArrayLike | None = None, cap: int = _ALL
) -> Waits:
    """The pairs of a whole trace; of the needless ones the first `cap` are listed.

    `past` has all direct causes, `meant` those that the application names; messages may be left out of both.
    A message is judged at its delivery; or at its arrival, if `judged` has there the position of its send.
    """
    size = len(trace.process)
    asked = trace.sent if judged is None else whole(judged, "judged", -1, size, size)
    if len(past.process) != size or len(meant.process) != size:
        raise CallerError(f"past and meant must be graphs of the {size} events of the trace")
    tables = [_table(trace, asked, causes) for causes in (past, meant)]
    sent = np.where(trace.sender >= 0, trace.sent, -1)
    left = np.bincount(sent[sent >= 0], minlength=size)
    act, slot, bits = plan_slots(sent, left, 0, tables[0].used + tables[1].used)
    starts, copies = grouped(sent, size)
    due = np.zeros((int(trace.process.max(initial=-1)) + 1, count_words(bits)), dtype=np.uint64)
    pairs, counts = _pass(
        trace.process, act, slot, asked, starts, trace.process[copies], tables[0], tables[1], due, bits, cap
    )
    at, cause = pairs.reshape(-1, 2).T.copy()
    return Waits(at, cause, trace.process[at], counts[0], counts[1])


def count_ordered(events: CauseGraph) -> int:
    """How many pairs of events the graph orders, directly or through others.

    What is meant is not the whole past of a process, so that no clock can count it: this takes time with the
    square of the number of events, / 64, and is for executions of up to some 100,000 events.
    """
    size = len(events.process)
    return int(sum(_reached(events.starts, events.causes, low, _BLOCK) for low in range(0, size, _BLOCK)))


def _table(trace: Linked, asked: Ints, given: CauseGraph) -> _Table:
    """The causes with the edges of messages among them, and rows that last until they are asked for."""
    size = len(trace.process)
    effects = np.repeat(np.arange(size), np.diff(given.starts))
    sent, asks = (np.stack((sends[sends >= 0], np.flatnonzero(sends >= 0))) for sends in (trace.sent, asked))
    edges = np.concatenate((np.stack((given.causes, effects)), sent), axis=1)
    causes = build_graph(trace.process, *edges)
    edges = np.concatenate((edges, asks), axis=1)
    needed = build_graph(trace.process, *edges)
    until = np.full(size, -1, dtype=np.int64)
    np.maximum.at(until, *edges)
    return _Table(causes.starts, causes.causes, *open_rows(needed.causes, needed.starts, until))


@inlined
def _mask(bit: int) -> np.uint64:
    return _ONE << (np.uint64(bit) & _LOW)


@compiled
def _pass(
    process: Ints,
    act: NDArray[np.int8],
    slot: Ints,
    asked: Ints,
    starts: Ints,
    targets: Ints,
    past: _Table,
    meant: _Table,
    due: BitSets,
    bits: int,
    cap: int,
) -> tuple[Ints, Ints]:
    """Carry both sets through all events; returns (position, cause) pairs and both counts of each event.

    The copies of a message sent at e go to targets[starts[e]:starts[e + 1]], where its bit is due.
    """
    wide = count_words(bits)
    before, deps = np.zeros((past.used, wide), dtype=np.uint64), np.zeros((meant.used, wide), dtype=np.uint64)
    flying = np.zeros((3, wide), dtype=np.uint64)
    mine, named, alive = flying
    names = np.zeros(bits, dtype=np.int64)
    pairs = [0 for _ in range(0)]
    counts = np.zeros((2, len(process)), dtype=np.int64)
    for event in range(len(process)):
        if act[event] & SWEEPS:
            _sweep(before, alive)
            _sweep(deps, alive)
        send, bit = asked[event], slot[event]
        if send >= 0:
            sets = before[past.row[send]], deps[meant.row[send]], due[process[event]]
            counts[0, event], counts[1, event] = _ask(event, slot[send], sets, names, pairs, 2 * cap)
        _gather(event, past, before, mine)
        _gather(event, meant, deps, named)
        if act[event] & 3 == SENDS:
            names[bit] = event
            for target in targets[starts[event] : starts[event + 1]]:
                due[target, bit >> 6] |= _mask(bit)
            flying[:, bit >> 6] |= _mask(bit)
        elif act[event] & 3:
            due[process[event], bit >> 6] &= ~_mask(bit)
            if act[event] & 3 == ENDS:
                alive[bit >> 6] &= ~_mask(bit)
        if past.row[event] >= 0:
            before[past.row[event]] = mine
        if meant.row[event] >= 0:
            deps[meant.row[event]] = named
    return np.array([pairs[k] for k in range(len(pairs))], dtype=np.int64), counts


@compiled
def _ask(
    event: int, own: int, sets: tuple[BitSets, BitSets, BitSets], names: Ints, pairs: list[int], room: int
) -> tuple[int, int]:
    """Write down what a message waits for without need; returns how many, and how many it does need."""
    carried, needs, due = sets
    needless = wanted = 0
    for w in range(len(due)):
        awaited = carried[w] & due[w]
        if own >= 0 and own >> 6 == w:
            awaited &= ~_mask(own)
        wanted += count_ones(awaited & needs[w])
        awaited &= ~needs[w]
        needless += count_ones(awaited)
        while awaited and len(pairs) < room:
            low = awaited & (~awaited + _ONE)
            awaited ^= low
            pairs.append(event)
            pairs.append(names[64 * w + count_ones(low - _ONE)])
    return needless, wanted


@compiled
def _gather(event: int, table: _Table, sets: BitSets, into: BitSets) -> None:
    """The union of the sets of all causes of an event."""
    into[:] = 0
    for k in range(table.starts[event], table.starts[event + 1]):
        cause = sets[table.row[table.causes[k]]]
        for w in range(len(into)):
            into[w] |= cause[w]


@compiled
def _sweep(sets: BitSets, alive: BitSets) -> None:
    for i in range(len(sets)):
        for w in range(len(alive)):
            sets[i, w] &= alive[w]


@compiled
def _reached(starts: Ints, causes: Ints, low: int, width: int) -> int:
    """How many pairs have their first event among low..low+width-1."""
    size = len(starts) - 1
    sets = np.zeros((size - low, count_words(width)), dtype=np.uint64)
    count = 0
    for event in range(low, size):
        mine = sets[event - low]
        for k in range(starts[event], starts[event + 1]):
            if causes[k] >= low:
                cause = sets[causes[k] - low]
                for w in range(len(mine)):
                    mine[w] |= cause[w]
        for w in range(len(mine)):
            count += count_ones(mine[w])
        if event < low + width:
            mine[(event - low) >> 6] |= _mask(event - low)
    return count
