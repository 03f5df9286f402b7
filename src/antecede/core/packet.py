"""What crosses the network and what comes out of an endpoint.

A packet is an envelope (protocol, group, addresses, number) around a stamp and a payload. The envelope
is the same for all protocols; the stamp is what a protocol adds, so its size is the protocol's cost.
"""

from typing import Literal

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError

VERSION = 1
"""Version of the wire form: the first element of every encoded packet."""

Kind = Literal["message", "extra", "ack", "release", "ping", "pong"]


class Packet(msgspec.Struct, frozen=True, gc=False):
    """One packet from `source` to `target`; `number` counts the packets of that pair from 1."""

    protocol: str
    group: int
    kind: Kind
    source: str
    target: str
    number: wire.Number
    stamp: bytes
    payload: bytes

    @property
    def control_bytes(self) -> int:
        """Exact size on the wire of what the protocol added: the stamp."""
        return len(self.stamp)

    def check_field_types(self) -> None:
        """Raise InputError if a field is not of its type; packets from `decode` always are."""
        has_bytes = type(self.stamp) is type(self.payload) is bytes
        if not (type(self.number) is int and has_bytes):
            raise InputError("a packet's number is a whole number, its stamp and its payload are bytes")
        texts = (self.protocol, self.kind, self.source, self.target)
        has_texts = all(type(text) is str for text in texts)
        if not (0 < self.number <= wire.LARGEST and has_texts):
            raise InputError("a packet's numbers start at 1, and its protocol, kind and names are strings")

    def encode(self) -> bytes:
        """The wire form: a MessagePack array that starts with the version."""
        return wire.encode((VERSION, *msgspec.structs.astuple(self)))


class _Versioned(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    protocol: str
    group: wire.Count
    kind: Kind
    source: str
    target: str
    number: wire.Number
    stamp: bytes
    payload: bytes


_read_versioned = wire.make_decoder(_Versioned, "not a packet of this version of antecede")


def decode(data: bytes) -> Packet:
    """Read the wire form; raises InputError for anything that is not one whole packet."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InputError(f"a packet is decoded from bytes, not from {type(data).__name__}")
    _, *fields = msgspec.structs.astuple(_read_versioned(bytes(data)))
    return Packet(*fields)


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message handed to the application.

    `alarms` names the detectors of `probabilistic` that suspect this message to be late; `event` is the
    index of the delivery among the process's own events where a protocol counts those (`semantic`).
    """

    sender: str
    payload: bytes
    alarms: tuple[str, ...] = ()
    event: int | None = None


class Effects(msgspec.Struct, frozen=True, gc=False):
    """What a call brought about: packets to transmit, and deliveries in order."""

    packets: list[Packet]
    deliveries: list[Delivery]


class Missing(msgspec.Struct, frozen=True):
    """One unmet need: `slot` stands at `have` and must reach `needs`."""

    slot: str
    have: int
    needs: int

    def __str__(self) -> str:
        return f"{self.slot} #{self.needs} (has {self.have})"


class Held(msgspec.Struct, frozen=True):
    """A packet that waits, and everything it waits for; its number is 0 if it was not transmitted yet."""

    sender: str
    number: int
    payload: bytes
    kind: Kind
    missing: tuple[Missing, ...]

    def __str__(self) -> str:
        return f"{self.kind} {self.number} from {self.sender} waits for {', '.join(map(str, self.missing))}"


class Gap(msgspec.Struct, frozen=True):
    """Something that is waited for and is not here, not even held: counts `first` to `last` of `slot`."""

    slot: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.slot} #{self.first}" + (f" to #{self.last}" if self.last > self.first else "")
