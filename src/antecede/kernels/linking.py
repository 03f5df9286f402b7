"""Which sends, arrivals and deliveries belong together: the one definition, for audits of every size.

Rows are events of any number of messages, in any order; all rows of a message must be in one call, those of a
process need not. What comes *first* is decided by (process, place), so that the order of rows never matters.

Theory of operation. Codes are dense, so rows are put into the order of their messages with a counting sort:
then memory is read in sequence, and the rows of message m are those at starts[m]..starts[m + 1]-1. Every
message is settled by itself:

1. `_split_codes_by_sender_and_count_codes`: ids may be counted by each sender. Where several processes send
   an id, and everything that came under it names one of them as its sender, these are several messages and
   get codes of their own.
2. `_find_first_sends`, `_find_first_candidate_with_same_key`: the first send of a message; its first delivery
   and its first arrival at each process; the first copy on each track.
3. `_mark_misdeliveries_and_wrong_senders`: deliveries where nobody sent the message to, or that name somebody
   who did not send it.
4. `_list_sends_and_receivers_of_lost_copies`: receivers that any send of the message names and that have no
   delivery.

"At each process" costs no memory for each message: an array over processes holds the message that last
wrote there (`stamp[process] == message` means that the value beside it is of this message). So a call costs
time and memory in proportion to its rows, receivers, messages and processes.

The loops take plain arrays. Named tuples of arrays would be easier to read, but compiled code counts
references at every use of a field, and that took ten times as long as the work itself.

    send m at p ──┬── arrival of m at q ── delivery of m at q ── delivery of m at q
     send[...] ◄──┘    cause = the send     arrival = that one    original = the first delivery
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_integers, group_by_key
from antecede.kernels.compiled import compiled, inlined
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import Ints, compute_starts, expand_ranges

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
    lost_send: Ints  # of each copy that never came, the first send that names its receiver; by send, receiver
    lost_receiver: Ints  # and the process that lacks it; -1 where none was named and none has it

    def find_sends_of_deliveries(self, act: Ints) -> Ints:
        """Of the first delivery of a message at each process, the send; -1 for all other rows."""
        is_first = (act == DELIVER) & (self.original < 0)
        return np.where(is_first, self.send, -1)

    def list_repeated_sends(self, act: Ints) -> Ints:
        """The sends that are not the first of their message."""
        again = (self.send >= 0) & (self.send != np.arange(len(self.send)))
        return np.flatnonzero(again & (act == SEND))

    def list_orphan_deliveries(self, act: Ints) -> Ints:
        """The first deliveries of messages that nobody sent."""
        unsent = (self.send < 0) & (self.code >= 0) & (self.original < 0)
        return np.flatnonzero(unsent & (act == DELIVER))

    def list_duplicate_deliveries(self) -> Ints:
        """The deliveries of what was delivered at their process before."""
        return np.flatnonzero(self.original >= 0)


def match_messages(rows: MessageRows) -> MessageLinks:
    """Match all rows."""
    rows = _check_message_rows(rows)
    widest = max(rows.process.max(initial=-1), rows.sender.max(initial=-1), rows.receivers.max(initial=-1))
    processes, tracks = int(widest) + 1, int(rows.track.max(initial=-1)) + 1
    size = int(rows.code.max(initial=-1)) + 1
    starts, items = group_by_key(rows.code, size)
    by_message = _take_message_rows(rows, items)
    split_size = _split_codes_by_sender_and_count_codes(
        starts, by_message.code, by_message.act, by_message.process, by_message.sender, processes
    )
    if split_size > size:
        code = rows.code.copy()
        code[items] = by_message.code
        rows = rows._replace(code=code)
        starts, items = group_by_key(code, split_size)
        by_message = _take_message_rows(rows, items)
    links = _link_rows_by_message(by_message, starts, processes, tracks)
    return _restore_row_order(links, items, rows.code)


def _take_message_rows(rows: MessageRows, items: Ints) -> MessageRows:
    """These rows, in this order."""
    # Two columns at a time: each is read at random, which is slow, and `take` lets other threads run.
    with ThreadPoolExecutor(1) as other_thread:
        taken_receivers = other_thread.submit(_take_receiver_starts_and_receivers, rows, items)
        code, act, process = (column.take(items) for column in (rows.code, rows.act, rows.process))
        track, place, sender = (column.take(items) for column in (rows.track, rows.place, rows.sender))
    receiver_starts, receivers = taken_receivers.result()
    return MessageRows(code, act, process, track, place, sender, receiver_starts, receivers)


def _take_receiver_starts_and_receivers(rows: MessageRows, items: Ints) -> tuple[Ints, Ints]:
    """The receivers of these rows, in this order: where those of each start, and they."""
    lengths = np.diff(rows.receiver_starts).take(items)
    places = expand_ranges(rows.receiver_starts.take(items), lengths)
    return compute_starts(lengths), rows.receivers.take(places)


def _link_rows_by_message(rows: MessageRows, starts: Ints, processes: int, tracks: int) -> MessageLinks:
    """The links of rows that are in the order of their messages."""
    code, act, process, track, place, sender, receiver_starts, receivers = rows
    positions = np.arange(len(code))
    is_delivery, is_arrival, is_copy = act == DELIVER, act == ARRIVE, act != SEND
    first_send = _find_first_sends(starts, act, process, place)
    first_delivery = _find_first_candidate_with_same_key(starts, is_delivery, process, place, processes)
    first_arrival = _find_first_candidate_with_same_key(starts, is_arrival, process, place, processes)
    first_copy = _find_first_candidate_with_same_key(starts, is_copy, track, place, tracks)
    send = first_send[code]
    is_first_delivery = is_delivery & (first_delivery == positions)
    arrival = np.where(is_first_delivery, first_arrival, -1)
    came_before = (place[arrival] < place) | ((place[arrival] == place) & (arrival < positions))
    misdelivered, wrong_sender = _mark_misdeliveries_and_wrong_senders(
        starts, act, process, sender, receiver_starts, receivers, processes
    )
    lost_send, lost_receiver = _list_sends_and_receivers_of_lost_copies(
        starts, first_send, act, process, place, receiver_starts, receivers, processes
    )
    return MessageLinks(
        code=code,
        first_send=first_send,
        send=send,
        cause=np.where(is_copy & (first_copy == positions), send, -1),
        arrival=np.where(came_before, arrival, -1),
        original=np.where(is_delivery & ~is_first_delivery, first_delivery, -1),
        misdelivered=misdelivered & (send >= 0),
        wrong_sender=wrong_sender & (send >= 0),
        lost_send=lost_send,
        lost_receiver=lost_receiver,
    )


def _restore_row_order(links: MessageLinks, items: Ints, code: Ints) -> MessageLinks:
    """The links of rows that were taken in the order of `items`, at the rows they belong to."""
    row_or_none = np.append(items, -1)  # an entry of -1 reads the last one, which is -1 again

    def restore_links(links_by_message: Ints) -> Ints:
        placed = np.full(len(code), -1, dtype=np.int64)
        if (links_by_message >= 0).any():
            placed[items] = row_or_none[links_by_message]
        return placed

    def restore_flags(flags_by_message: Bools) -> Bools:
        placed = np.zeros(len(code), dtype=np.bool_)
        placed[items] = flags_by_message
        return placed

    lost_send = row_or_none[links.lost_send]
    by_send = np.lexsort((links.lost_receiver, lost_send))
    with ThreadPoolExecutor(2) as threads:
        rows = threads.map(restore_links, (links.send, links.cause, links.arrival, links.original))
    send, cause, arrival, original = rows
    return MessageLinks(
        code=code,
        first_send=row_or_none[links.first_send],
        send=send,
        cause=cause,
        arrival=arrival,
        original=original,
        misdelivered=restore_flags(links.misdelivered),
        wrong_sender=restore_flags(links.wrong_sender),
        lost_send=lost_send[by_send],
        lost_receiver=links.lost_receiver[by_send],
    )


def _check_message_rows(rows: MessageRows) -> MessageRows:
    """The rows, fit for compiled code; rows of OTHER lose their codes."""
    size = len(rows.code)
    act = check_integers(rows.act, "act", 0, 4, size)
    starts = check_integers(rows.receiver_starts, "receiver_starts", 0, 2**62, size + 1)
    receivers = check_integers(rows.receivers, "receivers", -1, 2**31)
    if starts[0] != 0 or starts[-1] != len(receivers) or (starts[1:] < starts[:-1]).any():
        raise CallerError(f"receiver_starts must rise from 0 to {len(receivers)}, the number of receivers")
    return MessageRows(
        code=np.where(act == OTHER, -1, check_integers(rows.code, "code", -1, 2**31)),
        act=act,
        process=check_integers(rows.process, "process", 0, 2**31, size),
        track=check_integers(rows.track, "track", 0, 2**31, size),
        place=check_integers(rows.place, "place", -(2**62), 2**62, size),
        sender=check_integers(rows.sender, "sender", -1, 2**31, size),
        receiver_starts=starts,
        receivers=receivers,
    )


@compiled
def _split_codes_by_sender_and_count_codes(
    starts: Ints, code: Ints, act: Ints, process: Ints, sender: Ints, processes: int
) -> int:
    """Give new codes to messages of one id and several senders; returns how many codes there are then."""
    size = len(starts) - 1
    new_size = size
    stamp = np.full(processes, -1, dtype=np.int64)
    new_code = np.zeros(processes, dtype=np.int64)
    for message in range(size):
        senders = 0
        for row in range(starts[message], starts[message + 1]):
            if act[row] == SEND and stamp[process[row]] != message:
                stamp[process[row]] = message
                new_code[process[row]] = new_size + senders
                senders += 1
        if senders < 2:
            continue
        all_named = True
        for row in range(starts[message], starts[message + 1]):
            if act[row] != SEND:
                all_named &= sender[row] >= 0 and stamp[sender[row]] == message
        if not all_named:
            continue
        for row in range(starts[message], starts[message + 1]):
            owner = process[row] if act[row] == SEND else sender[row]
            code[row] = new_code[owner]
        new_size += senders
    return new_size


@compiled
def _find_first_sends(starts: Ints, act: Ints, process: Ints, place: Ints) -> Ints:
    """The first send of each message by (process, place), or -1; of equals the one that is given first."""
    first = np.full(len(starts) - 1, -1, dtype=np.int64)
    for message in range(len(first)):
        for row in range(starts[message], starts[message + 1]):
            if act[row] != SEND:
                continue
            best = first[message]
            if best < 0 or _is_send_before(row, best, process, place):
                first[message] = row
    return first


@inlined
def _is_send_before(send: int, other: int, process: Ints, place: Ints) -> bool:
    """Which of two sends counts as the first: by (process, place)."""
    if process[send] != process[other]:
        return bool(process[send] < process[other])
    return bool(place[send] < place[other])


@compiled
def _find_first_candidate_with_same_key(
    starts: Ints, is_candidate: Bools, key: Ints, place: Ints, key_count: int
) -> Ints:
    """Of each row, the first candidate of its message with its key (its process or track), or -1."""
    found = np.full(len(key), -1, dtype=np.int64)
    stamp = np.full(key_count, -1, dtype=np.int64)
    first = np.zeros(key_count, dtype=np.int64)
    for message in range(len(starts) - 1):
        for row in range(starts[message], starts[message + 1]):
            here = key[row]
            if is_candidate[row] and (stamp[here] != message or place[row] < place[first[here]]):
                stamp[here] = message
                first[here] = row
        for row in range(starts[message], starts[message + 1]):
            if stamp[key[row]] == message:
                found[row] = first[key[row]]
    return found


@compiled
def _mark_misdeliveries_and_wrong_senders(
    starts: Ints,
    act: Ints,
    process: Ints,
    sender: Ints,
    receiver_starts: Ints,
    receivers: Ints,
    processes: int,
) -> tuple[Bools, Bools]:
    """Deliveries where no send was addressed to, and those that name somebody who did not send."""
    misdelivered, wrong_sender = np.zeros(len(act), dtype=np.bool_), np.zeros(len(act), dtype=np.bool_)
    sends = np.full(processes, -1, dtype=np.int64)  # stamps: who sends the message
    meant = np.full(processes, -1, dtype=np.int64)  # and to whom it is addressed
    for message in range(len(starts) - 1):
        all_addressed = True
        for row in range(starts[message], starts[message + 1]):
            if act[row] != SEND:
                continue
            sends[process[row]] = meant[process[row]] = message
            all_addressed &= receiver_starts[row] < receiver_starts[row + 1]
            for k in range(receiver_starts[row], receiver_starts[row + 1]):
                if receivers[k] >= 0:
                    meant[receivers[k]] = message
        for row in range(starts[message], starts[message + 1]):
            if act[row] == DELIVER:
                misdelivered[row] = all_addressed and meant[process[row]] != message
                wrong_sender[row] = sender[row] >= 0 and sends[sender[row]] != message
    return misdelivered, wrong_sender


@compiled
def _list_sends_and_receivers_of_lost_copies(
    starts: Ints,
    first_send: Ints,
    act: Ints,
    process: Ints,
    place: Ints,
    receiver_starts: Ints,
    receivers: Ints,
    processes: int,
) -> tuple[Ints, Ints]:
    """Who lacks each message: the send that names them first and the receiver.

    Where no send names anybody and nobody has the message: its first send, and -1. A multicast may be logged
    as several sends, so the receivers of all of them count, each once. A broadcast need not reach its sender,
    unless nobody else is named.
    """
    most = len(receivers) + len(first_send)
    lost_send, lost_receiver = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    reached = np.full(processes, -1, dtype=np.int64)  # stamps: who has the message
    lacking = np.full(processes, -1, dtype=np.int64)  # and who does not
    entry = np.zeros(processes, dtype=np.int64)  # of those, where they are in the list
    size = 0
    for message in range(len(first_send)):
        if first_send[message] < 0:
            continue
        delivered = named = others = False
        for row in range(starts[message], starts[message + 1]):
            if act[row] == DELIVER:
                reached[process[row]] = message
                delivered = True
            elif act[row] == SEND:
                for k in range(receiver_starts[row], receiver_starts[row + 1]):
                    named |= receivers[k] >= 0
                    others |= receivers[k] >= 0 and receivers[k] != process[row]
        for row in range(starts[message], starts[message + 1]):
            if act[row] != SEND:
                continue
            for k in range(receiver_starts[row], receiver_starts[row + 1]):
                receiver = receivers[k]
                if receiver < 0 or (receiver == process[row] and others) or reached[receiver] == message:
                    continue
                if lacking[receiver] != message:
                    lacking[receiver] = message
                    entry[receiver] = size
                    lost_send[size], lost_receiver[size] = row, receiver
                    size += 1
                elif _is_send_before(row, lost_send[entry[receiver]], process, place):
                    lost_send[entry[receiver]] = row
        if not named and not delivered:
            lost_send[size], lost_receiver[size] = first_send[message], -1
            size += 1
    return lost_send[:size], lost_receiver[:size]
