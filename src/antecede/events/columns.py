"""Columns of the events table as arrays of numbers: codes for names, flat lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.kernels.ragged import Ints, invert_permutation, list_owners
from antecede.tables import EVENTS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class EncodedNames(NamedTuple):
    """Some columns of names with one dictionary; the code of null is -1."""

    names: pa.Array
    codes: list[Ints]


class FlatLists(NamedTuple):
    """A column of lists or maps: the items of row i are at `starts[i]:starts[i + 1]`; null rows have none."""

    starts: Ints
    items: list[pa.Array]

    @property
    def rows(self) -> Ints:
        """The row of each item."""
        return list_owners(self.starts)


def get_column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece; all null if the table has none of this name."""
    if name not in table.column_names:
        return pa.nulls(len(table), EVENTS.field(name).type)
    array = table[name].combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def encode_columns(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The table with these columns of names as dictionaries, so that rows are moved without their names."""
    for name in names:
        if name in table.column_names:
            at = table.column_names.index(name)
            encoded = get_column(table, name).dictionary_encode()
            table = table.set_column(at, name, encoded)
    return table


def decode_names(array: pa.Array) -> pa.Array:
    """Plain names again, of a column that may be a dictionary."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def decode_columns(table: pa.Table) -> pa.Table:
    """The table with plain names again."""
    return pa.table({name: decode_names(get_column(table, name)) for name in table.column_names})


def rank_names(columns: Sequence[pa.Array]) -> EncodedNames:
    """Names as codes, in the order of the names."""
    names, codes = number_names(columns)
    by_name = pc.sort_indices(names)
    rank_or_none = np.append(invert_permutation(to_integers(by_name, -1)), -1)
    ranks = [rank_or_none[code] for code in codes]
    return EncodedNames(names.take(by_name), ranks)


def number_names(columns: Sequence[pa.Array]) -> EncodedNames:
    """Names as codes, in the order in which they first appear: faster than `rank_names` if there are many."""
    encoded = [array.dictionary_encode() for array in columns]
    codes = [to_integers(array.indices, -1) for array in encoded]
    dictionaries = [array.dictionary.cast(pa.string()) for array in encoded]
    if sum(len(names) > 0 for names in dictionaries) <= 1:
        return EncodedNames(max(dictionaries, key=len), codes)
    # Each dictionary has its own codes: number their names once more, all together.
    shared = pa.concat_arrays(dictionaries).dictionary_encode()
    new_codes = to_integers(shared.indices, -1)
    ends = np.cumsum([len(names) for names in dictionaries])
    for i, part in enumerate(np.split(new_codes, ends[:-1])):
        codes[i] = np.append(part, -1)[codes[i]]
    return EncodedNames(shared.dictionary, codes)


def to_integers(array: pa.Array, missing: int) -> Ints:
    """Integers, with a number for null."""
    filled = array.fill_null(missing) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def to_floats(array: pa.Array) -> Floats:
    """Numbers, with not-a-number for null."""
    numbers = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)


def flatten_lists(array: pa.Array) -> FlatLists:
    """The flat items of a column of lists, or the flat keys and values of one of maps."""
    is_map = pa.types.is_map(array.type)
    columns = [array.keys, array.items] if is_map else [array.values]
    if not len(array):
        return FlatLists(np.zeros(1, dtype=np.int64), [column.slice(0, 0) for column in columns])
    offsets = to_integers(array.offsets, 0)
    is_null = array.is_null().to_numpy(zero_copy_only=False)
    if np.diff(offsets)[is_null].any():
        # A null may have items behind it that nobody sees: an empty list has none.
        empty = pa.scalar([], array.type)
        return flatten_lists(pc.if_else(array.is_valid(), array, empty))
    first, end = int(offsets[0]), int(offsets[-1])
    items = [column.slice(first, end - first) for column in columns]
    return FlatLists(offsets - first, items)
