"""Tables of callers, whatever library they come from."""

from __future__ import annotations

import pyarrow as pa

from antecede.core.errors import CallerError
from antecede.ordering.written_out import choose_written_out_type, write_out_views_and_runs


def to_arrow_table(data: object) -> pa.Table:
    """Data of a caller as an Arrow table, without a copy where that is possible."""
    if isinstance(data, pa.Table):
        return convert_view_and_run_columns_to_plain(data)
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
    return convert_view_and_run_columns_to_plain(table)


def convert_view_and_run_columns_to_plain(table: pa.Table) -> pa.Table:
    """The table with plain columns where it has views, as polars makes them, or runs.

    Arrow cannot take rows of some of these.
    """
    for place, field in enumerate(table.schema):
        plain = choose_written_out_type(field.type)
        if not plain.equals(field.type):
            chunks = [write_out_views_and_runs(chunk) for chunk in table.column(place).chunks]
            table = table.set_column(place, field.with_type(plain), pa.chunked_array(chunks, plain))
    return table
