"""TCP, with mutual TLS if a certificate is given."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec

from antecede.core.errors import CallerError
from antecede.live.transports import ByteProtocol, Listener, MakeProtocol, split_host_and_port

BACKLOG = 64
"""Connections that the system keeps until they are accepted."""


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """Files for mutual TLS: who this process is, its private key, and the authority of the group.

    The certificate names its process, as its common name or as a DNS name.
    """

    certificate: str | Path
    private_key: str | Path
    authority: str | Path


class TcpListener:
    """A listening socket."""

    def __init__(self, server: asyncio.Server, host: str) -> None:
        self._server = server
        port = server.sockets[0].getsockname()[1]
        self.address = f"tcp://{host}:{port}"

    def close(self) -> None:
        """Accept no more."""
        self._server.close()


class TlsDoor(asyncio.Protocol):
    """A connection that was accepted, while TLS shakes hands.

    asyncio's own servers tell nobody of a connection before TLS is through. So those that never get there
    could be neither counted nor ended.
    """

    def __init__(self, protocol: ByteProtocol, context: ssl.SSLContext) -> None:
        self._protocol = protocol
        self._context = context
        self._early = b""
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        plain = cast(asyncio.Transport, transport)
        self._protocol.connection_made(plain)
        plain.pause_reading()  # until TLS reads: nothing before it may be taken for what comes over it
        self._task = asyncio.get_running_loop().create_task(self._perform_tls_handshake(plain))

    def data_received(self, data: bytes) -> None:
        """What came together with the end of the handshake."""
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        """Lost right behind the handshake."""
        self._protocol.connection_lost(exc)

    async def _perform_tls_handshake(self, transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        secured = None
        try:
            secured = await loop.start_tls(transport, self, self._context, server_side=True)
        except ssl.SSLError as error:
            self._protocol.refuse_failed_tls_handshake(str(error))
        except OSError:
            pass
        if secured is None:  # refused, or lost
            self._protocol.connection_lost(None)
            return
        secured.set_protocol(self._protocol)
        self._protocol.switch_to_tls_transport(secured)
        if self._early:
            self._protocol.data_received(self._early)


class TcpTransport:
    """Connections over TCP."""

    def __init__(self, tls: Certificate | None = None) -> None:
        self._accepting = make_tls_context(tls, ssl.PROTOCOL_TLS_SERVER) if tls else None
        self._dialling = make_tls_context(tls, ssl.PROTOCOL_TLS_CLIENT) if tls else None

    async def listen(self, place: str, make: MakeProtocol) -> Listener:
        """Accept connections at host:port; port 0 lets the system choose."""
        host, port = split_host_and_port(place)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._wrap_in_tls_door(make), host, port, backlog=BACKLOG)
        return TcpListener(server, host)

    def _wrap_in_tls_door(self, make: MakeProtocol) -> Callable[[], asyncio.BaseProtocol]:
        context = self._accepting
        if context is None:
            return make
        return lambda: TlsDoor(make(), context)

    async def dial(self, place: str, make: MakeProtocol) -> None:
        """Connect to host:port."""
        host, port = split_host_and_port(place)
        loop = asyncio.get_running_loop()
        name = "" if self._dialling else None
        await loop.create_connection(make, host, port, ssl=self._dialling, server_hostname=name)


def make_tls_context(tls: Certificate, client_or_server_protocol: int) -> ssl.SSLContext:
    """Both sides show a certificate of the group's authority; names are compared after the handshake."""
    context = ssl.SSLContext(client_or_server_protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(tls.certificate, tls.private_key)
        context.load_verify_locations(tls.authority)
    except (OSError, ssl.SSLError) as error:
        raise CallerError(f"tls: {tls.certificate}, {tls.private_key} or {tls.authority}: {error}") from None
    return context


def list_certified_names(certificate: object) -> list[str]:
    """The names in the certificate that a peer has shown, as `ssl` tells them."""
    if not isinstance(certificate, dict):
        return []
    names = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    for attributes in certificate.get("subject", ()):
        names += [value for kind, value in attributes if kind == "commonName"]
    return names
