"""Processes without an order of their own whose events are all ordered by causes: these are lines as well.

A log that names causes (`parents`) and gives no `index` may still tell the order of a process: each event
names the one before it, or something that followed from that. Only processes that send or deliver something
are looked at, since for the others nothing depends on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from antecede.events.columns import Bools
from antecede.kernels.arrays import group_by_key
from antecede.kernels.causal_lines import MOST_LOOKS, mark_lines_ordered_by_causes
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints, invert_permutation


class EventLines(NamedTuple):
    """Where events stand in the order of their processes; rows of a process stand together, and ascend."""

    process: Ints
    is_step: Bools
    track: Ints  # the process, or a code of its own, from `codes` on
    place: Ints
    codes: int


class OrderedRows(NamedTuple):
    """All rows, causes first, and what orders them."""

    order: Ints
    stuck: Ints  # on cycles
    edges: Edges


def add_lines_of_processes_ordered_by_causes(
    lines: EventLines, execution: Ints, has_message: Bools, causes: OrderedRows
) -> EventLines | None:
    """Lines also for processes that causes alone order; None if there is no such process."""
    processes = _list_messaging_processes_without_order(lines, has_message, causes.stuck)
    if not len(processes):
        return None
    position = invert_permutation(causes.order)
    members = causes.order[np.isin(lines.process, processes)[causes.order]]
    members = members[lines.is_step[members]]
    starts, by_process = group_by_key(np.searchsorted(processes, lines.process[members]), len(processes))
    members = members[by_process]
    source, target = (position[side] for side in causes.edges)
    cause_starts, by_target = group_by_key(target, len(position))
    is_line = mark_lines_ordered_by_causes(
        starts,
        position[members],
        execution[members[starts[:-1]]],
        cause_starts,
        source[by_target],
        MOST_LOOKS,
    )
    if not is_line.any():
        return None
    return _put_events_of_processes_in_causal_order(lines, processes[is_line], position)


def _list_messaging_processes_without_order(
    lines: EventLines, has_message: Bools, rows_on_cycles: Ints
) -> Ints:
    """The processes, ascending, of which no event has a place, and at least two have to do with messages."""
    is_alone = lines.is_step & (lines.track >= lines.codes)
    talking = np.bincount(lines.process[is_alone & has_message], minlength=lines.codes)
    is_chosen = talking >= 2
    is_chosen[lines.process[lines.is_step & ~is_alone]] = False
    is_chosen[lines.process[rows_on_cycles]] = False
    return np.flatnonzero(is_chosen)


def _put_events_of_processes_in_causal_order(
    lines: EventLines, processes: Ints, causal_position: Ints
) -> EventLines:
    """The events of these processes share out their rows among themselves, in the order of causes.

    Arrivals, which are no steps, take part: what came first at the process must agree with this order.
    """
    rows = np.flatnonzero(np.isin(lines.process, processes))
    track, place = lines.track.copy(), lines.place.copy()
    steps = rows[lines.is_step[rows]]
    track[steps] = lines.process[steps]
    place[rows[np.lexsort((causal_position[rows], lines.process[rows]))]] = rows
    return lines._replace(track=track, place=place)
