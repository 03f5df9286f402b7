"""Columns of callers with the plainest types that hold their values: libraries differ in what they use."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from antecede.core.errors import CallerError
from antecede.events.clock_columns import convert_structs_to_maps
from antecede.ordering.projection import to_text
from antecede.ordering.whole_numbers import is_number


def to_plain_types(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with the plainest types that hold its values.

    Lists and texts of all sizes become the usual ones, dictionaries their values, unsigned integers signed
    ones; a struct of counts, which is what libraries without maps make of dictionaries, becomes a map.
    """
    plain = choose_plain_type(column.type)
    try:
        if _is_struct_of_numbers(column.type):
            return convert_structs_to_maps(column, _choose_map_type(column.type))
        return column if plain.equals(column.type) else column.cast(plain)
    except pa.ArrowInvalid:
        raise CallerError(
            f"a column of {column.type} has numbers above 2^63 - 1: cast it to text if they are names, or "
            "leave out the rows if they are counts"
        ) from None


def _is_struct_of_numbers(kind: pa.DataType) -> bool:
    if not pt.is_struct(kind):
        return False
    types = [field.type for field in kind.fields]
    return any(map(is_number, types)) and all(is_number(one) or pt.is_null(one) for one in types)


def _choose_map_type(struct: pa.DataType) -> pa.DataType:
    has_floats = any(pt.is_floating(field.type) for field in struct.fields)
    return pa.map_(pa.string(), pa.float64() if has_floats else pa.int64())


def choose_plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that values of this type are cast to before they are read."""
    if pt.is_dictionary(kind):
        return choose_plain_type(kind.value_type)
    if pt.is_large_string(kind) or pt.is_string_view(kind):
        return pa.string()
    if pt.is_large_binary(kind) or pt.is_binary_view(kind) or pt.is_fixed_size_binary(kind):
        return pa.binary()
    if pt.is_unsigned_integer(kind):
        return pa.int64()
    if pt.is_map(kind):
        return pa.map_(choose_plain_type(kind.key_type), choose_plain_type(kind.item_type))
    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind) or pt.is_list_view(kind):
        return pa.list_(choose_plain_type(kind.value_type))
    if pt.is_struct(kind):
        return pa.struct([(field.name, choose_plain_type(field.type)) for field in kind.fields])
    return kind


def to_text_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Names of whatever type as texts."""
    chunks = [to_text(chunk) for chunk in to_plain_types(column).chunks]
    return pa.chunked_array(chunks, pa.string())
