"""What events tell of messages: how each takes part in one, and which belong together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from antecede.events.columns import Bools, encode_names_by_appearance, get_column
from antecede.events.processes import Actors
from antecede.kernels.arrays import number_names_by_scope
from antecede.kernels.histories import Edges
from antecede.kernels.linking import ARRIVE, MessageLinks, MessageRows, match_messages
from antecede.kernels.links import DELIVER, OTHER, SEND
from antecede.kernels.ragged import Ints

_ACTS = {"send": SEND, "deliver": DELIVER, "receive": ARRIVE}


def classify_message_acts(table: pa.Table, execution: Ints) -> Ints:
    """SEND, DELIVER, ARRIVE or OTHER for each event.

    Where an execution has deliveries, its receives are arrivals; else they are the deliveries.
    """
    names, (kind,) = encode_names_by_appearance([get_column(table, "kind")])
    act_of_name = [_ACTS.get(name, OTHER) for name in names.to_pylist()]
    act_of_kind = np.array([*act_of_name, OTHER], dtype=np.int64)  # the last one is that of null
    act = act_of_kind[kind]
    executions = int(execution[-1]) + 1 if len(execution) else 0
    has_deliveries = np.bincount(execution[act == DELIVER], minlength=executions) > 0
    if not has_deliveries.all():
        act[(act == ARRIVE) & ~has_deliveries[execution]] = DELIVER
    return act


def match_events_by_message(
    table: pa.Table, execution: Ints, act: Ints, who: Actors, track: Ints, place: Ints
) -> MessageLinks:
    """Which sends, arrivals and deliveries are of one message: those of one execution with one id."""
    names, (name,) = encode_names_by_appearance([get_column(table, "message")])
    named = np.flatnonzero((name >= 0) & (act != OTHER))
    code = np.full(len(table), -1, dtype=np.int64)
    numbered = number_names_by_scope(execution[named], name[named], len(names))
    code[named] = numbered.codes
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


def list_edges_from_sends(links: MessageLinks, is_target: Bools) -> Edges:
    """From each send to what was received of it; on a track, to the first copy alone."""
    target = np.flatnonzero((links.cause >= 0) & is_target)
    return Edges(links.cause[target], target)


def list_arrival_to_delivery_edges(links: MessageLinks) -> Edges:
    """From the first arrival of a message at a process to its first delivery there, if that comes later."""
    target = np.flatnonzero(links.arrival >= 0)
    return Edges(links.arrival[target], target)
