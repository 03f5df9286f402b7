"""The pass over a recorded execution: carries the bits of messages through its events and judges deliveries.

See `bits` for what it does at an event. As the future is known, slots are given out beforehand
(`assign_acts_and_message_slots`), and what each event has to do is written down in a `PassPlan`.

Besides `past` and `due`, each process has three more sets. OWN has the messages that it sent. Of what is due,
OVERTAKEN has the messages that some early delivery depended on, and OVERTAKEN_BY_SENDER those for which that
one came from the same sender: they break even the order of their own channel. A set is needed to say "late"
because a bit in the past of a process is not enough: the process may have sent that message itself, or have
learned of it in a way that is no message and so not judged.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.bits import (
    DEAD,
    FREE,
    BitSets,
    add_bit,
    append_pairs_with_slot_names,
    copy_bits,
    count_ones,
    count_words_for_bits,
    drop_bit,
    free_dead_slots,
    has_bit,
    is_sweep_worthwhile,
    mark_message_due,
    merge_carried_past_and_check_early,
    pop_free_slot,
    push_slot,
    sweep_sets,
)
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

Flags = NDArray[np.int8]

PAST, DUE, OWN, OVERTAKEN, OVERTAKEN_BY_SENDER = range(5)
"""The sets of each process."""
SENDS, DELIVERS, ENDS, SWEEPS = 1, 2, 3, 4
"""What an event does; it may sweep before it sends. ENDS is to deliver the last copy of a message."""
ACTION = 3
"""Mask of an act without SWEEPS."""
LATE, FIFO, EARLY = 1, 2, 4
"""What a delivery turned out to be; FIFO is late even in the order of its own channel."""
_LEAST_DEAD = 256  # there is no sweep for fewer


class PassPlan(NamedTuple):
    """What each event does, with arrays over the events of one pass."""

    process: Ints
    sender: Ints  # of a delivery; -1 if it only hands on a past
    act: Flags  # SENDS, DELIVERS, ENDS or 0; plus SWEEPS to clear dead bits first
    row: Ints  # the row of what the message carries
    bit: Ints  # the slot of the message that is sent, or whose delivery is judged; else -1
    starts: Ints  # the copies to be judged of a message sent at e go to targets[starts[e]:starts[e + 1]]
    targets: Ints


class PassResult(NamedTuple):
    """What came to light: of each event, and the violating pairs as (early delivery, slot's name) rows."""

    flags: Flags
    pairs: Ints
    total: int  # of all pairs, also those beyond the cap


@compiled
def assign_acts_and_message_slots(
    sent: Ints,
    copies: Ints,
    set_count: int,
) -> tuple[Flags, Ints, int]:
    """Acts and slots of the messages of a pass, and how many slots there are.

    `sent` has for each delivery the event of its send, and `copies` for each send how many deliveries follow.
    `set_count` is how many sets a sweep has to go through.
    """
    act = np.zeros(len(sent), dtype=np.int8)
    slot = np.full(len(sent), -1, dtype=np.int64)
    copies_left = copies.copy()
    free = np.empty(len(sent), dtype=np.int64)
    dead = np.empty(len(sent), dtype=np.int64)
    heights = np.zeros(2, dtype=np.int64)
    used = 0
    for event in range(len(sent)):
        send = sent[event]
        if send >= 0:
            slot[event] = slot[send]
            copies_left[send] -= 1
            act[event] = DELIVERS
            if copies_left[send] == 0:
                act[event] = ENDS
                push_slot(dead, heights, DEAD, slot[send])
        elif copies_left[event]:
            live = used - heights[DEAD]
            if heights[FREE] == 0 and is_sweep_worthwhile(heights[DEAD], live, _LEAST_DEAD, set_count):
                act[event] = SWEEPS
                free_dead_slots(free, dead, heights)
            act[event] += SENDS
            if heights[FREE]:
                slot[event] = pop_free_slot(free, heights)
            else:
                slot[event] = used
                used += 1
    return act, slot, used


@compiled
def run_delivery_pass(
    plan: PassPlan,
    process_sets: BitSets,
    message_sets: BitSets,
    send_of_slot: Ints,
    most_pairs: int,
) -> PassResult:
    """Carry the bits through all events; both kinds of sets and `send_of_slot` are changed in place.

    `message_sets` are what the messages carry, their own bits among it. `send_of_slot` gets the position of
    the send that has each slot. Of the pairs, the first `most_pairs` are kept.
    """
    process, sender, act, row, bit, starts, targets = plan
    flags = np.zeros(len(process), dtype=np.int8)
    pairs = np.empty((16, 2), dtype=np.int64)
    width = max(message_sets.shape[1], count_words_for_bits(len(message_sets)))
    alive = np.zeros(width, dtype=np.uint64)
    overtaken = np.zeros(message_sets.shape[1], dtype=np.uint64)
    past, due = process_sets[PAST], process_sets[DUE]
    listed = total = 0
    for event in range(len(process)):
        action = act[event] & ACTION
        if action == 0:
            continue
        if act[event] & SWEEPS:
            sweep_sets(process_sets.reshape(-1, message_sets.shape[1]), alive)
            sweep_sets(message_sets, alive)
        here, slot = process[event], bit[event]
        carried = message_sets[row[event]]
        if action == SENDS:
            if slot >= 0:
                send_of_slot[slot] = event
                add_bit(alive, slot)
                own_targets = targets[starts[event] : starts[event + 1]]
                _add_sent_message(here, slot, own_targets, process_sets)
            copy_bits(past[here], carried)
            continue
        if slot >= 0:
            flags[event] |= _remove_delivered_message_and_get_flags(here, slot, process_sets)
        is_early = merge_carried_past_and_check_early(carried, past[here], due[here])
        if is_early and sender[event] >= 0:
            flags[event] |= EARLY
            total += _note_and_count_overtaken_messages(here, sender[event], carried, process_sets, overtaken)
            if listed < most_pairs:
                pairs, listed = append_pairs_with_slot_names(
                    event, overtaken, send_of_slot, pairs, listed, most_pairs
                )
        if action == ENDS:
            drop_bit(alive, row[event])
    return PassResult(flags, pairs[:listed], total)


@compiled
def _add_sent_message(
    process: int,
    slot: int,
    targets: Ints,
    process_sets: BitSets,
) -> None:
    """A message with this slot is sent."""
    add_bit(process_sets[PAST, process], slot)
    add_bit(process_sets[OWN, process], slot)
    mark_message_due(slot, targets, process_sets[DUE])


@compiled
def _remove_delivered_message_and_get_flags(process: int, slot: int, process_sets: BitSets) -> int:
    """The message with this slot is delivered; returns the flags LATE and FIFO."""
    drop_bit(process_sets[DUE, process], slot)
    flags = 0
    if has_bit(process_sets[OVERTAKEN, process], slot):
        flags |= LATE
    if has_bit(process_sets[OVERTAKEN_BY_SENDER, process], slot):
        flags |= FIFO
    return flags


@compiled
def _note_and_count_overtaken_messages(
    process: int,
    sender: int,
    carried: BitSets,
    process_sets: BitSets,
    overtaken: BitSets,
) -> int:
    """Write down what is due and was overtaken by a message that carries it; returns how many that are."""
    count = 0
    for w in range(len(carried)):
        overtaken[w] = carried[w] & process_sets[DUE, process, w]
        if overtaken[w]:
            process_sets[OVERTAKEN, process, w] |= overtaken[w]
            process_sets[OVERTAKEN_BY_SENDER, process, w] |= overtaken[w] & process_sets[OWN, sender, w]
            count += count_ones(overtaken[w])
    return count
