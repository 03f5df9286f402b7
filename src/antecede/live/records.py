"""Records: what goes over a connection once it is open, and what a journal keeps of it.

A record is one MessagePack array: up to which packet everything from the other side is safe here (`low`), up
to which number the other side may send (`allowed`), the number of the first packet in the record, and the
parcels. One record carries as many packets as there are; its envelope is that of the connection.

On the connection a record is a *frame*: a length of four bytes, the record, and a seal over a counter and the
record. The counter is not sent; it makes a frame that is repeated, left out or moved a wrong one. With a key
the seal is a keyed hash of sixteen bytes, else a checksum of four, which finds accidents and no malice.
"""

import zlib
from hashlib import blake2b
from hmac import compare_digest
from typing import Annotated

import msgspec

from antecede.core import wire
from antecede.core.channel import KINDS, Parcel
from antecede.core.errors import InputError

LENGTH_BYTES = 4
HASH_BYTES = 16
CHECKSUM_BYTES = 4

_Code = Annotated[int, msgspec.Meta(ge=0, lt=len(KINDS))]


class PacketRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """As the module says; without parcels, `first` is the number of the next packet."""

    low: wire.Count
    allowed: wire.Count
    first: wire.Number
    parcels: list[tuple[_Code, bytes, bytes]]


read_record = wire.make_decoder(PacketRecord, "not a record")


def encode_record(received_up_to: int, allowed_up_to: int, first_number: int, parcels: list[Parcel]) -> bytes:
    """A record as bytes."""
    return wire.encode((received_up_to, allowed_up_to, first_number, parcels))


class Sealer:
    """Puts frames on a connection, or takes them off: one direction, from the first frame to the last."""

    def __init__(self, key: bytes | None) -> None:
        self.key = key
        self.counter = 0
        self.seal_bytes = HASH_BYTES if key else CHECKSUM_BYTES

    def make_sealed_frame(self, body: bytes) -> bytes:
        """The frame of a record."""
        size = len(body) + self.seal_bytes
        return size.to_bytes(LENGTH_BYTES, "big") + body + self._compute_next_seal(body)

    def unseal_frame(self, content: bytes) -> bytes:
        """The record in a frame; raises InputError if it is not the one that is due."""
        at = max(len(content) - self.seal_bytes, 0)
        body, seal = content[:at], content[at:]
        if not compare_digest(seal, self._compute_next_seal(body)):
            raise InputError("the seal of a frame is wrong: altered, repeated, left out, or another key")
        return body

    def _compute_next_seal(self, body: bytes) -> bytes:
        self.counter += 1
        if not self.key:
            start = self.counter & 0xFFFFFFFF
            return zlib.crc32(body, start).to_bytes(CHECKSUM_BYTES, "big")
        digest = blake2b(self.counter.to_bytes(8, "big"), key=self.key, digest_size=HASH_BYTES)
        digest.update(body)
        return digest.digest()
