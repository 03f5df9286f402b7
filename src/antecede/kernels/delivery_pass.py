"""The pass over a recorded execution: carries the bits of messages through its events and judges deliveries.

See `bits` for what it does at an event. As the future is known, slots are given out beforehand
(`assign_message_slots`), and what each event has to do is written down in a `PassPlan`.

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
    append_bit_pairs,
    copy_bits,
    count_ones,
    count_words_for_bits,
    drop_bit,
    free_dead_slots,
    has_bit,
    is_sweep_worthwhile,
    mark_message_due,
    merge_past_of_message,
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
def assign_message_slots(
    sent: Ints,
    copies: Ints,
    sets: int,
) -> tuple[Flags, Ints, int]:
    """Acts and slots of the messages of a pass, and how many slots there are.

    `sent` has for each delivery the event of its send, and `copies` for each send how many deliveries follow.
    `sets` is how many sets a sweep has to go through.
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
            if heights[FREE] == 0 and is_sweep_worthwhile(heights[DEAD], live, _LEAST_DEAD, sets):
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
    sets: BitSets,
    rows: BitSets,
    names: Ints,
    cap: int,
) -> PassResult:
    """Carry the bits through all events; sets, rows and the names of slots are changed in place.

    A slot is named by the position of the send that has it. `rows` are what the messages carry, their own
    bits among it. Of the pairs, the first `cap` are kept.
    """
    process, sender, act, row, bit, starts, targets = plan
    flags = np.zeros(len(process), dtype=np.int8)
    pairs = np.empty((16, 2), dtype=np.int64)
    width = max(rows.shape[1], count_words_for_bits(len(rows)))
    alive = np.zeros(width, dtype=np.uint64)
    overtaken = np.zeros(rows.shape[1], dtype=np.uint64)
    past, due = sets[PAST], sets[DUE]
    listed = total = 0
    for event in range(len(process)):
        action = act[event] & ACTION
        if action == 0:
            continue
        if act[event] & SWEEPS:
            sweep_sets(sets.reshape(-1, rows.shape[1]), alive)
            sweep_sets(rows, alive)
        here, slot = process[event], bit[event]
        carried = rows[row[event]]
        if action == SENDS:
            if slot >= 0:
                names[slot] = event
                add_bit(alive, slot)
                own_targets = targets[starts[event] : starts[event + 1]]
                _add_sent_message(here, slot, own_targets, sets)
            copy_bits(past[here], carried)
            continue
        if slot >= 0:
            flags[event] |= _remove_delivered_message(here, slot, sets)
        is_early = merge_past_of_message(carried, past[here], due[here])
        if is_early and sender[event] >= 0:
            flags[event] |= EARLY
            total += _add_overtaken_messages(here, sender[event], carried, sets, overtaken)
            if listed < cap:
                pairs, listed = append_bit_pairs(event, overtaken, names, pairs, listed, cap)
        if action == ENDS:
            drop_bit(alive, row[event])
    return PassResult(flags, pairs[:listed], total)


@compiled
def _add_sent_message(
    here: int,
    slot: int,
    targets: Ints,
    sets: BitSets,
) -> None:
    """A message with this slot is sent."""
    add_bit(sets[PAST, here], slot)
    add_bit(sets[OWN, here], slot)
    mark_message_due(slot, targets, sets[DUE])


@compiled
def _remove_delivered_message(here: int, slot: int, sets: BitSets) -> int:
    """The message with this slot is delivered; returns the flags LATE and FIFO."""
    drop_bit(sets[DUE, here], slot)
    flags = 0
    if has_bit(sets[OVERTAKEN, here], slot):
        flags |= LATE
    if has_bit(sets[OVERTAKEN_BY_SENDER, here], slot):
        flags |= FIFO
    return flags


@compiled
def _add_overtaken_messages(
    here: int,
    sender: int,
    carried: BitSets,
    sets: BitSets,
    overtaken: BitSets,
) -> int:
    """Write down what is due and was overtaken by a message that carries it; returns how many that are."""
    count = 0
    for w in range(len(carried)):
        overtaken[w] = carried[w] & sets[DUE, here, w]
        if overtaken[w]:
            sets[OVERTAKEN, here, w] |= overtaken[w]
            sets[OVERTAKEN_BY_SENDER, here, w] |= overtaken[w] & sets[OWN, sender, w]
            count += count_ones(overtaken[w])
    return count
