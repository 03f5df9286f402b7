"""Vector clocks as logs write them: a JSON object of counts. Entries of 0 say nothing and are dropped."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from antecede.core.wire import Count
from antecede.formats.rows import Clock, Refused, build_maps
from antecede.tables import EVENTS

CLOCK = EVENTS.field("clock").type

_one = msgspec.json.Decoder(dict[str, Count], strict=False)
_many = msgspec.json.Decoder(list[dict[str, Count]], strict=False)


def decode_clocks(texts: Sequence[str], hosts: Sequence[str]) -> tuple[list[int], pa.Array]:
    """Own entries and clocks of some records; -1, and an empty clock, where `decode` would refuse."""
    decoded = _decode_clocks(texts)
    full = [{} if clock is None else clock for clock in decoded] if None in decoded else decoded
    owns = [clock.get(host, -1) for clock, host in zip(full, hosts, strict=True)]  # type: ignore[union-attr]
    array = build_maps(full, CLOCK)
    if 0 in array.items.to_numpy():
        array = build_maps([clock and without_zeros(clock) for clock in full], CLOCK)
    return owns, array


def _decode_clocks(texts: Sequence[str]) -> list[Clock | None]:
    try:
        # A string cannot run on over a line's end, so no text can swallow the next one.
        clocks = _many.decode("[" + ",\n".join(texts) + "]")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        clocks = []
    if len(clocks) == len(texts):
        return list(clocks)
    return [_decode_or_none(text) for text in texts]


def _decode_or_none(text: str) -> Clock | None:
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


def convert_clock(value: Any) -> Clock:
    """A clock that was decoded with its record; a string is decoded once more."""
    if isinstance(value, str):
        return decode_clock(value)
    if isinstance(value, list) and all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in value):
        value = dict(value) if value else {}
    try:
        return msgspec.convert(value, dict[str, Count], strict=False)
    except (msgspec.ValidationError, TypeError) as error:
        raise Refused(f"clock is no object of counts: {error}") from None


def own_entry(clock: Clock, host: str) -> int:
    """The host's own count, which every clock must have."""
    own = clock.get(host)
    if own is None:
        raise Refused(f"process {host!r} is not in its own clock")
    return own


def without_zeros(clock: Clock) -> Clock:
    """The clock without the entries that say nothing."""
    if 0 not in clock.values():
        return clock
    return {host: count for host, count in clock.items() if count}
