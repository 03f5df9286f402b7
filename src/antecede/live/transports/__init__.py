"""Transports: how connections come about. An address names its transport: `tcp://host:port`, `memory://name`.
(Over `kafka://host:port` there are no connections between processes: see live/kafka.)

A transport makes asyncio's protocols meet: bytes that one side writes arrive at the other, in order, until
the connection breaks. Who is at the other end, and what the bytes mean, is not its business.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from antecede.core.errors import CallerError


class ByteProtocol(asyncio.BufferedProtocol):
    """What transports serve: a socket reads into a buffer, others hand bytes over."""

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        raise NotImplementedError

    def switch_to_tls_transport(self, transport: asyncio.Transport) -> None:
        """The handshake of TLS is done: this transport replaces the plain one, over which it runs."""
        raise NotImplementedError

    def refuse_failed_tls_handshake(self, reason: str) -> None:
        """The handshake of TLS has failed."""
        raise NotImplementedError


MakeProtocol = Callable[[], ByteProtocol]


class Listener(Protocol):
    """Something that accepts connections until it is closed."""

    address: str
    """Where it can be reached: with the port that the system chose, if it was to choose one."""

    def close(self) -> None:
        """Accept no more; connections that are open stay open."""


class Transport(Protocol):
    """A way for connections to come about."""

    async def listen(self, place: str, make: MakeProtocol) -> Listener:
        """Accept connections at a place: an address without its scheme."""

    async def dial(self, place: str, make: MakeProtocol) -> None:
        """Connect to a place; raises OSError if nobody is there."""


def split_address(address: object) -> tuple[str, str]:
    """The scheme of an address and its place."""
    scheme, sign, place = address.partition("://") if isinstance(address, str) else ("", "", "")
    if not (sign and place):
        raise CallerError(
            f"{address!r} is no address: write tcp://host:port, kafka://host:port or memory://name"
        )
    return scheme, place


def check_address(address: str, transports: Mapping[str, Transport]) -> None:
    """Refuse an address that nobody can dial."""
    scheme, place = split_address(address)
    if scheme not in transports:
        known = ", ".join(sorted([*transports, "kafka"]))
        raise CallerError(f"{address}: no transport {scheme!r}; there are {known}")
    if scheme == "tcp":
        split_host_and_port(place)


def split_host_and_port(host_and_port: str) -> tuple[str, int]:
    """What `host:port` says."""
    host, _, port = host_and_port.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 2**16):
        raise CallerError(f"tcp://{host_and_port}: write tcp://host:port")
    return host.strip("[]"), int(port)
