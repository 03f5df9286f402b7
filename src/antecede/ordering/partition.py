"""Order a partition: the rows of many groups arrive at one gate, and each gets its answer.

The answer depends on the set of rows alone, not on how they lie. Rows arrive by `arrival` if there is one,
then by `time` if there is one; without either, causes that only the rest of a stamp tells of come first. Then
by sender and number; rows that are still equal are the same message, and then their contents decide.

    read the stamps -> put the rows in order of arrival -> drop duplicates -> the gate -> answers

Rows that cannot be read, and duplicates, are faults: they get a reason and take no part in what follows.

A stream does the same with a memory of what came before (`antecede.ordering.stream`): its waiting rows arrive
first, in the order in which they came, and its gate starts from what is out. A table is a stream of which
nothing is remembered and nothing waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.events.columns import Floats
from antecede.kernels.gate import Released, release_items
from antecede.kernels.ragged import (
    Ints,
    Rows,
    Runs,
    choose_unsigned_type,
    rank_within_groups,
    take_pairs_of_rows,
)
from antecede.ordering.columns import (
    Faults,
    Mask,
    encode_and_count_groups,
    encode_names,
    join_texts,
    read_integers,
)
from antecede.ordering.memory import Memory
from antecede.ordering.packets import read_packet_stamps
from antecede.ordering.root_gaps import explain_held_rows
from antecede.ordering.stamps import (
    Reading,
    Stamps,
    add_previous_row_needs,
    find_last_present_messages,
    read_parent_stamps,
    read_sequence_stamps,
    read_shared_entry_stamps,
    read_stamps_with_counts_by_name,
    read_stamps_with_entries_by_place,
)

AnyInts = NDArray[Any]
_LAST = 2**63 - 1
_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: multiplying by it spreads numbers over all bits."""
ANSWER = (
    "position bigint, arrival bigint, missing array<string>, reason string, "
    "gaps array<struct<missing: string, waiting: bigint>>, note string"
)
_READERS = {
    "entries": read_stamps_with_entries_by_place,
    "pairs": read_stamps_with_counts_by_name,
    "sequence": read_sequence_stamps,
    "shared": read_shared_entry_stamps,
    "parents": read_parent_stamps,
    "packets": read_packet_stamps,
}


class PartitionRows(NamedTuple):
    """The rows of many groups with their stamps read."""

    table: pa.Table
    reading: Reading
    faults: Faults
    group: Ints
    """The code of each row's group."""
    group_count: int
    stamps: Stamps
    content: Ints


def order_partition(table: pa.Table, reading: Reading) -> pa.StructArray:
    """For each row its position and arrival, or what it misses and its arrival, or the reason to leave it."""
    partition = read_partition(table, reading)
    nothing_waits = np.empty(0, dtype=np.int64)
    nothing_came = Memory.make_empty(partition.stamps.slots.size)
    rows = drop_copies_and_sort_rows(partition, nothing_waits, nothing_came)
    released = release_rows(partition.stamps, rows, nothing_came.have)
    is_seen = np.ones(len(table), dtype=bool)
    if "unseen" in table.column_names:  # rows that only help to order the others
        is_seen = ~np.asarray(table["unseen"], dtype=bool)
    return _make_answer_of_each_row(partition, rows, released, is_seen)


def read_partition(table: pa.Table, reading: Reading) -> PartitionRows:
    """The rows with their groups and stamps; those that cannot be read are faults."""
    faults = Faults(len(table))
    if "fault" in table.column_names:
        fault = table["fault"].combine_chunks()
        faults.add(np.asarray(fault.is_valid()), fault.drop_null())
    group, group_count = encode_and_count_groups(table["group"], faults)
    if "ordered_at" in table.column_names:
        group, group_count = _split_groups_by_receiver(group, table["ordered_at"])
    read_stamps = _READERS[reading.shape]
    stamps = read_stamps(table, reading, group, group_count, faults)
    if reading.silent:
        stamps = add_previous_row_needs(stamps, faults)
    content = read_integers(table["content"], 0)
    return PartitionRows(table, reading, faults, group, group_count, stamps, content)


def drop_copies_and_sort_rows(partition: PartitionRows, waiting: Ints, memory: Memory) -> Ints:
    """The rows that go to the gate, group by group, each in the order of arrival; copies become faults.

    The `waiting` rows came before all others, in this order; what is out came before them.
    """
    stamps, faults = partition.stamps, partition.faults
    is_new = ~faults.bad
    is_new[waiting] = False
    arriving = np.flatnonzero(is_new)
    came_out = memory.find_delivered_messages(stamps.own[arriving], stamps.message_key[arriving])
    copies = arriving[came_out]
    if len(copies):
        faults.add(copies, _explain_duplicates(partition, copies, " came before"))
        arriving = arriving[~came_out]
    rows = np.concatenate((waiting, _sort_by_arrival(partition, arriving)))
    rows = _drop_duplicates_as_faults(partition, rows)
    code_type = choose_unsigned_type(partition.group_count)
    by_group = np.argsort(partition.group[rows].astype(code_type), kind="stable")
    return rows[by_group]


def _split_groups_by_receiver(group: Ints, receiver: pa.ChunkedArray) -> tuple[Ints, int]:
    """Groups that have one receiver each: a stamp that is made for its receiver tells nothing elsewhere."""
    _, (code,) = encode_names(receiver)
    # Codes are -1 (no receiver) to max: so there are max + 2 of them, and with 1 added they begin at 0.
    codes_per_group = int(code.max(initial=0)) + 2
    pair_of_row = group * codes_per_group + code + 1
    distinct_pairs, new_group = np.unique(pair_of_row, return_inverse=True)
    return new_group.astype(np.int64), len(distinct_pairs)


# -- the order of arrival ------------------------------------------------------------------------------


def _sort_by_arrival(partition: PartitionRows, rows: Ints) -> Ints:
    """The rows in the order of arrival; more keys are read only where the first leaves rows equal."""
    table, stamps = partition.table, partition.stamps
    keys = [
        _make_sort_key_with_nulls_last(table[name])
        for name in ("arrival", "time")
        if name in table.column_names
    ]
    if not keys and stamps.causal_rank is not None:
        keys = [stamps.causal_rank]
    same = np.ones(max(len(rows) - 1, 0), dtype=bool)
    if keys:
        rows = rows[np.argsort(keys[0][rows])]
        first_key = keys[0][rows]
        same = first_key[1:] == first_key[:-1]
    more_keys = [*keys[1:], stamps.own, stamps.number, stamps.message_key, partition.content]
    if "record_place" in table.column_names:  # of copies that say the same, always the same one counts
        more_keys.append(read_integers(table["record_place"], 0))
    rows, same = _sort_tied_rows(rows, same, more_keys)
    if same.any():
        digest = np.zeros(len(table), dtype=np.uint64)
        tied = rows[_mark_tied_rows(same)]
        digest[tied] = _hash_needs_in_any_order(stamps.needs, tied)
        rows, _ = _sort_tied_rows(rows, same, [digest])
    if stamps.past is not None:
        rows = _sort_causes_first_and_stuck_rows_last(stamps, stamps.past, rows, partition.faults)
    return rows


def _sort_causes_first_and_stuck_rows_last(stamps: Stamps, past: Rows, rows: Ints, faults: Faults) -> Ints:
    """The rows, but each behind those of its past that are there; rows that cannot be so come last."""
    numbers = np.where(faults.bad, 0, stamps.number)
    present = find_last_present_messages(past.slots, past.counts, stamps.own, numbers)
    before = Rows(past.starts, past.slots, present)
    own = Rows(np.arange(len(stamps.own) + 1), stamps.own, stamps.number)
    have = np.zeros(stamps.slots.size, dtype=np.int64)
    released = release_items(have, before, own, arrivals=rows)
    return np.concatenate((released.order, released.held))


def _sort_tied_rows(rows: Ints, equals_next: Mask, more_keys: Sequence[AnyInts]) -> tuple[Ints, Mask]:
    """Put rows that are equal so far in order by more keys.

    `same[i]` says that rows i and i + 1 are equal so far; the second answer says which still are.
    """
    if not equals_next.any():
        return rows, equals_next
    tied = _mark_tied_rows(equals_next)
    run = np.cumsum(~np.append(False, equals_next))[tied]
    tied_rows = rows[tied]
    sort_keys = [key[tied_rows] for key in more_keys]
    by_keys = np.lexsort((*reversed(sort_keys), run))
    rows = rows.copy()
    rows[tied] = tied_rows[by_keys]
    for key in more_keys:
        values = key[rows]
        equals_next = equals_next & (values[1:] == values[:-1])
    return rows, equals_next


def _mark_tied_rows(equals_next: Mask) -> Mask:
    """Rows that are like the one before or the one behind."""
    like_next, like_previous = np.append(equals_next, False), np.append(False, equals_next)
    tied: Mask = like_next | like_previous
    return tied


def _make_sort_key_with_nulls_last(column: pa.ChunkedArray) -> Ints | Floats:
    """Numbers to sort by; null and not-a-number come last."""
    if pa.types.is_integer(column.type):
        return read_integers(column, _LAST)
    values = np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks])
    return np.where(np.isnan(values), np.inf, values)


def _hash_needs_in_any_order(needs: Rows | Runs, rows: Ints) -> NDArray[np.uint64]:
    """A number for the needs of each of the rows, in whatever order these are listed.

    Each need is mixed into one number, and those of a row are added: modulo 2^64, so nothing can overflow.
    """
    pairs = take_pairs_of_rows(needs, rows)
    slots = pairs.slots.astype(np.uint64)
    counts = pairs.counts.astype(np.uint64)
    mixed = slots * _ODD + counts
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD
    mixed = mixed ^ (mixed >> np.uint64(32))
    total = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed)))
    sums: NDArray[np.uint64] = total[pairs.starts[1:]] - total[pairs.starts[:-1]]
    return sums


# -- duplicates ----------------------------------------------------------------------------------------


def _drop_duplicates_as_faults(partition: PartitionRows, rows: Ints) -> Ints:
    """The rows without messages that came before; these are faults."""
    stamps, content, faults = partition.stamps, partition.content, partition.faults
    own, key = stamps.own[rows], stamps.message_key[rows]
    if _are_messages_surely_distinct(own, key):
        return rows
    # Copies of a message lie together, and the first arrival is the original.
    by_message = np.lexsort((key, own))
    same_sender = np.diff(own[by_message]) == 0
    same_key = np.diff(key[by_message]) == 0
    is_copy = np.append(False, same_sender & same_key)[: len(rows)]
    run_start = np.where(is_copy, 0, np.arange(len(by_message)))
    run_start = np.maximum.accumulate(run_start)
    copies = rows[by_message[is_copy]]
    originals = rows[by_message[run_start[is_copy]]]
    differs = content[copies] != content[originals]
    needs_of_copies = _hash_needs_in_any_order(stamps.needs, copies)
    needs_of_originals = _hash_needs_in_any_order(stamps.needs, originals)
    differs |= needs_of_copies != needs_of_originals
    differ = " came before, with other contents: that one counts"
    end = pc.if_else(pa.array(differs), differ, " came before")
    faults.add(copies, _explain_duplicates(partition, originals, end))
    return rows[~faults.bad[rows]]


def _are_messages_surely_distinct(own: Ints, key: Ints) -> bool:
    """Whether no two messages of one sender have one key; may say no where it would take long to tell."""
    span = int(key.max(initial=0)) + 1
    if int(own.max(initial=0)) >= (2**62) // span:  # own * span + key would not fit into 63 bits
        return False
    joined = np.sort(own * span + key)
    return bool((joined[1:] != joined[:-1]).all())


def _explain_duplicates(partition: PartitionRows, rows: Ints, ending: str | pa.Array) -> pa.Array:
    """That the messages of these rows came before."""
    stamps, shape = partition.stamps, partition.reading.shape
    names = stamps.slots.get_names(stamps.own[rows])
    if shape == "shared":
        nothing = pa.array([""] * len(rows))
        what = join_texts("a message of this sender with the same stamp", nothing)
    elif shape == "parents":
        what = join_texts("id ", names)
    else:
        what = join_texts("message ", pa.array(stamps.message_key[rows]), " of ", names)
    return join_texts("duplicate: ", what, ending)


# -- the gate and the answers --------------------------------------------------------------------------


def release_rows(stamps: Stamps, rows: Ints, have: Ints) -> Released:
    """What the gate lets out. Rows are laid out as they arrive, if this is simple: memory is slow."""
    starts, slots, counts = stamps.gains
    gains = Rows(starts, slots.astype(np.int64), counts.astype(np.int64))
    needs_taken = _take_rows_if_equally_long(stamps.needs, rows)
    gains_taken = _take_rows_if_equally_long(gains, rows)
    if needs_taken is None or gains_taken is None:
        return release_items(have, stamps.needs, gains, add=stamps.add, arrivals=rows)
    released = release_items(have, needs_taken, gains_taken, add=stamps.add)
    return released._replace(order=rows[released.order], held=rows[released.held])


@overload
def _take_rows_if_equally_long(pairs: Rows, rows: Ints) -> Rows | None: ...
@overload
def _take_rows_if_equally_long(pairs: Rows | Runs, rows: Ints) -> Rows | Runs | None: ...
def _take_rows_if_equally_long(pairs: Rows | Runs, rows: Ints) -> Rows | Runs | None:
    """The pairs of the given rows, one row behind the other, if all rows have equally many; else None."""
    size = len(pairs.starts) - 1
    width = int(pairs.starts[-1]) // max(size, 1)
    if (np.diff(pairs.starts) != width).any():
        return None
    starts = np.arange(len(rows) + 1) * width
    counts = np.take(pairs.counts.reshape(size, width), rows, axis=0).ravel()
    if isinstance(pairs, Runs):
        return Runs(starts, pairs.first[rows], counts)
    slots = np.take(pairs.slots.reshape(size, width), rows, axis=0).ravel()
    return Rows(starts, slots, counts)


def _make_answer_of_each_row(
    partition: PartitionRows, arrived_rows: Ints, released: Released, is_seen: Mask
) -> pa.StructArray:
    """The answer of each row; those that are not seen take no positions."""
    group = partition.group
    size = len(group)
    position = np.full(size, -1, dtype=np.int64)
    ordered = released.order[is_seen[released.order]]
    position[ordered] = rank_within_groups(group[ordered])
    arrival = np.full(size, -1, dtype=np.int64)
    arrived = arrived_rows[is_seen[arrived_rows]]
    arrival[arrived] = rank_within_groups(group[arrived])
    missing = gaps = notes = pa.nulls(size)
    if is_seen[released.held].any():
        missing, gaps, notes = explain_held_rows(
            partition.stamps, partition.reading, group, released, is_seen
        )
    gap = pa.struct({"missing": pa.string(), "waiting": pa.int64()})
    columns = [
        pa.array(position, mask=position < 0),
        pa.array(arrival, mask=arrival < 0),
        missing.cast(pa.list_(pa.string())),
        partition.faults.make_reason_column(),
        gaps.cast(pa.list_(gap)),
        notes.cast(pa.string()),
    ]
    names = ["position", "arrival", "missing", "reason", "gaps", "note"]
    return pa.StructArray.from_arrays(columns, names=names)
