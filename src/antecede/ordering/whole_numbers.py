"""Counts that stand in columns of floats, as libraries without nullable integers write them.

Only whole numbers are counts: a row with a fraction, or with not-a-number, has none.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from antecede.events.columns import Bools, flatten_lists

LARGEST_WHOLE_FLOAT = 2**53 - 1
"""Larger floats stand for several whole numbers each."""


def is_number(kind: pa.DataType) -> bool:
    """Whether counts may stand in values of this type."""
    return bool(pt.is_integer(kind) or pt.is_floating(kind))


def has_floats(kind: pa.DataType) -> bool:
    """Whether there are floats among values of this type."""
    inside = [kind.field(place).type for place in range(kind.num_fields)]
    return pt.is_floating(kind) or any(map(has_floats, inside))


def convert_floats_to_integers_and_mark_fractions(values: pa.Array) -> tuple[pa.Array, Bools]:
    """The values with integers for floats, and which of them have a float that is no whole number.

    Such floats are null.
    """
    kind = values.type
    if pt.is_floating(kind):
        return _convert_float_array_and_mark_fractions(values)
    if pt.is_struct(kind):
        parts = [convert_floats_to_integers_and_mark_fractions(field) for field in values.flatten()]
        fields = [part for part, _ in parts]
        is_odd = np.any([odd for _, odd in parts], axis=0)
        names = [field.name for field in kind.fields]
        return pa.StructArray.from_arrays(fields, names, mask=values.is_null()), is_odd
    if not (pt.is_list(kind) or pt.is_map(kind)):
        return values, np.zeros(len(values), dtype=bool)
    flat = flatten_lists(values)
    *keys, items = flat.items
    whole, is_odd_item = convert_floats_to_integers_and_mark_fractions(items)
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    offsets = pa.array(flat.starts.astype(np.int32), mask=np.append(is_null, False))
    build = pa.MapArray.from_arrays if pt.is_map(kind) else pa.ListArray.from_arrays
    is_odd = np.bincount(flat.row_of_item[is_odd_item], minlength=len(values)) > 0
    return build(offsets, *keys, whole), is_odd


def _convert_float_array_and_mark_fractions(values: pa.Array) -> tuple[pa.Array, Bools]:
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    floats = values.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)
    is_whole = (np.abs(floats) <= LARGEST_WHOLE_FLOAT) & (np.floor(floats) == floats)
    integers = np.where(is_whole, floats, 0).astype(np.int64)
    return pa.array(integers, mask=is_null | ~is_whole), ~is_whole
