"""Tables of callers, whatever library they come from."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from antecede.core.errors import CallerError


def to_arrow_table(data: object) -> pa.Table:
    """Data of a caller as an Arrow table, without a copy where that is possible."""
    if isinstance(data, pa.Table):
        return replace_views(data)
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise CallerError(
            f"a table must be an Arrow table or offer itself as one (__arrow_c_stream__), and "
            f"{type(data).__name__} does not; pyarrow.table makes one"
        )
    try:
        table = pa.table(data)
    except (ValueError, TypeError, NotImplementedError) as error:  # those of Arrow and of the library
        why = " ".join(str(error).split())
        raise CallerError(
            f"the {type(data).__name__} cannot be read as an Arrow table ({why}): give that column a type of "
            "Arrow, or pass a pyarrow.Table"
        ) from None
    return replace_views(table)


def replace_views(table: pa.Table) -> pa.Table:
    """The table with plain texts where it has views of texts, as polars makes them.

    Arrow cannot take rows of views.
    """
    for place, field in enumerate(table.schema):
        plain = _choose_type_without_views(field.type)
        if not plain.equals(field.type):
            column = table.column(place).cast(plain)
            table = table.set_column(place, field.with_type(plain), column)
    return table


def _choose_type_without_views(kind: pa.DataType) -> pa.DataType:
    if pt.is_string_view(kind):
        return pa.large_string()
    if pt.is_binary_view(kind):
        return pa.large_binary()
    if pt.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _choose_type_without_views(kind.value_type), kind.ordered)
    if pt.is_map(kind):
        return pa.map_(_replace_views_inside(kind.key_field), _replace_views_inside(kind.item_field))
    if pt.is_list(kind):
        return pa.list_(_replace_views_inside(kind.value_field))
    if pt.is_large_list(kind):
        return pa.large_list(_replace_views_inside(kind.value_field))
    if pt.is_fixed_size_list(kind):
        return pa.list_(_replace_views_inside(kind.value_field), kind.list_size)
    if pt.is_struct(kind):
        return pa.struct([_replace_views_inside(field) for field in kind.fields])
    return kind


def _replace_views_inside(field: pa.Field) -> pa.Field:
    return field.with_type(_choose_type_without_views(field.type))
