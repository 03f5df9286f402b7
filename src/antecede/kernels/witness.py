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


def find_chains(events: CauseGraph, source: ArrayLike, target: ArrayLike, most: int = MOST) -> Chains:
    """The shortest chain from each source to its target; the two alone where none is found in time."""
    size = len(events.process)
    sources = check_integers(source, "source", 0, size)
    targets = check_integers(target, "target", 0, size, len(sources))
    return _chains(events, sources, np.arange(len(sources) + 1), targets, most)


def find_witnesses(
    trace: LinkedTrace, found: OrderViolations, events: CauseGraph, most: int = MOST
) -> LateWitnesses:
    """For each late delivery of the pairs, the early one with the shortest chain; of equals the first."""
    late = _delivery(trace, found)
    order = np.lexsort((found.pair_early, late))
    late, early = late[order], found.pair_early[order]
    first = np.flatnonzero(np.diff(late, prepend=-1))
    sends = check_integers(trace.sent[early], "the send of an early delivery", 0, len(events.process))
    causes = check_integers(found.pair_cause[order][first], "cause", 0, len(events.process))
    paths = _chains(events, causes, np.append(first, len(late)), sends, most)
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(late))))
    told = np.flatnonzero(sends == paths.events[paths.starts[1:] - 1][group])
    return LateWitnesses(late[first], early[told], paths)


def _delivery(trace: LinkedTrace, found: OrderViolations) -> Ints:
    """Of each pair, the delivery of its cause: the one that is late."""
    processes = int(trace.process.max(initial=0)) + 1
    keys = trace.sent[found.late] * processes + trace.process[found.late]
    order = np.argsort(keys, kind="stable")
    wanted = found.pair_cause * processes + found.pair_process
    at = np.searchsorted(keys[order], wanted)
    if (at >= len(keys)).any() or (keys[order][np.minimum(at, len(keys) - 1)] != wanted).any():
        raise CallerError("the cause of a pair is not late; give the verdict of one call on this trace")
    return found.late[order][at]


def _chains(events: CauseGraph, source: Ints, starts: Ints, targets: Ints, most: int) -> Chains:
    return Chains(*_search(*events, source, starts, targets, most))


@compiled
def _search(
    process: Ints, first_cause: Ints, causes: Ints, source: Ints, starts: Ints, targets: Ints, most: int
) -> tuple[Ints, Ints]:
    """The chains from each source i to the nearest of targets[starts[i]:starts[i + 1]]."""
    size = len(process)
    stamp, after = np.full(size, -1, dtype=np.int64), np.empty(size, dtype=np.int64)
    ends = np.zeros(len(source) + 1, dtype=np.int64)
    found = [0 for _ in range(0)]
    for i in range(len(source)):
        ahead = targets[starts[i] : starts[i + 1]]
        if _reach(process, first_cause, causes, source[i], ahead, i, most, stamp, after):
            _trace(process, source[i], after, found)
        else:
            found.append(source[i])
            found.append(ahead[0])
        ends[i + 1] = len(found)
    return ends, np.array(found, dtype=np.int64) if len(found) else np.empty(0, dtype=np.int64)


@compiled
def _reach(
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
            _walk(process, first_cause, causes, wave[k], came[k], source, mark, most, stamp, after, seen)
        if stamp[source] == mark:
            return True
        if len(seen) > most:
            return False
        wave, came = [0 for _ in range(0)], [0 for _ in range(0)]
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
def _walk(
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
    stamp[event], after[event] = mark, effect
    at = len(seen)
    seen.append(event)
    while at < len(seen) <= most:
        event = seen[at]
        at += 1
        for c in range(first_cause[event], first_cause[event + 1]):
            cause = causes[c]
            same = process[cause] == process[event]
            if same and cause >= source and stamp[cause] != mark:
                stamp[cause], after[cause] = mark, event
                seen.append(cause)


@compiled
def _trace(process: Ints, source: int, after: Ints, found: list[int]) -> None:
    """Append the chain from the source, without the events that are between others on a line."""
    found.append(source)
    event, line = after[source], 1
    while event >= 0:
        line = line + 1 if process[event] == process[found[-1]] else 1
        if line > 2:
            found.pop()
        found.append(event)
        event = after[event]
