"""Which sends, arrivals and deliveries belong to one message."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.columns import Bools, coded, column
from antecede.kernels.histories import Edges
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import Ints

ARRIVE = 3
"""A kind beside SEND, DELIVER and OTHER: reaches the site, and is no step of its process."""


class Messages(NamedTuple):
    """Messages have codes: those of one execution with one id.

    Ids may be counted by each sender: where several processes send an id, and everything received under that
    id names one of them as its sender, these are several messages.
    """

    code: Ints  # of each event, -1 if it has none
    first: Ints  # the first send of each message, -1 if there is none
    came: Bools  # events that are caused by the send
    arrived: Bools  # those that come before a delivery of their own: `receive` where there is `deliver`


def kinds(table: pa.Table, execution: Ints, clocked: Bools) -> tuple[Ints, Bools]:
    """SEND, DELIVER, OTHER or ARRIVE of each event; and which are receives before a delivery."""
    found = coded([column(table, "kind")])
    code = {name: i for i, name in enumerate(found.names.to_pylist())}
    send, deliver, receive = (found.codes[0] == code.get(name, -2) for name in ("send", "deliver", "receive"))
    size = int(execution[-1]) + 1 if len(execution) else 0
    delivers = (np.bincount(execution[deliver], minlength=size) > 0)[execution]
    arrived = receive & delivers
    choices = [send, deliver | (receive & ~delivers), arrived & ~clocked]
    return np.select(choices, [SEND, DELIVER, ARRIVE], OTHER).astype(np.int64), arrived


def messages(
    table: pa.Table, execution: Ints, kind: Ints, arrived: Bools, process: Ints, sender: Ints
) -> Messages:
    """The messages of all events; process and sender are codes."""
    ids = coded([column(table, "message")])
    named = np.flatnonzero((ids.codes[0] >= 0) & ((kind != OTHER) | arrived))
    keys, inverse = np.unique(execution[named] * len(ids.names) + ids.codes[0][named], return_inverse=True)
    code = np.full(len(table), -1, dtype=np.int64)
    code[named] = inverse
    sends = named[kind[named] == SEND]
    came = np.zeros(len(table), dtype=bool)
    came[named[kind[named] != SEND]] = True
    size = _split(code, sends, np.flatnonzero(came), process, sender, len(keys))
    first = np.full(size, -1, dtype=np.int64)
    first[code[sends[::-1]]] = sends[::-1]
    return Messages(code, first, came, arrived & came)


def _split(code: Ints, sends: Ints, came: Ints, process: Ints, sender: Ints, size: int) -> int:
    """Give messages of one id and several senders their own codes, where senders tell; returns how many."""
    width = int(max(process.max(initial=0), sender.max(initial=0))) + 1
    pairs = np.unique(code[sends] * width + process[sends])
    several = np.bincount(pairs // width, minlength=size) > 1
    if not several.any():
        return size
    came = came[several[code[came]]]
    told = (sender[came] >= 0) & np.isin(code[came] * width + sender[came], pairs)
    several[code[came[~told]]] = False
    sends, came = sends[several[code[sends]]], came[several[code[came]]]
    pairs = pairs[several[pairs // width]]
    for rows, who in ((sends, process), (came, sender)):
        code[rows] = size + np.searchsorted(pairs, code[rows] * width + who[rows])
    return size + len(pairs)


def sent(found: Messages, among: Bools, track: Ints) -> Edges:
    """From each send to what was received of it; on a track, the first copy alone, which is before others."""
    target = np.flatnonzero(found.came & among)
    target = target[found.first[found.code[target]] >= 0]
    width = int(track.max(initial=0)) + 1
    target = target[np.sort(np.unique(found.code[target] * width + track[target], return_index=True)[1])]
    return Edges(found.first[found.code[target]], target)


def handed_over(found: Messages, kind: Ints, process: Ints) -> Edges:
    """From the first arrival of a message at a process to its first delivery there, if that comes later."""
    width = int(process.max(initial=0)) + 1
    firsts = []
    for rows in (np.flatnonzero(found.arrived), np.flatnonzero(found.came & (kind == DELIVER))):
        keys, first = np.unique(found.code[rows] * width + process[rows], return_index=True)
        firsts.append((keys, rows[first]))
    (came, arrivals), (given, deliveries) = firsts
    _, here, there = np.intersect1d(came, given, assume_unique=True, return_indices=True)
    source, target = arrivals[here], deliveries[there]
    return Edges(source[source < target], target[source < target])
