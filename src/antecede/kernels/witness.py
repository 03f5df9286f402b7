"""The shortest chain of causes from one event to another: what shows a person why one came before the other.

A chain goes along the lines of processes and crosses from one to another. The shortest has the fewest
crossings; of the events on a line it keeps the first and the last, since those between say nothing more.
Chains are sought backwards from their ends and never behind their beginning, so that the cost is the part of
the execution between the two that is nearest to the end.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_forward_edges, check_integers, group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.lateness import OrderViolations
from antecede.kernels.links import LinkedTrace
from antecede.kernels.ragged import Ints

MOST = 100_000
"""Events that are looked at for one chain, before it is given as its two ends."""


class CauseGraph(NamedTuple):
    """Direct causes of events in a linear extension: those of event e are causes[starts[e]:starts[e + 1]]."""

    process: Ints
    starts: Ints
    causes: Ints


class Chains(NamedTuple):
    """Chain i is events[starts[i]:starts[i + 1]], causes first."""

    starts: Ints
    events: Ints

    def lists(self) -> list[list[int]]:
        """Each chain as a list."""
        events, ends = self.events.tolist(), self.starts.tolist()
        return [events[low:high] for low, high in pairwise(ends)]


class LateWitnesses(NamedTuple):
    """Late deliveries, ascending; for each the early one that shows it best, and the chain of their sends."""

    late: Ints
    early: Ints
    chains: Chains


def build_graph(process: ArrayLike, source: ArrayLike, target: ArrayLike) -> CauseGraph:
    """The graph of events at positions 0, 1, ..., with an edge from each cause to its effect."""
    places = check_integers(process, "process", 0, 2**31)
    causes, effects = check_forward_edges(len(places), source, target)
    starts, items = group_by_key(effects, len(places))
    return CauseGraph(places, starts, causes[items])


def find_chains(
    events: CauseGraph,
    source: ArrayLike,
    target: ArrayLike,
    most: int = MOST,
) -> Chains:
    """The shortest chain from each source to its target; the two alone where none is found in time."""
    size = len(events.process)
    sources = check_integers(source, "source", 0, size)
    targets = check_integers(target, "target", 0, size, len(sources))
    one_each = np.arange(len(sources) + 1)
    return _search_chains(events, sources, one_each, targets, most)


def find_witnesses(
    trace: LinkedTrace,
    found: OrderViolations,
    events: CauseGraph,
    most: int = MOST,
) -> LateWitnesses:
    """For each late delivery of the pairs, the early one with the shortest chain; of equals the first."""
    size = len(events.process)
    late = _find_late_deliveries(trace, found)
    order = np.lexsort((found.pair_early, late))
    late, early = late[order], found.pair_early[order]
    causes = found.pair_cause[order]
    # The pairs of one late delivery follow each other: groups, of which each has one cause.
    first = np.flatnonzero(np.diff(late, prepend=-1))
    bounds = np.append(first, len(late))
    sends = check_integers(trace.sent[early], "the send of an early delivery", 0, size)
    group_causes = check_integers(causes[first], "cause", 0, size)
    paths = _search_chains(events, group_causes, bounds, sends, most)
    # A chain ends at the send of one early delivery of its group: the one that is shown.
    chain_ends = paths.events[paths.starts[1:] - 1]
    group = np.repeat(np.arange(len(first)), np.diff(bounds))
    shown = np.flatnonzero(sends == chain_ends[group])
    return LateWitnesses(late[first], early[shown], paths)


def _find_late_deliveries(trace: LinkedTrace, found: OrderViolations) -> Ints:
    """Of each pair, the delivery of its cause: the one that is late."""
    processes = int(trace.process.max(initial=0)) + 1
    # A send and a process as one key: positions times processes stay far below 2^63.
    keys = trace.sent[found.late] * processes + trace.process[found.late]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    wanted = found.pair_cause * processes + found.pair_process
    at = np.searchsorted(keys, wanted)
    is_beyond = at >= len(keys)
    if is_beyond.any() or (keys[at] != wanted).any():
        raise CallerError("the cause of a pair is not late; give the verdict of one call on this trace")
    return found.late[order][at]


def _search_chains(
    events: CauseGraph,
    source: Ints,
    starts: Ints,
    targets: Ints,
    most: int,
) -> Chains:
    return Chains(*_search_all(*events, source, starts, targets, most))


@compiled
def _search_all(
    process: Ints,
    first_cause: Ints,
    causes: Ints,
    source: Ints,
    starts: Ints,
    targets: Ints,
    most: int,
) -> tuple[Ints, Ints]:
    """The chains from each source i to the nearest of targets[starts[i]:starts[i + 1]]."""
    size = len(process)
    stamp = np.full(size, -1, dtype=np.int64)
    after = np.empty(size, dtype=np.int64)
    ends = np.zeros(len(source) + 1, dtype=np.int64)
    chains = [0 for _ in range(0)]
    for i in range(len(source)):
        ahead = targets[starts[i] : starts[i + 1]]
        if _reach_source(process, first_cause, causes, source[i], ahead, i, most, stamp, after):
            _append_chain(process, source[i], after, chains)
        else:
            chains.append(source[i])
            chains.append(ahead[0])
        ends[i + 1] = len(chains)
    events = np.empty(len(chains), dtype=np.int64)
    for k in range(len(chains)):
        events[k] = chains[k]
    return ends, events


@compiled
def _reach_source(
    process: Ints,
    first_cause: Ints,
    causes: Ints,
    source: int,
    targets: Ints,
    mark: int,
    most: int,
    stamp: Ints,
    after: Ints,
) -> bool:
    """Go back from the targets, one crossing at a time, until the source is met; `after` is the way there.

    What is seen keeps the order of the targets, so that of equal chains the first one's is found.
    """
    seen = [0 for _ in range(0)]
    wave, came = list(targets), [-1 for _ in targets]
    while len(wave):
        first = len(seen)
        for k in range(len(wave)):
            _walk_line(process, first_cause, causes, wave[k], came[k], source, mark, most, stamp, after, seen)
        if stamp[source] == mark:
            return True
        if len(seen) > most:
            return False
        wave = [0 for _ in range(0)]
        came = [0 for _ in range(0)]
        for k in range(first, len(seen)):
            event = seen[k]
            for c in range(first_cause[event], first_cause[event + 1]):
                cause = causes[c]
                if cause == source:
                    after[source] = event
                    return True
                if cause > source and stamp[cause] != mark:
                    wave.append(cause)
                    came.append(event)
    return False


@compiled
def _walk_line(
    process: Ints,
    first_cause: Ints,
    causes: Ints,
    event: int,
    effect: int,
    source: int,
    mark: int,
    most: int,
    stamp: Ints,
    after: Ints,
    seen: list[int],
) -> None:
    """See an event and all that is before it on its line, down to the source."""
    if stamp[event] == mark:
        return
    stamp[event] = mark
    after[event] = effect
    at = len(seen)
    seen.append(event)
    while at < len(seen) <= most:
        event = seen[at]
        at += 1
        for c in range(first_cause[event], first_cause[event + 1]):
            cause = causes[c]
            same = process[cause] == process[event]
            if same and cause >= source and stamp[cause] != mark:
                stamp[cause] = mark
                after[cause] = event
                seen.append(cause)


@compiled
def _append_chain(
    process: Ints,
    source: int,
    after: Ints,
    chains: list[int],
) -> None:
    """Append the chain from the source, without the events that are between others on a line."""
    chains.append(source)
    event, line = after[source], 1
    while event >= 0:
        line = line + 1 if process[event] == process[chains[-1]] else 1
        if line > 2:
            chains.pop()
        chains.append(event)
        event = after[event]
