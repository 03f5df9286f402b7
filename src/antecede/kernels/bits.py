"""The bit engine: who has heard of which messages in flight, as sets of bits carried from event to event.

A message is in flight while some destination has not delivered it. It then has a *slot*, and its bit in any
set is the bit of that slot. A set of slots is a row of 64-bit words: slot s is bit s % 64 of word s // 64.

Three kinds of sets are enough to judge causal order:

    past[p]     messages whose send happened before the present state of process p
    due[p]      messages that are addressed to process p and not delivered there
    carried[m]  the past that message m carries: that of its sender when it was sent

    m is sent at p, in slot s             m is delivered at p
      carried[m] = past[p]                  due[p] loses s
      past[p] gains s                       early = carried[m] & due[p]
      due[q] gains s, for each target q     past[p] |= carried[m], and s

What is in `early` was sent before m as far as anybody can tell, and p has yet to deliver it. If there is any,
the delivery of m is early, and each message in `early` will be late when it comes. That is the whole
judgement: nothing else ever has to be compared.

A message that is delivered everywhere is *dead*. Its bit may stand in many pasts, but in no `due`, and so it
does no harm until its slot is given to another message. Therefore dead slots are put aside, and are free
again after a *sweep* has cleared their bits in all sets. A sweep looks at every word of every set, and is
worth it when dead slots are many (`is_sweep_worthwhile`).

An event costs as many steps as there are words, which is the number of messages in flight / 64; it depends
neither on the number of processes nor on how long the execution is. Memory is for as many rows as there are
processes and messages in flight.

Three kernels are made of these blocks. They differ in where events come from and what is asked:

    delivery_pass             a recorded execution: what is early, late and overtaken
    false_causality           the same with two kinds of past, all before an event and what it depends on
    simulate.verdict.kernels  a running simulation: slots are found by message, sets grow when they are full
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled, inlined
from antecede.kernels.ragged import Ints

BitSets = NDArray[np.uint64]
"""Sets of slots: one row of words, or several."""

FREE, DEAD = 0, 1
"""Which of the two stacks of slots; and the places of their heights in the array of heights."""

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_LOW_SIX_BITS = np.uint64(63)


# Words and rows of words


@compiled
def count_words_for_bits(bits: int) -> int:
    """How many words hold so many bits."""
    return (bits + 63) // 64


@compiled
def count_ones(word: np.uint64) -> int:
    """How many bits of a word are 1."""
    pairs = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    low, high = pairs & np.uint64(0x3333333333333333), pairs >> np.uint64(2)
    fours = low + (high & np.uint64(0x3333333333333333))
    bytes_ = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((bytes_ * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inlined
def make_bit_mask(slot: int) -> np.uint64:
    """The word in which only the bit of the slot is 1."""
    return _ONE << (np.uint64(slot) & _LOW_SIX_BITS)


@inlined
def has_bit(slots: BitSets, slot: int) -> bool:
    """Whether a slot is in a set."""
    return bool(slots[slot >> 6] & make_bit_mask(slot))


@inlined
def add_bit(slots: BitSets, slot: int) -> None:
    """Put a slot into a set."""
    slots[slot >> 6] |= make_bit_mask(slot)


@inlined
def drop_bit(slots: BitSets, slot: int) -> None:
    """Take a slot out of a set."""
    slots[slot >> 6] &= ~make_bit_mask(slot)


@compiled
def copy_bits(slots: BitSets, onto: BitSets) -> None:
    """Make one set equal to another."""
    for w in range(len(slots)):
        onto[w] = slots[w]


@compiled
def merge_bits(slots: BitSets, into: BitSets) -> None:
    """Add all that is in one set to another."""
    for w in range(len(slots)):
        into[w] |= slots[w]


@compiled
def append_pairs_with_slot_names(
    event: int,
    slots: BitSets,
    name_of_slot: Ints,
    pairs: Ints,
    pair_count: int,
    most_pairs: int,
) -> tuple[Ints, int]:
    """Append (event, name of the slot) for each slot in a set, in their order, up to `most_pairs` in all.

    Returns the pairs, in a larger array if they outgrew theirs, and how many there are now.
    """
    for w in range(len(slots)):
        word = slots[w]
        while word and pair_count < most_pairs:
            lowest = word & (~word + _ONE)
            word ^= lowest
            if pair_count == len(pairs):
                pairs = np.concatenate((pairs, np.empty_like(pairs)))
            pairs[pair_count, 0] = event
            pairs[pair_count, 1] = name_of_slot[64 * w + count_ones(lowest - _ONE)]
            pair_count += 1
    return pairs, pair_count


# Slots, given out and taken back. Both stacks have room for all slots; heights[FREE] and heights[DEAD] say
# how many slots are on each.


@inlined
def push_slot(
    stack: Ints,
    heights: Ints,
    which_stack: int,
    slot: int,
) -> None:
    """Put a slot onto one of the stacks."""
    stack[heights[which_stack]] = slot
    heights[which_stack] += 1


@inlined
def pop_free_slot(free: Ints, heights: Ints) -> int:
    """A slot that nobody has; there must be one."""
    heights[FREE] -= 1
    return int(free[heights[FREE]])


@inlined
def is_sweep_worthwhile(
    dead: int,
    live: int,
    min_dead: int,
    row_count: int,
) -> bool:
    """Whether enough slots are dead for a sweep: at least `min_dead`, and no fewer than are alive.

    With very many sets a sweep is dear. It looks at row_count * live / 64 words, where `row_count` is the
    number of sets, or 0 if that is no concern. It pays if that is at most dead / 64 words for each of the
    dead slots that it frees.
    """
    are_many_dead = dead >= min_dead and dead >= live
    bits_looked_at = row_count * live
    are_few_looked_at = bits_looked_at <= dead * dead  # dead bits for each of the dead slots
    return are_many_dead and are_few_looked_at


@compiled
def free_dead_slots(free: Ints, dead: Ints, heights: Ints) -> None:
    """Make the dead slots free, in their order; their bits must have been swept from all sets, or will be."""
    for k in range(heights[DEAD]):
        push_slot(free, heights, FREE, dead[k])
    heights[DEAD] = 0


@compiled
def sweep_sets(sets: BitSets, alive: BitSets) -> None:
    """Clear all bits that are not alive. Words that need no change are not even written."""
    for row in range(len(sets)):
        for w in range(sets.shape[1]):
            if sets[row, w] & ~alive[w]:
                sets[row, w] &= alive[w]


# Sends and deliveries


@compiled
def mark_message_due(slot: int, targets: Ints, due: BitSets) -> None:
    """A message is sent: it is due at each of its targets."""
    word, mask = slot >> 6, make_bit_mask(slot)
    for target in targets:
        due[target, word] |= mask


@inlined
def merge_carried_past_and_check_early(carried: BitSets, past: BitSets, due: BitSets) -> bool:
    """A process learns what a message carries; returns whether any of it is due there.

    The message itself must not be due any more.
    """
    early = _ZERO
    for w in range(len(carried)):
        early |= carried[w] & due[w]
        past[w] |= carried[w]
    return bool(early != _ZERO)
