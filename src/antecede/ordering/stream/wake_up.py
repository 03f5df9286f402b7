"""Which groups' waiting rows a step must have, told without looking at these rows.

Each waiting row is watched by one of its needs that is not met: `awaited` has the least count of each slot
that is watched so. It cannot be reached unless the message with that very number comes, as each message of a
sender comes behind the one before. So the waiting rows of a group can stay where they are unless

- a new row is the message that a slot awaits;
- a new row may be a copy of a waiting one: its number lies in the range of those of its sender;
- one of its rows may have waited too long;
- the stamps are such that what a row waits for depends on which rows are there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import to_integers
from antecede.kernels.ragged import Ints
from antecede.ordering.columns import Mask, join_texts, read_integers
from antecede.ordering.stamps import Reading
from antecede.ordering.stream.give_up import GiveUp
from antecede.ordering.stream.states import flatten_slots, list_group_keys_of_states
from antecede.ordering.stream.step import list_group_keys_of_rows

_SEPARATOR = "\x1e"


def find_groups_to_load(
    arriving: pa.Table, row_bytes: Ints, states: pa.Table, reading: Reading, give_up: GiveUp, now_ms: int
) -> pa.Array:
    """The keys of the groups whose waiting rows the step needs, besides the new rows, at this time."""
    keys = list_group_keys_of_states(states).combine_chunks()
    held = to_integers(states["held"].combine_chunks(), 0)
    is_loaded = (held > 0) & find_expired_groups(states, give_up, now_ms)
    holding = np.flatnonzero(held > 0)
    if len(holding) and len(arriving):
        row_keys = list_group_keys_of_rows(arriving).combine_chunks()
        state_of_row = to_integers(pc.index_in(row_keys, value_set=keys, skip_nulls=True), -1)
        is_touched = np.append(held > 0, False)[state_of_row]
        rows = np.flatnonzero(is_touched)
        touched = state_of_row[rows]
        # Here what rows need depends on which rows are there.
        if {"receiver", "present"} & set(arriving.column_names):
            is_loaded[touched] = True
        else:
            can_wake = _find_rows_that_may_wake_waiting_ones(arriving, rows, touched, states, reading)
            is_loaded[touched[can_wake]] = True
        is_loaded |= _find_groups_that_may_overflow(states, give_up, touched, row_bytes[rows])
    return keys.filter(pa.array(is_loaded))


def find_expired_groups(states: pa.Table, give_up: GiveUp, now_ms: int) -> Mask:
    """Which groups have rows that have waited for too many seconds."""
    if give_up.seconds is None:
        return np.zeros(len(states), dtype=bool)
    oldest = to_integers(states["oldest"].combine_chunks(), 2**62)
    is_old: Mask = oldest <= now_ms - give_up.seconds * 1000
    return is_old


def _find_rows_that_may_wake_waiting_ones(
    arriving: pa.Table, rows: Ints, state_of_row: Ints, states: pa.Table, reading: Reading
) -> Mask:
    """Which of the rows, of these states, are awaited, or may be copies of waiting rows."""
    entries = flatten_slots(states)
    is_watched = (entries.numbers["awaited"] >= 0) | (entries.numbers["held_last"] >= 0)
    entries = entries.take(np.flatnonzero(is_watched))
    at = pa.array(rows)
    if reading.shape == "parents":
        names, number = arriving["id"].take(at), np.ones(len(rows), dtype=np.int64)
    else:
        names = _to_sender_names(arriving["sender"].take(at), reading)
        number = read_integers(arriving["number"].take(at), -1)
    row_names = join_texts(pa.array(state_of_row).cast(pa.string()), _SEPARATOR, names.combine_chunks())
    slot_names = join_texts(pa.array(entries.group).cast(pa.string()), _SEPARATOR, entries.names)
    entry = to_integers(pc.index_in(row_names, value_set=slot_names, skip_nulls=True), -1)
    awaited, first, last = (
        np.append(entries.numbers[name], -1)[entry] for name in ("awaited", "held_first", "held_last")
    )
    can_wake: Mask = (number >= 0) & ((number == awaited) | ((first <= number) & (number <= last)))
    return can_wake


def _to_sender_names(senders: pa.ChunkedArray, reading: Reading) -> pa.ChunkedArray:
    """Senders as states call them: those by place have the names of members."""
    if reading.shape != "entries" or reading.members is None:
        return senders.cast(pa.string())
    places = read_integers(senders, -1)
    is_member = (places >= 0) & (places < len(reading.members))
    labels = pa.array(reading.members, pa.string())
    return pa.chunked_array([labels.take(pa.array(places, mask=~is_member))])


def _find_groups_that_may_overflow(
    states: pa.Table, give_up: GiveUp, state_of_row: Ints, row_bytes: Ints
) -> Mask:
    """Which groups would hold too much if all of the new rows had to wait."""
    may_overflow = np.zeros(len(states), dtype=bool)
    for limit, column, more in (
        (give_up.rows, "held", np.ones(len(state_of_row), dtype=np.int64)),
        (give_up.bytes, "held_bytes", row_bytes),
    ):
        if limit is not None:
            total = to_integers(states[column].combine_chunks(), 0).copy()
            np.add.at(total, state_of_row, more)
            may_overflow |= total > limit
    return may_overflow
