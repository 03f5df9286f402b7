"""Letters: one packet as a record of Kafka. The value is what the application sent; the rest is in headers.

    antecede          version of this format: 1
    group, protocol   as the nodes were started; tag: the fingerprint of members and options
    from, to          names of processes
    life, to-life     the incarnations of sender and receiver, as the sender knows them; hexadecimal
    kind              message, extra, ack, release, ping, pong; or hello, which carries no packet
    number            which packet of this pair it is, from 1 on; not in a hello
    message           for a message: its number at its sender, so that FROM#MESSAGE is its name
    stamp             the protocol's control information, as bytes
    seal              with a key of the group: a keyed hash over all of the above and the value

A seal needs no counter of its own. A letter belongs to one life of its sender and one of its receiver, and
its number to one place in between; so a letter that is repeated, moved or left out is found by its number.
A hello counts only if it names the receiver's life, which nobody can know before that life has begun.
"""

from collections.abc import Iterable
from hashlib import blake2b
from hmac import compare_digest

import msgspec

from antecede.core import wire
from antecede.core.channel import CODES, KINDS, Parcel
from antecede.core.errors import InputError
from antecede.core.station import NAME_BYTES
from antecede.live.handshake import NONCE_BYTES

VERSION = b"1"
HELLO = "hello"
SEAL_BYTES = 16
MOST_DIGITS = 18

Headers = list[tuple[str, bytes]]


class WriterIdentity(msgspec.Struct, frozen=True):
    """Who writes: what is the same in all letters of a process."""

    group: str
    protocol: str
    tag: int
    process: str
    life: bytes


class InboxLetter(msgspec.Struct, frozen=True):
    """What a record says. A hello has no parcel, and the number 0."""

    life: bytes
    to_life: bytes
    number: int = 0
    parcel: Parcel | None = None


class LetterForm:
    """Writes the letters of one process, and reads those to it."""

    def __init__(self, own: WriterIdentity, key: bytes | None) -> None:
        self.own = own
        self._key = None if key is None else blake2b(b"letters", key=key, digest_size=32).digest()

    # -- writing -----------------------------------------------------------------------------------

    def build_hello(self, receiver: str, receiver_incarnation: bytes) -> tuple[bytes, Headers]:
        """Value and headers of a hello."""
        headers = [*self.build_common_headers(receiver, receiver_incarnation), ("kind", HELLO.encode())]
        return b"", self._append_seal_header_if_keyed(headers, b"")

    def build_common_headers(self, receiver: str, receiver_incarnation: bytes) -> Headers:
        """The headers that all letters to one life of a peer have."""
        own = self.own
        return [
            ("antecede", VERSION),
            ("group", own.group.encode()),
            ("protocol", own.protocol.encode()),
            ("tag", str(own.tag).encode()),
            ("from", own.process.encode()),
            ("to", receiver.encode()),
            ("life", own.life.hex().encode()),
            ("to-life", receiver_incarnation.hex().encode()),
        ]

    def build_packet_letter(
        self, common_headers: Headers, number: int, parcel: Parcel
    ) -> tuple[bytes, Headers]:
        """Value and headers of a packet."""
        code, stamp, payload = parcel
        headers = [*common_headers, ("kind", KINDS[code].encode()), ("number", str(number).encode())]
        if code == 0:
            message = int.from_bytes(payload[:NAME_BYTES], "big")
            headers.append(("message", str(message).encode()))
            payload = payload[NAME_BYTES:]
        headers.append(("stamp", stamp))
        return payload, self._append_seal_header_if_keyed(headers, payload)

    def _append_seal_header_if_keyed(self, headers: Headers, value: bytes) -> Headers:
        if self._key is not None:
            headers.append(("seal", self._compute_seal(headers, value)))
        return headers

    def _compute_seal(self, headers: Iterable[tuple[str, bytes]], value: bytes) -> bytes:
        content = wire.encode([list(headers), value])
        return blake2b(content, key=self._key or b"", digest_size=SEAL_BYTES).digest()

    # -- reading -----------------------------------------------------------------------------------

    def parse_letter(
        self, sender: str, headers: Iterable[tuple[str, bytes]], value: bytes | None
    ) -> InboxLetter:
        """What a record in the partition of a member says; InputError if it is not a letter of that member.

        Headers that others have added are passed over.
        """
        found = _LetterHeaders(headers)
        if value is None:
            raise InputError("a record without a value")
        self._check_headers(sender, found)
        self._check_seal(found, value)
        life = found.get_incarnation("life")
        to_life = found.get_incarnation("to-life", (0, NONCE_BYTES))
        kind = found.get_text("kind")
        if kind == HELLO:
            return InboxLetter(life, to_life)
        code = CODES.get(kind)
        if code is None:
            raise InputError(f"a letter of the unknown kind {kind!r}")
        if code == 0:
            value = found.get_number("message").to_bytes(NAME_BYTES, "big") + value
        number = found.get_number("number")
        if not number:
            raise InputError("packet 0: packets are numbered from 1")
        return InboxLetter(life, to_life, number, (code, found.get_required("stamp"), value))

    def _check_headers(self, sender: str, found: "_LetterHeaders") -> None:
        own = self.own
        expected = {
            "antecede": VERSION.decode(),
            "group": own.group,
            "protocol": own.protocol,
            "from": sender,
            "to": own.process,
        }
        for name, ours in expected.items():
            theirs = found.get_text(name)
            if theirs != ours:
                raise InputError(f"{name} {theirs!r}; here it is {ours!r}")
        if found.get_number("tag") != own.tag:
            raise InputError("has other members or other options; all must be started with the same")

    def _check_seal(self, found: "_LetterHeaders", value: bytes) -> None:
        seal = found.values.get("seal")
        if self._key is None:
            if seal is not None:
                raise InputError("is sealed with a key, and none is used here")
            return
        if seal is None or not compare_digest(seal, self._compute_seal(found.list_sealed_headers(), value)):
            raise InputError("the seal of a letter is wrong: altered, or another key")


_SEALED = (
    "antecede", "group", "protocol", "tag", "from", "to", "life", "to-life", "kind", "number", "message",
    "stamp",
)  # fmt: skip
"""In the order in which they are written and sealed."""


class _LetterHeaders:
    """The headers of a record by name."""

    def __init__(self, headers: Iterable[tuple[str, bytes]]) -> None:
        self.values: dict[str, bytes] = {}
        for name, content in headers:
            if name in self.values:
                raise InputError(f"the header {name!r} is there twice")
            self.values[name] = content

    def list_sealed_headers(self) -> Headers:
        return [(name, self.values[name]) for name in _SEALED if name in self.values]

    def get_required(self, name: str) -> bytes:
        content = self.values.get(name)
        if content is None:
            raise InputError(f"not a letter: it has no header {name!r}")
        return content

    def get_text(self, name: str) -> str:
        try:
            return self.get_required(name).decode()
        except UnicodeDecodeError:
            raise InputError(f"the header {name!r} is not text") from None

    def get_number(self, name: str) -> int:
        text = self.get_text(name)
        if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
            raise InputError(f"the header {name!r} is not a number")
        return int(text)

    def get_incarnation(self, name: str, allowed_lengths: tuple[int, ...] = (NONCE_BYTES,)) -> bytes:
        try:
            life = bytes.fromhex(self.get_text(name))
        except ValueError:
            raise InputError(f"the header {name!r} is not hexadecimal") from None
        if len(life) not in allowed_lengths:
            raise InputError(f"the header {name!r} has {len(life)} bytes")
        return life
