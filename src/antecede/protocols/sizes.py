"""How many numbers a stamp holds: the size that the papers compare, beside the bytes on the wire."""

from functools import lru_cache

import msgspec

from antecede.core.packet import Packet
from antecede.protocols.counts import entries_of

_PACKED = ("matrix", "semantic")
"""Protocols whose stamps hold packed arrays."""
_optimal = msgspec.msgpack.Decoder(tuple[int, list[int], list[int], dict[int, int]]).decode
_matrix = msgspec.msgpack.Decoder(tuple[list[int], bytes]).decode
"""Two stamps of which the size is known without looking at each number."""
_WITH_BYTES = (*_PACKED, "history")
"""Protocols whose stamps hold byte strings: packed arrays, or the payloads of other messages."""

_decode = msgspec.msgpack.Decoder().decode
_as_json = msgspec.json.Encoder().encode
_ONLY_DIGITS = bytes(byte if 48 <= byte <= 57 else ord(" ") for byte in range(256))


def count_entries(packet: Packet) -> int:
    """The numbers in the stamp of a packet that an endpoint made; 0 for an empty stamp."""
    if not packet.stamp:
        return 0
    if packet.protocol == "optimal":
        _, dests, newest, waiting = _optimal(packet.stamp)
        return 1 + len(dests) + len(newest) + 2 * len(waiting)
    if packet.protocol == "matrix":
        dests, sent = _matrix(packet.stamp)
        return len(dests) + entries_of(sent)
    if packet.protocol in _WITH_BYTES:
        return _numbers(_decode(packet.stamp), packet.protocol in _PACKED)
    return _count(packet.stamp)


@lru_cache(maxsize=1)
def _count(stamp: bytes) -> int:
    """The runs of digits in the stamp's JSON form; copies of one message carry the same stamp."""
    value = _decode(stamp)
    return 1 if value is True else len(_as_json(value).translate(_ONLY_DIGITS).split())


def _numbers(value: object, packed: bool) -> int:
    if isinstance(value, int):
        return 1
    if isinstance(value, bytes):
        return entries_of(value) if packed else 0
    if isinstance(value, list):
        return sum(_numbers(one, packed) for one in value)
    return 0
