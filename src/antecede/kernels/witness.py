r"""The shortest chain of causes from one event to another: what shows a person why one came before the other.

A chain goes along lines and crosses from one to another. A line is an unbroken run of events of one process,
of which each is a cause of the next. The shortest chain has the fewest crossings; of the events on a line it
keeps the first and the last, since those between say nothing more.

Theory of operation. Whatever is behind a reached event on its line is reached, too. So what can be reached
with k crossings is one number for each line, the first position there: its `reach`. To get to k + 1
crossings, the events that are new on each line are walked over; an effect on another line becomes the reach
of that line if it lies before it.

    line of the source  ---S---a-------b-----     k = 0: reach is S, and the walk meets the effects of a and b
                                \       \
    another line        ---------x-------y---     k = 1: reach is x, and the line was entered at x from a

The search ends as soon as the reach of a line is not behind a target on it. So the lines of the last crossing
are never walked, and mostly the line of the source is the only one that is. `entered_from[x]` is the event
from which a line was entered at x, and `entry_before[x]` is where the line of that event was entered: so the
chain is read backwards, with two events for each line.

A chain that begins with an effect of the source itself has one event less on the first line. So if there are
crossings, the search is repeated without the rest of that line, and counts if it needs no more of them.
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
_NO_LIMIT = 2**62


class CauseGraph(NamedTuple):
    """Direct causes of events in a linear extension: those of event e are causes[starts[e]:starts[e + 1]]."""

    process: Ints
    starts: Ints
    causes: Ints


class Chains(NamedTuple):
    """Chain i is events[starts[i]:starts[i + 1]], causes first."""

    starts: Ints
    events: Ints

    def to_lists(self) -> list[list[int]]:
        """Each chain as a list."""
        events, ends = self.events.tolist(), self.starts.tolist()
        return [events[low:high] for low, high in pairwise(ends)]


class LateWitnesses(NamedTuple):
    """Late deliveries, ascending; for each the early one that shows it best, and the chain of their sends."""

    late: Ints
    early: Ints
    chains: Chains


def build_cause_graph(process: ArrayLike, source: ArrayLike, target: ArrayLike) -> CauseGraph:
    """The graph of events at positions 0, 1, ..., with an edge from each cause to its effect."""
    places = check_integers(process, "process", 0, 2**31)
    causes, effects = check_forward_edges(len(places), source, target)
    starts, items = group_by_key(effects, len(places))
    return CauseGraph(places, starts, causes[items])


def find_shortest_chains(
    events: CauseGraph,
    source: ArrayLike,
    target: ArrayLike,
    most_looked_at: int = MOST,
) -> Chains:
    """The shortest chain from each source to its target; the two alone where none is found in time."""
    size = len(events.process)
    sources = check_integers(source, "source", 0, size)
    targets = check_integers(target, "target", 0, size, len(sources))
    one_each = np.arange(len(sources) + 1)
    return _search_chains_to_nearest_targets(events, sources, one_each, targets, most_looked_at)


def find_late_witnesses(
    trace: LinkedTrace,
    violations: OrderViolations,
    events: CauseGraph,
    most_looked_at: int = MOST,
) -> LateWitnesses:
    """For each late delivery of the pairs, the early one with the shortest chain; of equals the first."""
    size = len(events.process)
    late = _find_late_delivery_of_each_pair(trace, violations)
    order = np.lexsort((violations.pair_early, late))
    late, early = late[order], violations.pair_early[order]
    causes = violations.pair_cause[order]
    # The pairs of one late delivery follow each other: groups, of which each has one cause.
    first = np.flatnonzero(np.diff(late, prepend=-1))
    bounds = np.append(first, len(late))
    sends = check_integers(trace.sent[early], "the send of an early delivery", 0, size)
    group_causes = check_integers(causes[first], "cause", 0, size)
    paths = _search_chains_to_nearest_targets(events, group_causes, bounds, sends, most_looked_at)
    # A chain ends at the send of one early delivery of its group: the one that is shown.
    chain_ends = paths.events[paths.starts[1:] - 1]
    group = np.repeat(np.arange(len(first)), np.diff(bounds))
    shown = np.flatnonzero(sends == chain_ends[group])
    return LateWitnesses(late[first], early[shown], paths)


def _find_late_delivery_of_each_pair(trace: LinkedTrace, violations: OrderViolations) -> Ints:
    """Of each pair, the delivery of its cause: the one that is late."""
    processes = int(trace.process.max(initial=0)) + 1
    # A send and a process as one key: positions times processes stay far below 2^63.
    keys = trace.sent[violations.late] * processes + trace.process[violations.late]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    wanted = violations.pair_cause * processes + violations.pair_process
    at = np.searchsorted(keys, wanted)
    is_beyond = at >= len(keys)
    if is_beyond.any() or (keys[at] != wanted).any():
        raise CallerError("the cause of a pair is not late; give the verdict of one call on this trace")
    return violations.late[order][at]


def _search_chains_to_nearest_targets(
    events: CauseGraph,
    source: Ints,
    starts: Ints,
    targets: Ints,
    most_looked_at: int,
) -> Chains:
    """The chains from each source i to the nearest of targets[starts[i]:starts[i + 1]]."""
    processes = int(events.process.max(initial=-1)) + 1
    lines, number = _cut_events_into_lines(*events, processes)
    search = _Search(
        stamp=np.full(number, -1, dtype=np.int64),
        reach=np.empty(number, dtype=np.int64),
        walked=np.empty(number, dtype=np.int64),
        entered_from=np.empty(len(events.process), dtype=np.int64),
        entry_before=np.empty(len(events.process), dtype=np.int64),
    )
    return Chains(*_search_chain_starts_and_events(lines, search, source, starts, targets, most_looked_at))


class _Lines(NamedTuple):
    """The lines of all events, and what leads from one to another."""

    line: Ints  # of each event
    following: Ints  # the next event on the line, or the number of all events
    effect_starts: Ints  # event e has its effects on other lines at effect_starts[e]:effect_starts[e + 1]
    effects: Ints


class _Search(NamedTuple):
    """What a search writes down. Entries of earlier searches need not be cleared."""

    stamp: Ints  # of each line, the search that its reach is of
    reach: Ints  # of each line, the first event that is reached
    walked: Ints  # of each line, the event from which on it is walked already
    entered_from: Ints  # of an event at which a line was entered: the cause that led there
    entry_before: Ints  # and the event at which the line of that cause was entered


@compiled
def _cut_events_into_lines(
    process: Ints, first_cause: Ints, causes: Ints, processes: int
) -> tuple[_Lines, int]:
    """The lines, and how many there are."""
    size = len(process)
    line = np.full(size, -1, dtype=np.int64)
    following = np.full(size, size, dtype=np.int64)
    latest = np.full(processes, -1, dtype=np.int64)
    starts = np.zeros(size + 1, dtype=np.int64)
    number = 0
    for event in range(size):
        before = latest[process[event]]
        latest[process[event]] = event
        own_causes = causes[first_cause[event] : first_cause[event + 1]]
        for cause in own_causes:
            if cause == before:
                line[event] = line[before]
                following[before] = event
        if line[event] < 0:
            line[event] = number
            number += 1
        for cause in own_causes:
            starts[cause + 1] += line[cause] != line[event]
    for event in range(size):
        starts[event + 1] += starts[event]
    effects = np.empty(starts[size], dtype=np.int64)
    ends = starts[:-1].copy()
    for event in range(size):
        for cause in causes[first_cause[event] : first_cause[event + 1]]:
            if line[cause] != line[event]:
                effects[ends[cause]] = event
                ends[cause] += 1
    return _Lines(line, following, starts, effects), number


@compiled
def _search_chain_starts_and_events(
    lines: _Lines, search: _Search, source: Ints, starts: Ints, targets: Ints, most: int
) -> tuple[Ints, Ints]:
    """All chains; where none is found, the source and the first of the targets."""
    ends = np.zeros(len(source) + 1, dtype=np.int64)
    chains = [0 for _ in range(0)]
    for i in range(len(source)):
        ahead = targets[starts[i] : starts[i + 1]]
        chain = [source[i], ahead[0]]
        target, fewest = _find_nearest_target_and_crossings(
            lines, search, source[i], ahead, True, _NO_LIMIT, most, 2 * i
        )
        if target >= 0:
            chain = _trace_back_chain(lines, search, source[i], target)
        if fewest > 0:
            target, _ = _find_nearest_target_and_crossings(
                lines, search, source[i], ahead, False, fewest, most, 2 * i + 1
            )
            if target >= 0:
                chain = _trace_back_chain(lines, search, source[i], target)
        chains.extend(chain)
        ends[i + 1] = len(chains)
    events = np.empty(len(chains), dtype=np.int64)
    for k in range(len(chains)):
        events[k] = chains[k]
    return ends, events


@compiled
def _find_nearest_target_and_crossings(
    lines: _Lines,
    search: _Search,
    source: int,
    targets: Ints,
    is_whole_line: bool,
    fewest: int,
    most: int,
    mark: int,
) -> tuple[int, int]:
    """The first of the targets with the fewest crossings, and how many these are.

    -1 and the limit if all have more than `fewest`, or if more than `most` events would have to be looked at.
    """
    line, following, effect_starts, effects = lines
    stamp, reach, walked, entered_from, entry_before = search
    beyond = targets.max() + 1
    for target in targets:
        stamp[line[target]] = mark
        reach[line[target]] = walked[line[target]] = beyond
    stamp[line[source]] = mark
    reach[line[source]] = walked[line[source]] = source
    # What is to be walked over: each line from its entry to where it was walked before.
    entries = [source]
    stops = [beyond if is_whole_line else source + 1]
    looked_at = crossings = 0
    while len(entries):
        for target in targets:
            if reach[line[target]] <= target:
                return target, crossings
        if crossings == fewest:
            break
        crossings += 1
        entered_lines = [0 for _ in range(0)]
        for k in range(len(entries)):
            event = entries[k]
            while event < stops[k]:
                looked_at += 1
                for effect in effects[effect_starts[event] : effect_starts[event + 1]]:
                    other = line[effect]
                    if stamp[other] != mark:
                        stamp[other] = mark
                        reach[other] = walked[other] = beyond
                    if effect < reach[other]:
                        if reach[other] == walked[other]:
                            entered_lines.append(other)
                        reach[other] = effect
                        entered_from[effect] = event
                        entry_before[effect] = entries[k]
                event = following[event]
            if looked_at > most:
                return -1, fewest
        entries = [reach[other] for other in entered_lines]
        stops = [walked[other] for other in entered_lines]
        for other in entered_lines:
            walked[other] = reach[other]
    return -1, fewest


@compiled
def _trace_back_chain(lines: _Lines, search: _Search, source: int, target: int) -> list[int]:
    """The chain to a target that was reached: where each line was entered and left."""
    entry = search.reach[lines.line[target]]
    backwards = [target]
    if entry != target:
        backwards.append(entry)
    while entry != source:
        leaving = search.entered_from[entry]
        entry = search.entry_before[entry]
        backwards.append(leaving)
        if entry != leaving:
            backwards.append(entry)
    return backwards[::-1]
