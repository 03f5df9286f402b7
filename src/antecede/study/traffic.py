"""The communication that a log tells of, execution by execution, as recordings to be replayed.

Where an execution has messages that were sent and delivered, these are its communication. Where it has none,
as in logs of vector clocks or spans, each direct cause in another process is taken for a message from there:
it had to come somehow. A message arrives when the log says so (`receive`), else when it is delivered.

Times must fit together before they can be replayed. Clocks of processes differ, so times are raised, never
lowered, until nothing is before its cause. Where a log has no times, its order stands for them: each event
takes one step. What cannot be known, and what was changed or left out, is said in `notes`.
"""

from __future__ import annotations

from itertools import pairwise
from math import isnan
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from antecede.events.columns import Bools, get_column, to_floats
from antecede.events.graph import EventGraph
from antecede.kernels.arrays import group_by_key
from antecede.kernels.causes import CLOCK, MESSAGE, PARENT
from antecede.kernels.links import SEND
from antecede.kernels.ragged import Ints, compute_starts, invert_permutation
from antecede.report.text import pluralize
from antecede.simulate.recording import EVERYTHING, NOTHING, Floats, Recording


class Traffic(NamedTuple):
    """An execution: its recording, None if there is nothing to replay; and what is to be said of it."""

    execution: str
    recording: Recording | None
    notes: list[str]


class _Copies(NamedTuple):
    """Messages on their way to one process each, by rows of the graph."""

    send: Ints
    receiver: Ints  # a process code
    arrival: Ints  # -1 if the log does not know of any
    delivery: Ints  # likewise

    def select_copies(self, places: Ints) -> _Copies:
        return _Copies(*(column[places] for column in self))


class _Log(NamedTuple):
    """What is looked up in all executions. The arrays that are filled in serve one after the other."""

    graph: EventGraph
    position: Ints  # of each row, in the order of causes
    is_named: Bools  # rows whose process is known
    logged_time: Floats  # of each row, nan where there is none
    adjusted_time: Floats  # to be filled in: times that fit together
    number: Ints  # to be filled in: of each process code, its number in its recording
    parent_starts: Ints
    parents: Ints  # those of row r are at parent_starts[r] to parent_starts[r + 1] - 1, as far as logged


def find_traffic(graph: EventGraph) -> list[Traffic]:
    """The communication of every execution, in the order of their codes."""
    log = _prepare_log_arrays(graph)
    messages = _find_message_copies(graph)
    causes = _find_remote_causes(log)
    executions = graph.events.executions.to_pylist()
    by_message = _group_copies_by_execution(graph, messages)
    by_cause = _group_copies_by_execution(graph, causes)
    traffic = []
    for code, name in enumerate(executions):
        own_messages = messages.select_copies(by_message[code])
        own_causes = causes.select_copies(by_cause[code])
        traffic.append(_make_traffic(log, name or "", own_messages, own_causes))
    return traffic


def _prepare_log_arrays(graph: EventGraph) -> _Log:
    table = graph.events.table
    logged_time = to_floats(get_column(table, "time"))
    is_parent = (graph.causes.known & PARENT) > 0
    source, target = (side[is_parent] for side in graph.causes.edges)
    starts, items = group_by_key(target, len(table))
    return _Log(
        graph=graph,
        position=invert_permutation(graph.causes.order),
        is_named=get_column(table, "process").is_valid().to_numpy(zero_copy_only=False),
        logged_time=logged_time,
        adjusted_time=np.zeros(len(logged_time)),
        number=np.full(len(graph.events.process_names) + len(table), -1, dtype=np.int64),
        parent_starts=starts,
        parents=source[items],
    )


def _find_message_copies(graph: EventGraph) -> _Copies:
    """First deliveries of messages, and copies that never came."""
    links = graph.messages.links
    sends = links.find_sends_of_deliveries(graph.messages.act)
    delivery = np.flatnonzero(sends >= 0)
    arrival = np.where(links.arrival[delivery] >= 0, links.arrival[delivery], delivery)
    lost = links.lost_receiver >= 0
    nothing = np.full(int(lost.sum()), -1, dtype=np.int64)
    return _Copies(
        # A message that was sent again is one message, as it is for those who got it.
        send=np.concatenate((sends[delivery], links.send[links.lost_send[lost]])),
        receiver=np.concatenate((graph.events.process[delivery], links.lost_receiver[lost])),
        arrival=np.concatenate((arrival, nothing)),
        delivery=np.concatenate((delivery, nothing)),
    )


def _find_remote_causes(log: _Log) -> _Copies:
    """Direct causes in other processes; of several from one event to one process, the first."""
    graph = log.graph
    source, target = graph.causes.edges
    process = graph.events.process
    is_across = process[source] != process[target]
    is_across &= (graph.causes.known & (CLOCK | PARENT)) > 0
    is_across &= (graph.causes.known & MESSAGE) == 0
    is_across &= log.is_named[source] & log.is_named[target]
    source, target = source[is_across], target[is_across]
    order = np.lexsort((log.position[target], process[target], source))
    source, target = source[order], target[order]
    is_first = np.ones(len(source), dtype=np.bool_)
    receiver = process[target]
    is_first[1:] = np.diff(source) != 0
    is_first[1:] |= np.diff(receiver) != 0
    source, target = source[is_first], target[is_first]
    return _Copies(source, process[target], target, target)


def _group_copies_by_execution(graph: EventGraph, copies: _Copies) -> list[Ints]:
    starts, items = group_by_key(graph.events.execution[copies.send], len(graph.events.executions))
    return [items[start:end] for start, end in pairwise(starts)]


def _make_traffic(log: _Log, name: str, messages: _Copies, causes: _Copies) -> Traffic:
    """What one execution tells."""
    notes: list[str] = []
    is_delivered = messages.delivery >= 0
    if is_delivered.any():
        copies = messages
        if len(causes.send):
            others = pluralize(len(causes.send), "cause")
            notes.append(f"{others} in other processes came by no message of the log and are not replayed")
    elif len(causes.send):
        copies = causes
        number = pluralize(len(causes.send), "direct cause")
        notes.append(
            f"the log has no messages that were delivered: {number} in other processes stand for them"
        )
    else:
        return Traffic(name, None, [_explain_no_traffic(len(messages.send))])
    copies = _drop_unusable_copies(log, copies, notes)
    if not (copies.delivery >= 0).any():
        return Traffic(name, None, [*notes, "no message of this execution can be replayed"])
    return Traffic(name, _make_recording(log, copies, notes), notes)


def _explain_no_traffic(number_sent: int) -> str:
    if number_sent:
        return (
            f"{pluralize(number_sent, 'message')} sent and none delivered: nobody knows how they would travel"
        )
    return (
        "no process hears of another: no message was both sent and delivered, and neither clocks nor parents "
        "tell of any"
    )


def _drop_unusable_copies(log: _Log, copies: _Copies, notes: list[str]) -> _Copies:
    """Without messages of unknown processes, of a process to itself, and of those that come from the future:
    which by all causes were delivered before they were sent."""
    is_known = copies.delivery >= 0
    is_nameless = ~log.is_named[copies.send] | (is_known & ~log.is_named[copies.delivery])
    is_own = log.graph.events.process[copies.send] == copies.receiver
    is_backwards = is_known & (log.position[copies.delivery] <= log.position[copies.send])
    is_left = np.ones(len(is_known), dtype=np.bool_)
    for which, text in (
        (is_nameless, "without a process left out"),
        (is_own, "from a process to itself left out: no protocol carries it"),
        (is_backwards, "delivered before it was sent left out"),
    ):
        number = int((which & is_left).sum())
        if number:
            notes.append(f"{pluralize(number, 'message')} {text}")
        is_left &= ~which
    return copies.select_copies(np.flatnonzero(is_left))


def _make_recording(log: _Log, copies: _Copies, notes: list[str]) -> Recording:
    """The recording of these copies."""
    process = log.graph.events.process
    position = log.position
    number = log.number
    codes = np.unique(np.concatenate((process[copies.send], copies.receiver)))
    names = _make_unique_printable_names(log.graph.events.look_up_process_names(codes))
    # Endpoints number the members of a group by their names.
    by_name = sorted(range(len(names)), key=names.__getitem__)
    number[codes[by_name]] = np.arange(len(codes))
    order = np.lexsort((number[copies.receiver], position[copies.send]))
    copies = copies.select_copies(order)
    rows, first = np.unique(position[copies.send], return_index=True)
    message_of_copy = np.searchsorted(rows, position[copies.send])
    sends = copies.send[first]
    times = _make_times_that_respect_causes(log, copies, notes)
    travel = _find_travel_times(copies, times, notes)
    delivery_order = _order_deliveries_and_count_before_sends(
        position, copies, sends, message_of_copy, number[process[sends]], number[copies.receiver]
    )
    return Recording(
        names=sorted(names),
        unit=times.unit,
        sender=number[process[sends]],
        sent=times.of_row[sends],
        starts=np.append(first, len(copies.send)).astype(np.int64),
        target=number[copies.receiver],
        travel=travel,
        heard=delivery_order.heard,
        handed=delivery_order.handed,
        handed_starts=delivery_order.starts,
        depends_on=_find_declared_dependence(log, copies, sends, notes),
    )


def _make_unique_printable_names(names: list[str | None]) -> list[str]:
    """Names as endpoints take them, all different: not empty, and every sign can be seen."""
    members: dict[str, None] = {}
    for name in names:
        member = name or "(no name)"
        if not member.isprintable():
            member = ascii(member)[1:-1]
        while member in members:
            member += "'"
        members[member] = None
    return list(members)


class _Times(NamedTuple):
    """When what happens to messages happened, by row; from 0."""

    of_row: Floats
    unit: str


def _make_times_that_respect_causes(log: _Log, copies: _Copies, notes: list[str]) -> _Times:
    """Times that respect causes; where the log has none, steps."""
    involved = np.concatenate((copies.send, copies.arrival, copies.delivery))
    rows = np.unique(involved[involved >= 0])
    rows = rows[np.argsort(log.position[rows])]
    logged_time = log.logged_time
    adjusted_time = log.adjusted_time
    known = logged_time[rows][~np.isnan(logged_time[rows])]
    if len(np.unique(known)) < 2:
        times = "all times of the log are the same" if len(known) else "the log has no times"
        notes.append(f"{times}: delays are in steps, of which each event of a message takes one")
        adjusted_time[rows] = np.arange(len(rows))
        return _Times(adjusted_time, "steps")
    missing = len(rows) - len(known)
    if missing:
        notes.append(f"{pluralize(missing, 'event')} without a time got the earliest that causes allow")
    raised = _adjust_times_and_count_raised(log, copies, rows)
    if raised:
        notes.append(
            f"{pluralize(raised, 'time')} of {len(rows):,} raised so that nothing is before its cause: "
            "clocks differ, and travel times are as unsure as they are"
        )
    adjusted_time[rows] -= adjusted_time[rows].min()
    return _Times(adjusted_time, "ms")


def _adjust_times_and_count_raised(log: _Log, copies: _Copies, rows: Ints) -> int:
    """Give each row a time that no cause is after; returns how many logged times had to be raised for it."""
    logged_time = log.logged_time
    adjusted_time = log.adjusted_time
    causes: dict[int, list[int]] = {}
    for send, arrival, delivery in zip(
        copies.send.tolist(), copies.arrival.tolist(), copies.delivery.tolist(), strict=True
    ):
        for earlier, later in ((send, arrival), (send, delivery), (arrival, delivery)):
            if earlier >= 0 and later >= 0 and earlier != later:
                causes.setdefault(later, []).append(earlier)
    tracks = log.graph.events.track[rows].tolist()
    steps = log.graph.events.is_step[rows].tolist()
    latest_of_track: dict[int, float] = {}
    earliest = np.nanmin(logged_time[rows])
    raised = 0
    for row, track, is_step in zip(rows.tolist(), tracks, steps, strict=True):
        least = latest_of_track.get(track, earliest) if is_step else earliest
        for cause in causes.get(row, ()):
            least = max(least, adjusted_time[cause])
        time = logged_time[row]
        raised += time < least
        adjusted_time[row] = time = least if isnan(time) else max(time, least)
        if is_step:
            latest_of_track[track] = time
    return int(raised)


def _find_travel_times(copies: _Copies, times: _Times, notes: list[str]) -> Floats:
    """How long each copy travelled; those that never came get the median."""
    came = copies.arrival >= 0
    travel = np.zeros(len(came))
    travel[came] = times.of_row[copies.arrival[came]] - times.of_row[copies.send[came]]
    if not came.all():
        travel[~came] = np.median(travel[came])
        missing = pluralize(int((~came).sum()), "message")
        notes.append(f"{missing} never delivered in the log: replayed with the median travel time")
    return np.maximum(travel, 0.0)


class _DeliveryOrder(NamedTuple):
    """What each process was handed, and how much of it before each send."""

    heard: Ints
    handed: Ints
    starts: Ints


def _order_deliveries_and_count_before_sends(
    position_of_row: Ints,
    copies: _Copies,
    sends: Ints,
    message_of_copy: Ints,
    sender_of_message: Ints,
    receiver_of_copy: Ints,
) -> _DeliveryOrder:
    """Deliveries of each process in its order, and how many of them come before each send.

    An event that takes messages and sends one, as in logs without messages, takes them first.
    """
    came = np.flatnonzero(copies.delivery >= 0)
    order = np.lexsort(
        (message_of_copy[came], position_of_row[copies.delivery[came]], receiver_of_copy[came])
    )
    handed = came[order]
    processes = int(max(sender_of_message.max(), receiver_of_copy.max())) + 1
    starts = compute_starts(np.bincount(receiver_of_copy[handed], minlength=processes))
    heard = np.zeros(len(sends), dtype=np.int64)
    places = position_of_row[copies.delivery[handed]]
    sent_at = position_of_row[sends]
    for process in range(processes):
        mine = np.flatnonzero(sender_of_message == process)
        part = places[starts[process] : starts[process + 1]]
        heard[mine] = np.searchsorted(part, sent_at[mine], side="right")
    return _DeliveryOrder(heard, handed, starts)


def _find_declared_dependence(log: _Log, copies: _Copies, sends: Ints, notes: list[str]) -> Ints:
    """What each message depends on, where every send of the execution names its parents."""
    depends_on = np.full(len(sends), EVERYTHING, dtype=np.int64)
    graph = log.graph
    is_message = graph.messages.act[sends] == SEND
    parents = get_column(graph.events.table, "parents").take(sends)
    lengths = np.asarray(pc.fill_null(pc.list_value_length(parents), -1), dtype=np.int64)
    if not is_message.all() or (lengths < 0).any() or not (lengths > 0).any():
        return depends_on
    event_of_copy, event_of_message = _number_deliveries_and_sends(graph, copies, sends)
    process = graph.events.process
    unclear = 0
    for message, row in enumerate(sends.tolist()):
        mine = log.parents[log.parent_starts[row] : log.parent_starts[row + 1]].tolist()
        if not lengths[message]:
            depends_on[message] = NOTHING
            continue
        code = None
        if len(mine) == 1 and lengths[message] == 1:
            code = event_of_copy.get((mine[0], process[row]))
            if code is None and process[mine[0]] == process[row]:
                code = event_of_message.get(mine[0])
        if code is None:
            unclear += 1
        else:
            depends_on[message] = code
    if unclear:
        notes.append(
            f"{pluralize(unclear, 'message')} with several parents, or with one that is no send or delivery "
            "of its process, depend on everything before them here"
        )
    return depends_on


def _number_deliveries_and_sends(
    graph: EventGraph, copies: _Copies, sends: Ints
) -> tuple[dict[tuple[int, int], int], dict[int, int]]:
    """The own events that can be named: deliveries, also by the send of what is delivered, and sends."""
    deliveries: dict[tuple[int, int], int] = {}
    process = graph.events.process
    pairs = zip(copies.send.tolist(), copies.delivery.tolist(), strict=True)
    for copy, (send, delivery) in enumerate(pairs):
        if delivery >= 0:
            here = int(process[delivery])
            deliveries[delivery, here] = copy
            deliveries.setdefault((send, here), copy)
    behind = len(copies.send)
    return deliveries, {row: behind + message for message, row in enumerate(sends.tolist())}
