"""Columns of stamps as needs and gains for the gate, with every row checked.

What Spark sends here has one of a few shapes, whatever the form of the user's stamps (`forms.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.core.wire import LARGEST
from antecede.kernels.ragged import Counts, Ints, Rows
from antecede.ordering.columns import (
    Faults,
    encode_names,
    join_texts,
    read_counts,
    read_integers,
    read_name_lists,
)
from antecede.ordering.slots import Places, Slots, number, singles


class Reading(NamedTuple):
    """How the kernel is to read the columns that it gets."""

    shape: str  # entries (by place), pairs (by name), sequence, shared, parents, packets
    counted: bool = False  # whether the sender's entry in the needs counts the message itself
    stretches: bool = True  # whether every count of a slot is a message to this group
    noun: str = "message"  # what the counts of a slot are called
    members: tuple[str, ...] | None = None
    protocol: str = ""  # of packets
    whole: bool = False  # whether the kernel sees all of the stamp, which then need not be in the contents


class Stamps(NamedTuple):
    """Needs and gains of all rows; what is in rows with a fault means nothing and is in range."""

    needs: Rows
    gains: Rows
    slots: Slots
    own: Ints  # the slot of each row's sender
    number: Ints  # what the message counts as in that slot
    message_key: Ints  # equal for the same message of a sender that came twice
    add: bool = False
    causal_rank: Ints | None = None  # grows from cause to effect
    past: Rows | None = None  # counts of the past beyond the needs: what of it is there came before


def read_entries(table: pa.Table, reading: Reading, group: Ints, groups: int, faults: Faults) -> Stamps:
    """Stamps with an entry for each process by its place."""
    needs = read_counts(table["needs"], faults, "the stamp")
    time = (
        read_counts(table["gains"], faults, "the time of the message")
        if "gains" in table.column_names
        else None
    )
    first = needs if time is None else time
    size = _sizes(np.diff(first.starts), group, reading.members)
    _check_lengths(np.diff(first.starts), size, False, faults)
    if time is not None:
        _check_lengths(np.diff(needs.starts), size, True, faults)
    places = [Places(part.starts, None) for part in (needs, time) if part is not None]
    counts = [part.counts for part in (needs, time) if part is not None]
    labels = None if reading.members is None else pa.array(reading.members, pa.string())
    who = [_index(table, name, size, faults) for name in ("sender", "receiver") if name in table.column_names]
    return _stamps(
        table, reading, group, groups, faults, places, counts, who, int(size.max(initial=0)), labels
    )


def read_pairs(table: pa.Table, reading: Reading, group: Ints, groups: int, faults: Faults) -> Stamps:
    """Stamps with counts for some processes, which are named."""
    parts = [read_counts(table["needs"], faults, "the stamp")]
    if "gains" in table.column_names:
        parts.append(read_counts(table["gains"], faults, "the time of the message"))
    if "past" in table.column_names:
        parts.append(read_counts(table["past"], faults, "the stamp"))
    who = [name for name in ("sender", "receiver") if name in table.column_names]
    names, codes = encode_names(*(table[name] for name in who), *(part.names for part in parts))
    for name, code in zip(who, codes, strict=False):
        faults.add(code < 0, f"there is no {name}")
    for part, code in zip(parts, codes[len(who) :], strict=True):
        faults.add(np.unique(part.rows[code < 0]), "the stamp has an entry without a name")
    codes = [np.maximum(code, 0) for code in codes]
    places = [Places(part.starts, code) for part, code in zip(parts, codes[len(who) :], strict=True)]
    counts = [part.counts for part in parts]
    people = codes[: len(who)]
    return _stamps(table, reading, group, groups, faults, places, counts, people, len(names), names)


def read_sequence(table: pa.Table, reading: Reading, group: Ints, groups: int, faults: Faults) -> Stamps:
    """No stamp but the number of the message at its sender."""
    names, (sender,) = encode_names(table["sender"])
    faults.add(sender < 0, "there is no sender")
    needs = singles(np.maximum(sender, 0))
    before = np.maximum(read_integers(table["number"], 0) - 1, 0)
    return _stamps(
        table, reading, group, groups, faults, [needs], [before], [np.maximum(sender, 0)], len(names), names
    )


def _stamps(
    table: pa.Table, reading: Reading, group: Ints, groups: int, faults: Faults,
    places: list[Places], counts: list[Counts], who: list[Ints], width: int, labels: pa.Array | None,
) -> Stamps:  # fmt: skip
    """Needs (and gains, if they are not the number alone) by place, and who sent and receives each row."""
    count = _numbers(table, reading, faults)
    good = np.flatnonzero(~faults.bad)
    if reading.counted:
        counts[0][places[0].of(who[0], good)] -= 1
    for receiver in who[1:]:  # what the receiver itself has sent is not waited for
        counts[0][places[0].of(receiver, good)] = 0
    slots, found = number(group, groups, width, [singles(who[0]), *places], labels)
    own = found[0].astype(np.int64)
    gains = Rows(np.arange(len(own) + 1), own, count)
    needs, *others = (
        Rows(*part) for part in zip((one.starts for one in places), found[1:], counts, strict=True)
    )
    if "past" in table.column_names:
        return Stamps(needs, gains, slots, own, count, count, past=others[0])
    if others:
        return Stamps(needs, others[0], slots, own, count, count, causal_rank=sums(others[0]))
    return Stamps(needs, gains, slots, own, count, count)


def sums(rows: Rows) -> Ints:
    """The sum of the counts of each row."""
    total: Ints = np.concatenate(([0], np.cumsum(rows.counts, dtype=np.int64)))[rows.starts]
    return np.diff(total)


def _numbers(table: pa.Table, reading: Reading, faults: Faults) -> Ints:
    """What each message counts as at its sender."""
    count = read_integers(table["number"], -1)
    if reading.counted:
        faults.add(count < 0, "the stamp has no entry for its sender, which must count this message")
        faults.add(count == 0, "the entry of the sender is 0, and must count this message")
    text = "the number of the message is null or below 1: the first message of a sender has number 1"
    faults.add((count < 1) | (count > LARGEST), text)
    return np.clip(count, 0, LARGEST)


def _sizes(lengths: Ints, group: Ints, members: tuple[str, ...] | None) -> Ints:
    """How many entries a stamp of each row's group has: as told, or as most of them have, or the larger."""
    if members is not None:
        return np.full(len(group), len(members))
    if len(lengths) == 0 or lengths.min() == lengths.max():
        return lengths
    top = int(lengths.max()) + 1
    found, counts = np.unique(group * top + lengths, return_counts=True)
    order = np.lexsort((found % top, counts, found // top))
    usual = np.zeros(int(group.max()) + 1, dtype=np.int64)
    usual[found[order] // top] = found[order] % top
    return usual[group]


def _check_lengths(lengths: Ints, size: Ints, empty: bool, faults: Faults) -> None:
    wrong = (lengths != size) & ~(empty & (lengths == 0))
    if wrong.any():
        found, needed = pa.array(lengths[wrong]), pa.array(size[wrong])
        faults.add(
            np.flatnonzero(wrong),
            join_texts("the stamp has ", found, " entries where this group needs ", needed),
        )


def _index(table: pa.Table, name: str, size: Ints, faults: Faults) -> Ints:
    """The place of the row's sender or receiver."""
    index = read_integers(table[name], -1)
    faults.add(np.asarray(table[name].is_null()), f"there is no {name}")
    unknown = (index < 0) | (index >= size)
    faults.add(unknown, f"the {name} is unknown: the stamp has no entry for it")
    return np.where(unknown, 0, index)


def read_shared(table: pa.Table, reading: Reading, group: Ints, groups: int, faults: Faults) -> Stamps:
    """Entries shared by several senders: one less is needed on the keys of the sender, which it counts on."""
    needs, keys = (
        read_counts(table["needs"], faults, "the stamp"),
        read_counts(table["keys"], faults, "the list of keys"),
    )
    lengths = np.diff(needs.starts)
    size = _sizes(lengths, group, None)
    _check_lengths(lengths, size, False, faults)
    rows, at = keys.rows, keys.counts.astype(np.int64)
    faults.add(np.diff(keys.starts) == 0, "there are no keys")
    faults.add(np.unique(rows[at >= size[rows]]), "a key is not the place of an entry, counted from 0")
    order = np.lexsort((at, rows))
    twice = (np.diff(rows[order]) == 0) & (np.diff(at[order]) == 0)
    faults.add(np.unique(rows[order][1:][twice]), "a key is named twice")
    uncounted = _uncounted(needs.starts, needs.counts, rows, at, faults)
    faults.add(uncounted, "an entry of the sender is 0: it must count this message")
    good = ~faults.bad[rows]
    total = sums(Rows(needs.starts, needs.counts, needs.counts))
    needs.counts[(needs.starts[rows] + at)[good]] -= 1
    width = int(size.max(initial=0))
    places = [Places(needs.starts, None), Places(keys.starts, np.minimum(at, max(width - 1, 0)))]
    slots, (wanted, gained) = number(group, groups, width, places, None)
    _, (sender,) = encode_names(table["sender"])
    faults.add(sender < 0, "there is no sender")
    own = group * (int(sender.max(initial=0)) + 1) + np.maximum(sender, 0)
    message_key = read_integers(table["number"], -1) if "number" in table.column_names else total
    gains = Rows(keys.starts, gained, np.ones(len(gained), dtype=np.int64))
    return Stamps(
        Rows(needs.starts, wanted, needs.counts), gains, slots, own, message_key, message_key, add=True
    )


def _uncounted(starts: Ints, counts: Counts, rows: Ints, at: Ints, faults: Faults) -> Ints:
    """The rows with a key whose entry is 0."""
    good = ~faults.bad[rows]
    rows, at = rows[good], at[good]
    return np.unique(rows[counts[starts[rows] + at] == 0])


def read_parents(table: pa.Table, reading: Reading, group: Ints, groups: int, faults: Faults) -> Stamps:
    """Ids of what must come before; a list that is null has none."""
    starts, named = read_name_lists(table["needs"])
    names, (own, parent) = encode_names(table["id"], named)
    rows = np.repeat(np.arange(len(own)), np.diff(starts))
    faults.add(own < 0, "there is no id")
    faults.add(np.unique(rows[parent < 0]), "a parent is null")
    selves = np.unique(rows[(parent == own[rows]) & (parent >= 0)])
    faults.add(selves, join_texts("names itself as its parent: ", names.take(pa.array(own[selves]))))
    places = [singles(np.maximum(own, 0)), Places(starts, np.maximum(parent, 0))]
    slots, (mine, wanted) = number(group, groups, len(names), places, names)
    ones = np.ones(len(own), dtype=np.int64)
    needs = Rows(starts, wanted, np.ones(len(wanted), dtype=np.uint16))
    slot = mine.astype(np.int64)
    return Stamps(needs, Rows(np.arange(len(own) + 1), slot, ones), slots, slot, ones, ones)
