"""The one pass that all audits of delivery make: pasts as sets of bits, carried from event to event.

A message whose deliveries are to be judged has a bit while it matters. Each process has sets of bits: the
messages in its PAST; those DUE there (addressed to it, not delivered); its OWN; and of those due, the ones
that were overtaken by a message that depends on them (OVER), and by one of the same sender (JUMP). Every
message under way has a row: its sender's past when it was sent, and its own bit.

Delivering a message at j that carries a bit which is due at j is a violation: this one is early, and the one
that is due will be late. That is all there is to it; how bits and rows are given to messages is the caller's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled, inlined
from antecede.kernels.ragged import Ints

BitSets = NDArray[np.uint64]
Flags = NDArray[np.int8]

PAST, DUE, OWN, OVERTAKEN, OVERTAKEN_BY_SENDER = range(5)
SENDS, DELIVERS, ENDS, SWEEPS = 1, 2, 3, 4
LATE, FIFO, EARLY = 1, 2, 4
_BATCH = 256  # dead bits are kept until there are this many
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_LOW = np.uint64(63)


class PassPlan(NamedTuple):
    """What each event does, with arrays over the events of one pass."""

    process: Ints
    sender: Ints  # of a delivery; -1 if it only hands on a past
    act: Flags  # SENDS, DELIVERS, ENDS (delivers the last copy) or 0; plus SWEEPS to clear dead bits first
    row: Ints  # the row of the message
    bit: Ints  # the bit of the message that is sent, or whose delivery is judged; else -1
    starts: Ints  # the copies to be judged of a message sent at e go to targets[starts[e]:starts[e + 1]]
    targets: Ints


class PassResult(NamedTuple):
    """What came to light: of each event, and the violating pairs as (early delivery, bit's name) rows."""

    flags: Flags
    pairs: Ints
    total: int  # of all pairs, also those beyond the cap


@compiled
def count_words(bits: int) -> int:
    """How many words hold so many bits."""
    return (bits + 63) // 64


@compiled
def plan_slots(sent: Ints, left: Ints, first: int, patience: int) -> tuple[Flags, Ints, int]:
    """Acts and slots of the messages of a pass, and how many slots there are.

    `sent` has for each delivery the number of its send, and `left` for each send how many deliveries follow;
    slots below `first` are taken. A slot is free again after the last delivery; with patience (the number of
    processes), dead ones are freed in batches, so that sweeping all sets costs little for each message.
    """
    act, slot = np.zeros(len(sent), dtype=np.int8), np.full(len(sent), -1, dtype=np.int64)
    left = left.copy()
    free, dead = [0 for _ in range(0)], [0 for _ in range(0)]
    used = first
    for event in range(len(sent)):
        cause = sent[event]
        if cause >= 0:
            slot[event] = slot[cause]
            left[cause] -= 1
            act[event] = ENDS if left[cause] == 0 else DELIVERS
            if left[cause] == 0:
                (free if patience < 0 else dead).append(slot[cause])
        elif left[event]:
            live = used - first - len(dead)
            if len(free) == 0 and len(dead) >= max(_BATCH, live) and len(dead) ** 2 >= patience * live:
                act[event] = SWEEPS
                free, dead = dead, free
            act[event] += SENDS
            if len(free):
                slot[event] = free.pop()
            else:
                slot[event] = used
                used += 1
    return act, slot, used


@compiled
def carry_bits(plan: PassPlan, sets: BitSets, rows: BitSets, names: Ints, start: int, cap: int) -> PassResult:
    """Carry the bits through all events; sets, rows and the names of bits are changed in place.

    A bit is named by the position of its send, and `start` is the position of the first event. Of the pairs,
    the first `cap` are kept.
    """
    process, sender, act, row, bit, starts, targets = plan
    flags = np.zeros(len(process), dtype=np.int8)
    pairs = np.empty((16, 2), dtype=np.int64)
    alive = np.zeros(max(rows.shape[1], count_words(len(rows))), dtype=np.uint64)
    past, due = sets[PAST], sets[DUE]
    kept = total = 0
    for event in range(len(process)):
        if act[event] & 3 == 0:
            continue
        if act[event] & SWEEPS:
            _sweep(sets.reshape(-1, rows.shape[1]), alive)
            _sweep(rows, alive)
        here, carried = process[event], row[event]
        if act[event] & 3 == SENDS:
            if bit[event] >= 0:
                names[bit[event]] = start + event
                _launch(here, bit[event], targets[starts[event] : starts[event + 1]], sets)
                alive[bit[event] >> 6] |= _mask(bit[event])
            rows[carried] = past[here]
            continue
        if bit[event] >= 0:
            flags[event] |= _land(here, bit[event], sets)
        if _learn(rows[carried], past[here], due[here]) and sender[event] >= 0:
            flags[event] |= EARLY
            total += _overtake(here, sender[event], rows[carried], sets)
            kept, pairs = _keep(start + event, rows[carried], due[here], names, kept, pairs, cap)
        if act[event] & 3 == ENDS:
            alive[carried >> 6] &= ~_mask(carried)
    return PassResult(flags, pairs[:kept], total)


@inlined
def _mask(bit: int) -> np.uint64:
    return _ONE << (np.uint64(bit) & _LOW)


@compiled
def count_ones(word: np.uint64) -> int:
    """How many bits of a word are 1."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _sweep(sets: BitSets, alive: BitSets) -> None:
    """Clear the bits that are not alive; memory that was never written to is left so."""
    for i in range(len(sets)):
        for w in range(sets.shape[1]):
            if sets[i, w] & ~alive[w]:
                sets[i, w] &= alive[w]


@compiled
def _launch(here: int, bit: int, to: Ints, sets: BitSets) -> None:
    """A message with this bit is sent."""
    word, mask = bit >> 6, _mask(bit)
    sets[PAST, here, word] |= mask
    sets[OWN, here, word] |= mask
    for target in to:
        sets[DUE, target, word] |= mask


@compiled
def _land(here: int, bit: int, sets: BitSets) -> int:
    """The message with this bit is delivered; returns the flags LATE and FIFO."""
    word, mask = bit >> 6, _mask(bit)
    sets[DUE, here, word] &= ~mask
    late = LATE if sets[OVERTAKEN, here, word] & mask else 0
    return late | FIFO if sets[OVERTAKEN_BY_SENDER, here, word] & mask else late


@compiled
def _learn(carried: BitSets, past: BitSets, due: BitSets) -> bool:
    """Add what a message carries to the past; whether any of it is due."""
    early = _ZERO
    for w in range(len(carried)):
        early |= carried[w] & due[w]
        past[w] |= carried[w]
    return bool(early != _ZERO)


@compiled
def _overtake(here: int, sender: int, carried: BitSets, sets: BitSets) -> int:
    """Mark what was due and is now overtaken; returns how many."""
    count = 0
    for w in range(len(carried)):
        passed = carried[w] & sets[DUE, here, w]
        if passed:
            sets[OVERTAKEN, here, w] |= passed
            sets[OVERTAKEN_BY_SENDER, here, w] |= passed & sets[OWN, sender, w]
            count += count_ones(passed)
    return count


@compiled
def _keep(
    position: int, carried: BitSets, due: BitSets, names: Ints, kept: int, pairs: Ints, cap: int
) -> tuple[int, Ints]:
    """Write down the pairs of an early delivery, as long as there is room; oldest bits first."""
    for w in range(len(carried)):
        passed = carried[w] & due[w]
        while passed and kept < cap:
            low = passed & (~passed + _ONE)
            passed ^= low
            if kept == len(pairs):
                pairs = np.concatenate((pairs, np.empty_like(pairs)))
            pairs[kept, 0], pairs[kept, 1] = position, names[64 * w + count_ones(low - _ONE)]
            kept += 1
    return kept, pairs
