"""Rows of two times as one table: each column has a type in which no value of either is lost.

What waits was read when the input had other columns, perhaps. Types are changed only where that can be
undone: a stream must not alter what it was given, and must not guess.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt

from antecede.core.errors import CallerError
from antecede.ordering.stamp_types import describe_type


def join_older_and_newer_rows(older: pa.Table, newer: pa.Table, *, exact_names: bool) -> pa.Table:
    """The newer rows behind the older ones, under the newer names, of the newer types where they can be."""
    if not exact_names:
        older = _respell_column_names(older, newer.column_names)
    for name in newer.column_names:
        if name in older.column_names and older[name].type != newer[name].type:
            before, now = _give_one_type(name, older[name], newer[name])
            older = older.set_column(older.column_names.index(name), name, before)
            newer = newer.set_column(newer.column_names.index(name), name, now)
    only_older = [name for name in older.column_names if name not in newer.column_names]
    together = pa.concat_tables([older, newer], promote_options="default")
    return together.select([*newer.column_names, *only_older])


def can_join_without_changes(schemas: list[pa.Schema], *, exact_names: bool) -> bool:
    """Whether rows with these columns are one table as they are, columns that some lack aside."""
    known: dict[str, pa.Field] = {}
    for field in (field for schema in schemas for field in schema):
        other = known.setdefault(field.name if exact_names else field.name.lower(), field)
        if other.type != field.type or other.name != field.name:
            return False
    return True


def describe_types_apart(one: pa.DataType, other: pa.DataType) -> tuple[str, str]:
    """Two types as SQL writes them, or as Arrow does where SQL calls both the same."""
    words = describe_type(one), describe_type(other)
    return words if words[0] != words[1] else (str(one), str(other))


def _respell_column_names(older: pa.Table, names: list[str]) -> pa.Table:
    """The older rows with columns as they are spelled now, in upper or lower case."""
    now = {name.lower(): name for name in names if name not in older.column_names}
    kept = {name.lower() for name in older.column_names if name in names}
    return older.rename_columns(
        [name if name.lower() in kept else now.get(name.lower(), name) for name in older.column_names]
    )


def _give_one_type(
    name: str, older: pa.ChunkedArray, newer: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Both of the newer type if that loses nothing, else both of the older one, else a sentence."""
    if (changed := _cast_without_loss(older, newer.type)) is not None:
        return changed, newer
    if (changed := _cast_without_loss(newer, older.type)) is not None:
        return older, changed
    now, before = describe_types_apart(newer.type, older.type)
    raise CallerError(
        f"column {name!r} is {now} now, and was {before} in rows that wait: neither holds the values of both"
        f"; cast it to {before}, or start with a new checkpoint and a new output folder"
    )


def _cast_without_loss(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    """The column as another type, if all its values can be told from that; else None."""
    if column.null_count == len(column):  # nulls are of any type, also where Arrow has no cast
        return pa.chunked_array([pa.nulls(len(column), kind)])
    if _mean_different_things(column.type, kind):
        return None
    try:
        changed = column.cast(kind)
        return changed if _have_equal_values(changed.cast(column.type), column) else None
    except pa.ArrowException:
        return None


def _mean_different_things(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether a cast goes there and back, and yet makes something else: of a time a count of microseconds."""
    sorts = [(pt.is_temporal(kind), pt.is_boolean(kind), _is_number(kind)) for kind in (one, other)]
    return any(sorts[0]) and any(sorts[1]) and sorts[0] != sorts[1]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def _have_equal_values(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two columns of one type say the same; Arrow takes two NaN for different."""
    if one.equals(other):
        return True
    try:
        return repr(one.to_pylist()) == repr(other.to_pylist())
    except ValueError:  # nanoseconds, for which Python has no times: these are different ones
        return False
