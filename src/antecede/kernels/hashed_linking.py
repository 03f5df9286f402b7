"""Sends and deliveries put together by hashed message ids, before the order of the events is known.

For traces too large for one place: the rows of one message must be in one call, those of a process need not.
Of two sends of a message the first counts (by process, then by index); of two deliveries at a process too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled
from antecede.kernels.links import DELIVER, DUPLICATE, ORPHAN, OTHER, RESENT, SEND
from antecede.kernels.ragged import Ints

FAULT = 2
"""An act above OTHER is a fault of `links`, so much higher: an event that takes no part in the audit."""
LOST = FAULT + 5
"""An act of rows that stand for copies and not for events."""
Flags = NDArray[np.int8]
Floats = NDArray[np.float64]


class Sheet(NamedTuple):
    """Some events of a trace, in any order; a message is known by two hashes of its id."""

    process: Ints
    index: Ints  # type: ignore[assignment]
    act: Flags  # SEND, DELIVER, OTHER
    time: Floats
    code: Ints
    check: Ints
    sender: Ints  # the process that a delivery names as its sender, or -1
    starts: Ints  # a send names targets[starts[row]:starts[row + 1]]
    targets: Ints  # processes, or -1


class Paired(NamedTuple):
    """What became of each row of a sheet."""

    code: Ints  # one for each message: others than before where hashes met or senders count by themselves
    act: Flags  # or a fault: FAULT + DUPLICATE, ORPHAN, RESENT
    partner: Ints  # of a delivery its send, of a send its last delivery, of a second one the first; else -1
    lost: Ints  # the sends of lost copies, one row for each copy
    target: Ints  # which of the targets lacks it, or -1 if none was named and none has it


def acts(fault: int) -> int:
    """The act that says so."""
    return FAULT + fault


def pair(sheet: Sheet, processes: int) -> Paired:
    """Find the partners of all rows."""
    code = sheet.code.copy()
    order = _order(sheet.act, code)
    if _recode(order, sheet, code, np.full(processes, -1, dtype=np.int64)):
        order = _order(sheet.act, code)
    act, partner = sheet.act.copy(), np.full(len(code), -1, dtype=np.int64)
    had, first = np.full(processes, -1, dtype=np.int64), np.empty(processes, dtype=np.int64)
    lost = _pair(order, sheet, code, act, partner, had, first)
    return Paired(code, act, partner, lost[:, 0], lost[:, 1])


def by_time(time: Floats, process: Ints, index: Ints, code: Ints) -> Ints:
    """The rows by time; at one moment by process and index."""
    rows = np.argsort(time)
    line = time[rows]
    same = line[1:] == line[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    some = rows[tied]
    rows[tied] = some[np.lexsort((code[some], index[some], process[some], time[some]))]
    return rows


def sends(act: Flags, time: Floats, far: Floats, code: Ints) -> Ints:
    """Where the send of each delivery is among rows by time, or -1; `far` is the time of the send."""
    return _sends(act, time, np.searchsorted(time, far), far, code)


def straight(process: Ints, index: Ints, processes: int) -> bool:
    """Whether the rows of each process are in its order."""
    return bool(_straight(process, index, np.full(processes, np.iinfo(np.int64).min)))


@compiled
def _sends(act: Flags, time: Floats, at: Ints, far: Floats, code: Ints) -> Ints:
    found = np.full(len(act), -1, dtype=np.int64)
    for row in range(len(act)):
        send = at[row]
        while act[row] == DELIVER and send < len(time) and time[send] == far[row]:
            if act[send] == SEND and code[send] == code[row]:
                found[row] = send
                break
            send += 1
    return found


@compiled
def _straight(process: Ints, index: Ints, last: Ints) -> bool:
    for row in range(len(process)):
        if index[row] < last[process[row]]:
            return False
        last[process[row]] = index[row]
    return True


def _order(act: Flags, code: Ints) -> Ints:
    """The rows that belong to messages, message by message."""
    rows = np.flatnonzero(act < OTHER)
    return rows[np.argsort(code[rows])]


@compiled
def _end(order: Ints, code: Ints, low: int) -> int:
    """Where the group that begins at `low` ends."""
    high = low + 1
    while high < len(order) and code[order[high]] == code[order[low]]:
        high += 1
    return high


@compiled
def _recode(order: Ints, sheet: Sheet, code: Ints, seen: Ints) -> bool:
    """Give rows other codes where one code stands for several messages; whether there are any.

    Ids may be counted by each sender: where several processes send an id, and each delivery of it names one
    of them as its sender, these are several messages.
    """
    low, changed = 0, False
    while low < len(order):
        high = _end(order, sheet.code, low)
        head, mixed, senders, told = order[low], False, 0, True
        for k in range(low, high):
            row = order[k]
            mixed |= sheet.check[row] != sheet.check[head]
            if sheet.act[row] == SEND and seen[sheet.process[row]] != low:
                seen[sheet.process[row]] = low
                senders += 1
        for k in range(low, high):
            who = sheet.sender[order[k]]
            told &= sheet.act[order[k]] == SEND or (who >= 0 and seen[who] == low)
        if mixed or (senders > 1 and told):
            changed = True
            for k in range(low, high):
                row = order[k]
                who = sheet.process[row] if sheet.act[row] == SEND else sheet.sender[row]
                code[row] ^= sheet.check[row] * np.int64(-7046029254386353131)
                if senders > 1 and told:
                    code[row] ^= (who + 1) * np.int64(-4417276706812531889)
        low = high
    return changed


@compiled
def _pair(order: Ints, sheet: Sheet, code: Ints, act: Flags, partner: Ints, had: Ints, first: Ints) -> Ints:
    lost = [(0, 0) for _ in range(0)]
    low = 0
    while low < len(order):
        high = _end(order, code, low)
        send = _settle(order[low:high], low, sheet, act, partner, had, first)
        if send >= 0:
            _miss(send, low, sheet, partner[send] < 0, had, lost)
        low = high
    found = np.empty((len(lost), 2), dtype=np.int64)
    for k in range(len(lost)):
        found[k, 0], found[k, 1] = lost[k]
    return found


@compiled
def _miss(send: int, name: int, sheet: Sheet, alone: bool, had: Ints, lost: list[tuple[int, int]]) -> None:
    """Note who lacks the message; its sender need not have it, unless nobody else is named."""
    low, high, here, others = sheet.starts[send], sheet.starts[send + 1], sheet.process[send], False
    for item in range(low, high):
        others |= sheet.targets[item] != here
    for item in range(low, high):
        target = sheet.targets[item]
        if (target == here and others) or (target >= 0 and had[target] == name):
            continue
        lost.append((send, item))
        if target >= 0:
            had[target] = name
    if low == high and alone:
        lost.append((send, -1))


@compiled
def _settle(rows: Ints, name: int, sheet: Sheet, act: Flags, partner: Ints, had: Ints, first: Ints) -> int:
    """Pair the rows of one message; returns its send, or -1."""
    send = -1
    for row in rows:
        here = sheet.process[row]
        if sheet.act[row] == SEND:
            if send < 0 or _before(sheet, row, send):
                send = row
        elif had[here] != name or _before(sheet, row, first[here]):
            had[here], first[here] = name, row
    for row in rows:
        here = sheet.process[row]
        if sheet.act[row] == SEND:
            if row != send:
                act[row], partner[row] = FAULT + RESENT, send
        elif first[here] != row:
            act[row], partner[row] = FAULT + DUPLICATE, first[here]
        elif send < 0:
            act[row] = FAULT + ORPHAN
        else:
            partner[row] = send
            if partner[send] < 0 or sheet.time[row] > sheet.time[partner[send]]:
                partner[send] = row
    return send


@compiled
def _before(sheet: Sheet, row: int, other: int) -> bool:
    if sheet.process[row] != sheet.process[other]:
        return bool(sheet.process[row] < sheet.process[other])
    if sheet.index[row] != sheet.index[other]:
        return bool(sheet.index[row] < sheet.index[other])
    return bool(sheet.time[row] < sheet.time[other])
