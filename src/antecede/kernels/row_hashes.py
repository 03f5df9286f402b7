"""Hashes of rows: xxHash64 as Spark chains it over values, so that both engines tell rows apart alike.

The hash of a row is computed value by value: the hash so far is the seed of the next one, and a null leaves
it as it is. A list is the chain of its items, so lists in lists are the chain of all that is in them.

`hashes` has the hash of each row so far, and is written to. The values of row i are at
`starts[i]:starts[i + 1]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled, inlined
from antecede.kernels.ragged import Ints

Hashes = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

SEED = 42
_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)


@inlined
def _rotate_left(value: Any, by: int) -> Any:
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


@inlined
def _finish_hash(hash_value: Any) -> Any:
    hash_value ^= hash_value >> np.uint64(33)
    hash_value *= _PRIME_2
    hash_value ^= hash_value >> np.uint64(29)
    hash_value *= _PRIME_3
    hash_value ^= hash_value >> np.uint64(32)
    return hash_value


@inlined
def _mix_8_bytes_into_hash(hash_value: Any, word: Any) -> Any:
    """Eight bytes."""
    hash_value ^= _rotate_left(word * _PRIME_2, 31) * _PRIME_1
    return _rotate_left(hash_value, 27) * _PRIME_1 + _PRIME_4


@inlined
def _mix_4_bytes_into_hash(hash_value: Any, word: Any) -> Any:
    """Four bytes."""
    hash_value ^= word * _PRIME_1
    return _rotate_left(hash_value, 23) * _PRIME_2 + _PRIME_3


@inlined
def _read_little_endian(data: Any, at: int, size: int) -> Any:
    word = np.uint64(0)
    for byte in range(size):
        word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
    return word


@compiled
def mix_numbers_into_hashes(
    hashes: Hashes, starts: Ints, words: Hashes, is_valid: NDArray[np.bool_], width: int
) -> None:
    """Chain numbers of 4 or 8 bytes, given as their bits."""
    for row in range(len(hashes)):
        value = hashes[row]
        for at in range(starts[row], starts[row + 1]):
            if not is_valid[at]:
                continue
            if width == 4:
                value = _finish_hash(_mix_4_bytes_into_hash(value + _PRIME_5 + np.uint64(4), words[at]))
            else:
                value = _finish_hash(_mix_8_bytes_into_hash(value + _PRIME_5 + np.uint64(8), words[at]))
        hashes[row] = value


@compiled
def mix_texts_into_hashes(
    hashes: Hashes, starts: Ints, offsets: Ints, data: Bytes, is_valid: NDArray[np.bool_]
) -> None:
    """Chain texts; text j is at `offsets[j]:offsets[j + 1]` of the data."""
    for row in range(len(hashes)):
        value = hashes[row]
        for at in range(starts[row], starts[row + 1]):
            if is_valid[at]:
                value = _hash_bytes(data, offsets[at], offsets[at + 1], value)
        hashes[row] = value


@compiled
def _hash_bytes(data: Bytes, low: int, high: int, seed: Any) -> Any:
    """xxHash64 of some bytes."""
    at = low
    if high - low >= 32:
        lane_1, lane_2 = seed + _PRIME_1 + _PRIME_2, seed + _PRIME_2
        lane_3, lane_4 = seed, seed - _PRIME_1
        while at <= high - 32:
            lane_1 = _rotate_left(lane_1 + _read_little_endian(data, at, 8) * _PRIME_2, 31) * _PRIME_1
            lane_2 = _rotate_left(lane_2 + _read_little_endian(data, at + 8, 8) * _PRIME_2, 31) * _PRIME_1
            lane_3 = _rotate_left(lane_3 + _read_little_endian(data, at + 16, 8) * _PRIME_2, 31) * _PRIME_1
            lane_4 = _rotate_left(lane_4 + _read_little_endian(data, at + 24, 8) * _PRIME_2, 31) * _PRIME_1
            at += 32
        value = (
            _rotate_left(lane_1, 1)
            + _rotate_left(lane_2, 7)
            + _rotate_left(lane_3, 12)
            + _rotate_left(lane_4, 18)
        )
        for lane in (lane_1, lane_2, lane_3, lane_4):
            value ^= _rotate_left(lane * _PRIME_2, 31) * _PRIME_1
            value = value * _PRIME_1 + _PRIME_4
    else:
        value = seed + _PRIME_5
    value += np.uint64(high - low)
    while at <= high - 8:
        value = _mix_8_bytes_into_hash(value, _read_little_endian(data, at, 8))
        at += 8
    if at <= high - 4:
        value = _mix_4_bytes_into_hash(value, _read_little_endian(data, at, 4))
        at += 4
    while at < high:
        value ^= np.uint64(data[at]) * _PRIME_5
        value = _rotate_left(value, 11) * _PRIME_1
        at += 1
    return _finish_hash(value)
