"""Random traces for the audit kernels, and what is true of them, by definition."""

from collections.abc import Sequence
from operator import attrgetter
from random import Random
from typing import Any

import numpy as np

from antecede.kernels.lateness import OrderViolations
from antecede.kernels.linking import MessageRows, match_messages
from antecede.kernels.links import DELIVER, OTHER, SEND, LinkedTrace, build_linked_trace
from antecede.kernels.witness import CauseGraph, build_cause_graph

Event = tuple[int, int, int]
Edges = Sequence[tuple[int, int]]
COLUMNS = attrgetter("late"), attrgetter("fifo"), attrgetter("early")


def events(random: Random, n: int, size: int) -> list[Event]:
    """(process, kind, message): multicasts, copies to the sender itself, local events, lost copies."""
    found: list[Event] = []
    waiting: list[tuple[int, int]] = []
    eager, sent = random.random(), 0
    while len(found) < size:
        choice = random.random()
        if waiting and choice < eager:
            # Now and then the oldest waits long, so that some messages take many times as long as others.
            k = random.randrange(len(waiting)) if random.random() < 0.5 else len(waiting) - 1
            process, message = waiting.pop(k)
            found.append((process, DELIVER, message))
        elif choice > 0.95:
            found.append((random.randrange(n), OTHER, -1))
        else:
            to = random.sample(range(n), random.choice([0, 1, 1, 1, random.randint(1, n)]))
            found.append((random.randrange(n), SEND, sent))
            waiting += [(target, sent) for target in to]
            sent += 1
    return found


def flood(random: Random, n: int, messages: int, most: int) -> list[Event]:
    """Messages of two copies each; beyond `most` under way, any one of them is delivered."""
    trace: list[Event] = []
    waiting: list[tuple[int, int]] = []
    for message in range(messages):
        trace.append((random.randrange(n), SEND, message))
        waiting += [(target, message) for target in random.sample(range(n), 2)]
        while len(waiting) > most:
            process, old = waiting.pop(random.randrange(len(waiting)))
            trace.append((process, DELIVER, old))
    return trace


def link_trace(trace: list[Event]) -> LinkedTrace:
    """The trace with its messages linked."""
    process, act, message = np.array(trace, dtype=np.int64).reshape(-1, 3).T.copy()
    positions = np.arange(len(trace))
    nobody = np.full(len(trace), -1, dtype=np.int64)
    no_receivers = np.zeros(len(trace) + 1, dtype=np.int64)
    rows = MessageRows(message, act, process, process, positions, nobody, no_receivers, nobody[:0])
    return build_linked_trace(process, match_messages(rows).find_sends_of_deliveries(act))


def build_trace_graph(trace: LinkedTrace) -> CauseGraph:
    """The graph of a trace: lines of processes, and messages."""
    walk = np.argsort(trace.process, kind="stable")
    inside = np.flatnonzero(trace.process[walk[1:]] == trace.process[walk[:-1]])
    delivered = np.flatnonzero(trace.sent >= 0)
    source = np.concatenate((walk[inside], trace.sent[delivered]))
    return build_cause_graph(trace.process, source, np.concatenate((walk[inside + 1], delivered)))


def pasts(trace: list[Event], edges: Edges = ()) -> list[set[int]]:
    """The positions of the events that happened before each event, and its own.

    Edges are (cause, effect) positions that count besides the messages.
    """
    last: dict[int, set[int]] = {}
    sends: dict[int, set[int]] = {}
    found: list[set[int]] = []
    for position, (process, kind, message) in enumerate(trace):
        past = {position} | last.get(process, set()) | (sends[message] if kind == DELIVER else set())
        past = past.union(*(found[cause] for cause, effect in edges if effect == position))
        last[process] = past
        if kind == SEND:
            sends[message] = past
        found.append(past)
    return found


def violations(trace: list[Event], edges: Edges = ()) -> set[tuple[int, int]]:
    """(early, late) positions of deliveries at one process, where the late one's send happened first."""
    past = pasts(trace, edges)
    sends = {m: p for p, (_, kind, m) in enumerate(trace) if kind == SEND}
    arrived = [(p, process, sends[m]) for p, (process, kind, m) in enumerate(trace) if kind == DELIVER]
    return {
        (e, d)
        for e, at, cause in arrived
        for d, there, sent in arrived
        if at == there and e < d and sent != cause and sent in past[cause]
    }


def judge_trace(trace: list[Event]) -> tuple[Any, ...]:
    """Late, FIFO, early and pairs, in the form of `summed`."""
    sends = {m: p for p, (_, kind, m) in enumerate(trace) if kind == SEND}
    sender = {p: trace[sends[m]][0] for p, (_, kind, m) in enumerate(trace) if kind == DELIVER}
    found = violations(trace)
    late = {d for _, d in found}
    early = {e for e, _ in found}
    fifo = {d for e, d in found if sender[e] == sender[d]}
    pairs = {(e, sends[trace[d][2]], trace[d][0]) for e, d in found}
    return tuple(sorted(part) for part in (late, fifo, early, pairs))


def join_verdicts(verdicts: list[OrderViolations]) -> tuple[Any, ...]:
    """The union of verdicts; a pair must not be in two of them."""
    parts = [sorted({x for v in verdicts for x in column(v).tolist()}) for column in COLUMNS]
    pairs = [pair for v in verdicts for pair in zip(*(a.tolist() for a in list_violations(v)), strict=True)]
    assert len(pairs) == sum(v.pairs for v in verdicts)
    return (*parts, sorted(pairs))


def list_violations(found: OrderViolations) -> tuple[Any, Any, Any]:
    return found.pair_early, found.pair_cause, found.pair_process
