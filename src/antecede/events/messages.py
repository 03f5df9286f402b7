"""What events tell of messages: how each takes part in one, and which belong together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from antecede.events.columns import Bools, coded, column
from antecede.events.processes import Actors
from antecede.kernels.histories import Edges
from antecede.kernels.linking import ARRIVE, MessageLinks, MessageRows, match_messages
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import Ints


def classify_acts(table: pa.Table, execution: Ints) -> Ints:
    """SEND, DELIVER, ARRIVE or OTHER for each event.

    Where an execution has deliveries, its receives are arrivals; else they are the deliveries.
    """
    found = coded([column(table, "kind")])
    code = {name: i for i, name in enumerate(found.names.to_pylist())}
    send, deliver, receive = (found.codes[0] == code.get(name, -2) for name in ("send", "deliver", "receive"))
    executions = int(execution[-1]) + 1 if len(execution) else 0
    has_deliveries = np.bincount(execution[deliver], minlength=executions) > 0
    arrives = receive & has_deliveries[execution]
    act = np.full(len(table), OTHER, dtype=np.int64)
    act[send] = SEND
    act[deliver | receive] = DELIVER
    act[arrives] = ARRIVE
    return act


def match_events(
    table: pa.Table, execution: Ints, act: Ints, who: Actors, track: Ints, place: Ints
) -> MessageLinks:
    """Which sends, arrivals and deliveries are of one message: those of one execution with one id."""
    names, (name,) = coded([column(table, "message")])
    named = np.flatnonzero((name >= 0) & (act != OTHER))
    code = np.full(len(table), -1, dtype=np.int64)
    code[named] = np.unique(execution[named] * len(names) + name[named], return_inverse=True)[1]
    starts, receivers = who.receivers
    rows = MessageRows(
        code=code,
        act=act,
        process=who.process,
        track=track,
        place=place,
        sender=who.sender,
        receiver_starts=starts,
        receivers=receivers,
    )
    return match_messages(rows)


def list_message_edges(links: MessageLinks, among: Bools) -> Edges:
    """From each send to what was received of it; on a track, to the first copy alone."""
    target = np.flatnonzero((links.cause >= 0) & among)
    return Edges(links.cause[target], target)


def list_handovers(links: MessageLinks) -> Edges:
    """From the first arrival of a message at a process to its first delivery there, if that comes later."""
    target = np.flatnonzero(links.arrival >= 0)
    return Edges(links.arrival[target], target)
