"""Clocks in columns of callers: structs made into maps, and counts that are none refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from antecede.core.errors import CallerError
from antecede.core.wire import LARGEST
from antecede.events.columns import flatten_lists
from antecede.kernels.ragged import Ints, compute_starts
from antecede.tables import EVENTS

CLOCK = EVENTS.field("clock").type
COUNTS_ARE = f"counts are whole numbers from 0 to {LARGEST}"


def is_struct_of_counts(kind: pa.DataType) -> bool:
    """Whether a struct has a count for each name: what libraries without maps make of dictionaries."""
    if not pt.is_struct(kind):
        return False
    types = [field.type for field in kind.fields]
    return any(map(pt.is_integer, types)) and all(pt.is_integer(one) or pt.is_null(one) for one in types)


def convert_structs_to_clocks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Structs of counts as clocks; a field that is null is not in the clock."""
    return convert_structs_to_maps(column, CLOCK)


def convert_structs_to_maps(column: pa.ChunkedArray, kind: pa.MapType) -> pa.ChunkedArray:
    """Structs as maps from the names of fields to their values; a field that is null is not in the map."""
    return pa.chunked_array([_make_maps_without_null_fields(chunk, kind) for chunk in column.chunks], kind)


def _make_maps_without_null_fields(structs: pa.StructArray, map_type: pa.MapType) -> pa.MapArray:
    size = len(structs)
    counts = [field.cast(map_type.item_type) for field in structs.flatten()]
    is_given = np.column_stack([count.is_valid().to_numpy(zero_copy_only=False) for count in counts])
    row, field = np.nonzero(is_given)
    names = pa.array([field.name for field in structs.type], pa.string()).take(pa.array(field))
    items = pa.concat_arrays(counts).take(pa.array(field * size + row))
    starts = compute_starts(is_given.sum(axis=1)).astype(np.int32)
    is_null = structs.is_null().to_numpy(zero_copy_only=False)
    ends = pa.array(starts, mask=np.append(is_null, False) if is_null.any() else None)
    return pa.MapArray.from_arrays(ends, names, items)


def refuse_wrong_counts_in_clock_column(column: pa.ChunkedArray) -> None:
    """Refuse a clock with a count that is none, and name its row."""
    first_row = 0
    for chunk in column.chunks:
        clocks = flatten_lists(chunk)
        keys, counts = clocks.items
        entry = pc.index(_mark_wrong_counts(counts), True).as_py()
        if entry >= 0:
            key, count, row = (
                keys[entry].as_py(),
                counts[entry].as_py(),
                first_row + int(clocks.row_of_item[entry]),
            )
            what = "nothing" if count is None else count
            raise CallerError(
                f"column 'clock' has {what} as the count of {key!r} in row {row} (from 0): {COUNTS_ARE}"
            )
        first_row += len(chunk)


def _mark_wrong_counts(counts: pa.Array) -> pa.Array:
    is_count = pc.and_(pc.greater_equal(counts, 0), pc.less_equal(counts, LARGEST))
    return pc.invert(pc.fill_null(is_count, False))


def refuse_wrong_clock_counts(counts: Ints) -> None:
    """Refuse counts of clocks that are none; null is a negative number here."""
    if len(counts) and not (counts.min() >= 0 and counts.max() <= LARGEST):
        wrong = counts[(counts < 0) | (counts > LARGEST)][0]
        raise CallerError(f"column 'clock' has {wrong} as a count: {COUNTS_ARE}")
