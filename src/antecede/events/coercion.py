"""Which columns of a caller's table are read, and how they become columns of EVENTS.

A caller may have any of the columns, in any type that can be cast to ours. Both engines ask
`choose_column_conversion`, and so take and refuse the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import CallerError
from antecede.events.clock_columns import (
    convert_structs_to_clocks,
    is_struct_of_counts,
    refuse_wrong_counts_in_clock_column,
)
from antecede.events.kinds import convert_kind_column
from antecede.tables import EVENTS

SAYS_NOTHING_OF_CAUSES = ("text", "fields")
"""Columns that the audit and the order of events do not read; pictures do."""


class Conversion(Enum):
    """How a column becomes one of EVENTS."""

    CAST = "cast"
    FROM_TIMESTAMP = "milliseconds since 1970"
    FROM_STRUCT = "clocks of structs with a count for each process"


def choose_column_conversion(
    column: str, given: pa.DataType, describe_type: Callable[[pa.DataType], str] = str
) -> Conversion:
    """How a column of this type becomes the one of EVENTS of its name; an error if it cannot.

    `describe_type` writes a type as the caller knows it, for the error.
    """
    wanted = EVENTS.field(column).type
    if column == "time" and pa.types.is_timestamp(given):
        return Conversion.FROM_TIMESTAMP
    if column == "clock" and is_struct_of_counts(given):
        return Conversion.FROM_STRUCT
    if not pa.types.is_null(given) and _classify_type_by_nesting(given) != _classify_type_by_nesting(wanted):
        types = f"is {describe_type(given)} and must be {describe_type(wanted)}"
        raise CallerError(f"column {column!r} {types}: cast it first")
    return Conversion.CAST


def _classify_type_by_nesting(kind: pa.DataType) -> str:
    """What a value of this type is made of: what differs here, no cast can bring together."""
    if pa.types.is_map(kind):
        return "map"
    if pa.types.is_struct(kind):
        return "struct"
    is_list = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view)
    return "list" if any(check(kind) for check in is_list) else "plain"


def check_event_columns(names: Collection[str]) -> None:
    """Refuse a table without any column of EVENTS, or with two of one name."""
    twice = [name for name in EVENTS.names if list(names).count(name) > 1]
    if twice:
        raise CallerError(f"the table has two columns {twice[0]!r}: rename one")
    if not set(names) & set(EVENTS.names):
        given = f"there are: {', '.join(names)}" if names else "there are none"
        raise CallerError(
            f"the table has no column of events ({', '.join(EVENTS.names)}); {given}: rename those that are"
        )


def coerce_events(table: pa.Table) -> pa.Table:
    """The columns of EVENTS that the table has, with the types of EVENTS. Others are left out.

    Without `execution`, and where it is null, all events are of one execution, whose name is empty. Kinds may
    be the words that readers of logs know.
    """
    check_event_columns(table.column_names)
    columns = {
        field.name: _convert_and_check_column(table[field.name], field)
        for field in EVENTS
        if field.name in table.column_names
    }
    unnamed = pa.nulls(len(table), pa.string())
    columns["execution"] = pc.fill_null(columns.get("execution", unnamed), "")
    if "kind" in columns:
        columns["kind"] = convert_kind_column(columns["kind"])
    return pa.table(columns)


def _convert_timestamps_to_milliseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nothing is lost but what is finer than a microsecond, as Spark has nothing finer."""
    if column.type.unit == "ns":
        column = column.cast(pa.timestamp("us"), safe=False)
    numbers = column.cast(pa.int64()).cast(pa.float64(), safe=False)
    if column.type.unit == "s":
        return pc.multiply(numbers, 1000.0)
    return pc.divide(numbers, 1000.0) if column.type.unit == "us" else numbers


def _convert_and_check_column(column: pa.ChunkedArray, wanted: pa.Field) -> pa.ChunkedArray:
    conversion = choose_column_conversion(wanted.name, column.type)
    try:
        if conversion is Conversion.FROM_STRUCT:
            column = convert_structs_to_clocks(column)
        if conversion is Conversion.FROM_TIMESTAMP:
            return _convert_timestamps_to_milliseconds(column)
        if not column.type.equals(wanted.type):
            # As Spark does: a fraction is cut off, what does not fit is an error.
            column = column.cast(options=pc.CastOptions(wanted.type, allow_float_truncate=True))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CallerError(
            f"column {wanted.name!r} cannot be read as {wanted.type}: {error}; cast it first"
        ) from None
    if wanted.name == "clock":
        refuse_wrong_counts_in_clock_column(column)
    # As readers do: an infinite time is unknown.
    return pc.if_else(pc.is_finite(column), column, None) if wanted.name == "time" else column
