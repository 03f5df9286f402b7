"""Columns of the events table as arrays of numbers: codes for names, flat lists, the canonical order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.kernels.ragged import Ints
from antecede.tables import EVENTS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
TIED = ("event", "kind", "message", "sender")
"""Read only where the columns before them leave rows equal."""


class Coded(NamedTuple):
    """Some columns of names with one dictionary: codes follow the order of the names, and -1 is null."""

    names: pa.Array
    codes: list[Ints]


class Lists(NamedTuple):
    """A column of lists or maps: the items of row i are at `starts[i]:starts[i + 1]`; null rows have none."""

    starts: Ints
    items: list[pa.Array]

    @property
    def rows(self) -> Ints:
        """The row of each item."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece; all null if the table has none of this name."""
    if name not in table.column_names:
        return pa.nulls(len(table), EVENTS.field(name).type)
    found = table[name].combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def coded(columns: Sequence[pa.Array]) -> Coded:
    """Names as codes."""
    encoded = [array.dictionary_encode() for array in columns]
    names = pa.concat_arrays([array.dictionary.cast(pa.string()) for array in encoded]).unique()
    names = names.drop_null().sort()
    codes = []
    for array in encoded:
        place = numbers(pc.index_in(array.dictionary.cast(pa.string()), value_set=names), -1)
        codes.append(np.append(place, -1)[numbers(array.indices, -1)])
    return Coded(names, codes)


def numbers(array: pa.Array, missing: int) -> Ints:
    """Integers, with a number for null."""
    filled = array.fill_null(missing) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def floats(array: pa.Array) -> Floats:
    """Numbers, with not-a-number for null."""
    return np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def lists(array: pa.Array) -> Lists:
    """The flat items of a column of lists, or the flat keys and values of one of maps."""
    if not len(array):
        return Lists(np.zeros(1, dtype=np.int64), [])
    offsets = np.asarray(array.offsets.to_numpy(), dtype=np.int64)
    if array.null_count and np.diff(offsets)[array.is_null().to_numpy(zero_copy_only=False)].any():
        return lists(pc.if_else(array.is_valid(), array, pa.scalar([], array.type)))
    flat = [array.keys, array.items] if pa.types.is_map(array.type) else [array.values]
    low, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    return Lists(offsets - low, [items.slice(low, size) for items in flat])


def canonical(table: pa.Table) -> tuple[Ints, Ints, pa.Array]:
    """The rows by execution, process, index, time, line, file and then by name, nulls last.

    Returns the order, the code of the execution of each row in that order, and the names of executions by
    code; an execution that is null is the one called "".
    """
    execution = coded([column(table, "execution").fill_null("")])
    process = coded([column(table, "process")])
    file = coded([column(table, "file")])
    keys: list[Ints | Floats] = [
        execution.codes[0],
        _last(process.codes[0]),
        numbers(column(table, "index"), 2**62),
        floats(column(table, "time")),
        numbers(column(table, "line"), 2**62),
        _last(file.codes[0]),
    ]
    order = np.lexsort(keys[::-1]).astype(np.int64, copy=False)
    _settle(table, keys, order)
    return order, execution.codes[0][order], execution.names


def _last(codes: Ints) -> Ints:
    return np.where(codes < 0, 2**62, codes)


def _settle(table: pa.Table, keys: Sequence[Ints | Floats], order: Ints) -> None:
    """Put rows that all keys leave equal into an order of their own."""
    same = np.ones(max(len(order) - 1, 0), dtype=bool)
    for key in keys:
        line = key[order]
        same &= (line[1:] == line[:-1]) | ((line[1:] != line[1:]) & (line[:-1] != line[:-1]))
    if same.any():
        tied = np.append(same, False) | np.append(False, same)
        group = np.cumsum(~np.append(False, same))[tied]
        rows = order[tied]
        some = table.select([name for name in TIED if name in table.column_names]).take(pa.array(rows))
        ranks = [_last(coded([column(some, name)]).codes[0]) for name in reversed(some.column_names)]
        order[tied] = rows[np.lexsort((*ranks, group))]
