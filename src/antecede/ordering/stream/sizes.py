"""About how many bytes each row of a table takes: the same for equal rows, however they lie in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from antecede.events.columns import flatten_lists, to_integers
from antecede.kernels.ragged import Ints
from antecede.ordering.plain_types import to_plain_types
from antecede.ordering.stamp_types import is_list

_PLAIN = 8
"""Bytes of a number, a time or a truth value, and of what a text or a list has besides its contents."""


def estimate_row_bytes(table: pa.Table) -> Ints:
    """The sizes of all rows."""
    total = np.zeros(len(table), dtype=np.int64)
    for column in table.columns:
        plain = to_plain_types(column)
        sizes = [_estimate_value_bytes(chunk) for chunk in plain.chunks]
        total += np.concatenate([*sizes, np.empty(0, np.int64)])
    return total


def _estimate_value_bytes(values: pa.Array) -> Ints:
    kind = values.type
    sizes = np.full(len(values), _PLAIN, dtype=np.int64)
    if pt.is_string(kind) or pt.is_binary(kind):
        sizes += to_integers(pc.binary_length(values), 0)
    elif pt.is_struct(kind):
        for field in values.flatten():
            sizes += _estimate_value_bytes(field)
    elif pt.is_map(kind) or is_list(kind):
        flat = flatten_lists(values)
        for items in flat.items:
            before = np.concatenate(([0], np.cumsum(_estimate_value_bytes(items))))
            sizes += before[flat.starts[1:]] - before[flat.starts[:-1]]
    return sizes
