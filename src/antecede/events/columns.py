"""Columns of the events table as arrays of numbers: codes for names, flat lists."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.kernels.ragged import Ints, invert_permutation, list_item_rows
from antecede.tables import EVENTS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MOST_BYTES = 2**31 - 1
"""Bytes of texts up to which Arrow's usual arrays, whose offsets have 32 bits, can be put into one piece."""


class EncodedNames(NamedTuple):
    """Some columns of names with one dictionary; the code of null is -1."""

    names: pa.Array
    codes: list[Ints]


class FlatLists(NamedTuple):
    """A column of lists or maps: the items of row i are at `starts[i]:starts[i + 1]`; null rows have none."""

    starts: Ints
    items: list[pa.Array]

    @property
    def row_of_item(self) -> Ints:
        """The row of each item."""
        return list_item_rows(self.starts)


def get_column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece; all null if the table has none of this name."""
    if name not in table.column_names:
        return pa.nulls(len(table), EVENTS.field(name).type)
    return _join_chunks(table[name])


def _join_chunks(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)


def widen_offsets_of_huge_text_columns(table: pa.Table) -> pa.Table:
    """The table with 64-bit offsets in columns of more text than 32 bits can count."""
    for at, field in enumerate(table.schema):
        column = table.column(at)
        if column.nbytes > MOST_BYTES:
            table = table.set_column(at, field.name, column.cast(_widen_text_type(field.type)))
    return table


def _widen_text_type(kind: pa.DataType) -> pa.DataType:
    """The same type with 64-bit offsets of texts; those of lists count items, and need not be widened."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_map(kind):
        return pa.map_(_widen_text_type(kind.key_type), _widen_text_type(kind.item_type))
    return pa.list_(_widen_text_type(kind.value_type)) if pa.types.is_list(kind) else kind


def dictionary_encode_columns(table: pa.Table, column_names: Sequence[str]) -> pa.Table:
    """The table with these columns of names as dictionaries, so that rows are moved without their names.

    Two at a time: the one with the most names takes about as long as all others.
    """
    present = [name for name in column_names if name in table.column_names]
    with ThreadPoolExecutor(2) as threads:
        encoded = list(threads.map(_dictionary_encode_column, (table[name] for name in present)))
    for name, column in zip(present, encoded, strict=True):
        at = table.column_names.index(name)
        table = table.set_column(at, name, column)
    return table


def _dictionary_encode_column(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column of names as a dictionary in one piece; the names are never put into one piece."""
    return _join_chunks(column.dictionary_encode())


def take_table_rows(table: pa.Table, rows: Ints) -> pa.Table:
    """These rows of the table, in this order; two columns at a time."""
    indices = pa.array(rows)
    with ThreadPoolExecutor(2) as threads:
        columns = list(threads.map(lambda column: column.take(indices), table.columns))
    return pa.table(columns, table.column_names)


def decode_dictionary(array: pa.Array) -> pa.Array:
    """Plain names again, of a column that may be a dictionary."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def decode_dictionary_columns(table: pa.Table) -> pa.Table:
    """The table with plain names again."""
    return pa.table({name: decode_dictionary(get_column(table, name)) for name in table.column_names})


def encode_names_by_rank(columns: Sequence[pa.Array]) -> EncodedNames:
    """Names as codes, in the order of the names."""
    names, codes = encode_names_by_appearance(columns)
    by_name = pc.sort_indices(names)
    rank_or_none = np.append(invert_permutation(to_integers(by_name, -1)), -1)
    ranks = [rank_or_none[code] for code in codes]
    return EncodedNames(names.take(by_name), ranks)


def encode_names_by_appearance(columns: Sequence[pa.Array]) -> EncodedNames:
    """Names as codes, in the order in which they first appear: faster than by rank if there are many."""
    encoded = [array.dictionary_encode() for array in columns]
    codes = [to_integers(array.indices, -1) for array in encoded]
    dictionaries = [array.dictionary for array in encoded]
    is_wide = sum(names.nbytes for names in dictionaries) > MOST_BYTES
    text = pa.large_string() if is_wide else pa.string()
    dictionaries = [names.cast(text) for names in dictionaries]
    if sum(len(names) > 0 for names in dictionaries) <= 1:
        return EncodedNames(max(dictionaries, key=len), codes)
    # Each dictionary has its own codes: number their names once more, all together.
    shared = pa.concat_arrays(dictionaries).dictionary_encode()
    new_codes = to_integers(shared.indices, -1)
    ends = np.cumsum([len(names) for names in dictionaries])
    for i, part in enumerate(np.split(new_codes, ends[:-1])):
        codes[i] = np.append(part, -1)[codes[i]]
    return EncodedNames(shared.dictionary, codes)


def to_integers(array: pa.Array, null_value: int) -> Ints:
    """Integers, with a number for null."""
    filled = array.fill_null(null_value) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def to_python_list(array: pa.Array) -> list[Any]:
    """The same as `to_pylist`, many times as fast for names and numbers."""
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        names: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
        return names
    if not (pa.types.is_int64(array.type) or pa.types.is_float64(array.type)):
        return list(array.to_pylist())
    numbers: list[Any] = array.fill_null(0).to_numpy().tolist()
    for at in np.flatnonzero(array.is_null()).tolist():
        numbers[at] = None
    return numbers


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
