"""The kernels of the judge: what happened goes in by the block, what was wrong and what waited comes out.

A message has a slot (a bit) while some destination has not delivered it, and pasts are sets of slots: rows of
64-bit words. The bit of a message that is delivered everywhere is in nobody's `due`, so it does no harm until
it is swept away with others. The work per event depends on how much is in flight, not on the length of
the run. Rows are never made longer here: a kernel stops and says what there is no room for.
"""

from __future__ import annotations

import numpy as np

from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints
from antecede.simulate.verdict import layout as j
from antecede.simulate.verdict.layout import Block, Floats, Found, State, Words


@compiled
def judge(state: State, block: Block, at: int, found: Found) -> tuple[int, int]:
    """Go on with record `at`; returns where it stopped, and why."""
    # As plain arrays, since counting references to a tuple's fields would take most of the time.
    counts, processes, newest, past, due, events, listed, free = state[:8]
    flights, sent, causes, places, moments, missing = state[8:]
    times, what, messages, sends, targets = block
    orders, spans, sizes = found
    n, why = len(past), j.DONE
    while at < len(times) and why == j.DONE:
        kind, i, now = what[at] // n, what[at] % n, times[at]
        s = -1 if kind == j.SEND else _slot(counts, listed, messages[at])
        if kind <= j.DELIVER:
            why = _room_for_event(counts, processes, events, i)
        if kind == j.SEND and why == j.DONE:
            number, parent = sends[counts[j.SENDS], 0], sends[counts[j.SENDS], 1]
            why = _room_for_send(
                counts, processes, past, events, listed, free, flights, causes, i, number, parent
            )
            if why == j.DONE and number:
                s = _launch(counts, listed, free, flights, i, messages[at], number)
                sent[s] = now
                _address(due, targets[counts[j.TARGETS] : counts[j.TARGETS] + number], s)
            if why == j.DONE:
                _send(processes, past, events, causes, i, s, parent)
                counts[j.SENDS] += 1
                counts[j.TARGETS] += number
        elif kind == j.DELIVER and why == j.DONE:
            order = _land(counts, processes, past, due, events, flights, causes, missing, i, s)
            orders[at] = order
            _note(spans, sizes, j.LATENCY, now - sent[s])
            if processes[i, j.HELD]:
                _release(counts, processes, due, causes, places, moments, spans, sizes, i, s, now)
            if processes[i, j.PROMISED] and _tell(counts, newest, flights, order, i, s):
                why = j.TOLD
        elif kind == j.HOLD:
            if not _hold(counts, processes, due, causes, places, moments, i, s, now):
                why = j.NO_PLACE
        elif kind == j.TRANSMIT and s >= 0 and flights[s, j.LEFT]:
            _note(spans, sizes, j.BACK, now - sent[s])
        at += why in (j.DONE, j.TOLD)
    return at, why


@compiled
def _room_for_event(counts: Ints, processes: Ints, events: Words, i: int) -> int:
    kept = events.shape[1]
    return j.NO_EVENT if kept < counts[j.MEMORY] and kept <= processes[i, j.HAPPENED] else j.DONE


@compiled
def _room_for_send(
    counts: Ints, processes: Ints, past: Words, events: Words, listed: Ints, free: Ints, flights: Ints,
    causes: Words, i: int, number: int, parent: int,
) -> int:  # fmt: skip
    if parent > 0 and 0 < events.shape[1] <= processes[i, j.HAPPENED] - parent:
        return j.FORGOTTEN
    if number and not counts[j.FREE] and not _sweep(counts, listed, free, flights, past, causes, events):
        return j.NO_SLOT
    return j.DONE


@compiled
def _slot(counts: Ints, listed: Ints, message: int) -> int:
    """The slot of a message, or -1."""
    low, high = 0, counts[j.LISTED]
    while low < high:
        middle = (low + high) // 2
        if listed[middle, 0] < message:
            low = middle + 1
        else:
            high = middle
    return int(listed[low, 1]) if low < counts[j.LISTED] and listed[low, 0] == message else -1


@compiled
def _mark(row: Words, s: int) -> None:
    row[s >> 6] |= np.uint64(1) << np.uint64(s & 63)


@compiled
def _copy(row: Words, onto: Words) -> None:
    for w in range(len(row)):
        onto[w] = row[w]


@compiled
def _launch(counts: Ints, listed: Ints, free: Ints, flights: Ints, i: int, message: int, number: int) -> int:
    """Give a slot to a message; returns it."""
    counts[j.FREE] -= 1
    s = free[counts[j.FREE]]
    listed[counts[j.LISTED], 0], listed[counts[j.LISTED], 1] = message, s
    counts[j.LISTED] += 1
    flights[s, j.MESSAGE], flights[s, j.SENDER], flights[s, j.LEFT] = message, i, number
    return int(s)


@compiled
def _address(due: Words, targets: Ints, s: int) -> None:
    for target in targets:
        _mark(due[target], s)


@compiled
def _send(processes: Ints, past: Words, events: Words, causes: Words, i: int, s: int, parent: int) -> None:
    """A message depends on what is declared, or on everything before it; without a slot it is for nobody."""
    before = past[i]
    if events.shape[1] and parent >= 0:
        before = events[i, parent % events.shape[1]] if parent else np.zeros_like(before)
    if s >= 0:
        _copy(before, causes[s])
    if events.shape[1]:
        _happen(processes, events, i, before, s)
    if s >= 0:
        _mark(past[i], s)


@compiled
def _happen(processes: Ints, events: Words, i: int, before: Words, s: int) -> None:
    """One more own event: it depends on what its message depends on, and on that."""
    processes[i, j.HAPPENED] += 1
    event = events[i, processes[i, j.HAPPENED] % events.shape[1]]
    _copy(before, event)
    if s >= 0:
        _mark(event, s)


@compiled
def _sweep(
    counts: Ints, listed: Ints, free: Ints, flights: Ints, past: Words, causes: Words, events: Words
) -> bool:
    """Take the dead slots back if they are half of all; False if not."""
    if 2 * counts[j.DEAD] < len(free):
        return False
    alive, kept = np.zeros_like(past[0]), 0
    for k in range(counts[j.LISTED]):
        message, s = listed[k, 0], listed[k, 1]
        if flights[s, j.LEFT]:
            _mark(alive, s)
            listed[kept, 0], listed[kept, 1] = message, s
            kept += 1
        else:
            free[counts[j.FREE]] = s
            counts[j.FREE] += 1
    counts[j.LISTED], counts[j.DEAD] = kept, 0
    _keep(past, alive)
    _keep(causes, alive)
    for i in range(len(events)):
        _keep(events[i], alive)
    return True


@compiled
def _keep(sets: Words, alive: Words) -> None:
    for k in range(len(sets)):
        for w in range(len(alive)):
            sets[k, w] &= alive[w]


@compiled
def _land(
    counts: Ints, processes: Ints, past: Words, due: Words, events: Words, flights: Ints, causes: Words,
    missing: Words, i: int, s: int,
) -> int:  # fmt: skip
    """A message is delivered; returns in which order."""
    at, bit, early = s >> 6, np.uint64(1) << np.uint64(s & 63), 0
    order = j.LATE if past[i, at] & bit else 0
    for w in range(len(missing)):
        missing[w] = causes[s, w] & due[i, w]
        if missing[w]:
            early = j.EARLY
        past[i, w] |= causes[s, w]
    past[i, at] |= bit
    due[i, at] ^= bit
    flights[s, j.LEFT] -= 1
    counts[j.DEAD] += flights[s, j.LEFT] == 0
    if events.shape[1]:
        _happen(processes, events, i, causes[s], s)
    return order | early


@compiled
def _tell(counts: Ints, newest: Ints, flights: Ints, order: int, i: int, s: int) -> bool:
    """Count what went wrong; whether it is wanted as an example."""
    message, sender = flights[s, j.MESSAGE], flights[s, j.SENDER]
    if message > newest[i, sender]:
        newest[i, sender] = message
    else:
        counts[j.TURNS] += 1
    counts[j.LATES] += (order & j.LATE) != 0
    counts[j.EARLIES] += order & j.EARLY
    if not order & j.EARLY or not counts[j.EXAMPLES]:
        return False
    counts[j.EXAMPLES] -= 1
    return True


@compiled
def _hold(
    counts: Ints, processes: Ints, due: Words, causes: Words, places: Ints, moments: Floats, i: int, s: int,
    now: float,
) -> bool:  # fmt: skip
    """A message has arrived and is not delivered; False if there is no place for it."""
    h = processes[i, j.FIRST]
    while h >= 0 and places[h, j.WHAT] != s:  # one that arrives again has come just now
        h = places[h, j.AFTER]
    if h < 0:
        h = counts[j.SPARE]
        if h < 0:
            return False
        counts[j.SPARE], places[h, j.AFTER], processes[i, j.FIRST] = (
            places[h, j.AFTER],
            processes[i, j.FIRST],
            h,
        )
        places[h, j.WHAT], moments[h, j.READY] = s, np.inf
        processes[i, j.HELD] += 1
        counts[j.PEAK] = max(counts[j.PEAK], processes[i, j.HELD])
    moments[h, j.ARRIVED] = now
    _file(due[i], causes[s], places, moments, h, now)
    return True


@compiled
def _file(due: Words, causes: Words, places: Ints, moments: Floats, h: int, now: float) -> None:
    """Note one missing cause, most likely delivered last; without any, that there is nothing to wait for."""
    for w in range(len(due) - 1, -1, -1):
        missing = causes[w] & due[w]
        if missing:
            bit = 63
            while not missing >> np.uint64(bit):
                bit -= 1
            places[h, j.CAUSE] = 64 * w + bit
            return
    places[h, j.CAUSE], moments[h, j.READY] = -1, now


@compiled
def _release(
    counts: Ints, processes: Ints, due: Words, causes: Words, places: Ints, moments: Floats, spans: Floats,
    sizes: Ints, i: int, s: int, now: float,
) -> None:  # fmt: skip
    """Look after what is held where a message was just delivered: itself, and what waited for it."""
    before, h = -1, processes[i, j.FIRST]
    while h >= 0:
        after = places[h, j.AFTER]
        if places[h, j.WHAT] != s:
            if places[h, j.CAUSE] == s:
                _file(due[i], causes[places[h, j.WHAT]], places, moments, h, now)
            before, h = h, after
            continue
        _note(spans, sizes, j.WAIT, now - moments[h, j.ARRIVED])
        _note(spans, sizes, j.NEEDLESS, now - moments[h, j.READY])
        if before < 0:
            processes[i, j.FIRST] = after
        else:
            places[before, j.AFTER] = after
        places[h, j.AFTER], counts[j.SPARE] = counts[j.SPARE], h
        processes[i, j.HELD] -= 1
        h = after


@compiled
def _note(spans: Floats, sizes: Ints, row: int, span: float) -> None:
    """Note a time; of waits, only what is longer than none."""
    if row == j.LATENCY or span > 0:
        spans[row, sizes[row]] = span
        sizes[row] += 1
