"""Arrays of counts: how they are kept, put on the wire, and read back with every number checked.

On the wire an array takes the fewest bytes per entry that hold the largest. A large one that is often sent
and received is kept like that, too (`narrow`): little memory to go through, and nothing to convert.
"""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antecede.core import wire
from antecede.core.errors import InputError

Counts = NDArray[np.int64]
"""Whole numbers of 64 bits; unsigned ones of fewer where an array is narrow."""

_WIDTHS: tuple[np.dtype[Any], ...] = tuple(map(np.dtype, ("<u1", "<u2", "<u4", "<u8")))
_SIZES = tuple(width.itemsize for width in _WIDTHS)
_CODE_OF: dict[np.dtype[Any], int] = {width: code for code, width in enumerate(_WIDTHS)}
_CODES = (0, 0, 1, 2, 2, 3, 3, 3, 3)
"""The width of a count of so many bytes."""


def _decode_array(value: tuple[list[int], bytes]) -> Counts:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("an array is its shape and its entries")
    shape, entries = value
    return np.frombuffer(entries, "<i8").reshape(shape).astype(np.int64)


def _encode_array(array: Counts) -> tuple[tuple[int, ...], bytes]:
    return array.shape, array.astype("<i8").tobytes()


wire.register_type(np.ndarray, _encode_array, _decode_array)


def make_empty_counts() -> Counts:
    """The place of an array that `_init_state` will make."""
    return np.zeros(0, np.int64)


def make_zero_counts(*shape: int) -> Counts:
    """An array of counts, all 0."""
    return np.zeros(shape, np.int64)


def pack_counts(array: Counts) -> bytes:
    """A dense array as one byte for the width, then every entry in the fewest bytes that hold the largest."""
    if array.dtype not in _CODE_OF:
        array = narrow_counts(array)
    return b"%c%b" % (_CODE_OF[array.dtype], array.tobytes())


def unpack_counts(data: bytes, *shape: int) -> Counts:
    """The array that `pack_counts` packed; raises InputError unless it has exactly this shape."""
    return view_packed_counts(data, *shape).astype(np.int64)


def view_packed_counts(data: bytes, *shape: int) -> Counts:
    """The same as it lies in the data: as wide as it is there, and not to be changed."""
    size = prod(shape)
    code = data[0] if data else len(_WIDTHS)
    if code >= len(_WIDTHS) or len(data) != 1 + size * _SIZES[code]:
        raise InputError(f"stamp: expected {size} packed counts for this group, got {len(data)} bytes")
    array: Counts = np.ndarray(shape, _WIDTHS[code], data, offset=1)
    if code == 3 and array.max(initial=0) > wire.LARGEST:
        raise InputError("stamp: a count is out of range")
    return array


def narrow_counts(array: Counts) -> Counts:
    """The array in the fewest bytes per entry that hold its largest."""
    top = int(array.max()) if array.size else 0
    needed_bytes = (top.bit_length() + 7) // 8
    return array.astype(_WIDTHS[_CODES[needed_bytes]])


def increment_count(matrix: Counts, row: int, column: int) -> Counts:
    """One more in an entry of a narrow matrix: the matrix itself, or a wider one if that no longer fits."""
    return raise_count_to(matrix, row, column, matrix.item(row, column) + 1)


def raise_count_to(matrix: Counts, row: int, column: int, count: int) -> Counts:
    """An entry of a narrow matrix raised to a count that is at most one more than fits."""
    if matrix.item(row, column) >= count:
        return matrix
    if count >> 8 * matrix.itemsize:
        matrix = matrix.astype(_WIDTHS[_CODE_OF[matrix.dtype] + 1])
    matrix[row, column] = count
    return matrix


def merge_maximum_counts(array: Counts, other: Counts) -> Counts:
    """The larger of each two entries, in a narrow array: the array itself, or a wider one if need be."""
    if other.itemsize > array.itemsize:
        other = narrow_counts(other)
    if other.itemsize > array.itemsize:
        array = array.astype(other.dtype)
    return np.maximum(array, other, out=array)


def exceeds_somewhere(vector: Counts, other: Counts) -> bool:
    """Whether some entry is larger than the other's; for short vectors the quickest way to ask."""
    return b"\1" in (vector > other).tobytes()


def list_nonzero_counts(column: Counts) -> list[tuple[int, int]]:
    """The non-zero entries of a vector as (slot, count)."""
    (slots,) = column.nonzero()
    counts = column[slots]
    return list(zip(slots.tolist(), counts.tolist(), strict=True))


def count_packed_entries(data: bytes) -> int:
    """How many counts a packed array holds."""
    return (len(data) - 1) // _WIDTHS[data[0]].itemsize
