"""Vector clocks of all events of an execution, and how many pairs of events they order.

Events are numbered in a linear extension; besides the order of each process, edges say what caused what.
Entry q of an event's clock counts the events of q that happened before it, and for its own process itself
too. So the entries of an event's clock add up to its past and one, and the ordered pairs of an execution to
the sum of all entries less the number of events: no pair is ever looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_forward_edges, check_integers, group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

Clocks = NDArray[np.int32]


class PairCounts(NamedTuple):
    """Of the pairs of events: how many happened one before the other, and how many did not."""

    ordered: int
    concurrent: int


def compute_clocks(
    process: ArrayLike,
    source: ArrayLike,
    target: ArrayLike,
    processes: int,
    first: int = 0,
    last: int | None = None,
) -> Clocks:
    """The clocks of all events, a row each; of the columns first..last-1 alone, where all are too many.

    Columns do not depend on each other, so blocks of them may be found one after the other, or in parallel.
    """
    end = processes if last is None else last
    if not 0 <= first <= end <= processes:
        raise CallerError(f"columns {first} to {end} are not among those of {processes} processes")
    places, causes, starts = _check_processes_and_group_foreign_causes(process, source, target, processes)
    found = np.zeros((len(places), end - first), dtype=np.int32)
    _fill_clocks(places, causes, starts, processes, first, found)
    return found


class ClockPass(NamedTuple):
    """A pass over all events that keeps the clocks of processes and of open causes: those with effects at
    other processes still to come."""

    process: Ints
    causes: Ints  # of event e, elsewhere: causes[starts[e]:starts[e + 1]]
    starts: Ints
    until: Ints  # the last effect elsewhere of each event, -1 if it has none
    row: Ints  # where the clock of an open cause is kept
    rows: int  # most open causes at once
    processes: int

    @property
    def entries(self) -> int:
        """How many entries are in memory."""
        return self.processes * (self.processes + self.rows)


def plan_clock_pass(process: ArrayLike, source: ArrayLike, target: ArrayLike, processes: int) -> ClockPass:
    """What a pass over these events needs; given so many processes."""
    places, causes, starts = _check_processes_and_group_foreign_causes(process, source, target, processes)
    until = find_last_effects(causes, starts)
    row, rows = assign_rows_to_open_causes(causes, starts, until)
    return ClockPass(places, causes, starts, until, row, rows, processes)


def count_ordered_pairs_by_clocks(clock_pass: ClockPass) -> int:
    """How many pairs of events happened one before the other."""
    return int(_sum_clock_entries(*clock_pass)) - len(clock_pass.process)


def count_ordered_and_concurrent_pairs(
    process: ArrayLike, source: ArrayLike, target: ArrayLike, processes: int
) -> PairCounts:
    """How many pairs are ordered and concurrent."""
    clock_pass = plan_clock_pass(process, source, target, processes)
    size = len(clock_pass.process)
    ordered = count_ordered_pairs_by_clocks(clock_pass)
    return PairCounts(ordered, size * (size - 1) // 2 - ordered)


def _check_processes_and_group_foreign_causes(
    process: ArrayLike, source: ArrayLike, target: ArrayLike, processes: int
) -> tuple[Ints, Ints, Ints]:
    """Checked processes, and the causes of each event e elsewhere, in causes[starts[e]:starts[e + 1]]."""
    places = check_integers(process, "process", 0, processes)
    causes, effects = check_forward_edges(len(places), source, target)
    across = places[causes] != places[effects]
    causes, effects = causes[across], effects[across]
    starts, items = group_by_key(effects, len(places))
    return places, causes[items], starts


@compiled
def _fill_clocks(
    process: Ints, causes: Ints, starts: Ints, processes: int, first_column: int, clocks: Clocks
) -> None:
    latest = np.full(processes, -1, dtype=np.int64)
    for event in range(len(process)):
        here = process[event]
        if latest[here] >= 0:
            clocks[event] = clocks[latest[here]]
        for k in range(starts[event], starts[event + 1]):
            for column in range(clocks.shape[1]):
                clocks[event, column] = max(clocks[event, column], clocks[causes[k], column])
        if 0 <= here - first_column < clocks.shape[1]:
            clocks[event, here - first_column] += 1
        latest[here] = event


@compiled
def find_last_effects(causes: Ints, starts: Ints) -> Ints:
    """The last effect of each event, -1 if it has none."""
    last = np.full(len(starts) - 1, -1, dtype=np.int64)
    for event in range(len(last)):
        for k in range(starts[event], starts[event + 1]):
            last[causes[k]] = event
    return last


@compiled
def assign_rows_to_open_causes(causes: Ints, starts: Ints, until: Ints) -> tuple[Ints, int]:
    """A row for each event that causes another, free again behind the last effect; how many there are."""
    row = np.full(len(until), -1, dtype=np.int64)
    free = [0 for _ in range(0)]
    used = 0
    for event in range(len(until)):
        for k in range(starts[event], starts[event + 1]):
            # An edge given twice must not free the row twice.
            if until[causes[k]] == event and row[causes[k]] >= 0:
                free.append(row[causes[k]])
                row[causes[k]] = -2 - row[causes[k]]
        if until[event] >= 0:
            if len(free) == 0:
                free.append(used)
                used += 1
            row[event] = free.pop()
    return np.where(row < -1, -2 - row, row), used


@compiled
def _sum_clock_entries(
    process: Ints, causes: Ints, starts: Ints, until: Ints, row: Ints, rows: int, processes: int
) -> int:
    """The sum of all entries of all clocks."""
    states = np.zeros((processes, processes), dtype=np.int32)
    kept = np.zeros((rows, processes), dtype=np.int32)
    sums = np.zeros(processes, dtype=np.int64)
    total = 0
    for event in range(len(process)):
        here = process[event]
        state = states[here]
        for k in range(starts[event], starts[event + 1]):
            cause = kept[row[causes[k]]]
            known = 0
            for column in range(processes):
                state[column] = max(state[column], cause[column])
                known += state[column]
            sums[here] = known
        state[here] += 1
        sums[here] += 1
        total += sums[here]
        if until[event] >= 0:
            kept[row[event]] = state
    return total
