"""Tables of callers, whatever library they come from."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from antecede.core.errors import CallerError

_COUNTS = pa.map_(pa.string(), pa.int64())


def to_arrow_table(data: object) -> pa.Table:
    """Data of a caller as an Arrow table, without a copy where that is possible."""
    if isinstance(data, pa.Table):
        return data
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise CallerError(
            f"a table must be an Arrow table or offer itself as one (__arrow_c_stream__), and "
            f"{type(data).__name__} does not; pyarrow.table makes one"
        )
    return pa.table(data)


def to_plain_types(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with the plainest types that hold its values: libraries differ in what they use.

    Lists and texts of all sizes become the usual ones, dictionaries their values, unsigned integers signed
    ones; a struct of counts, which is what libraries without maps make of dictionaries, becomes a map.
    """
    if _is_struct_of_counts(column.type):
        return pa.chunked_array([_make_maps(chunk) for chunk in column.chunks], _COUNTS)
    plain = choose_plain_type(column.type)
    if plain.equals(column.type):
        return column
    try:
        return column.cast(plain)
    except pa.ArrowInvalid:
        raise CallerError(
            f"a column of {column.type} has numbers above 2^63 - 1: cast it to text if they are names, or "
            "leave out the rows if they are counts"
        ) from None


def _is_struct_of_counts(kind: pa.DataType) -> bool:
    return (
        pt.is_struct(kind) and kind.num_fields > 0 and all(pt.is_integer(field.type) for field in kind.fields)
    )


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


def _make_maps(structs: pa.StructArray) -> pa.MapArray:
    """Structs of counts as maps; a field that is null is not in the map."""
    maps = []
    for record in structs.to_pylist():
        counts = None if record is None else {name: n for name, n in record.items() if n is not None}
        maps.append(counts if counts is None else list(counts.items()))
    return pa.array(maps, _COUNTS)
