"""Clocks as logs write them, {"a": 1, "b": 2}, read from their bytes in one pass over many.

Text i stands at `offsets[i]:offsets[i + 1]`. Of each its entries are noted in the order of the text: the code
of the key, and the count. Codes number the different keys in the order in which they first come; where a key
stands is noted once. Most clocks have the keys of those before them in the same order: so the key that
followed the last one when that was seen before is compared first. Else a table of codes by the hash of their
keys has the code, unless the key is new. The cost is one look at each byte or two.

Only plain clocks are read: keys without escapes, none twice in one clock, whole numbers of at most 18 digits,
blanks between them or none. `null` is a clock that is absent. At anything else the scan stops, and whoever
asked must read the texts otherwise; that keys are UTF-8 is theirs to check, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int32]

ABSENT = -1
"""In the place of the number of entries of a clock that is `null`."""
_BLANK, _TAB, _QUOTE, _BACKSLASH = ord(" "), ord("\t"), ord('"'), ord("\\")
_OPEN, _CLOSE, _COLON, _COMMA = ord("{"), ord("}"), ord(":"), ord(",")
_ZERO = ord("0")
_NULL = (ord("n"), ord("u"), ord("l"))
_MOST_DIGITS = 18
"""Such numbers, and no longer ones, are surely counts that fit."""
_HASH_BEGIN = np.uint64(0xCBF29CE484222325)
_HASH_FACTOR = np.uint64(0x100000001B3)


class ScannedClocks(NamedTuple):
    """The entries of some clocks, one clock behind the other, and where each key first stands."""

    sizes: Ints
    """How many entries each clock has; ABSENT if there is no clock."""
    codes: Ints
    counts: Ints
    key_begins: Ints
    key_ends: Ints


def scan_clocks(text: Bytes, offsets: Offsets) -> ScannedClocks | None:
    """The entries of all clocks; None if one of them is not plain."""
    # No entry without a colon.
    most_entries = int(np.count_nonzero(text == _COLON))
    hash_table = np.full(_choose_hash_table_size(most_entries), -1, np.int64)
    sizes = np.zeros(len(offsets) - 1, np.int64)
    codes, counts, key_begins, key_ends = (np.empty(most_entries, np.int64) for _ in range(4))
    # Kernels are compiled anew for arrays that can be written to: here, none can.
    text, offsets = _make_read_only(text), _make_read_only(offsets)
    entries, keys = _fill_in_entries_of_plain_clocks(
        text, offsets, hash_table, sizes, codes, counts, key_begins, key_ends
    )
    if entries < 0:
        return None
    return ScannedClocks(sizes, codes[:entries], counts[:entries], key_begins[:keys], key_ends[:keys])


def _make_read_only(array: Any) -> Any:
    """The array, not to be written to."""
    array = array.view()
    array.flags.writeable = False
    return array


def _choose_hash_table_size(most_keys: int) -> int:
    """A power of two, at least twice as large as what could be in the table."""
    return 1 << (2 * most_keys).bit_length()


@compiled
def _fill_in_entries_of_plain_clocks(
    text: Bytes,
    offsets: Offsets,
    hash_table: Ints,
    sizes: Ints,
    codes: Ints,
    counts: Ints,
    key_begins: Ints,
    key_ends: Ints,
) -> Any:
    """Fill in all arrays but the first two; returns the number of entries and of keys.

    It returns -1 and 0 if a clock is not plain.
    """
    odd = (-1, 0)
    entries, keys = 0, 0
    most_keys = len(codes)
    # In which clock a key stood last, and which key followed it there. The last of `follower` is for the
    # beginning of a clock.
    last_clock = np.full(most_keys, -1, np.int64)
    follower = np.full(most_keys + 1, -1, np.int64)
    for clock in range(len(offsets) - 1):
        begin, end = np.int64(offsets[clock]), np.int64(offsets[clock + 1])
        if _is_null_literal(text, begin, end):
            sizes[clock] = ABSENT
            continue
        at = _skip_blanks(text, begin, end)
        if at == end or text[at] != _OPEN:
            return odd
        first_entry, last_code = entries, most_keys
        at = _skip_blanks(text, at + 1, end)
        is_open = at < end and text[at] != _CLOSE
        while is_open:
            if at == end or text[at] != _QUOTE:
                return odd
            at += 1
            code = follower[last_code]
            if code >= 0 and _has_key_at(text, at, end, key_begins[code], key_ends[code]):
                at += key_ends[code] - key_begins[code]
            else:
                key_end, key_hash = _find_key_end_and_hash(text, at, end)
                if key_end < 0:
                    return odd
                code = _find_or_add_key_code(
                    text, at, key_end, key_hash, hash_table, keys, key_begins, key_ends
                )
                keys = max(keys, code + 1)
                follower[last_code] = code
                at = key_end
            if last_clock[code] == clock:
                return odd
            last_clock[code] = clock
            last_code = code
            at = _skip_blanks(text, at + 1, end)
            if at == end or text[at] != _COLON:
                return odd
            digits_begin = _skip_blanks(text, at + 1, end)
            at, count = _find_digits_end_and_number(text, digits_begin, end)
            has_leading_zero = at - digits_begin > 1 and text[digits_begin] == _ZERO
            if at == digits_begin or at - digits_begin > _MOST_DIGITS or has_leading_zero:
                return odd
            codes[entries] = code
            counts[entries] = count
            entries += 1
            at = _skip_blanks(text, at, end)
            is_open = at < end and text[at] == _COMMA
            if is_open:
                at = _skip_blanks(text, at + 1, end)
        if at == end or text[at] != _CLOSE or _skip_blanks(text, at + 1, end) < end:
            return odd
        sizes[clock] = entries - first_entry
    return entries, keys


@compiled
def _skip_blanks(text: Bytes, at: Any, end: Any) -> Any:
    while at < end and (text[at] == _BLANK or text[at] == _TAB):
        at += 1
    return at


@compiled
def _is_null_literal(text: Bytes, begin: Any, end: Any) -> Any:
    if end - begin != 4 or text[begin] != _NULL[0]:
        return False
    return text[begin + 1] == _NULL[1] and text[begin + 2] == _NULL[2] and text[begin + 3] == _NULL[2]


@compiled
def _has_key_at(text: Bytes, at: Any, end: Any, key_begin: Any, key_end: Any) -> Any:
    """Whether this key stands here, with a quote behind it."""
    size = key_end - key_begin
    if at + size >= end or text[at + size] != _QUOTE:
        return False
    place = 0
    while place < size and text[at + place] == text[key_begin + place]:
        place += 1
    return place == size


@compiled
def _find_key_end_and_hash(text: Bytes, at: Any, end: Any) -> Any:
    """Where the quote behind a key stands, and the key's hash; -1 if the key is not plain."""
    key_hash = _HASH_BEGIN
    while at < end and text[at] != _QUOTE:
        if text[at] < _BLANK or text[at] == _BACKSLASH:
            return -1, key_hash
        key_hash = (key_hash ^ np.uint64(text[at])) * _HASH_FACTOR
        at += 1
    return (at if at < end else -1), key_hash


@compiled
def _find_digits_end_and_number(text: Bytes, at: Any, end: Any) -> Any:
    """Where some digits end, and their number, unless they are too many."""
    number: Any = 0
    while at < end:
        digit = np.int64(text[at]) - _ZERO
        if digit < 0 or digit > 9:
            break
        number = number * 10 + digit
        at += 1
    return at, number


@compiled
def _find_or_add_key_code(
    text: Bytes,
    key_begin: Any,
    key_end: Any,
    key_hash: Any,
    hash_table: Ints,
    next_code: Any,
    key_begins: Ints,
    key_ends: Ints,
) -> Any:
    """The code of a key; a key that was not seen before gets the next one, which the caller counts."""
    mask = np.uint64(len(hash_table) - 1)
    # The high bits are mixed better than the low ones.
    slot = (key_hash ^ (key_hash >> np.uint64(32))) & mask
    while hash_table[slot] >= 0:
        code = hash_table[slot]
        is_as_long = key_ends[code] - key_begins[code] == key_end - key_begin
        if is_as_long and _has_key_at(text, key_begin, key_end + 1, key_begins[code], key_ends[code]):
            return code
        slot = (slot + np.uint64(1)) & mask
    hash_table[slot] = next_code
    key_begins[next_code] = key_begin
    key_ends[next_code] = key_end
    return next_code


@compiled
def find_first_blanks(text: Bytes, begins: Ints, ends: Ints) -> Any:
    """The first blank in each part of a text; the part's end if it has none."""
    blanks = ends.copy()
    for part in range(len(begins)):
        for place in range(begins[part], ends[part]):
            if text[place] == _BLANK:
                blanks[part] = place
                break
    return blanks


@compiled
def gather_parts_and_offsets(text: Bytes, begins: Ints, ends: Ints) -> Any:
    """Parts of a text one behind the other, and where each of them begins."""
    offsets = np.zeros(len(begins) + 1, np.int32)
    for part in range(len(begins)):
        offsets[part + 1] = offsets[part] + (ends[part] - begins[part])
    gathered = np.empty(offsets[-1], np.uint8)
    for part in range(len(begins)):
        at = offsets[part]
        for place in range(begins[part], ends[part]):
            gathered[at] = text[place]
            at += 1
    return gathered, offsets
