"""A number for what a row says, to tell the same message that came twice from two with one name.

It is Spark's `xxhash64`, so that both engines choose the same of two messages that differ.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from antecede.events.columns import flatten_lists
from antecede.kernels.ragged import Ints
from antecede.kernels.row_hashes import SEED, Hashes, mix_numbers_into_hashes, mix_texts_into_hashes
from antecede.ordering.stamp_types import is_list, is_text
from antecede.ordering.written_out import (
    list_struct_fields,
    read_union_codes,
    read_union_offsets,
    write_out_views_and_runs,
)

LONGEST_LONG_DECIMAL = 18
"""Decimals of so many digits are hashed as integers, longer ones as bytes."""
_INTERVAL_BYTES = 16
"""Months, days and nanoseconds."""


def hash_rows(table: pa.Table) -> pa.ChunkedArray:
    """A hash of the columns for each row; equal rows have equal ones."""
    batches = [_hash_batch(batch) for batch in table.to_batches()]
    return pa.chunked_array([pa.array(hashes.view(np.int64)) for hashes in batches], pa.int64())


def _hash_batch(batch: pa.RecordBatch) -> Hashes:
    hashes = np.full(len(batch), SEED, dtype=np.uint64)
    each_row = np.arange(len(batch) + 1)
    zeros = pa.array(np.zeros(len(batch), np.int32))
    _mix_values_into_hashes(hashes, each_row, zeros)  # so that a row without columns has a hash, too
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if _is_map_without_inner_maps(column.type):
            flat = flatten_lists(column)
            for items in flat.items:  # all keys, then all values
                _mix_values_into_hashes(hashes, flat.starts, items)
        elif _has_map(column.type) and not _has_nanoseconds(column.type):
            _mix_values_into_hashes(hashes, each_row, _encode_column_as_json_texts(field.name, column))
        else:
            _mix_values_into_hashes(hashes, each_row, column)
    return hashes


def _is_map_without_inner_maps(kind: pa.DataType) -> bool:
    return pt.is_map(kind) and not _has_map(kind.key_type, kind.item_type)


def _has_map(*kinds: pa.DataType) -> bool:
    """Whether values of these types have maps inside, which Spark does not hash."""
    for kind in kinds:
        inside = [field.type for field in kind.fields] if pt.is_struct(kind) else []
        if is_list(kind):
            inside = [kind.value_type]
        if pt.is_map(kind) or _has_map(*inside):
            return True
    return False


def _has_nanoseconds(kind: pa.DataType) -> bool:
    """Whether values of this type have times that Python has no objects for."""
    inside = [kind.field(place).type for place in range(kind.num_fields)]
    is_fine = (pt.is_timestamp(kind) or pt.is_duration(kind) or pt.is_time(kind)) and kind.unit == "ns"
    return is_fine or any(map(_has_nanoseconds, inside))


def _mix_values_into_hashes(hashes: Hashes, starts: Ints, values: pa.Array) -> None:
    """Chain the values of each row."""
    values = _unwrap_to_plain_values(values)
    if pt.is_null(values.type) or not len(values):
        return
    if is_list(values.type) or pt.is_map(values.type):
        flat = flatten_lists(values)
        for items in flat.items:
            _mix_values_into_hashes(hashes, flat.starts[starts], items)
    elif pt.is_struct(values.type):
        _mix_structs_into_hashes(hashes, starts, list_struct_fields(values))
    elif pt.is_union(values.type):
        _mix_structs_into_hashes(hashes, starts, _split_union_into_codes_and_columns(values))
    elif pt.is_floating(values.type) or _is_stored_as_integer(values.type):
        words, width = _get_number_bits_and_width(values)
        mix_numbers_into_hashes(hashes, starts, words, _make_valid_mask(values), width)
    else:
        _mix_bytes_into_hashes(hashes, starts, values)


def _unwrap_to_plain_values(values: pa.Array) -> pa.Array:
    """The same values as they are without another type around them; intervals as their bytes."""
    values = write_out_views_and_runs(values)
    if isinstance(values, pa.ExtensionArray):
        return _unwrap_to_plain_values(values.storage)
    if pt.is_dictionary(values.type):
        return _unwrap_to_plain_values(values.dictionary_decode())
    if pt.is_fixed_size_list(values.type):
        return values.cast(pa.list_(values.type.value_type))
    return values.view(pa.binary(_INTERVAL_BYTES)) if pt.is_interval(values.type) else values


def _split_union_into_codes_and_columns(values: pa.UnionArray) -> list[pa.Array]:
    """A union as the fields of a struct: the type of each value, and a column for each type."""
    codes = read_union_codes(values)
    places = np.arange(len(values)) if values.type.mode == "sparse" else read_union_offsets(values)
    fields = [pa.array(codes)]
    for place, code in enumerate(values.type.type_codes):
        field = write_out_views_and_runs(values.field(place))
        fields.append(field.take(pa.array(places, mask=codes != code)))
    return fields


def _mix_structs_into_hashes(hashes: Hashes, starts: Ints, fields: list[pa.Array]) -> None:
    """Chain structs, which are the chain of their fields: one struct of every row after the other."""
    lengths = np.diff(starts)
    for nth in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > nth)
        some = hashes[rows]
        at = pa.array(starts[rows] + nth)
        for field in fields:
            _mix_values_into_hashes(some, np.arange(len(rows) + 1), field.take(at))
        hashes[rows] = some


def _mix_bytes_into_hashes(hashes: Hashes, starts: Ints, values: pa.Array) -> None:
    """Chain texts, bytes and what else is hashed as bytes."""
    if pt.is_decimal(values.type):
        unscaled = [_encode_unscaled_bytes_of_decimal(value) for value in values.to_pylist()]
        values = pa.array(unscaled, pa.binary())
    texts = values.cast(pa.large_string() if is_text(values.type) else pa.large_binary())
    _, offset_buffer, data_buffer = texts.buffers()
    end = texts.offset + len(texts) + 1
    offsets = np.frombuffer(offset_buffer, np.int64)[texts.offset : end]
    data = np.empty(0, np.uint8)
    if data_buffer is not None:
        data = np.frombuffer(data_buffer, np.uint8)
    mix_texts_into_hashes(hashes, starts, offsets, data, _make_valid_mask(values))


def _get_number_bits_and_width(values: pa.Array) -> tuple[Hashes, int]:
    """The bits of numbers, and how many bytes each is hashed as."""
    if pt.is_floating(values.type):
        return _get_float_bits_and_width(values)
    integers = _get_stored_integers(values)
    is_short = integers.type.bit_width <= 32 and integers.type != pa.uint32()
    plain = integers.fill_null(0).to_numpy(zero_copy_only=False)
    if is_short:
        bits = plain.astype(np.int32).view(np.uint32)
        return bits.astype(np.uint64), 4
    return plain.astype(np.int64).view(np.uint64), 8


def _get_float_bits_and_width(values: pa.Array) -> tuple[Hashes, int]:
    """There is one 0 and one not-a-number, whatever their bits are."""
    size = 4 if values.type.bit_width <= 32 else 8
    floats = values.cast(pa.float32() if size == 4 else pa.float64())
    plain = floats.fill_null(0).to_numpy(zero_copy_only=False) + 0.0
    plain[np.isnan(plain)] = np.nan
    bits = plain.view(np.uint32 if size == 4 else np.uint64)
    return bits.astype(np.uint64), size


def _get_stored_integers(values: pa.Array) -> pa.Array:
    """Times, days, truth values and short decimals as the integers that they are."""
    kind = values.type
    if pt.is_integer(kind):
        return values
    if pt.is_decimal(kind):
        unscaled = [_get_unscaled_integer_of_decimal(value) for value in values.to_pylist()]
        return pa.array(unscaled, pa.int64())
    if pt.is_timestamp(kind):
        micros = values.cast(pa.timestamp("us", kind.tz), safe=False)
        return micros.cast(pa.int64())
    if pt.is_time(kind):
        return values.cast(pa.time64("ns")).cast(pa.int64())
    if pt.is_duration(kind):
        return values.cast(pa.duration("us"), safe=False).cast(pa.int64())
    if pt.is_date(kind):
        return values.cast(pa.date32()).cast(pa.int32())
    return values.cast(pa.int8() if pt.is_boolean(kind) else pa.int64())


def _is_stored_as_integer(kind: pa.DataType) -> bool:
    """Whether values are integers, under whatever name."""
    is_short_decimal = pt.is_decimal(kind) and kind.precision <= LONGEST_LONG_DECIMAL
    return bool(pt.is_integer(kind) or pt.is_boolean(kind) or pt.is_temporal(kind) or is_short_decimal)


def _get_unscaled_integer_of_decimal(value: Any) -> int | None:
    return None if value is None else int(value.scaleb(-value.as_tuple().exponent))


def _encode_unscaled_bytes_of_decimal(value: Any) -> bytes | None:
    """As Java writes one: the fewest bytes of its two's complement, the highest first."""
    unscaled = _get_unscaled_integer_of_decimal(value)
    if unscaled is None:
        return None
    bits = unscaled.bit_length() if unscaled >= 0 else (unscaled + 1).bit_length()
    return unscaled.to_bytes(bits // 8 + 1, "big", signed=True)


def _make_valid_mask(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=bool)


def _encode_column_as_json_texts(column_name: str, values: pa.Array) -> pa.Array:
    """Values as JSON, as Spark writes a struct of the one column; keys that are null are left out."""
    texts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a key that is there twice: stamps with one are quarantined
        records = values.to_pylist(maps_as_pydicts="lossy")
    for value in records:
        record = {} if value is None else {column_name: _drop_null_fields(value)}
        texts.append(json.dumps(record, separators=(",", ":"), ensure_ascii=False, default=str))
    return pa.array(texts, pa.string())


def _drop_null_fields(value: Any) -> Any:
    """The value without the fields of objects that are null; nulls in lists stay."""
    if isinstance(value, dict):
        return {str(key): _drop_null_fields(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_drop_null_fields(item) for item in value]
    return value
