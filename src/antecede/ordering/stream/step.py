"""One step of a stream: from what is remembered and the rows of a micro-batch to what becomes of each row.

    states of the groups  +  waiting rows of some of them  +  new rows
        -> ordered, late, diverted, quarantined or (still) waiting rows  +  the states after the step

It is the order of a partition (`antecede.ordering.partition`: same readers, same gate) that starts from the
states. The waiting rows of a group arrive first, in the order in which they came; the new ones in the order
of their contents. So the result is a function of the states and of the set of new rows.

Waiting rows of a group may be left where they are if none of them can wake and none is a copy of a new row
(`wake_up` tells which groups must be loaded): the result is the same.

A row is *late* if its number was passed before it came out: something was given up and came after all, or a
row of the receiver itself came that others had taken to be there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import to_integers
from antecede.kernels.gate import Released
from antecede.kernels.ragged import Ints, compute_starts, rank_within_groups
from antecede.kernels.root_gaps import select_unmet_needs
from antecede.ordering.columns import Mask
from antecede.ordering.memory import Holes, Memory
from antecede.ordering.partition import PartitionRows, drop_copies_and_sort_rows, read_partition, release_rows
from antecede.ordering.root_gaps import explain_held_rows
from antecede.ordering.stamps import Reading
from antecede.ordering.stream.give_up import (
    GivenUp,
    GiveUp,
    WaitingFacts,
    describe_what_released_rows_missed,
    find_expired_rows,
    release_expired_rows_and_awaited_ones,
)
from antecede.ordering.stream.states import (
    NONE,
    NUMBERS,
    STATES,
    SlotEntries,
    flatten_slots,
    list_group_keys_of_states,
    make_group_keys,
    merge_slot_entries,
    nest_slots,
    sort_states,
)

_TEXTS = pa.list_(pa.string())
_LARGEST = 2**63 - 1
_WATCHES = ("awaited", "held_first", "held_last")
"""What slots say of waiting rows."""


class Moment(NamedTuple):
    """When a step is taken, and by which rules."""

    number: int  # of the step: each is greater than the one before
    time_ms: int
    give_up: GiveUp = GiveUp()
    horizon: int | None = None
    """Ids that no row of the group's last so many positions had are forgotten; None forgets nothing."""


class StepRows(NamedTuple):
    """Rows for a step: waiting ones, of groups whose waiting rows are all here, and behind them new ones."""

    table: pa.Table  # as the kernel reads it
    arrival: Ints  # of the waiting rows
    since: Ints  # when each of the waiting rows came, in ms
    size: Ints  # the bytes of each row
    loaded: pa.Array  # the keys of the groups whose waiting rows are here


class StreamStep(NamedTuple):
    """What becomes of each row, and the states of all groups that were handed in or have rows."""

    position: Ints  # NONE if it does not come out
    arrival: Ints  # NONE if it is in quarantine
    since: Ints
    is_late: Mask
    is_held: Mask
    missed: pa.ListArray
    """What was given up that a row lacked which came out nevertheless; else null."""
    missing: pa.ListArray
    """What rows lack that are put aside for good; else null."""
    reason: pa.Array
    """Why a row is in quarantine; else null."""
    states: pa.Table


class StepGroups(NamedTuple):
    """The groups of a step by their codes; those of which no row was read have no state row."""

    state_row: Ints  # NONE if nothing is remembered
    state_keys: pa.Array
    is_loaded: Mask
    first_row: Ints  # a row of the group, NONE if none has this code


class RecalledSlots(NamedTuple):
    """What is remembered, by slot."""

    memory: Memory
    numbers: dict[str, Ints]
    untouched_entries: SlotEntries
    """Entries of groups with rows here, for slots that none of these rows names; by code of the group."""


def list_group_keys_of_rows(table: pa.Table) -> pa.ChunkedArray:
    """The key of each row's group; null for a row that can be in none."""
    receivers = table["ordered_at"] if "ordered_at" in table.column_names else None
    return make_group_keys(table["group"], receivers)


def run_stream_step(rows: StepRows, states: pa.Table, reading: Reading, moment: Moment) -> StreamStep:
    """What becomes of the rows; `states` has all groups of theirs of which something is remembered."""
    partition = read_partition(rows.table, reading)
    stamps, group = partition.stamps, partition.group
    groups = match_groups_to_states(partition, states, rows.loaded)
    recalled = recall_slot_memory(partition, states, groups)
    memory = recalled.memory
    waiting = np.argsort(rows.arrival, kind="stable")
    admitted = drop_copies_and_sort_rows(partition, waiting, memory)
    arrival, arrivals = _assign_arrival_numbers_and_count_by_group(partition, rows, groups, states, admitted)
    since = np.full(len(group), moment.time_ms, dtype=np.int64)
    since[: len(rows.since)] = rows.since

    released = release_rows(stamps, admitted, memory.have)
    order, held, diverted = released.order, released.held, np.empty(0, dtype=np.int64)
    missed = pa.nulls(len(group), _TEXTS)
    facts = WaitingFacts(group[held], arrival[held], since[held], rows.size[held])
    is_expired = find_expired_rows(moment.give_up, facts, moment.time_ms) & groups.is_loaded[group[held]]
    if is_expired.any():
        expired = held[is_expired]
        if moment.give_up.action == "release":
            given_up = release_expired_rows_and_awaited_ones(stamps, reading, released, is_expired)
            released = given_up.released
            missed = _make_missed_column(partition, given_up)
            order = np.concatenate((order, released.order))
        # Rows that wait for each other have no gap that could be filled: nothing can let them out.
        diverted = np.intersect1d(expired, released.held)
        held = np.setdiff1d(released.held, diverted)
    missing = _list_missing_of_rows(partition, released, diverted)

    is_late = np.zeros(len(group), dtype=bool)
    is_late[order] = _find_late_rows(partition, memory, order)
    position, positions = _assign_positions_and_count_by_group(group, groups, states, order)
    is_held = np.zeros(len(group), dtype=bool)
    is_held[held] = True
    memory_after = _remember_released_rows(partition, memory, order, released.have)
    numbers = _compute_numbers_to_remember_by_slot(partition, groups, recalled, memory_after, held, positions)
    entries = _collect_slots_to_remember(partition, memory_after, numbers, recalled.untouched_entries)
    if moment.horizon is not None:
        entries = _forget_old_ids(entries, positions, moment.horizon)
    waiting_after = _summarize_waiting_rows_by_group(rows, states, groups, moment, group, held, since)
    new_states = _make_states_after_step(
        partition, states, groups, entries, {"positions": positions, "arrivals": arrivals, **waiting_after}
    )
    reason = partition.faults.make_reason_column()
    return StreamStep(position, arrival, since, is_late, is_held, missed, missing, reason, new_states)


# -- what is remembered --------------------------------------------------------------------------------


def match_groups_to_states(partition: PartitionRows, states: pa.Table, loaded_keys: pa.Array) -> StepGroups:
    """Which state belongs to each group code."""
    good = np.flatnonzero(~partition.faults.bad)
    first_row = np.full(partition.group_count, NONE, dtype=np.int64)
    first_row[partition.group[good[::-1]]] = good[::-1]
    keys = list_group_keys_of_rows(partition.table).combine_chunks()
    key_of_code = keys.take(pa.array(first_row, mask=first_row == NONE))
    state_keys = list_group_keys_of_states(states).combine_chunks()
    found = pc.index_in(key_of_code, value_set=state_keys, skip_nulls=True)
    state_row = np.where(first_row == NONE, NONE, to_integers(found, NONE))
    is_here = pc.is_in(key_of_code, value_set=loaded_keys, skip_nulls=True)
    is_loaded = np.asarray(is_here.fill_null(False))
    # A group of which nothing waits has all its waiting rows here.
    held = np.append(to_integers(states["held"].combine_chunks(), 0), 0)
    is_loaded = is_loaded | (held[state_row] == 0)
    return StepGroups(state_row, state_keys, is_loaded, first_row)


def _take_state_number_of_each_group(
    states: pa.Table, groups: StepGroups, column: str, number_if_unknown: int
) -> Ints:
    """A number of each group; of those that nothing is remembered of, the unknown."""
    numbers = np.append(to_integers(states[column].combine_chunks(), NONE), number_if_unknown)
    return numbers[groups.state_row]


def recall_slot_memory(partition: PartitionRows, states: pa.Table, groups: StepGroups) -> RecalledSlots:
    """What the states say of the slots of these rows."""
    slots = partition.stamps.slots
    memory = Memory.make_empty(slots.size)
    numbers = {name: np.full(slots.size, NONE, dtype=np.int64) for name in NUMBERS}
    entries = flatten_slots(states)
    code_of_state = np.full(len(states), NONE, dtype=np.int64)
    codes = np.flatnonzero(groups.state_row != NONE)
    code_of_state[groups.state_row[codes]] = codes
    code = code_of_state[entries.group] if len(states) else np.empty(0, dtype=np.int64)
    entries = entries._replace(group=code)
    entries = entries.take(np.flatnonzero(code != NONE))
    slot = slots.find_slots(entries.group, entries.names)
    is_here = slot >= 0
    here, slot = entries.take(np.flatnonzero(is_here)), slot[is_here]
    for name in NUMBERS:
        numbers[name][slot] = here.numbers[name]
    for name in ("have", "top", "assumed"):
        getattr(memory, name)[slot] = here.numbers[name]
    hole_slot = np.repeat(slot, np.diff(here.starts))
    by_slot = np.argsort(hole_slot, kind="stable")
    holes = Holes(hole_slot[by_slot], here.first[by_slot], here.last[by_slot])
    untouched_entries = entries.take(np.flatnonzero(~is_here))
    for name in _WATCHES:  # found anew where all waiting rows are here
        untouched_entries.numbers[name][groups.is_loaded[untouched_entries.group]] = NONE
    return RecalledSlots(memory._replace(holes=holes), numbers, untouched_entries)


def _remember_released_rows(partition: PartitionRows, memory: Memory, order: Ints, have: Ints) -> Memory:
    """The memory after the rows that came out."""
    stamps = partition.stamps
    memory_after = memory.add_delivered_messages(stamps.own[order], stamps.message_key[order])
    assumed = memory.assumed.copy()
    if stamps.receiver_slot is not None and stamps.of_receiver is not None:
        slot = stamps.receiver_slot[order]
        is_told = slot >= 0
        np.maximum.at(assumed, slot[is_told], stamps.of_receiver[order][is_told])
    return memory_after._replace(have=have, assumed=assumed)


def _find_late_rows(partition: PartitionRows, memory: Memory, order: Ints) -> Mask:
    """Which of the rows, in the order in which they come out, were passed before."""
    own, number = partition.stamps.own[order], partition.stamps.number[order]
    by_slot = np.argsort(own, kind="stable")
    own, number = own[by_slot], number[by_slot]
    passed = np.maximum(memory.have, memory.assumed)[own]
    is_first = np.append(True, own[1:] != own[:-1])[: len(own)]
    before = np.where(is_first, passed, np.maximum(np.roll(number, 1), passed))
    is_low = (number <= before) & (number > 0)
    is_late = np.zeros(len(order), dtype=bool)
    if is_low.any():  # only then a row may also be below one further back
        highest: dict[int, int] = {}
        for at in np.flatnonzero(np.isin(own, own[is_low])).tolist():
            slot = int(own[at])
            top = highest.setdefault(slot, int(passed[at]))
            is_late[by_slot[at]] = 0 < number[at] <= top
            highest[slot] = max(top, int(number[at]))
    return is_late


# -- numbers of rows -----------------------------------------------------------------------------------


def _assign_arrival_numbers_and_count_by_group(
    partition: PartitionRows, rows: StepRows, groups: StepGroups, states: pa.Table, admitted: Ints
) -> tuple[Ints, Ints]:
    """The arrival of each row, and how many each group has given."""
    waiting_count = len(rows.arrival)
    group = partition.group
    before = _take_state_number_of_each_group(states, groups, "arrivals", 0)
    arrival = np.full(len(group), NONE, dtype=np.int64)
    arrival[:waiting_count] = rows.arrival
    new = admitted[admitted >= waiting_count]
    arrival[new] = before[group[new]] + rank_within_groups(group[new])
    return arrival, before + np.bincount(group[new], minlength=len(before))


def _assign_positions_and_count_by_group(
    group: Ints, groups: StepGroups, states: pa.Table, order: Ints
) -> tuple[Ints, Ints]:
    """The position of each row that comes out, and how many each group has given."""
    before = _take_state_number_of_each_group(states, groups, "positions", 0)
    position = np.full(len(group), NONE, dtype=np.int64)
    position[order] = before[group[order]] + rank_within_groups(group[order])
    return position, before + np.bincount(group[order], minlength=len(before))


# -- words ---------------------------------------------------------------------------------------------


def _make_missed_column(partition: PartitionRows, given_up: GivenUp) -> pa.ListArray:
    size = len(partition.group)
    rows, texts = describe_what_released_rows_missed(partition.stamps, partition.reading, given_up, size)
    counts = np.bincount(rows, minlength=size)
    sorted_texts = texts.take(pa.array(np.argsort(rows, kind="stable")))
    is_null = np.append(counts == 0, False)  # the last start only ends the last list
    starts = pa.array(compute_starts(counts).astype(np.int32), mask=is_null)
    return pa.ListArray.from_arrays(starts, sorted_texts)


def _list_missing_of_rows(partition: PartitionRows, released: Released, rows: Ints) -> pa.ListArray:
    """What some of the held rows lack."""
    size = len(partition.group)
    if not len(rows):
        return pa.nulls(size, _TEXTS)
    is_seen = np.ones(size, dtype=bool)
    explained = explain_held_rows(partition.stamps, partition.reading, partition.group, released, is_seen)
    is_asked = np.zeros(size, dtype=bool)
    is_asked[rows] = True
    return pc.if_else(pa.array(is_asked), explained.missing, pa.scalar(None, _TEXTS))


# -- the states after the step -------------------------------------------------------------------------


def _compute_numbers_to_remember_by_slot(
    partition: PartitionRows,
    groups: StepGroups,
    recalled: RecalledSlots,
    memory_after: Memory,
    held: Ints,
    positions: Ints,
) -> dict[str, Ints]:
    """The numbers of each slot after the step; the watches are new where all waiting rows are here."""
    stamps, before, numbers = partition.stamps, recalled.memory, recalled.numbers
    slot_group = stamps.slots.get_groups(np.arange(stamps.slots.size))
    is_loaded = groups.is_loaded[slot_group]
    watches = {name: np.where(is_loaded, NONE, numbers[name]) for name in _WATCHES}
    unmet = select_unmet_needs(stamps.needs, held, memory_after.have)
    first_unmet = unmet.starts[:-1]
    slot, count = unmet.slots[first_unmet].astype(np.int64), unmet.counts[first_unmet].astype(np.int64)
    own, number = stamps.own[held], stamps.message_key[held]
    np.maximum.at(watches["held_last"], own, number)
    is_changed = (memory_after.have != before.have) | (memory_after.top != before.top)
    at = np.where(is_changed, positions[slot_group], numbers["at"])
    return {
        "have": memory_after.have,
        "top": memory_after.top,
        "assumed": memory_after.assumed,
        "at": np.maximum(at, 0),
        "awaited": _lower_least_values(watches["awaited"], slot, count),
        "held_first": _lower_least_values(watches["held_first"], own, number),
        "held_last": watches["held_last"],
    }


def _lower_least_values(least: Ints, slot: Ints, count: Ints) -> Ints:
    """The least counts of slots, with some more; NONE is above all."""
    lowered = np.where(least == NONE, _LARGEST, least)
    np.minimum.at(lowered, slot, count)
    return np.where(lowered == _LARGEST, NONE, lowered)


def _collect_slots_to_remember(
    partition: PartitionRows,
    memory_after: Memory,
    slot_numbers: dict[str, Ints],
    untouched_entries: SlotEntries,
) -> SlotEntries:
    """All slots of which there is something to remember, by code of the group."""
    slots = partition.stamps.slots
    is_worth = (memory_after.have > 0) | (memory_after.top > 0) | (memory_after.assumed > 0)
    is_worth |= (slot_numbers["awaited"] != NONE) | (slot_numbers["held_last"] != NONE)
    chosen = np.flatnonzero(is_worth)
    hole_count = np.bincount(memory_after.holes.slot, minlength=slots.size)[chosen]
    entries = SlotEntries(
        slots.get_groups(chosen),
        slots.get_names(chosen).cast(pa.string()),
        {name: slot_numbers[name][chosen] for name in NUMBERS},
        compute_starts(hole_count),
        memory_after.holes.first,
        memory_after.holes.last,
    )
    return merge_slot_entries(entries, untouched_entries)


def _summarize_waiting_rows_by_group(
    rows: StepRows, states: pa.Table, groups: StepGroups, moment: Moment, group: Ints, held: Ints, since: Ints
) -> dict[str, Ints]:
    """What the states say of waiting rows; those of groups that were not loaded are still there."""
    held_group = group[held]
    is_kept = ~groups.is_loaded
    count = np.where(is_kept, _take_state_number_of_each_group(states, groups, "held", 0), 0)
    size = np.where(is_kept, _take_state_number_of_each_group(states, groups, "held_bytes", 0), 0)
    oldest = np.where(is_kept, _take_state_number_of_each_group(states, groups, "oldest", NONE), NONE)
    filed = np.where(is_kept, _take_state_number_of_each_group(states, groups, "filed", NONE), moment.number)
    np.add.at(count, held_group, 1)
    np.add.at(size, held_group, rows.size[held])
    return {
        "held": count,
        "held_bytes": size,
        "oldest": _lower_least_values(oldest, held_group, since[held]),
        "filed": filed,
    }


def _make_states_after_step(
    partition: PartitionRows,
    states_before: pa.Table,
    groups: StepGroups,
    entries: SlotEntries,
    group_numbers: dict[str, Ints],
) -> pa.Table:
    """The states of all groups with rows, and of the others as they were; numbers are by code."""
    codes = np.flatnonzero(groups.first_row != NONE)
    first = pa.array(groups.first_row[codes])
    table = partition.table
    columns: dict[str, pa.Array] = {"group": table["group"].take(first).cast(pa.string())}
    columns["receiver"] = pa.nulls(len(codes), pa.string())
    if "ordered_at" in table.column_names:
        columns["receiver"] = table["ordered_at"].take(first).cast(pa.string())
    for name, values in group_numbers.items():
        columns[name] = pa.array(values[codes], mask=values[codes] == NONE)
    columns["slots"] = nest_slots(entries, partition.group_count).take(pa.array(codes))
    made = pa.table({name: columns[name] for name in STATES.names}, schema=STATES)
    state_row = groups.state_row[codes]
    is_replaced = np.zeros(len(states_before), dtype=bool)
    is_replaced[state_row[state_row != NONE]] = True
    states_without_rows = states_before.filter(pa.array(~is_replaced))
    return sort_states(pa.concat_tables([made, states_without_rows]))


def _forget_old_ids(entries: SlotEntries, positions: Ints, horizon: int) -> SlotEntries:
    """The entries without those that did not change for so many positions, and that nothing waits for."""
    numbers = entries.numbers
    is_recent = numbers["at"] > positions[entries.group] - horizon
    is_awaited = (numbers["awaited"] != NONE) | (numbers["held_last"] != NONE)
    return entries.take(np.flatnonzero(is_recent | is_awaited))
