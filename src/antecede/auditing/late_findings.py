"""Which deliveries of a trace came too late, and the chain of causes that shows it.

Deliveries are judged over the linear order of all steps, some executions at a time. Where the log tells who
should have got a message that never came, it is found too what was delivered there in spite of it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from antecede.auditing.findings import MOST, Found
from antecede.events.graph import EventGraph
from antecede.kernels.lateness import OrderViolations, find_violations
from antecede.kernels.links import DELIVER, Linked, bridged, link_positions
from antecede.kernels.ragged import Ints
from antecede.kernels.witness import LateWitnesses, build_graph, find_witnesses

BLOCK = 200_000
"""Events whose executions are judged together."""
PAIRS = 2**23
"""Most violating pairs that are kept at once."""
LOST = 4_096
"""Most lost copies of an execution for which it is sought what was delivered in spite of them."""


class Late(NamedTuple):
    """Late and FIFO findings, counts by execution, and for each lost copy what came in spite of it, or -1."""

    parts: list[Found]
    counts: dict[str, Ints]  # late, of these fifo, early, pairs
    spite: Ints


class _Steps(NamedTuple):
    """The steps of all executions in which something is delivered, in linear order, and their edges."""

    rows: Ints
    place: Ints  # the position of each row, or -1
    starts: Ints  # where each execution begins
    sent: Ints  # of the first delivery of a message at each process: the position of its send; else -1
    source: Ints  # positions, by target
    target: Ints


class _Block(NamedTuple):
    """Some executions, linked, with positions from 0."""

    rows: Ints
    trace: Linked
    tracks: Ints  # of the whole trace, by those of the block
    source: Ints
    target: Ints


def late(graph: EventGraph) -> Late:
    """Judge all deliveries."""
    steps = _steps(graph)
    names = ("late", "fifo", "early", "pairs")
    counts = {name: np.zeros(len(graph.events.executions), dtype=np.int64) for name in names}
    found = Late([], counts, np.full(len(graph.messages.links.lost_send), -1, dtype=np.int64))
    ends = np.flatnonzero(np.diff(steps.starts[:-1] // BLOCK, append=-1)) + 1
    for first, last in pairwise([0, *ends.tolist()]):
        _judge(graph, steps, first, last, found)
    return found


def _steps(graph: EventGraph) -> _Steps:
    came = (graph.messages.act == DELIVER) & (graph.messages.links.code >= 0)
    active = np.bincount(graph.events.execution[came], minlength=len(graph.events.executions)) > 0
    among = graph.events.is_step & active[graph.events.execution]
    rows = graph.causes.order[among[graph.causes.order]]
    place = np.full(len(among), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    source, target = place[graph.causes.edges.source], place[graph.causes.edges.target]
    inside = (source >= 0) & (source < target)  # on a cycle an edge may run back
    source, target = source[inside], target[inside]
    line = np.argsort(target, kind="stable")
    starts = np.flatnonzero(np.diff(graph.events.execution[rows], prepend=-1))
    send = graph.messages.links.delivered_sends(graph.messages.act)[rows]
    sent = np.where(send >= 0, place[send], -1)
    return _Steps(rows, place, np.append(starts, len(rows)), sent, source[line], target[line])


def _judge(graph: EventGraph, steps: _Steps, first: int, last: int, found: Late) -> None:
    """Judge the executions first..last-1 among the steps, and add to what is found."""
    block = _block(graph, steps, int(steps.starts[first]), int(steps.starts[last]))
    verdict = _verdict(block, block.trace)
    if verdict.pairs > PAIRS and last - first > 1:
        for low, high in pairwise((first, (first + last) // 2, last)):
            _judge(graph, steps, low, high, found)
        return
    execution = graph.events.execution[block.rows]
    _count(execution, verdict, found.counts)
    told = _told(execution, block.trace, verdict)
    shown = find_witnesses(block.trace, told, build_graph(block.trace.process, block.source, block.target))
    fifo = np.flatnonzero(np.isin(shown.late, verdict.fifo))
    for kind, which in (("late", np.arange(len(shown.late))), ("fifo", fifo)):
        found.parts.append(_found(kind, block.rows, shown, which))
    _in_spite(graph, steps.place - int(steps.starts[first]), block, found.spite)


def _block(graph: EventGraph, steps: _Steps, low: int, high: int) -> _Block:
    """The steps low..high-1."""
    rows = steps.rows[low:high]
    tracks, process = np.unique(graph.events.track[rows], return_inverse=True)
    sent = steps.sent[low:high]
    linked = link_positions(process, np.where(sent >= 0, sent - low, -1))
    edges = slice(*np.searchsorted(steps.target, (low, high)))
    return _Block(rows, linked, tracks, steps.source[edges] - low, steps.target[edges] - low)


def _verdict(block: _Block, linked: Linked) -> OrderViolations:
    """The verdict on a trace that begins with the block; causes besides messages carry a past too."""
    extra = linked.process[block.source] != linked.process[block.target]
    extra &= linked.sent[block.target] != block.source
    more, origin = bridged(linked, block.source[extra], block.target[extra])
    verdict = find_violations(more, len(block.tracks), PAIRS)
    names = ("late", "fifo", "early", "pair_early", "pair_cause")
    return verdict._replace(**{name: origin[getattr(verdict, name)] for name in names})


def _in_spite(graph: EventGraph, place: Ints, block: _Block, spite: Ints) -> None:
    """Of lost copies, the first delivery at their receiver of something that depends on them.

    A copy counts as delivered behind the end. Copies are in the order of their sends, so that none of them
    is early itself.
    """
    lost_send, lost_receiver = graph.messages.links.lost_send, graph.messages.links.lost_receiver
    inside = (place[lost_send] >= 0) & (place[lost_send] < len(block.rows))
    inside &= np.isin(lost_receiver, block.tracks)
    execution = graph.events.execution[lost_send]
    few = np.bincount(execution[inside], minlength=len(graph.events.executions)) <= LOST
    lost = np.flatnonzero(inside & few[execution])
    lost = lost[np.argsort(place[lost_send[lost]], kind="stable")]
    if not len(lost):
        return
    sent, receiver = place[lost_send[lost]], np.searchsorted(block.tracks, lost_receiver[lost])
    verdict = _verdict(block, _behind(block.trace, sent, receiver))
    keys = sent * len(block.tracks) + receiver
    order = np.argsort(keys)
    cause = verdict.pair_cause * len(block.tracks) + verdict.pair_process
    at = np.minimum(np.searchsorted(keys[order], cause), len(keys) - 1)
    mine = np.flatnonzero(keys[order][at] == cause)[::-1]
    spite[lost[order[at[mine]]]] = block.rows[verdict.pair_early[mine]]


def _behind(trace: Linked, sent: Ints, process: Ints) -> Linked:
    """The trace with deliveries of these sends at its end."""
    until = np.append(trace.until, np.full(len(sent), -1, dtype=np.int64))
    until[sent] = len(trace.process) + np.arange(len(sent))
    sender = np.append(trace.sender, trace.process[sent])
    return Linked(np.append(trace.process, process), sender, np.append(trace.sent, sent), until)


def _count(execution: Ints, verdict: OrderViolations, counts: dict[str, Ints]) -> None:
    """Add what the verdict says of each execution; only a block of one execution has pairs left unlisted."""
    listed = {"late": verdict.late, "fifo": verdict.fifo, "early": verdict.early}
    for name, at in (listed | {"pairs": verdict.pair_early}).items():
        counts[name] += np.bincount(execution[at], minlength=len(counts[name]))
    counts["pairs"][execution[0]] += verdict.pairs - len(verdict.pair_early)


def _told(execution: Ints, trace: Linked, verdict: OrderViolations) -> OrderViolations:
    """The verdict on those deliveries alone that are told: the first of each execution."""
    late = np.sort(verdict.late)
    rank = np.arange(len(late)) - np.searchsorted(execution[late], execution[late])
    late = late[rank < MOST]
    tracks = int(trace.process.max(initial=0)) + 1
    keys = trace.sent[late] * tracks + trace.process[late]
    pairs = np.isin(verdict.pair_cause * tracks + verdict.pair_process, keys)
    columns = (verdict.pair_early[pairs], verdict.pair_cause[pairs], verdict.pair_process[pairs])
    return OrderViolations(late, verdict.fifo, verdict.early, *columns, verdict.pairs)


def _found(kind: str, rows: Ints, shown: LateWitnesses, which: Ints) -> Found:
    """Findings with the chain from send to send, and then the two deliveries."""
    starts, events = shown.chains
    lines = [np.append(events[starts[i] : starts[i + 1]], (shown.early[i], shown.late[i])) for i in which]
    ends = np.append(0, np.cumsum([len(line) for line in lines], dtype=np.int64))
    flat = np.concatenate([np.empty(0, dtype=np.int64), *lines])
    return Found(kind, rows[shown.late[which]], ends, rows[flat], {})
