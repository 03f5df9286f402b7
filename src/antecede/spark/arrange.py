"""The kernel: rows of many groups in a canonical order of arrival, through one gate, and what became of each.

The answer depends on the set of rows alone. Rows arrive by `arrival` if there is one, then by time if there
is one, then by sender and number; rows that are still equal are the same message, and then contents decide.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.causality.gate import Released, release
from antecede.causality.rows import Ints
from antecede.spark.blame import missing, root_gaps
from antecede.spark.columns import Floats
from antecede.spark.flat import Faults, groups, integers, words
from antecede.spark.packets import packets
from antecede.spark.stamps import Reading, Stamps, entries, pairs, parents, sequence, shared

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


def arrange(table: pa.Table, reading: Reading) -> pa.StructArray:
    """For each row its position and arrival, or what it misses and its arrival, or the reason to leave it."""
    faults = Faults(len(table))
    group, count = groups(table["group"], faults)
    stamps = _READERS[reading.shape](table, reading, group, count, faults)
    line = _line(table, stamps, faults)
    line = _once(table, stamps, reading, line, faults)
    have = np.zeros(stamps.slots.size, dtype=np.int64)
    found = release(have, stamps.needs, stamps.gains, add=stamps.add, arrivals=line)
    return _answers(stamps, reading, group, line, found, faults)


def _line(table: pa.Table, stamps: Stamps, faults: Faults) -> Ints:
    """The good rows in the order of arrival."""
    good = np.flatnonzero(~faults.bad)
    keys = [_key(table[name])[good] for name in ("arrival", "time") if name in table.column_names]
    keys += [stamps.own[good], stamps.number[good], stamps.twin[good], integers(table["content"], 0)[good]]
    order = np.argsort(keys[0], kind="stable")
    first = keys[0][order]
    same = first[1:] == first[:-1]
    if same.any():
        tied = np.append(same, False) | np.append(False, same)
        rows, run = order[tied], np.cumsum(~np.append(False, same))[tied]
        order[tied] = rows[np.lexsort((*(key[rows] for key in reversed(keys[1:])), run))]
    return good[order]


def _key(column: pa.ChunkedArray) -> Ints | Floats:
    """Numbers to sort by; null and not-a-number come last."""
    if pa.types.is_integer(column.type):
        return integers(column, 2**63 - 1)
    found = np.concatenate([chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks])
    return np.where(np.isnan(found), np.inf, found)


def _once(table: pa.Table, stamps: Stamps, reading: Reading, line: Ints, faults: Faults) -> Ints:
    """The line without messages that came before; these are faults."""
    own, twin = stamps.own[line], stamps.twin[line]
    span = int(twin.max(initial=0)) + 1
    if int(own.max(initial=0)) < (2**62) // span:
        order = np.argsort(own * span + twin, kind="stable")
    else:
        order = np.lexsort((twin, own))
    again = np.append(False, (np.diff(own[order]) == 0) & (np.diff(twin[order]) == 0))
    if not again.any():
        return line
    firsts = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
    later, first = line[order[again]], line[order[firsts[again]]]
    content = integers(table["content"], 0)
    faults.add(later, _told(stamps, reading, first, content[later] != content[first]))
    return line[~faults.bad[line]]


def _told(
    stamps: Stamps, reading: Reading, first: Ints, differs: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> pa.Array:
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
        lists = missing(stamps, reading, found, size)
        gaps = root_gaps(stamps, reading, group, found, size)
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
    order = np.argsort(group.astype(np.min_scalar_type(top)), kind="stable")
    counts = np.bincount(group, minlength=top)
    ranks = np.empty(len(group), dtype=np.int64)
    ranks[order] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ranks
