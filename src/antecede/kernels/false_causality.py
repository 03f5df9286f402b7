"""False causality: what happened-before orders and the application did not mean.

An application may say which own events a send depends on. Besides everything that happened before an event,
there is then what it depends on: through what it names, and through the messages it got. Where a message m
happened before m', both go to one process, and m' does not depend on m, causal order makes m' wait for m
without need.

The pairs that matter are those in which m is not yet delivered when m' is there. They are found in one pass
of the bit engine (see `bits`) that carries two sets with every event instead of one past with every process:

    before[e]  messages in flight whose send happened before event e
    meant[e]   those of them that e depends on, directly or through others

    event e        before[e] = union of before[c] over its causes c;  meant[e] likewise, over named ones
    e sends m      both gain the slot of m;  due[q] gains it, for each target q
    m is judged    awaited = before[send of m] & due[here], without m itself
                   needless = awaited & ~meant[send of m]

What is meant is not the past of a process (that is why it needs a set for each event), so a set is kept in a
row for as long as a later event may ask for it, and the row is then used again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from antecede.core.errors import CallerError
from antecede.kernels.arrays import check_integers, group_by_key
from antecede.kernels.bits import (
    BitSets,
    add_bit,
    append_pairs_with_slot_names,
    copy_bits,
    count_ones,
    count_words_for_bits,
    drop_bit,
    make_bit_mask,
    mark_message_due,
    merge_bits,
    sweep_sets,
)
from antecede.kernels.compiled import compiled
from antecede.kernels.delivery_pass import ACTION, ENDS, SENDS, SWEEPS, assign_acts_and_message_slots
from antecede.kernels.links import LinkedTrace
from antecede.kernels.ragged import Ints
from antecede.kernels.vector_clocks import assign_rows_to_open_causes
from antecede.kernels.witness import CauseGraph, build_cause_graph

_NO_CAP = 2**62


class Waits(NamedTuple):
    """Messages that causal order makes wait for another: pairs that the application did not mean.

    A pair says that the message judged at `at`, at `process`, depends in no way on the one sent at `cause`,
    which happened before it and is not delivered there.
    """

    at: Ints
    cause: Ints
    process: Ints
    needless: Ints  # of each event, how many such pairs are judged there, also beyond the cap
    meant: Ints  # of each event, how many others: those that the application means


class _CausesAndSetRows(NamedTuple):
    """Direct causes of each event, and the row in which its set is kept while it may be asked for, or -1."""

    starts: Ints
    causes: Ints
    set_row: Ints
    set_row_count: int


class _Deliveries(NamedTuple):
    """What each event does; the copies of a message sent at e go to targets[starts[e]:starts[e + 1]]."""

    process: Ints
    act: NDArray[np.int8]
    slot: Ints
    judged: Ints  # the send of the message that is judged at an event, or -1
    starts: Ints
    targets: Ints
    slots: int


def find_needless_waits(
    trace: LinkedTrace,
    past: CauseGraph,
    meant: CauseGraph,
    judged: ArrayLike | None = None,
    cap: int = _NO_CAP,
) -> Waits:
    """The pairs of a whole trace; of the needless ones the first `cap` are listed.

    `past` has all direct causes, `meant` those that the application names; messages may be left out of both.
    A message is judged at its delivery; or at its arrival, if `judged` has there the position of its send.
    """
    size = len(trace.process)
    judged_sends = trace.sent
    if judged is not None:
        judged_sends = check_integers(judged, "judged", -1, size, size)
    if len(past.process) != size or len(meant.process) != size:
        raise CallerError(f"past and meant must be graphs of the {size} events of the trace")
    past_rows = _assign_set_rows(trace, judged_sends, _add_causes_by_messages(trace, past))
    meant_rows = _assign_set_rows(trace, judged_sends, _add_causes_by_messages(trace, meant))
    set_row_count = past_rows.set_row_count + meant_rows.set_row_count
    deliveries = _assign_delivery_slots(trace, judged_sends, set_row_count)
    processes = int(trace.process.max(initial=-1)) + 1
    pairs, needless, wanted = _list_needless_pairs_and_count_waits(
        deliveries, past_rows, meant_rows, processes, cap
    )
    at = pairs[:, 0].copy()
    cause = pairs[:, 1].copy()
    return Waits(at, cause, trace.process[at], needless, wanted)


def _add_causes_by_messages(trace: LinkedTrace, given: CauseGraph) -> CauseGraph:
    """The given causes, and of each delivery the send of its message."""
    effects = np.repeat(np.arange(len(trace.process)), np.diff(given.starts))
    delivered = np.flatnonzero(trace.sent >= 0)
    source = np.concatenate((given.causes, trace.sent[delivered]))
    target = np.concatenate((effects, delivered))
    return build_cause_graph(trace.process, source, target)


def _assign_set_rows(trace: LinkedTrace, judged_sends: Ints, graph: CauseGraph) -> _CausesAndSetRows:
    """Give each event a row for its set, until the last event that asks for it."""
    size = len(trace.process)
    effects = np.repeat(np.arange(size), np.diff(graph.starts))
    # An event that judges a message asks for the sets of its send, though these are no causes of it.
    judging = np.flatnonzero(judged_sends >= 0)
    source = np.concatenate((graph.causes, judged_sends[judging]))
    target = np.concatenate((effects, judging))
    asked_for = build_cause_graph(trace.process, source, target)
    until = np.full(size, -1, dtype=np.int64)
    np.maximum.at(until, source, target)
    set_row, set_row_count = assign_rows_to_open_causes(asked_for.causes, asked_for.starts, until)
    return _CausesAndSetRows(graph.starts, graph.causes, set_row, set_row_count)


def _assign_delivery_slots(trace: LinkedTrace, judged_sends: Ints, set_row_count: int) -> _Deliveries:
    """Slots for all messages that were delivered, and where they are due."""
    size = len(trace.process)
    sent = np.where(trace.sender >= 0, trace.sent, -1)
    copies = np.bincount(sent[sent >= 0], minlength=size)
    act, slot, slots = assign_acts_and_message_slots(sent, copies, set_row_count)
    starts, delivered = group_by_key(sent, size)
    targets = trace.process[delivered]
    return _Deliveries(trace.process, act, slot, judged_sends, starts, targets, slots)


@compiled
def _list_needless_pairs_and_count_waits(
    deliveries: _Deliveries, past: _CausesAndSetRows, meant: _CausesAndSetRows, processes: int, cap: int
) -> tuple[Ints, Ints, Ints]:
    """Carry both sets through all events; returns (event, cause) pairs, and both counts of each event."""
    process, act, slots, judged, starts, targets, number = deliveries
    width = count_words_for_bits(number)
    before_rows = np.zeros((past.set_row_count, width), dtype=np.uint64)
    meant_rows = np.zeros((meant.set_row_count, width), dtype=np.uint64)
    due = np.zeros((processes, width), dtype=np.uint64)
    before = np.zeros(width, dtype=np.uint64)
    depends = np.zeros(width, dtype=np.uint64)
    alive = np.zeros(width, dtype=np.uint64)
    unmeant = np.zeros(width, dtype=np.uint64)
    names = np.zeros(number, dtype=np.int64)
    pairs, listed = np.empty((16, 2), dtype=np.int64), 0
    needless = np.zeros(len(process), dtype=np.int64)
    wanted = np.zeros(len(process), dtype=np.int64)
    for event in range(len(process)):
        if act[event] & SWEEPS:
            sweep_sets(before_rows, alive)
            sweep_sets(meant_rows, alive)
        here, send, slot = process[event], judged[event], slots[event]
        action = act[event] & ACTION
        if send >= 0:
            carried = before_rows[past.set_row[send]]
            needs = meant_rows[meant.set_row[send]]
            needless[event], wanted[event] = _fill_needless_and_count_needless_and_needed(
                slots[send], carried, needs, due[here], unmeant
            )
            if needless[event] and listed < cap:
                pairs, listed = append_pairs_with_slot_names(event, unmeant, names, pairs, listed, cap)
        _merge_cause_sets(event, past, before_rows, before)
        _merge_cause_sets(event, meant, meant_rows, depends)
        if action == SENDS:
            names[slot] = event
            mark_message_due(slot, targets[starts[event] : starts[event + 1]], due)
            add_bit(before, slot)
            add_bit(depends, slot)
            add_bit(alive, slot)
        elif action:
            drop_bit(due[here], slot)
            if action == ENDS:
                drop_bit(alive, slot)
        if past.set_row[event] >= 0:
            copy_bits(before, before_rows[past.set_row[event]])
        if meant.set_row[event] >= 0:
            copy_bits(depends, meant_rows[meant.set_row[event]])
    return pairs[:listed], needless, wanted


@compiled
def _fill_needless_and_count_needless_and_needed(
    own_slot: int, carried: BitSets, needed: BitSets, due: BitSets, needless_set: BitSets
) -> tuple[int, int]:
    """Write down what a message waits for without need; returns how many, and how many it does need."""
    needless = wanted = 0
    for w in range(len(due)):
        awaited = carried[w] & due[w]
        if own_slot >= 0 and own_slot >> 6 == w:
            awaited &= ~make_bit_mask(own_slot)  # a message does not wait for itself
        needless_set[w] = awaited & ~needed[w]
        if awaited:
            needless += count_ones(needless_set[w])
            wanted += count_ones(awaited & needed[w])
    return needless, wanted


@compiled
def _merge_cause_sets(
    event: int,
    causes: _CausesAndSetRows,
    sets: BitSets,
    into: BitSets,
) -> None:
    """The union of the sets of all causes of an event."""
    into[:] = 0
    for k in range(causes.starts[event], causes.starts[event + 1]):
        merge_bits(sets[causes.set_row[causes.causes[k]]], into)
