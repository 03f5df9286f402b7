"""The kernel: rows of many groups in a canonical order of arrival, through one gate, and what became of each.

The answer depends on the set of rows alone. Rows arrive by `arrival` if there is one, then by time if there
is one; without either, causes that only the rest of a stamp tells of come first. Then by sender and number;
rows that are still equal are the same message, and then contents decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.events.columns import Floats
from antecede.kernels.gate import Released, release
from antecede.kernels.ragged import Ints, Rows
from antecede.ordering.columns import Faults, Mask, groups, integers, narrow, words
from antecede.ordering.packets import packets, present
from antecede.ordering.root_gaps import told
from antecede.ordering.stamps import Reading, Stamps, entries, pairs, parents, sequence, shared

AnyInts = NDArray[Any]
_ODD = np.uint64(0x9E3779B97F4A7C15)
ANSWER = (
    "position bigint, arrival bigint, missing array<string>, reason string, "
    "gaps array<struct<missing: string, waiting: bigint>>"
)
_READERS = {
    "entries": entries,
    "pairs": pairs,
    "sequence": sequence,
    "shared": shared,
    "parents": parents,
    "packets": packets,
}


def order_partition(table: pa.Table, reading: Reading) -> pa.StructArray:
    """For each row its position and arrival, or what it misses and its arrival, or the reason to leave it."""
    faults = Faults(len(table))
    group, count = groups(table["group"], faults)
    if "fault" in table.column_names:
        fault = table["fault"].combine_chunks()
        faults.add(np.asarray(fault.is_valid()), fault.drop_null())
    stamps = _READERS[reading.shape](table, reading, group, count, faults)
    content = integers(table["content"], 0)
    line = _line(table, stamps, content, faults)
    line = _once(stamps, reading, content, line, faults)
    line = line[np.argsort(group[line].astype(narrow(count)), kind="stable")]
    found = _released(stamps, line)
    if "unseen" in table.column_names:  # rows that only help to order the others
        seen = ~np.asarray(table["unseen"], dtype=bool)
        order, held = found.order[seen[found.order]], seen[found.held]
        found = Released(order, found.held[held], found.missing[held], found.have)
        line = line[seen[line]]
    return _answers(stamps, reading, group, line, found, faults)


def _released(stamps: Stamps, line: Ints) -> Released:
    """What the gate lets out. Rows are laid out as they arrive, if this is simple: memory is slow."""
    have = np.zeros(stamps.slots.size, dtype=np.int64)
    starts, slots, counts = stamps.gains
    gains = Rows(starts, slots.astype(np.int64), counts.astype(np.int64))
    needs, gained = _taken(stamps.needs, line), _taken(gains, line)
    if needs is None or gained is None:
        return release(have, stamps.needs, gains, add=stamps.add, arrivals=line)
    found = release(have, needs, gained, add=stamps.add)
    return found._replace(order=line[found.order], held=line[found.held])


def _taken(rows: Rows, line: Ints) -> Rows | None:
    """Some of the rows, if all have the same length."""
    size, width = len(rows.starts) - 1, int(rows.starts[-1]) // max(len(rows.starts) - 1, 1)
    if (np.diff(rows.starts) != width).any():
        return None
    parts = (np.take(part.reshape(size, width), line, axis=0).ravel() for part in rows[1:])
    return Rows(np.arange(len(line) + 1) * width, *parts)


def _line(table: pa.Table, stamps: Stamps, content: Ints, faults: Faults) -> Ints:
    """The good rows in the order of arrival; more keys are read only where the first leaves rows equal."""
    line = np.flatnonzero(~faults.bad)
    keys = [_key(table[name]) for name in ("arrival", "time") if name in table.column_names]
    keys = keys or ([] if stamps.age is None else [stamps.age])
    line = line[np.argsort(keys[0][line])] if keys else line
    same = np.ones(max(len(line) - 1, 0), dtype=bool)
    if keys:
        first = keys[0][line]
        same = first[1:] == first[:-1]
    line, same = _settled(line, same, [*keys[1:], stamps.own, stamps.number, stamps.twin, content])
    if same.any():
        digest = np.zeros(len(table), dtype=np.uint64)
        tied = line[_either(same)]
        digest[tied] = _digests(stamps.needs, tied)
        line, _ = _settled(line, same, [digest])
    return line if stamps.past is None else _causes_first(stamps, stamps.past, line, faults)


def _causes_first(stamps: Stamps, past: Rows, line: Ints, faults: Faults) -> Ints:
    """The line, but each row behind those of its past that are there; rows that cannot be so come last."""
    numbers = np.where(faults.bad, 0, stamps.number)
    before = Rows(past.starts, past.slots, present(past.slots, past.counts, stamps.own, numbers))
    own = Rows(np.arange(len(stamps.own) + 1), stamps.own, stamps.number)
    found = release(np.zeros(stamps.slots.size, dtype=np.int64), before, own, arrivals=line)
    return np.concatenate((found.order, found.held))


def _either(same: Mask) -> Mask:
    """Rows that are like the one before or the one behind."""
    found: Mask = np.append(same, False) | np.append(False, same)
    return found


def _settled(line: Ints, same: Mask, keys: Sequence[AnyInts]) -> tuple[Ints, Mask]:
    """The line with rows that are the same so far put in order by more keys, and those that are so still."""
    if not same.any():
        return line, same
    tied = _either(same)
    rows, run = line[tied], np.cumsum(~np.append(False, same))[tied]
    rows = rows[np.lexsort((*(key[rows] for key in reversed(keys)), run))]
    line = line.copy()
    line[tied] = rows
    for key in keys:
        here = key[line]
        same = same & (here[1:] == here[:-1])
    return line, same


def _digests(needs: Rows, rows: Ints) -> NDArray[np.uint64]:
    """A number for the needs of each of the rows, in whatever order they are listed."""
    lengths = needs.starts[rows + 1] - needs.starts[rows]
    ends = np.cumsum(lengths)
    at = np.arange(ends[-1]) + np.repeat(needs.starts[rows] - (ends - lengths), lengths)
    mixed = needs.slots[at].astype(np.uint64) * _ODD + needs.counts[at].astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _ODD
    total = np.concatenate((np.zeros(1, np.uint64), np.cumsum(mixed ^ (mixed >> np.uint64(32)))))
    found: NDArray[np.uint64] = total[ends] - total[ends - lengths]
    return found


def _key(column: pa.ChunkedArray) -> Ints | Floats:
    """Numbers to sort by; null and not-a-number come last."""
    if pa.types.is_integer(column.type):
        return integers(column, 2**63 - 1)
    found = np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks])
    return np.where(np.isnan(found), np.inf, found)


def _once(stamps: Stamps, reading: Reading, content: Ints, line: Ints, faults: Faults) -> Ints:
    """The line without messages that came before; these are faults."""
    own, twin = stamps.own[line], stamps.twin[line]
    span = int(twin.max(initial=0)) + 1
    if int(own.max(initial=0)) < (2**62) // span:
        names = np.sort(own * span + twin)
        if (names[1:] != names[:-1]).all():
            return line
    order = np.lexsort((twin, own))
    again = np.append(False, (np.diff(own[order]) == 0) & (np.diff(twin[order]) == 0))
    if not again.any():
        return line
    firsts = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
    later, first = line[order[again]], line[order[firsts[again]]]
    differs = content[later] != content[first]
    differs |= _digests(stamps.needs, later) != _digests(stamps.needs, first)
    faults.add(later, _told(stamps, reading, first, differs))
    return line[~faults.bad[line]]


def _told(stamps: Stamps, reading: Reading, first: Ints, differs: Mask) -> pa.Array:
    """That the message of a row came before, and whether it was the same."""
    if reading.shape == "shared":
        what = words("a message of this sender with the same stamp", pa.array([""] * len(first)))
    elif reading.shape == "parents":
        what = words("id ", stamps.slots.names(stamps.own[first]))
    else:
        names = stamps.slots.names(stamps.own[first])
        what = words("message ", pa.array(stamps.twin[first]), " of ", names)
    ends = pc.if_else(pa.array(differs), " came before, with other contents: that one counts", " came before")
    return words("duplicate: ", what, ends)


def _answers(
    stamps: Stamps, reading: Reading, group: Ints, line: Ints, found: Released, faults: Faults
) -> pa.StructArray:
    size = len(group)
    position, arrival = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    position[found.order] = _ranks(group[found.order])
    arrival[line] = _ranks(group[line])
    lists = gaps = pa.nulls(size)
    if len(found.held):
        lists, gaps = told(stamps, reading, group, found, size)
    columns = [
        pa.array(position, mask=position < 0),
        pa.array(arrival, mask=arrival < 0),
        lists.cast(pa.list_(pa.string())),
        faults.reasons(),
        gaps.cast(pa.list_(pa.struct({"missing": pa.string(), "waiting": pa.int64()}))),
    ]
    return pa.StructArray.from_arrays(columns, names=["position", "arrival", "missing", "reason", "gaps"])


def _ranks(group: Ints) -> Ints:
    """The place of each row among those of its group, from 0."""
    top = int(group.max(initial=0)) + 1
    order = np.argsort(group.astype(narrow(top)), kind="stable")
    counts = np.bincount(group, minlength=top)
    ranks = np.empty(len(group), dtype=np.int64)
    ranks[order] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks
