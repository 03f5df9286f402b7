"""Broadcasts with R shared entries and K keys, simulated and judged: hundreds of millions of deliveries.

It is the rule of `protocols/probabilistic.py` (Mostefaoui and Weiss 2017) for N processes that broadcast to
all over a network that reorders, together with an exact judge of each delivery. The caller draws who sends
when and how long each copy travels. Nothing is drawn here: the tests hand the same draws to real endpoints.

**Receivers are independent of each other.** What a process does with its arrivals depends on the stamps of
the messages and on nothing that happens elsewhere at that time; and the stamp of a message depends only on
its sender's state when it sends. So there is no queue of events. Time goes on in blocks of 64 messages:

    for each message of the block:   its sender catches up to the time of the send, then stamps and sends
    then for each process:           it catches up to the time of the block's last send

To catch up, a process puts the messages sent since the last time into its own line, which is sorted by time
of arrival, and takes in what has arrived. A line is nearly sorted as it grows, so an insertion moves a few
items only. All that a process touches for a block, its entries and the block's stamps, stays in the cache.

**A block is a word of bits.** Message number b of a block is bit b of the block's word in every set. There
is a ring of W words, and with it of 64 W slots for messages:

    delivered[p]  D: the messages that p has delivered, or sent
    history[p]    H: those, and the pasts of all of them
    pasts[m]      the history of its sender when m was sent

    m is early at p  if pasts[m] has something that delivered[p] has not; the number of such is counted too
    m is late at p   if m is in history[p] when it is delivered

D and H differ after an early delivery, and only then. When the ring comes round to a word, every message of
that word must be delivered at every process (`is_delivered_everywhere`; the caller doubles the ring
otherwise). Such a bit is 1 in every D, and so to clear it in all sets changes no test. Memory therefore
depends on what is in flight, and not on how many messages there are.

**What is held** is looked at again only when the entry that it was found to wait for has grown enough. Of
several messages that may be delivered the one that arrived first goes first, as in `core/gate.py`.

**Detectors** (Algorithms 4 and 5, and the sharper one) are asked before the entries are incremented, as in
`protocols/detectors.py`. The list L of recent messages is what p delivered of the messages in the ring, which
reaches back to the oldest message in flight: so no late message can be missed for want of memory.

A delivery costs R comparisons, which the compiler turns into a few vector instructions, K increments and
2 W words; detectors, if asked for, look at all messages in the ring for about one delivery in ten.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.bits import BitSets, count_ones, make_bit_mask
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

Entries = NDArray[np.int32]
Floats = NDArray[np.float64]
Delays = NDArray[np.float32]

BLOCK = 64
"""Messages of a block: one word of bits."""

DELIVERIES, EARLY, LATE, PAIRS, HELD, MOST_HELD, LOGGED, FIRST_DETECTOR = range(8)
"""Places in `counts`. `PAIRS`: pairs of a delivery and a cause that it overtook; `HELD`: deliveries that
waited; `MOST_HELD`: the most that one process held at once; `LOGGED`: rows in the log. From `FIRST_DETECTOR`
on: the alarms of each detector, then those of them that were about late messages."""
DETECTORS = 3
COUNTS = FIRST_DETECTOR + 2 * DETECTORS

IS_EARLY, IS_LATE, FIRST_ALARM = 1, 2, 4
"""What a verdict is made of; the alarms of the three detectors are 4, 8 and 16."""

NOTHING_MISSING = -1
NOBODY, GONE = -1, -2
"""In place of a sender: the slot was never taken; the process that had this number then has left."""
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)


class SharedState(NamedTuple):
    """N processes, R entries, K keys, a ring of W words and S = 64 W slots; each slot is a message."""

    keys: Entries  # [N, K] the entries on which a process counts
    have: Entries  # [N, R] V: how many delivered messages count on each entry
    delivered: BitSets  # [N, W]
    history: BitSets  # [N, W]
    line: Ints  # [N, S] the slots of what is on its way to a process, by time of arrival
    arrivals: Floats  # [N, S] and those times
    line_ends: Ints  # [N] how many are in its line
    held: Ints  # [N, S] the slots of what has arrived and waits, by time of arrival
    held_since: Floats  # [N, S] and those times
    waits_for: Ints  # [N, S] an entry that was too small for it when it was looked at
    held_ends: Ints  # [N] how many are held
    lined_up: Ints  # [N] how many messages of this block are in its line already, or past it
    needs: Entries  # [S, R] the stamp, less one on its sender's keys: what a receiver must have
    counts_on: Entries  # [S, K] the keys of its sender
    pasts: BitSets  # [S, W]
    senders: Ints  # [S]
    numbers: Ints  # [S] how many messages were sent before it
    counts: Ints  # [COUNTS]
    waited: Floats  # [1] the sum of all times between arrival and delivery


class SharedBlock(NamedTuple):
    """The draws of up to 64 messages: who sends when, and how long each copy is under way."""

    first: int  # how many messages were sent before
    senders: Ints  # [b]
    times: Floats  # [b] ascending
    delays: Delays  # [N, b]


def make_shared_state(keys: Entries, entry_count: int, word_count: int) -> SharedState:
    """Nothing is sent yet, and all words count as settled."""
    processes = len(keys)
    slots = word_count * BLOCK
    return SharedState(
        keys=keys,
        have=np.zeros((processes, entry_count), np.int32),
        delivered=np.full((processes, word_count), _ALL),
        history=np.full((processes, word_count), _ALL),
        line=np.zeros((processes, slots), np.int64),
        arrivals=np.zeros((processes, slots)),
        line_ends=np.zeros(processes, np.int64),
        held=np.zeros((processes, slots), np.int64),
        held_since=np.zeros((processes, slots)),
        waits_for=np.zeros((processes, slots), np.int64),
        held_ends=np.zeros(processes, np.int64),
        lined_up=np.zeros(processes, np.int64),
        needs=np.zeros((slots, entry_count), np.int32),
        counts_on=np.zeros((slots, keys.shape[1]), np.int32),
        pasts=np.zeros((slots, word_count), np.uint64),
        senders=np.full(slots, NOBODY),
        numbers=np.zeros(slots, np.int64),
        counts=np.zeros(COUNTS, np.int64),
        waited=np.zeros(1),
    )


@compiled
def simulate_block(state: SharedState, block: SharedBlock, word: int, detect: bool, log: Ints) -> None:
    """Send the messages of a block, which get the slots of a settled word, and let everybody catch up.

    `log` gets process, number of the message and verdict of each delivery, as long as it has room; it has no
    rows where nobody asks.
    """
    _forget_messages_of_word(state, word)
    for b in range(len(block.senders)):
        sender, now = block.senders[b], block.times[b]
        _receive_arrivals_until(state, block, word, sender, b, now, detect, log)
        _send_message(state, block, word, b)
        _release_held_messages(state, sender, now, detect, log)
    sent = len(block.senders)
    for process in range(len(state.have)):
        _receive_arrivals_until(state, block, word, process, sent, block.times[sent - 1], detect, log)
        state.lined_up[process] = 0


@compiled
def finish_deliveries(state: SharedState, block: SharedBlock, detect: bool, log: Ints) -> None:
    """Let everything arrive; the block is one without messages."""
    for process in range(len(state.have)):
        _receive_arrivals_until(state, block, 0, process, 0, np.inf, detect, log)


@compiled
def is_delivered_everywhere(state: SharedState, word: int) -> bool:
    """Whether all messages of a word are delivered everywhere."""
    unsettled = 0
    for process in range(len(state.delivered)):
        unsettled += state.delivered[process, word] != _ALL
    return unsettled == 0


@compiled
def _forget_messages_of_word(state: SharedState, word: int) -> None:
    """Forget the messages that had the slots of this word."""
    for process in range(len(state.have)):
        state.delivered[process, word] = _NONE
        state.history[process, word] = _NONE
    for slot in range(len(state.pasts)):
        state.pasts[slot, word] = _NONE


@compiled
def _send_message(state: SharedState, block: SharedBlock, word: int, place_in_block: int) -> None:
    """Algorithm 1, and the sender's own copy, which is delivered at once."""
    slot, sender = word * BLOCK + place_in_block, block.senders[place_in_block]
    state.senders[slot] = sender
    state.numbers[slot] = block.first + place_in_block
    for x in range(state.have.shape[1]):
        state.needs[slot, x] = state.have[sender, x]
    for k in range(state.keys.shape[1]):
        entry = state.keys[sender, k]
        state.counts_on[slot, k] = entry
        state.have[sender, entry] += 1
    for w in range(state.pasts.shape[1]):
        state.pasts[slot, w] = state.history[sender, w]
    state.history[sender, word] |= make_bit_mask(place_in_block)
    state.delivered[sender, word] |= make_bit_mask(place_in_block)


@compiled
def _receive_arrivals_until(
    state: SharedState,
    block: SharedBlock,
    word: int,
    process: int,
    sent_count: int,
    until: float,
    detect: bool,
    log: Ints,
) -> None:
    """Take in what has arrived by a time; `sent_count` messages of the block are on their way or here.

    This is where the time goes. Arrays are taken out of the state once, since numba counts references
    whenever one is taken out, which would cost more than all the rest.
    """
    line, arrivals = state.line[process], state.arrivals[process]
    have, delivered, history = state.have[process], state.delivered[process], state.history[process]
    needs, counts_on, pasts = state.needs, state.counts_on, state.pasts
    held_ends, counts = state.held_ends, state.counts
    is_noted = detect or len(log) > 0
    end = _enqueue_new_messages(state, block, word, process, sent_count)
    taken = 0
    while taken < end and arrivals[taken] <= until:
        slot = line[taken]
        if _are_needs_met(have, needs, slot):
            alarms = _find_suspecting_detectors(state, process, slot) if detect else 0
            verdict = _judge_and_deliver(slot, have, delivered, history, counts_on, pasts, counts)
            if is_noted:
                _record_delivery(state, process, slot, verdict, alarms, log)
            if held_ends[process] > 0:
                _release_held_messages(state, process, arrivals[taken], detect, log)
        else:
            _hold_message(state, process, slot, arrivals[taken])
        taken += 1
    for at in range(taken, end):
        line[at - taken] = line[at]
        arrivals[at - taken] = arrivals[at]
    state.line_ends[process] = end - taken


@compiled
def _enqueue_new_messages(
    state: SharedState, block: SharedBlock, word: int, process: int, sent_count: int
) -> int:
    """Put what others have sent since the last time into the line of a process; returns its length."""
    line, arrivals = state.line[process], state.arrivals[process]
    senders, times, delays = block.senders, block.times, block.delays[process]
    end: int = state.line_ends[process]
    for b in range(state.lined_up[process], sent_count):
        if senders[b] == process:
            continue
        arrival = times[b] + delays[b]
        at = end
        while at > 0 and arrivals[at - 1] > arrival:
            line[at] = line[at - 1]
            arrivals[at] = arrivals[at - 1]
            at -= 1
        line[at] = word * BLOCK + b
        arrivals[at] = arrival
        end += 1
    state.lined_up[process] = sent_count
    return end


@compiled
def _are_needs_met(have: Entries, needs: Entries, slot: int) -> bool:
    """Algorithm 2: whether the entries have caught up. Without a branch, so that it becomes vector code."""
    is_short = False
    for x in range(len(have)):
        is_short |= have[x] < needs[slot, x]
    return not is_short


@compiled
def _find_missing_entry(have: Entries, needs: Entries, slot: int) -> int:
    """An entry that has not caught up."""
    for x in range(len(have)):
        if have[x] < needs[slot, x]:
            return x
    return NOTHING_MISSING


@compiled
def _judge_and_deliver(
    slot: int,
    have: Entries,
    delivered: BitSets,
    history: BitSets,
    counts_on: Entries,
    pasts: BitSets,
    counts: Ints,
) -> int:
    """Judge a delivery, then make it."""
    word, bit = slot >> 6, make_bit_mask(slot)
    verdict = 0
    overtaken = 0
    for w in range(pasts.shape[1]):
        overtaken += count_ones(pasts[slot, w] & ~delivered[w])
    if overtaken > 0:
        verdict += IS_EARLY
        counts[EARLY] += 1
        counts[PAIRS] += overtaken
    if history[word] & bit:
        verdict += IS_LATE
        counts[LATE] += 1
    counts[DELIVERIES] += 1
    for k in range(counts_on.shape[1]):
        have[counts_on[slot, k]] += 1
    for w in range(pasts.shape[1]):
        history[w] |= pasts[slot, w]
    history[word] |= bit
    delivered[word] |= bit
    return verdict


@compiled
def _hold_message(state: SharedState, process: int, slot: int, now: float) -> None:
    """A message has arrived and must wait."""
    end = state.held_ends[process]
    state.held[process, end] = slot
    state.held_since[process, end] = now
    state.waits_for[process, end] = _find_missing_entry(state.have[process], state.needs, slot)
    state.held_ends[process] = end + 1
    state.counts[HELD] += 1
    state.counts[MOST_HELD] = max(state.counts[MOST_HELD], end + 1)


@compiled
def _release_held_messages(state: SharedState, process: int, now: float, detect: bool, log: Ints) -> None:
    """Deliver what is held and may be delivered now, the first arrived first, until nothing is left."""
    have, needs = state.have[process], state.needs
    at = 0
    while at < state.held_ends[process]:
        slot, entry = state.held[process, at], state.waits_for[process, at]
        if have[entry] >= needs[slot, entry]:
            entry = _find_missing_entry(have, needs, slot)
            state.waits_for[process, at] = entry
        if entry == NOTHING_MISSING:
            state.waited[0] += now - state.held_since[process, at]
            _remove_held_message(state, process, at)
            _deliver_held_message(state, process, slot, detect, log)
            at = 0
        else:
            at += 1


@compiled
def _remove_held_message(state: SharedState, process: int, at: int) -> None:
    """Take one out of what is held."""
    end = state.held_ends[process] - 1
    for place in range(at, end):
        state.held[process, place] = state.held[process, place + 1]
        state.held_since[process, place] = state.held_since[process, place + 1]
        state.waits_for[process, place] = state.waits_for[process, place + 1]
    state.held_ends[process] = end


@compiled
def _deliver_held_message(state: SharedState, process: int, slot: int, detect: bool, log: Ints) -> None:
    """Deliver something that waited."""
    have, delivered, history = state.have[process], state.delivered[process], state.history[process]
    alarms = _find_suspecting_detectors(state, process, slot) if detect else 0
    verdict = _judge_and_deliver(slot, have, delivered, history, state.counts_on, state.pasts, state.counts)
    if detect or len(log) > 0:
        _record_delivery(state, process, slot, verdict, alarms, log)


@compiled
def _record_delivery(
    state: SharedState,
    process: int,
    slot: int,
    verdict: int,
    alarms: int,
    log: Ints,
) -> None:
    """Count the alarms, and write the delivery down if there is room."""
    counts = state.counts
    for detector in range(DETECTORS):
        if alarms & (1 << detector):
            counts[FIRST_DETECTOR + detector] += 1
            if verdict & IS_LATE:
                counts[FIRST_DETECTOR + DETECTORS + detector] += 1
    at = counts[LOGGED]
    if at < len(log):
        log[at, 0] = process
        log[at, 1] = state.numbers[slot]
        log[at, 2] = verdict + FIRST_ALARM * alarms
        counts[LOGGED] += 1


@compiled
def _find_suspecting_detectors(state: SharedState, process: int, slot: int) -> int:
    """Which detectors suspect the message: 0, 1, 3 or 7, as each suspects only what the one before does."""
    have, needs, counts_on = state.have[process], state.needs, state.counts_on
    for k in range(counts_on.shape[1]):
        entry = counts_on[slot, k]
        if have[entry] <= needs[slot, entry]:
            return 0
    delivered, senders = state.delivered[process], state.senders
    alarms = 1
    for other in range(len(senders)):
        is_from_another = senders[other] != process and senders[other] != NOBODY
        is_delivered = delivered[other >> 6] & make_bit_mask(other)
        if not (is_delivered and is_from_another):
            continue
        if _does_other_message_account_for_entries(needs, counts_on, other, slot):
            alarms = 3
            if _may_other_message_follow(needs, counts_on, other, slot):
                return 7
    return alarms


@compiled
def _does_other_message_account_for_entries(
    needs: Entries, counts_on: Entries, other_slot: int, slot: int
) -> bool:
    """Whether the stamp of another message alone accounts for the entries that count this one."""
    for k in range(counts_on.shape[1]):
        entry = counts_on[slot, k]
        others_stamp = needs[other_slot, entry]
        for j in range(counts_on.shape[1]):
            others_stamp += counts_on[other_slot, j] == entry
        if others_stamp <= needs[slot, entry]:
            return False
    return True


@compiled
def _may_other_message_follow(needs: Entries, counts_on: Entries, other_slot: int, slot: int) -> bool:
    """Whether another message's stamp is one that an effect of this one could have.

    Such a stamp is nowhere less than this one's, and more on its own sender's keys. As needs are stamps less
    one on those keys, both together say that the other's needs are nowhere less than this one's stamp.
    """
    for k in range(counts_on.shape[1]):
        entry = counts_on[slot, k]
        if needs[other_slot, entry] <= needs[slot, entry]:
            return False
    return _are_needs_met(needs[other_slot], needs, slot)
