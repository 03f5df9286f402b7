"""Which sends, arrivals and deliveries belong together: the one definition, for audits of every size.

Rows are events of any number of messages, in any order; all rows of a message must be in one call, those of a
process need not. What comes *first* is decided by (process, place), so that the order of rows never matters.

Theory of operation. Codes are dense, so rows are grouped by message with a counting sort, and each message is
settled by itself in three walks over its rows:

1. `_split_codes`: ids may be counted by each sender. Where several processes send an id, and everything that
   came under it names one of them as its sender, these are several messages and get codes of their own.
2. `_first_rows`: the first send of the message, its first delivery and first arrival at each process.
3. `_match_message`: what follows for each row from those.

"At each process" costs no memory for each message: an array over processes holds the message that last
wrote there (`stamp[process] == message` means that the value beside it is of this message). So a call costs
time and memory in proportion to its rows, receivers, messages and processes.

    send m at p ──┬── arrival of m at q ── delivery of m at q ── delivery of m at q
     send[...] ◄──┘    cause = the send     arrival = that one    original = the first delivery
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.core.errors import CallerError
from antecede.kernels.arrays import grouped, whole
from antecede.kernels.compiled import compiled
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import Ints

ARRIVE = 3
"""An act beside SEND, DELIVER and OTHER: it reaches the site, and its delivery may be another event."""
Bools = NDArray[np.bool_]


class MessageRows(NamedTuple):
    """Events with what they tell of messages."""

    code: Ints  # of the message, dense from 0; -1 if the event has none
    act: Ints  # SEND, DELIVER, ARRIVE; OTHER has no message, whatever its code
    process: Ints
    track: Ints  # events of one track are in one line; an event that is on no line has a track of its own
    place: Ints  # ascends in the order of the process
    sender: Ints  # the process that a delivery or an arrival names as its sender, or -1
    receiver_starts: Ints  # a send names receivers[receiver_starts[row]:receiver_starts[row + 1]]
    receivers: Ints  # processes; -1 for one without a name


class MessageLinks(NamedTuple):
    """What belongs together; all entries are rows, and -1 is none."""

    code: Ints  # of each row; higher than before where the ids of several senders were split
    first_send: Ints  # of each code
    send: Ints  # of each row with a message: the first send of it, for that send itself too
    cause: Ints  # of the first row of a message on each track: the send; so duplicates have none
    arrival: Ints  # of the first delivery at a process: the first arrival there, if that came before it
    original: Ints  # of each further delivery at a process: the first one
    misdelivered: Bools  # deliveries where no send of the message was addressed to
    wrong_sender: Bools  # deliveries that name a sender who did not send the message
    lost_send: Ints  # of each copy that never came, the send; by send, then by receiver
    lost_receiver: Ints  # and the process that lacks it; -1 where none was named and none has it

    def delivered_sends(self, act: Ints) -> Ints:
        """Of the first delivery of a message at each process, the send; -1 for all other rows."""
        is_first = (act == DELIVER) & (self.original < 0)
        return np.where(is_first, self.send, -1)

    def resent(self, act: Ints) -> Ints:
        """The sends that are not the first of their message."""
        again = (self.send >= 0) & (self.send != np.arange(len(self.send)))
        return np.flatnonzero(again & (act == SEND))

    def orphans(self, act: Ints) -> Ints:
        """The first deliveries of messages that nobody sent."""
        unsent = (self.send < 0) & (self.code >= 0) & (self.original < 0)
        return np.flatnonzero(unsent & (act == DELIVER))

    def duplicates(self) -> Ints:
        """The deliveries of what was delivered at their process before."""
        return np.flatnonzero(self.original >= 0)


def match_messages(rows: MessageRows) -> MessageLinks:
    """Match all rows."""
    rows = _check_rows(rows)
    size = int(rows.code.max(initial=-1)) + 1
    width = (
        int(max(rows.process.max(initial=-1), rows.sender.max(initial=-1), rows.receivers.max(initial=-1)))
        + 1
    )
    tracks = int(rows.track.max(initial=-1)) + 1
    code = rows.code.copy()
    starts, items = grouped(code, size)
    split_size = _split_codes(rows, code, starts, items, width)
    if split_size > size:
        starts, items = grouped(code, split_size)
    first_send = np.full(split_size, -1, dtype=np.int64)
    send, cause, arrival, original = (np.full(len(code), -1, dtype=np.int64) for _ in range(4))
    misdelivered, wrong_sender = (np.zeros(len(code), dtype=np.bool_) for _ in range(2))
    links = MessageLinks(
        code, first_send, send, cause, arrival, original, misdelivered, wrong_sender, send[:0], send[:0]
    )
    lost = _match_all(rows, links, starts, items, width, tracks)
    by_send = np.lexsort((lost[:, 1], lost[:, 0]))
    return links._replace(lost_send=lost[by_send, 0], lost_receiver=lost[by_send, 1])


def _check_rows(rows: MessageRows) -> MessageRows:
    """The rows, fit for compiled code; rows of OTHER lose their codes."""
    size = len(rows.code)
    act = whole(rows.act, "act", 0, 4, size)
    starts = whole(rows.receiver_starts, "receiver_starts", 0, 2**62, size + 1)
    receivers = whole(rows.receivers, "receivers", -1, 2**31)
    if starts[0] != 0 or starts[-1] != len(receivers) or (starts[1:] < starts[:-1]).any():
        raise CallerError(f"receiver_starts must rise from 0 to {len(receivers)}, the number of receivers")
    return MessageRows(
        code=np.where(act == OTHER, -1, whole(rows.code, "code", -1, 2**31)),
        act=act,
        process=whole(rows.process, "process", 0, 2**31, size),
        track=whole(rows.track, "track", 0, 2**31, size),
        place=whole(rows.place, "place", -(2**62), 2**62, size),
        sender=whole(rows.sender, "sender", -1, 2**31, size),
        receiver_starts=starts,
        receivers=receivers,
    )


@compiled
def _comes_before(rows: MessageRows, row: int, other: int) -> bool:
    """Whether a row comes first; rows that stand at one place keep the order in which they are given."""
    if rows.process[row] != rows.process[other]:
        return bool(rows.process[row] < rows.process[other])
    if rows.place[row] != rows.place[other]:
        return bool(rows.place[row] < rows.place[other])
    return bool(row < other)


@compiled
def _split_codes(rows: MessageRows, code: Ints, starts: Ints, items: Ints, width: int) -> int:
    """Give new codes to messages of one id and several senders; returns how many codes there are then."""
    size = len(starts) - 1
    new_size = size
    stamp = np.full(width, -1, dtype=np.int64)
    new_code = np.zeros(width, dtype=np.int64)
    for message in range(size):
        senders = 0
        for item in range(starts[message], starts[message + 1]):
            row = items[item]
            if rows.act[row] == SEND and stamp[rows.process[row]] != message:
                stamp[rows.process[row]] = message
                new_code[rows.process[row]] = new_size + senders
                senders += 1
        if senders < 2:
            continue
        all_named = True
        for item in range(starts[message], starts[message + 1]):
            row = items[item]
            if rows.act[row] != SEND:
                sender = rows.sender[row]
                all_named &= sender >= 0 and stamp[sender] == message
        if not all_named:
            continue
        for item in range(starts[message], starts[message + 1]):
            row = items[item]
            sender = rows.process[row] if rows.act[row] == SEND else rows.sender[row]
            code[row] = new_code[sender]
        new_size += senders
    return new_size


class _Firsts(NamedTuple):
    """Values at processes (or tracks) for the message that last wrote there; each with its stamp."""

    delivery_stamp: Ints
    delivery: Ints  # the first delivery at a process
    arrival_stamp: Ints
    arrival: Ints  # the first arrival at a process
    step_stamp: Ints
    step: Ints  # the first delivery or arrival on a track
    sends_stamp: Ints  # processes that send the message
    meant_stamp: Ints  # processes that it is addressed to
    noted_stamp: Ints  # receivers of the first send that were looked at


@compiled
def _match_all(
    rows: MessageRows, links: MessageLinks, starts: Ints, items: Ints, width: int, tracks: int
) -> Ints:
    """Fill in the links; returns the lost copies as (send, receiver) rows."""
    firsts = _Firsts(
        np.full(width, -1, dtype=np.int64), np.zeros(width, dtype=np.int64),
        np.full(width, -1, dtype=np.int64), np.zeros(width, dtype=np.int64),
        np.full(tracks, -1, dtype=np.int64), np.zeros(tracks, dtype=np.int64),
        np.full(width, -1, dtype=np.int64), np.full(width, -1, dtype=np.int64),
        np.full(width, -1, dtype=np.int64),
    )  # fmt: skip
    lost = [(0, 0) for _ in range(0)]
    for message in range(len(starts) - 1):
        group = items[starts[message] : starts[message + 1]]
        if len(group) == 0:
            continue
        send, told_to_whom, delivered = _first_rows(rows, group, message, firsts)
        links.first_send[message] = send
        _match_message(rows, links, group, message, send, told_to_whom, firsts)
        if send >= 0:
            _add_lost_copies(rows, send, message, firsts, delivered, lost)
    table = np.empty((len(lost), 2), dtype=np.int64)
    for k in range(len(lost)):
        table[k, 0], table[k, 1] = lost[k]
    return table


@compiled
def _first_rows(rows: MessageRows, group: Ints, message: int, firsts: _Firsts) -> tuple[int, bool, bool]:
    """Note what comes first where.

    Returns the first send, whether all sends say to whom they go, and whether there is any delivery.
    """
    send = -1
    told_to_whom, delivered = True, False
    for row in group:
        here, track = rows.process[row], rows.track[row]
        if rows.act[row] == SEND:
            if send < 0 or _comes_before(rows, row, send):
                send = row
            firsts.sends_stamp[here] = firsts.meant_stamp[here] = message
            low, high = rows.receiver_starts[row], rows.receiver_starts[row + 1]
            told_to_whom &= high > low
            for receiver in rows.receivers[low:high]:
                if receiver >= 0:
                    firsts.meant_stamp[receiver] = message
            continue
        if firsts.step_stamp[track] != message or _comes_before(rows, row, firsts.step[track]):
            firsts.step_stamp[track], firsts.step[track] = message, row
        if rows.act[row] == DELIVER:
            delivered = True
            if firsts.delivery_stamp[here] != message or _comes_before(rows, row, firsts.delivery[here]):
                firsts.delivery_stamp[here], firsts.delivery[here] = message, row
        elif firsts.arrival_stamp[here] != message or _comes_before(rows, row, firsts.arrival[here]):
            firsts.arrival_stamp[here], firsts.arrival[here] = message, row
    return send, told_to_whom, delivered


@compiled
def _match_message(
    rows: MessageRows,
    links: MessageLinks,
    group: Ints,
    message: int,
    send: int,
    told_to_whom: bool,
    firsts: _Firsts,
) -> None:
    for row in group:
        links.send[row] = send
        if rows.act[row] == SEND:
            continue
        here, sender = rows.process[row], rows.sender[row]
        if firsts.step[rows.track[row]] == row:
            links.cause[row] = send
        if rows.act[row] != DELIVER:
            continue
        if firsts.delivery[here] != row:
            links.original[row] = firsts.delivery[here]
        elif firsts.arrival_stamp[here] == message and _comes_before(rows, firsts.arrival[here], row):
            links.arrival[row] = firsts.arrival[here]
        if send >= 0:
            links.misdelivered[row] = told_to_whom and firsts.meant_stamp[here] != message
            links.wrong_sender[row] = sender >= 0 and firsts.sends_stamp[sender] != message


@compiled
def _add_lost_copies(
    rows: MessageRows, send: int, message: int, firsts: _Firsts, delivered: bool, lost: list[tuple[int, int]]
) -> None:
    """Note who lacks the message: a broadcast need not reach its sender, unless nobody else is named."""
    here = rows.process[send]
    receivers = rows.receivers[rows.receiver_starts[send] : rows.receiver_starts[send + 1]]
    others, named = False, False
    for receiver in receivers:
        named |= receiver >= 0
        others |= receiver >= 0 and receiver != here
    for receiver in receivers:
        if receiver < 0 or (receiver == here and others) or firsts.noted_stamp[receiver] == message:
            continue
        firsts.noted_stamp[receiver] = message
        if firsts.delivery_stamp[receiver] != message:
            lost.append((send, receiver))
    if not named and not delivered:
        lost.append((send, -1))
