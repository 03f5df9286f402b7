"""Columns whose values Arrow stores in other places than one behind the other, written out plainly.

Views (of texts, bytes and lists) and runs save memory or copies, but many functions of Arrow refuse them, and
casts of views of lists lose items. The values stay the same; texts and lists become large ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from antecede.events.columns import flatten_lists, to_integers


def write_out_views_and_runs(values: pa.Array) -> pa.Array:
    """The same values, without views and runs, also inside of others."""
    kind = values.type
    plain = choose_written_out_type(kind)
    if plain.equals(kind):
        return values
    if isinstance(values, pa.ExtensionArray):
        return write_out_views_and_runs(values.storage)
    if pt.is_run_end_encoded(kind):
        return _write_out_runs(values)
    if pt.is_dictionary(kind):
        dictionary = write_out_views_and_runs(values.dictionary)
        return pa.DictionaryArray.from_arrays(values.indices, dictionary, ordered=kind.ordered)
    if pt.is_list_view(kind) or pt.is_large_list_view(kind):
        return _write_out_list_views(values, plain)
    if pt.is_struct(kind):
        fields = [write_out_views_and_runs(field) for field in list_struct_fields(values)]
        return pa.StructArray.from_arrays(fields, fields=list(plain.fields), mask=values.is_null())
    if pt.is_union(kind):
        return _write_out_union(values)
    if pt.is_fixed_size_list(kind):
        size = kind.list_size
        items = write_out_views_and_runs(values.values.slice(values.offset * size, len(values) * size))
        return pa.FixedSizeListArray.from_arrays(items, type=plain, mask=values.is_null())
    if pt.is_map(kind) or pt.is_list(kind) or pt.is_large_list(kind):
        return _write_out_items_of_lists(values, plain)
    return values.cast(plain)


def choose_written_out_type(kind: pa.DataType) -> pa.DataType:
    """The type of such values without views and runs; the same one if it has none."""
    if isinstance(kind, pa.BaseExtensionType):
        plain = choose_written_out_type(kind.storage_type)
        return kind if plain.equals(kind.storage_type) else plain
    if pt.is_run_end_encoded(kind):
        return choose_written_out_type(kind.value_type)
    if pt.is_string_view(kind):
        return pa.large_string()
    if pt.is_binary_view(kind):
        return pa.large_binary()
    if pt.is_dictionary(kind):
        return pa.dictionary(kind.index_type, choose_written_out_type(kind.value_type), kind.ordered)
    if pt.is_map(kind):
        return pa.map_(_choose_written_out_field(kind.key_field), _choose_written_out_field(kind.item_field))
    if pt.is_list(kind):
        return pa.list_(_choose_written_out_field(kind.value_field))
    if pt.is_large_list(kind) or pt.is_list_view(kind) or pt.is_large_list_view(kind):
        return pa.large_list(_choose_written_out_field(kind.value_field))
    if pt.is_fixed_size_list(kind):
        return pa.list_(_choose_written_out_field(kind.value_field), kind.list_size)
    if pt.is_struct(kind):
        return pa.struct([_choose_written_out_field(field) for field in kind.fields])
    if pt.is_union(kind):
        fields = [_choose_written_out_field(kind.field(place)) for place in range(kind.num_fields)]
        return pa.union(fields, mode=kind.mode, type_codes=kind.type_codes)
    return kind


def _choose_written_out_field(field: pa.Field) -> pa.Field:
    return field.with_type(choose_written_out_type(field.type))


def _write_out_runs(values: pa.Array) -> pa.Array:
    places = values.offset + np.arange(len(values))
    run_of_row = np.searchsorted(to_integers(values.run_ends, 0), places, side="right")
    return write_out_views_and_runs(values.values).take(pa.array(run_of_row))


def _write_out_list_views(values: pa.Array, plain: pa.DataType) -> pa.Array:
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    lengths = np.where(is_null, 0, to_integers(values.sizes, 0))
    starts = np.concatenate(([0], np.cumsum(lengths)))
    shift = to_integers(values.offsets, 0) - starts[:-1]
    places = np.repeat(shift, lengths) + np.arange(starts[-1])
    items = write_out_views_and_runs(values.values).take(pa.array(places))
    offsets = pa.array(starts, mask=np.append(is_null, False))
    return pa.LargeListArray.from_arrays(offsets, items, type=plain)


def _write_out_items_of_lists(values: pa.Array, plain: pa.DataType) -> pa.Array:
    flat = flatten_lists(values)
    is_null = np.append(values.is_null().to_numpy(zero_copy_only=False), False)
    items = [write_out_views_and_runs(part) for part in flat.items]
    if pt.is_large_list(plain):
        return pa.LargeListArray.from_arrays(pa.array(flat.starts, mask=is_null), *items, type=plain)
    offsets = pa.array(flat.starts.astype(np.int32), mask=is_null)
    build = pa.MapArray.from_arrays if pt.is_map(plain) else pa.ListArray.from_arrays
    return build(offsets, *items, type=plain)


def _write_out_union(values: pa.UnionArray) -> pa.UnionArray:
    kind = values.type
    fields = [write_out_views_and_runs(values.field(place)) for place in range(kind.num_fields)]
    names = [kind.field(place).name for place in range(kind.num_fields)]
    codes = pa.array(read_union_codes(values))
    if kind.mode == "sparse":
        return pa.UnionArray.from_sparse(codes, fields, names, kind.type_codes)
    return pa.UnionArray.from_dense(
        codes, pa.array(read_union_offsets(values)), fields, names, kind.type_codes
    )


def list_struct_fields(values: pa.StructArray) -> list[pa.Array]:
    """The fields of structs; null where the struct is. On some unions `flatten` ends the process."""
    kinds = [field.type for field in values.type.fields]
    if not any(pt.is_union(kind) for kind in kinds):
        return list(values.flatten())
    fields = [values.field(place) for place in range(len(kinds))]
    rows = pa.array(np.arange(len(values)), mask=values.is_null().to_numpy(zero_copy_only=False))
    return [write_out_views_and_runs(field).take(rows) for field in fields] if rows.null_count else fields


def read_union_codes(values: pa.UnionArray) -> NDArray[np.int8]:
    """Which of its types each value has; `type_codes` does not know of slices."""
    return np.frombuffer(values.buffers()[1], np.int8)[values.offset : values.offset + len(values)]


def read_union_offsets(values: pa.UnionArray) -> NDArray[np.int32]:
    """Where each value of a dense union stands among those of its type."""
    return np.frombuffer(values.buffers()[2], np.int32)[values.offset : values.offset + len(values)]
