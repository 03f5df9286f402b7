"""How many numbers a stamp holds: the size that the papers compare, beside the bytes on the wire."""

from functools import lru_cache

import msgspec

from antecede.core.packet import Packet
from antecede.protocols.counts import entries_of

_PACKED = ("matrix", "semantic", "pairs")
"""Protocols whose stamps hold packed arrays; byte strings in other stamps are payloads."""

_decoder = msgspec.msgpack.Decoder()


def count_entries(packet: Packet) -> int:
    """The numbers in the stamp of a packet that an endpoint made; 0 for an empty stamp."""
    return _count(packet.stamp, packet.protocol in _PACKED) if packet.stamp else 0


@lru_cache(maxsize=1)
def _count(stamp: bytes, packed: bool) -> int:
    """Copies of one message carry the same stamp."""
    return _numbers(_decoder.decode(stamp), packed)


def _numbers(value: object, packed: bool) -> int:
    if isinstance(value, int):
        return 1
    if isinstance(value, bytes):
        return entries_of(value) if packed else 0
    if isinstance(value, dict):
        return len(value) + sum(_numbers(one, packed) for one in value.values())
    if isinstance(value, list):
        return sum(_numbers(one, packed) for one in value)
    return 0
