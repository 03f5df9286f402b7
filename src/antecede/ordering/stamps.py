"""Columns of stamps as needs and gains for the gate, with every row checked.

What is sent here has one of a few shapes, whatever the form of the user's stamps. Each reader turns the
columns of its shape into the same thing, `Stamps`: for each row the counts of slots that must be reached
before it, and those that it reaches. A slot is a sender (an entry, an id) in a group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.core.wire import LARGEST
from antecede.kernels.ragged import Counts, Ints, Rows, Runs, find_slots_of_pairs, list_item_rows
from antecede.kernels.repeats import find_lists_with_repeats
from antecede.ordering.columns import (
    CountLists,
    Faults,
    encode_names,
    join_texts,
    read_count_lists,
    read_integers,
    read_list_starts_and_names,
)
from antecede.ordering.presence import NamedRows, find_directly_and_indirectly_absent_keys
from antecede.ordering.slots import Places, Slots, assign_slot_numbers, make_one_place_per_row


class Reading(NamedTuple):
    """How the kernel is to read the columns that it gets."""

    shape: str  # entries (by place), pairs (by name), sequence, shared, parents, packets
    counted: bool = False  # whether the sender's entry in the needs counts the message itself
    stretches: bool = True  # whether every count of a slot is a message to this group
    noun: str = "message"  # what the counts of a slot are called
    members: tuple[str, ...] | None = None
    protocol: str = ""  # of packets
    whole: bool = False  # whether the kernel sees all of the stamp, which then need not be in the contents
    ticks: bool = False  # whether a sender's entry also counts events that are no rows of the table
    silent: bool = False  # whether stamps may be silent about earlier messages of their own sender


class Stamps(NamedTuple):
    """Needs and gains of all rows; what is in rows with a fault means nothing and is in range."""

    needs: Rows | Runs
    gains: Rows
    slots: Slots
    own: Ints  # the slot of each row's sender
    number: Ints  # what the message counts as in that slot
    message_key: Ints  # equal for the same message of a sender that came twice
    add: bool = False
    causal_rank: Ints | None = None  # grows from cause to effect
    past: Rows | None = None  # counts of the past beyond the needs: what of it is there came before
    of_receiver: Ints | None = None  # the count of the receiver in each stamp, which needs no rows
    receiver_slot: Ints | None = None  # the slot of that count, -1 where a stamp has none


class _Processes(NamedTuple):
    """Who sent each row and, if it is told, at whom it arrived, by place; how many there are, their names."""

    sender: Ints
    receiver: Ints | None
    width: int
    labels: pa.Array | None


class _PlacedCounts(NamedTuple):
    """A list of counts for each row, and whose they are."""

    places: Places
    counts: Counts


class _MessageKeys(NamedTuple):
    """Messages as numbers: their slot, and the code of their count or number."""

    values: Ints  # all counts and numbers, by code
    present: Ints  # sorted, each once
    needed: Ints  # in the order in which they are asked for


def read_stamps_with_entries_by_place(
    table: pa.Table, reading: Reading, group: Ints, group_count: int, faults: Faults
) -> Stamps:
    """Stamps with an entry for each process by its place."""
    lists = [read_count_lists(table["needs"], faults, "the stamp")]
    if "gains" in table.column_names:
        lists.append(read_count_lists(table["gains"], faults, "the time of the message"))
    lengths = np.diff(lists[-1].starts)
    size = _find_expected_stamp_sizes(lengths, group, reading.members)
    _check_stamp_lengths(lengths, size, faults)
    if len(lists) > 1:  # who has written nothing to the receiver has no entry for it
        need_lengths = np.diff(lists[0].starts)
        _check_stamp_lengths(need_lengths, np.where(need_lengths == 0, 0, size), faults)
    placed = [_PlacedCounts(Places(part.starts, None), part.counts) for part in lists]
    labels = None if reading.members is None else pa.array(reading.members, pa.string())
    sender = _read_process_places(table, "sender", size, faults)
    receiver = (
        _read_process_places(table, "receiver", size, faults) if "receiver" in table.column_names else None
    )
    processes = _Processes(sender, receiver, int(size.max(initial=0)), labels)
    return _build_stamps_from_count_lists(table, reading, group, group_count, faults, processes, placed)


def read_stamps_with_counts_by_name(
    table: pa.Table, reading: Reading, group: Ints, group_count: int, faults: Faults
) -> Stamps:
    """Stamps with counts for some processes, which are named."""
    lists = [read_count_lists(table["needs"], faults, "the stamp")]
    if "gains" in table.column_names:
        lists.append(read_count_lists(table["gains"], faults, "the time of the message"))
    if "past" in table.column_names:
        lists.append(read_count_lists(table["past"], faults, "the stamp"))
    roles = [name for name in ("sender", "receiver") if name in table.column_names]
    role_columns = [table[name] for name in roles]
    names, codes = encode_names(*role_columns, *(part.names for part in lists))
    role_codes, list_codes = codes[: len(roles)], codes[len(roles) :]
    for role, code in zip(roles, role_codes, strict=True):
        faults.add(code < 0, f"there is no {role}")
    for part, code in zip(lists, list_codes, strict=True):
        faults.add(np.unique(part.row_of_count[code < 0]), "the stamp has an entry without a name")
        if not reading.silent:  # a log may name several messages of one sender
            faults.add(
                find_lists_with_repeats(part.starts, code, len(names)),
                "the stamp has two entries for one name",
            )
    placed = [
        _PlacedCounts(Places(part.starts, np.maximum(code, 0)), part.counts)
        for part, code in zip(lists, list_codes, strict=True)
    ]
    sender, *receivers = (np.maximum(code, 0) for code in role_codes)
    processes = _Processes(sender, receivers[0] if receivers else None, len(names), names)
    return _build_stamps_from_count_lists(table, reading, group, group_count, faults, processes, placed)


def read_sequence_stamps(
    table: pa.Table, reading: Reading, group: Ints, group_count: int, faults: Faults
) -> Stamps:
    """No stamp but the number of the message at its sender."""
    names, (code,) = encode_names(table["sender"])
    faults.add(code < 0, "there is no sender")
    sender = np.maximum(code, 0)
    before = np.maximum(read_integers(table["number"], 0) - 1, 0)
    needs = _PlacedCounts(make_one_place_per_row(sender), before)
    processes = _Processes(sender, None, len(names), names)
    return _build_stamps_from_count_lists(table, reading, group, group_count, faults, processes, [needs])


def _build_stamps_from_count_lists(
    table: pa.Table,
    reading: Reading,
    group: Ints,
    group_count: int,
    faults: Faults,
    processes: _Processes,
    count_lists: list[_PlacedCounts],
) -> Stamps:
    """Stamps from a list of needs and, if there is a second, what that is by the name of its column."""
    number = _read_and_check_message_numbers(table, reading, faults)
    good = np.flatnonzero(~faults.bad)
    needs_list, *other_lists = count_lists
    if reading.counted:
        needs_list.counts[needs_list.places.find_entries_for_process_of_row(processes.sender, good)] -= 1
    places = [make_one_place_per_row(processes.sender), *(part.places for part in count_lists)]
    slots, (own_places, need_places, *other_places) = assign_slot_numbers(
        group, group_count, processes.width, places, processes.labels
    )
    own = own_places.slots.astype(np.int64)
    needs = need_places.pair_with_counts(needs_list.counts)
    of_receiver = receiver_slot = None
    if processes.receiver is not None:
        # What the receiver itself has sent is there without a row; but rows of it come first if there are.
        entries = needs_list.places.find_entries_for_process_of_row(processes.receiver, good)
        of_receiver = np.zeros(len(own), dtype=np.int64)
        row_of_entry = np.searchsorted(needs.starts, entries, side="right") - 1
        of_receiver[row_of_entry] = needs.counts[entries]
        in_table = np.where(faults.bad, 0, number)
        entry_slots = find_slots_of_pairs(needs, entries, row_of_entry)
        receiver_slot = np.full(len(own), -1, dtype=np.int64)
        receiver_slot[row_of_entry] = entry_slots
        needs.counts[entries] = find_last_present_messages(entry_slots, needs.counts[entries], own, in_table)
    if reading.ticks:  # of the numbers up to an entry only those of rows are messages
        in_table = np.where(faults.bad, 0, number)
        pairs = need_places.list_slot_count_pairs(needs_list.counts)
        needs = pairs._replace(counts=find_last_present_messages(pairs.slots, pairs.counts, own, in_table))
    gains = Rows(np.arange(len(own) + 1), own, number)
    if not other_lists:
        return Stamps(
            needs,
            gains,
            slots,
            own,
            number,
            number,
            of_receiver=of_receiver,
            receiver_slot=receiver_slot,
        )
    other = other_places[0].list_slot_count_pairs(other_lists[0].counts)
    if "past" in table.column_names:
        return Stamps(needs, gains, slots, own, number, number, past=other)
    return Stamps(needs, other, slots, own, number, number, causal_rank=sum_counts_by_row(other))


def find_last_present_messages(
    slots: Counts, counts: Counts, present_slots: Ints | Counts, present_numbers: Ints
) -> Ints:
    """The last message of each slot up to the count that is in the table, 0 if none is.

    The messages of the table are those with the slots and numbers that are called present.
    """
    keys = _encode_message_keys(slots, counts, present_slots, present_numbers)
    width = len(keys.values)
    at = np.searchsorted(keys.present, keys.needed, side="right") - 1
    last_key = np.append(keys.present, -1)[at]
    is_same_slot = last_key // width == slots
    last: Ints = np.where(is_same_slot, keys.values[last_key % width], 0)
    return last


def count_present_messages(slots: Counts, counts: Counts, present_slots: Ints, present_numbers: Ints) -> Ints:
    """How many messages of each slot up to the count are in the table."""
    keys = _encode_message_keys(slots, counts, present_slots, present_numbers)
    first_keys = slots.astype(np.int64) * len(keys.values)
    before_slot = np.searchsorted(keys.present, first_keys)
    up_to_count: Ints = np.searchsorted(keys.present, keys.needed, side="right")
    return up_to_count - before_slot


def _encode_message_keys(
    slots: Counts, counts: Counts, present_slots: Ints | Counts, present_numbers: Ints
) -> _MessageKeys:
    """The keys of messages in the table, and of those that are needed.

    Counts are coded by their order, so that slot * codes + code fits into 63 bits, and keys are in the order
    of (slot, count).
    """
    values, codes = np.unique(np.concatenate((counts, present_numbers)), return_inverse=True)
    width = len(values)
    present = np.unique(present_slots.astype(np.int64) * width + codes[len(counts) :])
    needed = slots.astype(np.int64) * width + codes[: len(counts)]
    return _MessageKeys(values, present, needed)


def add_previous_row_needs(stamps: Stamps, faults: Faults) -> Stamps:
    """The stamps with one more need in each row: the row of its sender before it, if there is one.

    A stamp that leaves out what its sender knows the receiver to have may be silent about that row; and if a
    row is lost, the one that waits for it must not be overtaken by later ones.
    """
    in_table = np.where(faults.bad, 0, stamps.number)
    before = find_last_present_messages(stamps.own, np.maximum(stamps.number - 1, 0), stamps.own, in_table)
    assert isinstance(stamps.needs, Rows)  # such stamps name processes
    starts, slots, counts = stamps.needs
    ends = starts[1:]
    slots = np.insert(slots.astype(np.int64), ends, stamps.own)
    counts = np.insert(counts.astype(np.int64), ends, before)
    return stamps._replace(needs=Rows(starts + np.arange(len(starts)), slots, counts))


def sum_counts_by_row(rows: Rows | Runs) -> Ints:
    """The sum of the counts of each row."""
    sums = np.cumsum(rows.counts, dtype=np.int64)
    sum_before = np.concatenate(([0], sums))
    return np.diff(sum_before[rows.starts])


def _read_and_check_message_numbers(table: pa.Table, reading: Reading, faults: Faults) -> Ints:
    """What each message counts as at its sender."""
    number = read_integers(table["number"], -1)
    if reading.counted:
        faults.add(number < 0, "the stamp has no entry for its sender, which must count this message")
        faults.add(number == 0, "the entry of the sender is 0, and must count this message")
    text = "the number of the message is null or below 1: the first message of a sender has number 1"
    faults.add(number < 1, text)
    faults.add(number > LARGEST, "the number of the message is above 2^62 - 1")
    return np.clip(number, 0, LARGEST)


def _find_expected_stamp_sizes(lengths: Ints, group: Ints, members: tuple[str, ...] | None) -> Ints:
    """How many entries a stamp of each row's group has: as told, or as most of them have, or the larger."""
    if members is not None:
        return np.full(len(group), len(members))
    if len(lengths) == 0 or lengths.min() == lengths.max():
        return lengths
    width = int(lengths.max()) + 1
    pairs, times = np.unique(group * width + lengths, return_counts=True)
    pair_group, pair_length = pairs // width, pairs % width
    by_times = np.lexsort((pair_length, times, pair_group))
    usual = np.zeros(int(group.max()) + 1, dtype=np.int64)
    usual[pair_group[by_times]] = pair_length[by_times]  # the last one of a group stays
    return usual[group]


def _check_stamp_lengths(lengths: Ints, expected: Ints, faults: Faults) -> None:
    is_wrong = lengths != expected
    if is_wrong.any():
        length, needed = pa.array(lengths[is_wrong]), pa.array(expected[is_wrong])
        text = join_texts("the stamp has ", length, " entries where this group needs ", needed)
        faults.add(np.flatnonzero(is_wrong), text)


def _read_process_places(table: pa.Table, role: str, stamp_size: Ints, faults: Faults) -> Ints:
    """The place of the row's sender or receiver."""
    place = read_integers(table[role], -1)
    faults.add(np.asarray(table[role].is_null()), f"there is no {role}")
    is_unknown = (place < 0) | (place >= stamp_size)
    faults.add(is_unknown, f"the {role} is unknown: the stamp has no entry for it")
    return np.where(is_unknown, 0, place)


def read_shared_entry_stamps(
    table: pa.Table, reading: Reading, group: Ints, group_count: int, faults: Faults
) -> Stamps:
    """Entries shared by several senders: one less is needed on the keys of the sender, which it counts on."""
    needs = read_count_lists(table["needs"], faults, "the stamp")
    keys = read_count_lists(table["keys"], faults, "the list of keys")
    lengths = np.diff(needs.starts)
    size = _find_expected_stamp_sizes(lengths, group, None)
    _check_stamp_lengths(lengths, size, faults)
    _check_sender_keys(needs, keys, size, faults)
    key_rows, key = keys.row_of_count, keys.counts.astype(np.int64)
    is_good = ~faults.bad[key_rows]
    total = sum_counts_by_row(Rows(needs.starts, needs.counts, needs.counts))
    needs.counts[(needs.starts[key_rows] + key)[is_good]] -= 1

    width = int(size.max(initial=0))
    key_places = Places(keys.starts, np.minimum(key, max(width - 1, 0)))
    places = [Places(needs.starts, None), key_places]
    slots, (need_numbers, key_numbers) = assign_slot_numbers(group, group_count, width, places, None)
    _, (sender,) = encode_names(table["sender"])
    faults.add(sender < 0, "there is no sender")
    own = group * (int(sender.max(initial=0)) + 1) + np.maximum(sender, 0)
    # Without a number, messages of a sender are told apart by what their stamp counts in all.
    number = read_integers(table["number"], -1) if "number" in table.column_names else total
    gains = key_numbers.list_slot_count_pairs(np.ones(len(key), dtype=np.int64))
    need_rows = need_numbers.pair_with_counts(needs.counts)
    return Stamps(need_rows, gains, slots, own, number, number, add=True)


def _check_sender_keys(needs: CountLists, keys: CountLists, stamp_size: Ints, faults: Faults) -> None:
    """Each key is a place, is named once, and its entry counts this message."""
    rows, key = keys.row_of_count, keys.counts.astype(np.int64)
    faults.add(np.diff(keys.starts) == 0, "there are no keys")
    faults.add(np.unique(rows[key >= stamp_size[rows]]), "a key is not the place of an entry, counted from 0")
    by_key = np.lexsort((key, rows))
    is_same_row = np.diff(rows[by_key]) == 0
    is_same_key = np.diff(key[by_key]) == 0
    is_repeated = is_same_row & is_same_key
    faults.add(np.unique(rows[by_key][1:][is_repeated]), "a key is named twice")
    is_good = ~faults.bad[rows]
    rows, key = rows[is_good], key[is_good]
    is_zero = needs.counts[needs.starts[rows] + key] == 0
    faults.add(np.unique(rows[is_zero]), "an entry of the sender is 0: it must count this message")


def _append_items_to_lists(
    starts: Ints, items: Ints, more_starts: Ints, more_items: Ints
) -> tuple[Ints, Ints]:
    """Lists with the items of others behind their own."""
    rows = np.concatenate((list_item_rows(starts), list_item_rows(more_starts)))
    by_row = np.argsort(rows, kind="stable")
    return starts + more_starts, np.concatenate((items, more_items))[by_row]


def read_parent_stamps(
    table: pa.Table, reading: Reading, group: Ints, group_count: int, faults: Faults
) -> Stamps:
    """Ids of what must come before, and of what must have come; a list that is null has none."""
    starts, parent_names = read_list_starts_and_names(table["needs"])
    has_present = "present" in table.column_names
    present_starts, present_names = starts[:1], parent_names.slice(0, 0)
    if has_present:
        present_starts, present_names = read_list_starts_and_names(table["present"])
    names, (own_id, parent, present) = encode_names(table["id"], parent_names, present_names)
    rows = list_item_rows(starts)
    faults.add(own_id < 0, "there is no id")
    faults.add(np.unique(rows[parent < 0]), "a parent is null")
    if has_present:
        faults.add(np.unique(list_item_rows(present_starts)[present < 0]), "what must have come is null")
        # The keys fit into 63 bits: there are no more groups, nor names, than rows and entries in memory.
        base = group * len(names)
        named = NamedRows(present_starts, np.repeat(base, np.diff(present_starts)) + present)
        absent = find_directly_and_indirectly_absent_keys(base + own_id, ~faults.bad, named)
        starts, parent = _append_items_to_lists(
            starts, parent, absent.starts, absent.keys % max(len(names), 1)
        )
        rows = list_item_rows(starts)
    is_self = (parent == own_id[rows]) & (parent >= 0)
    selves = np.unique(rows[is_self])
    own_names = names.take(pa.array(own_id[selves]))
    faults.add(selves, join_texts("names itself as its parent: ", own_names))
    parent_places = Places(starts, np.maximum(parent, 0))
    places = [make_one_place_per_row(np.maximum(own_id, 0)), parent_places]
    slots, (own_places, need_places) = assign_slot_numbers(group, group_count, len(names), places, names)
    own = own_places.slots.astype(np.int64)
    ones = np.ones(len(own), dtype=np.int64)
    needs = need_places.pair_with_counts(np.ones(len(parent), dtype=np.uint16))
    gains = Rows(np.arange(len(own) + 1), own, ones)
    return Stamps(needs, gains, slots, own, ones, ones)
