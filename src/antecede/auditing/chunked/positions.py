"""Second step of the audit of a huge trace: a line of all events that keeps every cause before its effects.

Chunks are cut along that line. Time will do if no effect is earlier than its cause; causes and effects at one
moment are sorted out inside a chunk. Where clocks are askew, a constant for each process may set them right
(`offsets`): it follows from the shortest time from each process to each other. Where no such constants exist,
since a clock drifts or jumps, or where times are missing, all events go through one task (`Untangle`), which
needs some 300 bytes of memory for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.chunked.linking import (
    BATCH,
    LINKED,
    Events,
    complete,
    events_of,
    partners,
    told,
    whole,
)
from antecede.kernels.arrays import inverse
from antecede.kernels.feedback_arcs import Bools, find_feedback_arcs
from antecede.kernels.hashed_linking import Floats, Sheet, acts, pair
from antecede.kernels.histories import Edges
from antecede.kernels.links import DELIVER, OTHER, SEND, UNSENT
from antecede.kernels.ragged import Ints
from antecede.kernels.topology import order

MISTIMED = 101
"""An act of rows that stand for two events in a row of one process, the later of which has the less time."""


def offsets(processes: int, sender: Ints, receiver: Ints, least: Floats, slack: float) -> Floats | None:
    """What to add to the times of each process, so that messages take `slack` or more; None if nothing will.

    `least` is the least time from sender to receiver by their clocks (shortest paths, of Bellman and Ford).
    """
    found = np.zeros(processes)
    for _ in range(processes + 1):
        before = found.copy()
        np.maximum.at(found, receiver, before[sender] - least + slack)
        if (found == before).all():
            return found
    return None


class Straighten(NamedTuple):
    """Called by Spark with LINKED rows of whole messages: the same with the times set right."""

    offsets: Floats

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        events = events_of(whole(batches, LINKED))
        if len(events.time):
            time = events.time + self.offsets[events.process]
            yield from told(moved(events, time, len(self.offsets)), len(self.offsets))


class Untangle(NamedTuple):
    """Called by Spark with all LINKED rows: the same with positions for times; and what came to light."""

    processes: int

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        events = events_of(whole(batches, LINKED))
        rows = np.lexsort((events.code, events.time, events.index, events.process))
        events = events.some(rows)
        events = moved(events, events.time, self.processes)
        steps, letters = lines(events.process), messages(events)
        position, unsent = _positions(events, steps, letters)
        events.act[unsent] = acts(UNSENT)
        wrong = np.flatnonzero(events.time[steps.target] < events.time[steps.source])
        columns = {name: getattr(events, name)[steps.target[wrong]] for name in ("process", "index")}
        columns |= {"sender": columns["process"], "other": events.index[steps.source[wrong]]}
        columns["act"] = np.full(len(wrong), MISTIMED)
        yield from complete(pa.table(columns)).to_batches(BATCH)
        yield from told(moved(events, position.astype(np.float64), self.processes), self.processes)


def moved(events: Events, time: Floats, processes: int) -> Events:
    """The events at other times, each with its partner's new time."""
    none, act = np.zeros(len(time), dtype=np.int64), events.act
    nobody = np.zeros(len(time) + 1, dtype=np.int64)
    sheet = Sheet(events.process, events.index, act, time, events.code, none, none - 1, nobody, none[:0])
    sender, other, far = partners(sheet, pair(sheet, processes))
    kept = act > OTHER
    return Events(
        events.process, events.index, act, time, events.code,
        np.where(kept, events.sender, sender), np.where(kept, events.other, other), far,
    )  # fmt: skip


def lines(process: Ints) -> Edges:
    """From each event to the next of its process, if events of a process are in order."""
    walk = np.argsort(process, kind="stable")
    inside = np.flatnonzero(process[walk[1:]] == process[walk[:-1]])
    return Edges(walk[inside], walk[inside + 1])


def messages(events: Events) -> Edges:
    """From each send to its deliveries, where both are here."""
    sends, deliveries = np.flatnonzero(events.act == SEND), np.flatnonzero(events.act == DELIVER)
    sends = sends[np.argsort(events.code[sends])]
    codes, wanted = events.code[sends], events.code[deliveries]
    at = np.searchsorted(codes, wanted)
    found = at < len(codes)
    found[found] = codes[at[found]] == wanted[found]
    return Edges(sends[at[found]], deliveries[found])


def _positions(events: Events, steps: Edges, letters: Edges) -> tuple[Ints, Ints]:
    """A position for each event, and the deliveries that lead to their own sends."""
    size, ranks = len(events.time), (events.time, events.index)
    edges = Edges(*(np.concatenate(pair) for pair in zip(steps, letters, strict=True)))
    line = order(size, *edges, ranks)
    if not len(line.stuck):
        return line.position, np.empty(0, dtype=np.int64)
    loose: Bools = np.arange(len(edges.source)) >= len(steps.source)
    gone, _ = find_feedback_arcs(size, edges, loose, inverse(np.lexsort(ranks[::-1])))
    left = np.ones(len(loose), dtype=bool)
    left[gone] = False
    return order(size, edges.source[left], edges.target[left], ranks).position, edges.target[gone]
