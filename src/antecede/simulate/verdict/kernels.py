"""The kernels of the judge: what happened goes in by the block, what was wrong and what waited comes out.

This is the bit engine (see `kernels.bits`) over a run that is still going on, which makes four differences to
the pass over a recorded execution:

- The slot of a message is found by binary search among the messages that have slots. They are listed in the
  order of their sends, which is that of their numbers.
- Nobody knows how much will be in flight. Arrays are never made longer here: a kernel stops and says what
  there is no room for, the caller makes room, and the kernel goes on with the same record.
- Where dependence is declared, each process keeps the sets of its latest own events, and a message carries
  the set of the event that it names instead of the whole past.
- A message that is held waits for its causes. It is filed under one that is missing, and looked at again when
  that one is delivered; so it is known since when it has waited for nothing.

A message is late here if its bit is already in the past of the process that delivers it. Processes do not
deliver their own messages and learn by messages only, so that this means: an effect of it came before.
"""

from __future__ import annotations

import numpy as np

from antecede.kernels.bits import (
    DEAD,
    FREE,
    BitSets,
    add_bit,
    copy_bits,
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
from antecede.simulate.verdict import layout as j
from antecede.simulate.verdict.layout import Block, BlockResult, Floats, JudgeState


@compiled
def judge_block_until_stopped(
    state: JudgeState,
    block: Block,
    first_record: int,
    result: BlockResult,
) -> tuple[int, int]:
    """Go on with record `first_record`; returns at which it stopped, and why."""
    # As plain arrays, since counting references to a tuple's fields would take most of the time.
    counts, processes, newest, past, due, events, listed, free, dead = state[:9]
    flights, sent, causes, places, moments = state[9:]
    times, what, messages, sends, targets = block
    orders, spans, sizes = result
    n, at, why = len(past), first_record, j.DONE
    while at < len(times) and why == j.DONE:
        kind, i, now = what[at] // n, what[at] % n, times[at]
        s = -1 if kind == j.SEND else _find_slot_of_message(counts, listed, messages[at])
        if kind <= j.DELIVER:
            why = _check_room_for_event(counts, processes, events, i)
        if kind == j.SEND and why == j.DONE:
            k = counts[j.SENDS]
            number, parent = sends[k, 0], sends[k, 1]
            why = _ensure_room_for_send(
                counts, processes, past, events, listed, free, dead, flights, causes, i, number, parent
            )
            if why == j.DONE and number:
                s = _assign_slot_to_message(counts, listed, free, flights, i, messages[at], number)
                sent[s] = now
                first = counts[j.TARGETS]
                mark_message_due(s, targets[first : first + number], due)
            if why == j.DONE:
                _record_send(processes, past, events, causes, i, s, parent)
                counts[j.SENDS] += 1
                counts[j.TARGETS] += number
        elif kind == j.DELIVER and why == j.DONE:
            order = _record_delivery_and_find_order(
                counts, processes, past, due, events, dead, flights, causes, i, s
            )
            orders[at] = order
            _append_span(spans, sizes, j.LATENCY, now - sent[s])
            if processes[i, j.HELD]:
                _end_hold_and_recheck_waiting(
                    counts, processes, due, causes, places, moments, spans, sizes, i, s, now
                )
            if processes[i, j.PROMISED] and _count_violations_and_choose_example(
                counts, newest, flights, order, i, s
            ):
                why = j.EXAMPLE
        elif kind == j.HOLD:
            if not _record_hold_if_room(counts, processes, due, causes, places, moments, i, s, now):
                why = j.NO_PLACE
        elif kind == j.TRANSMIT and s >= 0 and flights[s, j.LEFT]:
            _append_span(spans, sizes, j.BACK, now - sent[s])
        at += why in (j.DONE, j.EXAMPLE)
    return at, why


# Room


@compiled
def _check_room_for_event(
    counts: Ints,
    processes: Ints,
    events: BitSets,
    process: int,
) -> int:
    """DONE if one more own event of a process can be kept."""
    kept = events.shape[1]
    if kept < counts[j.MEMORY] and kept <= processes[process, j.HAPPENED]:
        return j.NO_EVENT
    return j.DONE


@compiled
def _ensure_room_for_send(
    counts: Ints,
    processes: Ints,
    past: BitSets,
    events: BitSets,
    listed: Ints,
    free: Ints,
    dead: Ints,
    flights: Ints,
    causes: BitSets,
    process: int,
    target_count: int,
    parent_event: int,
) -> int:
    """DONE if there is a free slot, after a sweep if need be, and what the message depends on is kept."""
    kept, age = events.shape[1], processes[process, j.HAPPENED] - parent_event
    if parent_event > 0 and 0 < kept <= age:
        return j.FORGOTTEN
    if target_count and not counts[FREE]:
        live = len(free) - counts[DEAD]
        if not is_sweep_worthwhile(counts[DEAD], live, 0, 0):
            return j.NO_SLOT
        _sweep_dead_slots(counts, listed, free, dead, flights, past, causes, events)
    return j.DONE


@compiled
def _sweep_dead_slots(
    counts: Ints,
    listed: Ints,
    free: Ints,
    dead: Ints,
    flights: Ints,
    past: BitSets,
    causes: BitSets,
    events: BitSets,
) -> None:
    """Take the dead slots back, and their messages off the list."""
    alive, kept = np.zeros_like(past[0]), 0
    for k in range(counts[j.LISTED]):
        s = listed[k, 1]
        if flights[s, j.LEFT]:
            add_bit(alive, s)
            listed[kept, 0] = listed[k, 0]
            listed[kept, 1] = s
            kept += 1
    counts[j.LISTED] = kept
    free_dead_slots(free, dead, counts)
    sweep_sets(past, alive)
    sweep_sets(causes, alive)
    for i in range(len(events)):
        sweep_sets(events[i], alive)


# Messages and their slots


@compiled
def _find_slot_of_message(counts: Ints, listed: Ints, message: int) -> int:
    """The slot of a message, or -1."""
    low, high = 0, counts[j.LISTED]
    while low < high:
        middle = (low + high) // 2
        if listed[middle, 0] < message:
            low = middle + 1
        else:
            high = middle
    if low < counts[j.LISTED] and listed[low, 0] == message:
        return int(listed[low, 1])
    return -1


@compiled
def _assign_slot_to_message(
    counts: Ints,
    listed: Ints,
    free: Ints,
    flights: Ints,
    process: int,
    message: int,
    target_count: int,
) -> int:
    """Give a slot to a message for so many targets; returns it."""
    s = pop_free_slot(free, counts)
    listed[counts[j.LISTED], 0] = message
    listed[counts[j.LISTED], 1] = s
    counts[j.LISTED] += 1
    flights[s, j.MESSAGE] = message
    flights[s, j.SENDER] = process
    flights[s, j.LEFT] = target_count
    return s


@compiled
def _record_send(
    processes: Ints,
    past: BitSets,
    events: BitSets,
    causes: BitSets,
    process: int,
    slot: int,
    parent_event: int,
) -> None:
    """A message depends on what is declared, or on everything before it; without a slot it is for nobody."""
    before = past[process]
    if events.shape[1] and parent_event > 0:
        before = events[process, parent_event % events.shape[1]]
    elif events.shape[1] and parent_event == 0:
        before = np.zeros_like(before)
    if slot >= 0:
        copy_bits(before, causes[slot])
    if events.shape[1]:
        _add_own_event(processes, events, process, before, slot)
    if slot >= 0:
        add_bit(past[process], slot)


@compiled
def _record_delivery_and_find_order(
    counts: Ints,
    processes: Ints,
    past: BitSets,
    due: BitSets,
    events: BitSets,
    dead: Ints,
    flights: Ints,
    causes: BitSets,
    process: int,
    slot: int,
) -> int:
    """A message is delivered; returns in which order."""
    own_past, own_due, carried = past[process], due[process], causes[slot]
    order = 0
    if has_bit(own_past, slot):
        order |= j.LATE
    drop_bit(own_due, slot)
    if merge_carried_past_and_check_early(carried, own_past, own_due):
        order |= j.EARLY
    add_bit(own_past, slot)
    flights[slot, j.LEFT] -= 1
    if flights[slot, j.LEFT] == 0:
        push_slot(dead, counts, DEAD, slot)
    if events.shape[1]:
        _add_own_event(processes, events, process, carried, slot)
    return order


@compiled
def _add_own_event(
    processes: Ints,
    events: BitSets,
    process: int,
    before: BitSets,
    slot: int,
) -> None:
    """One more own event: it depends on what its message depends on, and on that."""
    processes[process, j.HAPPENED] += 1
    event = events[process, processes[process, j.HAPPENED] % events.shape[1]]
    copy_bits(before, event)
    if slot >= 0:
        add_bit(event, slot)


@compiled
def _count_violations_and_choose_example(
    counts: Ints,
    newest: Ints,
    flights: Ints,
    order: int,
    process: int,
    slot: int,
) -> bool:
    """Count what went wrong; whether it is wanted as an example."""
    message, sender = flights[slot, j.MESSAGE], flights[slot, j.SENDER]
    if message > newest[process, sender]:
        newest[process, sender] = message
    else:
        counts[j.TURNS] += 1
    counts[j.LATES] += (order & j.LATE) != 0
    counts[j.EARLIES] += order & j.EARLY
    if not order & j.EARLY or not counts[j.EXAMPLES]:
        return False
    counts[j.EXAMPLES] -= 1
    return True


# What is held: a linked list of places for each process, and one of the places that are spare


@compiled
def _record_hold_if_room(
    counts: Ints,
    processes: Ints,
    due: BitSets,
    causes: BitSets,
    places: Ints,
    moments: Floats,
    process: int,
    slot: int,
    now_ms: float,
) -> bool:
    """A message has arrived and is not delivered; False if there is no place for it."""
    h = processes[process, j.FIRST]
    while h >= 0 and places[h, j.WHAT] != slot:  # one that arrives again has come just now
        h = places[h, j.AFTER]
    if h < 0:
        h = counts[j.SPARE]
        if h < 0:
            return False
        counts[j.SPARE] = places[h, j.AFTER]
        places[h, j.AFTER] = processes[process, j.FIRST]
        processes[process, j.FIRST] = h
        places[h, j.WHAT] = slot
        moments[h, j.READY] = np.inf
        processes[process, j.HELD] += 1
        counts[j.PEAK] = max(counts[j.PEAK], processes[process, j.HELD])
    moments[h, j.ARRIVED] = now_ms
    _set_awaited_cause(due[process], causes[slot], places, moments, h, now_ms)
    return True


@compiled
def _set_awaited_cause(
    due: BitSets,
    causes: BitSets,
    places: Ints,
    moments: Floats,
    place: int,
    now_ms: float,
) -> None:
    """Note one missing cause, most likely delivered last; without any, that there is nothing to wait for."""
    for w in range(len(due) - 1, -1, -1):
        missing = causes[w] & due[w]
        if missing:
            bit = 63
            while not missing >> np.uint64(bit):
                bit -= 1
            places[place, j.CAUSE] = 64 * w + bit
            return
    places[place, j.CAUSE] = -1
    moments[place, j.READY] = now_ms


@compiled
def _end_hold_and_recheck_waiting(
    counts: Ints,
    processes: Ints,
    due: BitSets,
    causes: BitSets,
    places: Ints,
    moments: Floats,
    spans: Floats,
    sizes: Ints,
    process: int,
    slot: int,
    now_ms: float,
) -> None:
    """Look after what is held where a message was just delivered: itself, and what waited for it."""
    before, h = -1, processes[process, j.FIRST]
    while h >= 0:
        after = places[h, j.AFTER]
        if places[h, j.WHAT] != slot:
            if places[h, j.CAUSE] == slot:
                held = places[h, j.WHAT]
                _set_awaited_cause(due[process], causes[held], places, moments, h, now_ms)
            before, h = h, after
            continue
        _append_span(spans, sizes, j.WAIT, now_ms - moments[h, j.ARRIVED])
        _append_span(spans, sizes, j.NEEDLESS, now_ms - moments[h, j.READY])
        if before < 0:
            processes[process, j.FIRST] = after
        else:
            places[before, j.AFTER] = after
        places[h, j.AFTER] = counts[j.SPARE]
        counts[j.SPARE] = h
        processes[process, j.HELD] -= 1
        h = after


@compiled
def _append_span(
    spans: Floats,
    sizes: Ints,
    row: int,
    span_ms: float,
) -> None:
    """Note a time; of waits, only what is longer than none."""
    if row == j.LATENCY or span_ms > 0:
        spans[row, sizes[row]] = span_ms
        sizes[row] += 1
