"""The handshake: two processes make sure that they belong together before any packet crosses a connection.

    dialer                                   listener
    Hello (who, to whom, which group, nonce) ->
                                          <- Hello of its own, and with a key its proof
    Proof                                 ->

A proof is a keyed hash over both hellos, with the role of who proves; each side has drawn a nonce, so a
recorded handshake is of no use later. The keys of the two directions come from the same two hellos. That is
authenticity without secrecy: whoever listens can read along, and nobody without the key can say anything.
Without a key (and without TLS) names are taken on trust.

`incarnation` is drawn when a process begins without memory, and kept in its journal: a process that comes
back under its name without what it knew is refused, because its peers count on that.
"""

from hashlib import blake2b
from hmac import compare_digest
from typing import Annotated, Literal

import msgspec

from antecede.core import wire
from antecede.core.errors import CallerError, InputError

VERSION = 1
NONCE_BYTES = 16
LARGEST_HELLO = 4096

_Nonce = Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]


class Hello(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Who speaks to whom. `tag` is the fingerprint of the group's members and options."""

    magic: Literal["antecede"]
    version: int
    group: str
    protocol: str
    tag: wire.Count
    process: str
    target: str
    incarnation: _Nonce
    nonce: _Nonce
    proof: bytes = b""


class Proof(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a dialer answers."""

    proof: bytes


read_hello = wire.make_decoder(Hello, "not a greeting of antecede")
read_proof = wire.make_decoder(Proof, "not a proof")


def check_hello(hello: Hello, own_hello: Hello) -> None:
    """Refuse whoever does not belong to this process's group, or speaks another version."""
    for what in ("version", "group", "protocol"):
        theirs, ours = getattr(hello, what), getattr(own_hello, what)
        if theirs != ours:
            raise InputError(f"{what} {theirs!r}; here it is {ours!r}")
    if hello.target != own_hello.process:
        raise InputError(f"looks for {hello.target!r}; this is {own_hello.process!r}")
    if hello.tag != own_hello.tag:
        raise InputError("has other members or other options; all must be started with the same")


class Secrets:
    """What the key of a group and two hellos give; all empty without a key."""

    def __init__(self, key: bytes | None, dialer: Hello, listener: Hello) -> None:
        bare = msgspec.structs.replace(listener, proof=b"")
        self.key = key
        self.hellos = wire.encode([dialer, bare])

    def derive_hash(self, purpose: str) -> bytes:
        """A hash of both hellos for one purpose."""
        if not self.key:
            return b""
        return blake2b(purpose.encode() + b"\0" + self.hellos, key=self.key, digest_size=32).digest()

    def check_proof(self, proof: bytes, role: str) -> None:
        """Refuse whoever does not have the key."""
        if not compare_digest(proof, self.derive_hash(f"proof of the {role}")):
            raise InputError("does not have the key of this group, or has one where none is used")

    def make_proof(self, role: str) -> bytes:
        """What shows that this side has the key."""
        return self.derive_hash(f"proof of the {role}")


def check_and_hash_key(key: bytes | None) -> bytes | None:
    """A key as blake2b takes it; longer ones are hashed."""
    if key is None:
        return None
    if not isinstance(key, bytes) or len(key) < 16:
        raise CallerError(
            "a key of a group is at least 16 bytes that nobody can guess: secrets.token_bytes(32)"
        )
    return blake2b(key, digest_size=32).digest()
