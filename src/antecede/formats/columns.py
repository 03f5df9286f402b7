"""Values of many records as Arrow columns of the events table, by the same rules as `mapped` has for one.

Whatever is not plain (a name that is a fraction, a count that is negative, an empty name in a list) raises
Odd: then the records are read one by one, and those rules decide.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats import values
from antecede.formats.rows import Fields, build_map_column
from antecede.tables import EVENTS

NAME_COLUMNS = ("execution", "process", "event", "message", "sender", "file")
LIST_COLUMNS = ("receivers", "parents")
FIELDS = EVENTS.field("fields").type


class Odd(Exception):  # noqa: N818
    """Some records are not plain, and must be read one by one."""


def assemble_events(columns: Mapping[str, pa.Array], lines: pa.Array, file: str) -> pa.Table:
    """The events table of records with these columns, on these lines of a file."""
    size = len(lines)
    arrays = []
    for field in EVENTS:
        column = columns.get(field.name)
        if column is None:
            column = pa.nulls(size, field.type)
        elif field.name in NAME_COLUMNS:
            column = _empty_texts_to_null(column)
        arrays.append(column)
    events = pa.Table.from_arrays(arrays, schema=EVENTS)
    if events["process"].null_count:
        raise Odd
    for name, default in (("execution", pa.scalar("")), ("file", pa.scalar(file)), ("line", lines)):
        events = _fill_nulls(events, name, default)
    return events


def _fill_nulls(events: pa.Table, name: str, default: pa.Scalar | pa.Array) -> pa.Table:
    """The events with this column filled where it is null."""
    position = EVENTS.get_field_index(name)
    column = events.column(position)
    if column.null_count < len(column):
        column = pc.coalesce(column, default)
    else:
        column = default if isinstance(default, pa.Array) else pa.repeat(default, len(column))
    return events.set_column(position, EVENTS.field(position), column)


def _empty_texts_to_null(names: pa.Array) -> pa.Array:
    is_empty = pc.equal(names, "")
    return pc.if_else(is_empty, None, names) if pc.any(is_empty).as_py() else names


def build_name_column(names: Sequence[str | int | None]) -> pa.Array:
    """Names, which may be whole numbers."""
    types = set(map(type, names))
    if int not in types:
        return pa.array(names, pa.string())
    if str not in types:
        return pa.array(names, pa.int64()).cast(pa.string())
    return pa.array([str(name) if isinstance(name, int) else name for name in names], pa.string())


def build_name_list_column(lists: Sequence[Any]) -> pa.Array:
    """Lists of names; one name alone is a list of one."""
    types = set(map(type, lists))
    if list not in types:
        names = build_name_column(lists)
        # An offset that is null makes the list null, and it still says where the list before it ends.
        is_given = pc.is_valid(names).to_numpy(zero_copy_only=False)
        flat, sizes = names.drop_null(), is_given.astype(np.int64)
    else:
        opened = [one if isinstance(one, list) else [] if one is None else [one] for one in lists]
        sizes = np.fromiter(map(len, opened), np.int64, len(opened))
        is_given = np.array([one is not None for one in lists])
        flat = build_name_column(list(chain.from_iterable(opened)))
    if flat.null_count or pc.any(pc.equal(flat, "")).as_py():
        raise Odd
    return build_list_array(flat, sizes, is_given)


def build_list_array(elements: pa.Array, sizes: Any, is_given: Any) -> pa.Array:
    """A column of lists from their elements and sizes; null where a list is not given."""
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    mask = None if is_given.all() else np.append(~is_given, False)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32(), mask=mask), elements)


def build_kinds_and_unknown_words(words: pa.Array, kind_of_word: dict[str, str]) -> tuple[pa.Array, pa.Array]:
    """Kinds, null for words that are not known; and those words, null elsewhere."""
    encoded = words.dictionary_encode()
    known = [values.read_kind(word, kind_of_word) for word in encoded.dictionary.to_pylist()]
    column = pa.array(known, pa.string()).take(encoded.indices)
    if None not in known:
        return column, pa.nulls(len(words), pa.string())
    return column, pc.if_else(pc.is_null(column), words, None)


def build_times_ms_and_unknown_texts(raw_times: Sequence[Any]) -> tuple[pa.Array, list[str | None]]:
    """Milliseconds, null for what is no time; and the text of that, None elsewhere."""
    unknown: list[str | None] = []
    if str not in set(map(type, raw_times)):
        column = pa.array([None if time is None else float(time) for time in raw_times], pa.float64())
        if not pc.all(pc.is_finite(column)).as_py():
            raise Odd
        return column, unknown
    times = [None if time is None else values.read_time_ms(time) for time in raw_times]
    if any(time is None and text is not None for time, text in zip(times, raw_times, strict=True)):
        unknown = [
            values.as_text(text) if time is None and text is not None else None
            for time, text in zip(times, raw_times, strict=True)
        ]
    return pa.array(times, pa.float64()), unknown


def build_text_column(raw_values: Sequence[Any]) -> pa.Array:
    """Texts; what is no string is written as JSON."""
    types = set(map(type, raw_values))
    if types <= {str, type(None)}:
        return pa.array(raw_values, pa.string())
    if str in types or type(None) in types:
        return pa.array([None if text is None else values.as_text(text) for text in raw_values], pa.string())
    return pa.array(values.encode_each_as_json_text(raw_values), pa.string())


def build_fields_column(fields: Sequence[Fields]) -> pa.Array:
    """Fields; null where there are none."""
    return build_map_column([one or None for one in fields], FIELDS)


def pack_columns_into_fields_map(columns: Mapping[str, pa.Array]) -> pa.Array:
    """Fields from columns of strings, each under its name; null where a row has none."""
    arrays = list(columns.values())
    # One row of the matrix for each record: which of the columns it fills.
    is_given = np.column_stack([pc.is_valid(array).to_numpy(zero_copy_only=False) for array in arrays])
    row, column = np.nonzero(is_given)
    size = len(is_given)
    keys = pa.array(list(columns), pa.string()).take(pa.array(column))
    items = pa.concat_arrays(arrays).take(pa.array(column * size + row))
    sizes = is_given.sum(axis=1)
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    ends = pa.array(offsets, pa.int32(), mask=np.append(sizes == 0, False))
    return pa.MapArray.from_arrays(ends, keys, items)
