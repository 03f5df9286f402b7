"""What is wrong with the messages of a trace themselves: lost, orphan, duplicate, sent twice or too late."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from antecede.causality.links import DELIVER, SEND
from antecede.causality.rows import Ints
from antecede.spark.execution import Trace
from antecede.spark.found import Found, found


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
