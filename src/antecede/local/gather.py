"""Executions that are spread over several files, put together with Arrow as `formats.executions` decided."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.formats.executions import (
    BY_CLOCK,
    BY_RESTART,
    BY_TIME,
    FURTHER,
    Gathering,
    find_own_entries,
)
from antecede.formats.order import rank_events_by_clock

Ints = NDArray[np.int64]


def join_files_into_executions(events: pa.Table, gathering: Gathering) -> pa.Table:
    """The events, which have the number of their file, with the positions and executions of all files."""
    shifts, new_names = gathering.index_shifts, gathering.new_names
    name_of_event = _find_decision_rows(events, new_names, ["number", "execution"])
    if len(shifts):
        events = _shift_indexes_and_event_ids(events, shifts)
    if len(new_names):
        events = _prefix_executions(events, new_names["new_name"].take(_to_nullable_indices(name_of_event)))
    return events


def _find_decision_rows(events: pa.Table, decisions: pa.Table, columns: list[str]) -> Ints:
    """The row of `decisions` that has an event's values in these columns; -1 if there is none."""
    keys_of_decisions = np.zeros(len(decisions), np.int64)
    keys_of_events = np.zeros(len(events), np.int64)
    for column in columns:
        values = decisions[column].unique()
        codes = _encode_by_known_values(decisions[column], values)
        # Keys count the decisions at most, and so do values: their product fits into 64 bits.
        keys_of_decisions = keys_of_decisions * len(values) + codes
        codes = _encode_by_known_values(events[column], values)
        is_known = (keys_of_events >= 0) & (codes >= 0)
        keys_of_events = np.where(is_known, keys_of_events * len(values) + codes, -1)
        distinct = pa.array(np.unique(keys_of_decisions))
        keys_of_decisions = _encode_by_known_values(pa.array(keys_of_decisions), distinct)
        keys_of_events = _encode_by_known_values(pa.array(keys_of_events), distinct)
    return _encode_by_known_values(pa.array(keys_of_events), pa.array(keys_of_decisions))


def _encode_by_known_values(values: pa.Array | pa.ChunkedArray, known: pa.Array) -> Ints:
    """The place of each value among those known; -1 if it is none of them."""
    codes = pc.fill_null(pc.index_in(values, value_set=known, skip_nulls=True), -1)
    return np.asarray(codes.to_numpy(), np.int64)


def _to_nullable_indices(rows: Ints) -> pa.Array:
    """Rows to take, null for -1."""
    return pa.array(rows, mask=rows < 0)


def _shift_indexes_and_event_ids(events: pa.Table, shifts: pa.Table) -> pa.Table:
    """New positions, and new ids for events whose ids were made from positions."""
    shift_of_event = _find_decision_rows(events, shifts, ["number", "execution", "process"])
    shift_of_event[pc.is_null(events["index"]).to_numpy()] = -1  # no position before, none afterwards
    how = shifts["how"].take(_to_nullable_indices(shift_of_event))
    further = shifts["further"].take(_to_nullable_indices(shift_of_event))
    places = [pc.if_else(pc.equal(how, FURTHER), pc.add(events["index"], further), None)]
    hows = shifts["how"].unique().to_pylist()
    if BY_CLOCK in hows:
        places.append(pc.if_else(pc.equal(how, BY_CLOCK), pc.subtract(find_own_entries(events), 1), None))
    if BY_RESTART in hows:
        is_restarted = pc.fill_null(pc.equal(how, BY_RESTART), False).to_numpy()
        places.append(_assign_positions_by_restart(events, shifts, shift_of_event, is_restarted))
    if BY_TIME in hows:
        is_timed = pc.fill_null(pc.equal(how, BY_TIME), False).to_numpy()
        places.append(_assign_positions_by_time(events, shifts, shift_of_event, is_timed))
    index = events["index"]
    for place in places:
        # Not `coalesce`: that of Arrow 20 takes what lies beneath a null for a value.
        index = pc.if_else(pc.is_valid(place), place, index)
    was_made = pc.fill_null(
        pc.equal(events["event"], _make_event_ids(events["process"], events["index"])), False
    )
    event = pc.if_else(was_made, _make_event_ids(events["process"], index), events["event"])
    return _replace_column(_replace_column(events, "index", index), "event", event)


def _make_event_ids(processes: pa.ChunkedArray, positions: pa.ChunkedArray) -> pa.ChunkedArray:
    """The ids that readers give to events without one."""
    return pc.binary_join_element_wise(processes, positions.cast(pa.string()), "#")


def _assign_positions_by_restart(
    events: pa.Table, shifts: pa.Table, shift_of_event: Ints, is_restarted: NDArray[np.bool_]
) -> pa.Array:
    """The positions of events of processes that count some entries twice; null for others."""
    rows = np.flatnonzero(is_restarted)
    part = shift_of_event[rows]
    restarted = events.select(["process", "clock", "line"]).take(pa.array(rows))
    in_files = np.lexsort((restarted["line"].to_numpy(), shifts["further"].to_numpy()[part]))
    track, own = shifts["track"].to_numpy()[part], find_own_entries(restarted).to_numpy()
    places = np.full(len(events), -1, np.int64)
    places[rows[in_files]] = rank_events_by_clock(track[in_files], own[in_files])
    return _to_nullable_indices(places)


def _assign_positions_by_time(
    events: pa.Table, shifts: pa.Table, shift_of_event: Ints, is_timed: NDArray[np.bool_]
) -> pa.Array:
    """The positions of events of processes that wrote several files at the same time; null for others."""
    rows = np.flatnonzero(is_timed)
    timed = events.select(["index", "line", "time"]).take(pa.array(rows))
    index, line, time = (timed[name].to_numpy() for name in timed.column_names)
    part = shift_of_event[rows]
    # The latest time so far in its file: each part, in its order, has a running maximum.
    order = np.lexsort((line, index, part))
    latest = np.empty(len(rows))
    for some in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        latest[some] = np.maximum.accumulate(time[some])
    track, further = (shifts[name].to_numpy()[part] for name in ("track", "further"))
    order = np.lexsort((line, index, further, latest, track))
    starts = np.flatnonzero(np.diff(track[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    places = np.full(len(events), -1, np.int64)
    places[rows[order]] = np.arange(len(order)) - np.repeat(starts, sizes)
    return _to_nullable_indices(places)


def _prefix_executions(events: pa.Table, new_names: pa.ChunkedArray) -> pa.Table:
    """Executions named by what they are in, where they are separate."""
    own = events["execution"]
    joined = pc.binary_join_element_wise(new_names, own, ": ")
    names = pc.if_else(pc.equal(own, ""), new_names, joined)
    return _replace_column(events, "execution", pc.coalesce(names, own))


def _replace_column(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    position = table.schema.get_field_index(name)
    return table.set_column(position, table.schema.field(position), values)
