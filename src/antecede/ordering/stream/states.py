"""What a stream remembers of each group between micro-batches, as a table that anybody can read.

A group has one row: how many positions and arrivals it has given, how many of its rows wait, and its slots. A
slot is a sender (or an id) by name, with what `antecede.ordering.memory` says of it and, of the rows that
wait, the least count of this slot that one of them waits for first, and the range of their own numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import encode_names_by_rank, flatten_lists, to_integers
from antecede.kernels.ragged import Ints, compute_starts, expand_ranges
from antecede.ordering.columns import join_texts

VERSION = 1
"""Of the schema below; a state of another version is not read."""
NONE = -1
"""Stands for null in arrays of numbers, none of which is negative."""

HOLE = pa.struct({"first": pa.int64(), "last": pa.int64()})
SLOT = pa.struct(
    {
        "name": pa.string(),
        "have": pa.int64(),  # what the gate has of this slot
        "top": pa.int64(),  # the last message that came out
        "holes": pa.list_(HOLE),  # messages before it that did not
        "assumed": pa.int64(),  # what rows that came out took to be there
        "at": pa.int64(),  # how many positions the group had given when the slot last changed
        "awaited": pa.int64(),  # the least count that a waiting row waits for first
        "held_first": pa.int64(),  # the least and the greatest number of waiting rows of this sender
        "held_last": pa.int64(),
    }
)
STATES = pa.schema(
    {
        "group": pa.string(),
        "receiver": pa.string(),  # where groups are ordered for each receiver
        "positions": pa.int64(),
        "arrivals": pa.int64(),
        "held": pa.int64(),
        "held_bytes": pa.int64(),
        "oldest": pa.int64(),  # when the first of the waiting rows came, in ms
        "filed": pa.int64(),  # waiting rows that were filed by an earlier step are out, or were filed again
        "slots": pa.list_(SLOT),
    }
)
NUMBERS = ("have", "top", "assumed", "at", "awaited", "held_first", "held_last")
"""The numbers of a slot."""
_SEPARATOR = "\x1f"


class SlotEntries(NamedTuple):
    """The slots of many groups in flat arrays; the holes of entry i are at `starts[i]:starts[i + 1]`."""

    group: Ints  # the row of the group in its table
    names: pa.Array
    numbers: dict[str, Ints]
    starts: Ints
    first: Ints
    last: Ints

    def take(self, rows: Ints) -> SlotEntries:
        """Some of the entries."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        at = expand_ranges(self.starts[rows], lengths)
        numbers = {name: numbers[rows] for name, numbers in self.numbers.items()}
        names = self.names.take(pa.array(rows))
        holes = (compute_starts(lengths), self.first[at], self.last[at])
        return SlotEntries(self.group[rows], names, numbers, *holes)


def make_group_keys(groups: pa.ChunkedArray, receivers: pa.ChunkedArray | None) -> pa.ChunkedArray:
    """One text for each row that tells its group, and its receiver if these are told apart."""
    texts = groups.cast(pa.string())
    if receivers is None:
        return texts
    return join_texts(texts, _SEPARATOR, receivers.cast(pa.string()))


def list_group_keys_of_states(states: pa.Table) -> pa.ChunkedArray:
    """The keys of the groups in a table of states."""
    with_receiver = states["receiver"].null_count < len(states)
    return make_group_keys(states["group"], states["receiver"] if with_receiver else None)


def flatten_slots(states: pa.Table) -> SlotEntries:
    """The slots of all groups."""
    column = states["slots"].combine_chunks()
    flat = flatten_lists(column)
    slots = flat.items[0]
    names = [field.name for field in SLOT]
    fields = dict(zip(names, slots.flatten(), strict=True))
    holes = flatten_lists(fields["holes"])
    first, last = holes.items[0].flatten()
    numbers = {name: to_integers(fields[name], NONE) for name in NUMBERS}
    return SlotEntries(
        flat.row_of_item, fields["name"], numbers, holes.starts, to_integers(first, 0), to_integers(last, 0)
    )


def merge_slot_entries(one: SlotEntries, other: SlotEntries) -> SlotEntries:
    """The entries of both, those of each group by name."""
    lengths = np.concatenate((np.diff(one.starts), np.diff(other.starts)))
    joined = SlotEntries(
        np.concatenate((one.group, other.group)),
        pa.concat_arrays([one.names, other.names]),
        {name: np.concatenate((one.numbers[name], other.numbers[name])) for name in NUMBERS},
        compute_starts(lengths),
        np.concatenate((one.first, other.first)),
        np.concatenate((one.last, other.last)),
    )
    (rank,) = encode_names_by_rank([joined.names]).codes
    return joined.take(np.lexsort((rank, joined.group)))


def nest_slots(entries: SlotEntries, group_count: int) -> pa.ListArray:
    """A list of slots for each of so many groups; entries lie group by group."""
    holes = pa.StructArray.from_arrays([pa.array(entries.first), pa.array(entries.last)], fields=list(HOLE))
    columns: dict[str, pa.Array] = {"name": entries.names, "holes": _make_lists(entries.starts, holes)}
    for name in NUMBERS:
        numbers = entries.numbers[name]
        columns[name] = pa.array(numbers, mask=numbers == NONE)
    structs = pa.StructArray.from_arrays([columns[field.name] for field in SLOT], fields=list(SLOT))
    lengths = np.bincount(entries.group, minlength=group_count)
    return _make_lists(compute_starts(lengths), structs)


def _make_lists(starts: Ints, items: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), items)


def sort_states(states: pa.Table) -> pa.Table:
    """The groups in one order, so that equal states are equal tables."""
    return states.take(pc.sort_indices(list_group_keys_of_states(states)))
