"""What is wrong with the messages of a trace themselves: lost, orphan, astray, sent or delivered twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.findings import Found, found
from antecede.events.graph import Trace
from antecede.kernels.links import DELIVER, SEND
from antecede.kernels.ragged import Ints


class Copies(NamedTuple):
    """Copies of messages that never came."""

    send: Ints  # rows
    receiver: Ints  # process codes; -1 where nobody got the message


def lost(trace: Trace) -> Copies:
    """Copies that never came: at a receiver that the log names, or anywhere if it names none."""
    code, width = trace.messages.code, len(trace.names)
    sends = np.flatnonzero((trace.kind == SEND) & (code >= 0))
    sends = sends[trace.messages.first[code[sends]] == sends]
    came = np.flatnonzero((trace.kind == DELIVER) & (code >= 0))
    starts, codes = trace.receivers
    rows = np.repeat(np.arange(len(code)), np.diff(starts))
    mine = np.isin(rows, sends) & (codes >= 0)
    rows, codes = rows[mine], codes[mine]
    rows, codes = np.divmod(np.unique(rows * width + codes), width)
    others = np.bincount(rows[codes != trace.process[rows]], minlength=len(code))
    named = (codes != trace.process[rows]) | (others[rows] == 0)  # a broadcast need not reach its sender
    rows, codes = rows[named], codes[named]
    absent = ~np.isin(code[rows] * width + codes, code[came] * width + trace.process[came])
    alone = sends[~np.isin(sends, rows) & ~np.isin(code[sends], code[came])]
    send = np.concatenate((rows[absent], alone))
    receiver = np.concatenate((codes[absent], np.full(len(alone), -1, dtype=np.int64)))
    order = np.lexsort((receiver, send))
    return Copies(send[order], receiver[order])


def strays(trace: Trace) -> list[Found]:
    """Deliveries where the message was not sent to, or of another sender than the log has."""
    code, width = trace.messages.code, len(trace.names)
    sends = np.flatnonzero((trace.kind == SEND) & (code >= 0))
    came = np.flatnonzero((trace.kind == DELIVER) & (code >= 0))
    came = came[trace.messages.first[code[came]] >= 0]
    send = trace.messages.first[code[came]]
    by = np.isin(code[came] * width + trace.sender[came], code[sends] * width + trace.process[sends])
    by |= trace.sender[came] < 0
    starts, codes = trace.receivers
    number = np.diff(starts)
    rows = np.repeat(np.arange(len(code)), number)
    mine = (trace.kind[rows] == SEND) & (code[rows] >= 0)
    meant = np.append(code[rows[mine]] * width + codes[mine], code[sends] * width + trace.process[sends])
    to = np.isin(code[came] * width + trace.process[came], meant)
    to |= np.isin(code[came], code[sends[number[sends] == 0]])  # not told to whom
    senders = trace.names.take(pa.array(trace.sender[came[~by]])).to_pylist()
    return [
        found("misdelivered", came[~to], send[~to], came[~to]),
        found("wrong-sender", came[~by], send[~by], came[~by], sender=senders),
    ]


def faults(trace: Trace) -> list[Found]:
    """Orphans, duplicates, messages sent twice or delivered before they were sent."""
    code, first = trace.messages.code, trace.messages.first
    sends = np.flatnonzero((trace.kind == SEND) & (code >= 0))
    again = sends[first[code[sends]] != sends]
    came = np.flatnonzero((trace.kind == DELIVER) & (code >= 0))
    _, one, which = np.unique(
        code[came] * len(trace.names) + trace.process[came], return_index=True, return_inverse=True
    )
    before = came[one][which]
    copy = before != came
    orphan = came[(first[code[came]] < 0) & ~copy]
    before, copies = before[copy], came[copy]
    said = trace.kind[trace.unsent.source] == SEND
    send, delivery = trace.unsent.source[said], trace.unsent.target[said]
    return [
        found("orphan", orphan, orphan),
        found("duplicate", copies, before, copies),
        found("resent", again, first[code[again]], again),
        found("unsent", delivery, delivery, send),
    ]
