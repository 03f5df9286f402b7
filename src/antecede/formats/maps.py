"""Columns of maps: an entry added to some rows, a key taken out of all."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def add_map_entry(
    column: pa.MapArray, is_added: NDArray[np.bool_], key: str, values: pa.Array
) -> pa.MapArray:
    """The maps, those chosen with one more entry behind the others, or in the place of one with its key."""
    rows, keys, items = flatten_maps_into_rows_keys_items(column)
    has_key = pc.equal(keys, key).to_numpy(zero_copy_only=False)
    is_replaced = is_added[rows] & has_key
    if is_replaced.any():
        chosen = np.flatnonzero(~is_replaced)
        rows, keys, items = rows[chosen], keys.take(pa.array(chosen)), items.take(pa.array(chosen))
    added = np.flatnonzero(is_added)
    keys = pa.concat_arrays([keys, pa.repeat(pa.scalar(key), len(added))])
    items = pa.concat_arrays([items, values.take(pa.array(added))])
    rows = np.concatenate([rows, added])
    # Stable, so a new entry comes behind those that the row had.
    in_order = np.argsort(rows, kind="stable")
    keys, items = keys.take(pa.array(in_order)), items.take(pa.array(in_order))
    was_null = pc.is_null(column).to_numpy(zero_copy_only=False)
    return _build_map_array(rows, keys, items, was_null & ~is_added)


def drop_map_key(column: pa.MapArray, key: str) -> pa.MapArray:
    """The maps without this key; those that had nothing else are null."""
    rows, keys, items = flatten_maps_into_rows_keys_items(column)
    is_kept = pc.not_equal(keys, key).to_numpy(zero_copy_only=False)
    if is_kept.all():
        return column
    chosen = pa.array(np.flatnonzero(is_kept))
    sizes = np.bincount(rows[is_kept], minlength=len(column))
    had_entries = np.bincount(rows, minlength=len(column)) > 0
    was_null = pc.is_null(column).to_numpy(zero_copy_only=False)
    is_emptied = had_entries & (sizes == 0)
    return _build_map_array(rows[is_kept], keys.take(chosen), items.take(chosen), was_null | is_emptied)


def flatten_maps_into_rows_keys_items(column: pa.MapArray) -> tuple[Ints, pa.Array, pa.Array]:
    """The row, the key and the value of each entry."""
    offsets = column.offsets.to_numpy()
    used = slice(offsets[0], offsets[-1])
    rows = np.repeat(np.arange(len(column)), np.diff(offsets))
    return rows, column.keys[used], column.items[used]


def _build_map_array(rows: Ints, keys: pa.Array, items: pa.Array, is_null: NDArray[np.bool_]) -> pa.MapArray:
    offsets = np.zeros(len(is_null) + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=len(is_null)), out=offsets[1:])
    mask = np.append(is_null, False) if is_null.any() else None
    return pa.MapArray.from_arrays(pa.array(offsets, mask=mask), keys, items)
