"""Vector clocks as logs write them: a JSON object of counts. Entries of 0 say nothing and are dropped."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.wire import Count
from antecede.formats.maps import flatten_maps_into_rows_keys_items
from antecede.formats.rows import Clock, Refused, build_map_column
from antecede.kernels.clock_texts import ABSENT, scan_clocks
from antecede.kernels.ragged import Ints
from antecede.tables import EVENTS

CLOCK = EVENTS.field("clock").type
NO_ENTRY = -1
"""In the place of an own entry that a clock does not have."""

_one = msgspec.json.Decoder(dict[str, Count], strict=False)
_many = msgspec.json.Decoder(list[dict[str, Count]], strict=False)


class ClocksAndOwnEntries(NamedTuple):
    """Some clocks without entries of 0, and the entries of their own processes."""

    clocks: pa.MapArray
    own_entries: Ints
    """NO_ENTRY where a clock has none for its process."""


def decode_clocks_or_empty(texts: pa.Array, processes: pa.Array) -> ClocksAndOwnEntries:
    """The clocks of some records; an empty one, without an own entry, where `decode_clock` would refuse."""
    plain = read_plain_clocks(texts, processes)
    if plain is not None:
        return plain
    decoded = _decode_clocks(texts.to_pylist())
    return build_clocks_and_own_entries([{} if clock is None else clock for clock in decoded], processes)


def read_plain_clocks(texts: pa.Array, processes: pa.Array) -> ClocksAndOwnEntries | None:
    """The clocks of records that all have plain ones, or say `null`; None if one is not plain."""
    _, offsets_buffer, text_buffer = texts.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    text = np.frombuffer(text_buffer or b"", np.uint8)
    scanned = scan_clocks(text, offsets)
    if scanned is None:
        return None
    spans = zip(scanned.key_begins.tolist(), scanned.key_ends.tolist(), strict=True)
    try:
        keys = pa.array([text[begin:end].tobytes().decode() for begin, end in spans], pa.string())
    except UnicodeDecodeError:
        return None
    is_absent = scanned.sizes == ABSENT
    sizes = np.where(is_absent, 0, scanned.sizes)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    codes, counts = scanned.codes, scanned.counts
    own_codes = pc.fill_null(pc.index_in(processes, keys), -1).to_numpy()
    is_own = codes == own_codes[rows]
    own_entries = np.full(len(sizes), NO_ENTRY, np.int64)
    own_entries[rows[is_own]] = counts[is_own]
    is_counted = counts > 0
    if not is_counted.all():
        codes, counts = codes[is_counted], counts[is_counted]
        sizes = np.bincount(rows[is_counted], minlength=len(sizes))
    offsets_of_maps = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(sizes, out=offsets_of_maps[1:])
    mask = np.append(is_absent, False) if is_absent.any() else None
    ends = pa.array(offsets_of_maps, mask=mask)
    clocks = pa.MapArray.from_arrays(ends, keys.take(pa.array(codes)), pa.array(counts))
    return ClocksAndOwnEntries(clocks, own_entries)


def build_clocks_and_own_entries(clocks: Sequence[Clock | None], processes: pa.Array) -> ClocksAndOwnEntries:
    """The clocks of records that were decoded one by one."""
    column = build_map_column(clocks, CLOCK)
    own_entries = pc.fill_null(find_clock_entries(column, processes), NO_ENTRY).to_numpy()
    if 0 in column.items.to_numpy():
        column = build_map_column([clock and drop_zero_entries(clock) for clock in clocks], CLOCK)
    return ClocksAndOwnEntries(column, own_entries)


def missing_entries_to_null(own_entries: Ints) -> pa.Array:
    """Own entries, null where a clock has none."""
    return pa.array(own_entries, mask=own_entries == NO_ENTRY)


def find_clock_entries(clocks: pa.MapArray, processes: pa.Array) -> pa.Array:
    """The entry of each clock for a process; null if it has none."""
    rows, keys, items = flatten_maps_into_rows_keys_items(clocks)
    is_own = pc.fill_null(pc.equal(keys, processes.take(pa.array(rows))), False)
    is_own = is_own.to_numpy(zero_copy_only=False)
    entry_of_row = np.full(len(clocks), -1, np.int64)
    entry_of_row[rows[is_own]] = np.flatnonzero(is_own)
    return items.take(pa.array(entry_of_row, mask=entry_of_row < 0))


def _decode_clocks(texts: Sequence[str]) -> list[Clock | None]:
    try:
        # A string cannot run on over a line's end, so no text can swallow the next one.
        clocks = _many.decode("[" + ",\n".join(texts) + "]")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        clocks = []
    if len(clocks) == len(texts):
        return list(clocks)
    return [_decode_clock_or_none(text) for text in texts]


def _decode_clock_or_none(text: str) -> Clock | None:
    try:
        return decode_clock(text)
    except Refused:
        return None


def decode_clock(text: str) -> Clock:
    """One clock; quotes may be escaped, as TLA+ writes them inside a string."""
    try:
        return _one.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        first = str(error)
    try:
        return _one.decode(text.replace('\\"', '"'))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise Refused(f"clock is no object of counts: {first}") from None


def parse_clock_value(value: Any) -> Clock:
    """A clock that was decoded with its record; a string is decoded once more."""
    if isinstance(value, str):
        return decode_clock(value)
    if isinstance(value, list) and all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in value):
        value = dict(value) if value else {}
    try:
        return msgspec.convert(value, dict[str, Count], strict=False)
    except (msgspec.ValidationError, TypeError) as error:
        raise Refused(f"clock is no object of counts: {error}") from None


def require_own_entry(clock: Clock, host: str) -> int:
    """The host's own count, which every clock must have."""
    own = clock.get(host)
    if own is None:
        raise Refused(f"process {host!r} is not in its own clock")
    return own


def drop_zero_entries(clock: Clock) -> Clock:
    """The clock without the entries that say nothing."""
    if 0 not in clock.values():
        return clock
    return {host: count for host, count in clock.items() if count}
