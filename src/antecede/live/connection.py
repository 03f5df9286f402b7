"""One connection to one peer: bytes in, records out, after a handshake. Knows asyncio's protocols, no
sockets.

A connection is `greeting` until both sides have shown who they are, then `open`, then `closed`. Whatever does
not belong on it closes it: the owner counts and logs that. Until it is open it may take only small frames,
and only for a short time; so strangers cost little.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, cast

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.live.handshake import (
    LARGEST_HELLO,
    Hello,
    Proof,
    Secrets,
    check_hello,
    read_hello,
    read_proof,
)
from antecede.live.records import LENGTH_BYTES, Sealer
from antecede.live.transports import ByteProtocol

WRITE_BUFFER = 256 * 1024
"""A transport that holds more than this is given nothing more until it has sent most of it."""


TLS_RECORD = b"\x16\x03"
"""How a handshake of TLS begins; a frame of that length is never taken."""
LONGEST_NAME_TOLD = 64
"""Of a name that nobody has proved, in a log."""


class ConnectionOwner(Protocol):
    """What a connection asks of the node that it belongs to."""

    key: bytes | None
    read_buffer: memoryview
    largest_record: int
    handshake_time: float

    def make_hello(self, target: str) -> Hello:
        """What this process says of itself, with a fresh nonce."""

    def check_peer(self, hello: Hello, certificate: Any) -> None:
        """Refuse a peer that may not connect, with InputError."""

    def begin_session(self, connection: "Connection") -> None:
        """The handshake is done."""

    def receive_record(self, connection: "Connection", body: bytes) -> None:
        """A record has arrived; InputError closes the connection."""

    def end_session(self, connection: "Connection", reason: str) -> None:
        """The connection is gone, whether it was ever open or not."""

    def continue_writing(self, connection: "Connection") -> None:
        """What was written has left; more may be written."""

    def report_refusal(self, kind: str, peer: str, reason: str) -> None:
        """Something was refused."""


class Connection(ByteProtocol):
    """`target` is whom it was dialled for; without one, this side listens and learns who it is."""

    def __init__(self, owner: ConnectionOwner, target: str | None = None) -> None:
        self.owner = owner
        self.target = target
        self.peer = target or ""
        self.state = "greeting"
        self.paused = False
        self.heard = 0.0
        self.written = 0.0
        self.incarnation = b""
        self.reason = ""
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._own: Hello | None = None
        self._theirs: Hello | None = None
        self._claimed_name = ""
        self._secrets: Secrets | None = None
        self._incoming = Sealer(None)
        self._outgoing = Sealer(None)
        self._handle_body: Callable[[bytes], None] = self._handle_hello
        self._largest = LARGEST_HELLO
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()

    # -- called by asyncio -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._timer = self._loop.call_later(self.owner.handshake_time, self._close_unfinished_handshake)
        self.heard = self.written = self._loop.time()
        if self.state == "closed":  # the owner was quicker
            self._transport.abort()
        elif self.target is not None:
            self._own = self.owner.make_hello(self.target)
            self._write_frame(wire.encode(self._own))

    def switch_to_tls_transport(self, transport: asyncio.Transport) -> None:
        """The handshake of TLS is done, and that of this protocol begins."""
        self._transport = transport
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER)
        if self.state == "closed":
            self._transport.abort()

    def refuse_failed_tls_handshake(self, reason: str) -> None:
        """The handshake of TLS has failed."""
        self._refuse_and_close("handshake", reason)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport reads to: all connections of a node share one place, as nothing stays there."""
        return self.owner.read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Something was read."""
        self.data_received(bytes(self.owner.read_buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take frames off the connection; a frame may come in pieces, and many at once."""
        if self._rest:
            self._rest += data
            data = bytes(self._rest) if self._has_frame_to_read_or_refuse() else b""
        if not data:
            return
        at = self._handle_whole_frames_and_find_rest(data)
        self._rest = bytearray(data[at:])

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the owner."""
        if self._timer is not None:
            self._timer.cancel()
        gone = "closed by the other side"
        if self.state == "greeting":
            gone += " during the handshake: its log may say why"
        self.state = "closed"
        self.reason = self.reason or str(exc or gone)
        if not self.ended.done():
            self.ended.set_result(None)
        self.owner.end_session(self, self.reason)

    def pause_writing(self) -> None:
        """The transport is full."""
        self.paused = True

    def resume_writing(self) -> None:
        """The transport has room."""
        self.paused = False
        if self.state == "open":
            self.owner.continue_writing(self)

    # -- called by the owner -----------------------------------------------------------------------

    def send_record(self, body: bytes) -> None:
        """Put a record on its way."""
        self._write_frame(body)

    def close(self, reason: str) -> None:
        """Close at once; what was not transmitted goes again on the next connection."""
        if self.state == "closed":
            return
        self.state = "closed"
        self.reason = reason
        if self._transport is not None:
            self._transport.abort()

    def close_after_writing(self, reason: str) -> None:
        """Close when all that was written has left."""
        self.reason = reason
        self.state = "closed"
        if self._transport is not None:
            self._transport.close()

    # -- frames ------------------------------------------------------------------------------------

    def _has_frame_to_read_or_refuse(self) -> bool:
        """Whether the rest may be taken up: it has a whole frame, or a length that is refused."""
        if len(self._rest) < LENGTH_BYTES:
            return False
        size = int.from_bytes(self._rest[:LENGTH_BYTES], "big")
        return size > self._largest or len(self._rest) >= LENGTH_BYTES + size

    def _handle_whole_frames_and_find_rest(self, data: bytes) -> int:
        """Take up the whole frames; returns where the rest begins."""
        at = 0
        end = len(data)
        while self.state != "closed" and end - at >= LENGTH_BYTES:
            begin = at + LENGTH_BYTES
            size = int.from_bytes(data[at:begin], "big")
            if size > self._largest:
                reason = f"a frame of {size} bytes; at most {self._largest} are taken here"
                if data.startswith(TLS_RECORD):
                    reason = "speaks TLS, and this node was started without"
                self._refuse_and_close("size", reason)
                break
            if end - begin < size:
                break
            at = begin + size
            self.heard = self._loop.time()
            try:
                self._handle_body(self._incoming.unseal_frame(data[begin:at]))
            except InputError as error:
                self._refuse_input_and_close(str(error))
        return at

    def _write_frame(self, body: bytes) -> None:
        if self.state == "closed" or self._transport is None:
            return
        self.written = self._loop.time()
        self._transport.write(self._outgoing.make_sealed_frame(body))

    def _refuse_input_and_close(self, reason: str) -> None:
        if self.state == "open":
            self._refuse_and_close("frame", reason)
        else:
            claim = f"{self._claimed_name!r}: " if self._claimed_name and not self.peer else ""
            self._refuse_and_close("handshake", claim + reason)

    def _refuse_and_close(self, kind: str, reason: str) -> None:
        self.owner.report_refusal(kind, self.peer, reason)
        self.close(reason)

    def _close_unfinished_handshake(self) -> None:
        if self.state == "greeting":
            self._refuse_and_close("time", "the handshake was not finished in time")

    # -- the handshake -----------------------------------------------------------------------------

    def _handle_hello(self, body: bytes) -> None:
        hello = read_hello(body)
        self._claimed_name = hello.process[:LONGEST_NAME_TOLD]
        own = self._own or self.owner.make_hello(hello.process)
        check_hello(hello, own)
        if self.target not in (None, hello.process):
            raise InputError(f"{hello.process!r} answers where {self.target!r} was called")
        self._theirs = hello
        if self.target is None:
            self._check_peer_and_answer_hello(hello, own)
            return
        self._secrets = Secrets(self.owner.key, own, hello)
        self._secrets.check_proof(hello.proof, "listener")
        self._check_peer(hello)
        self._write_frame(wire.encode(Proof(self._secrets.make_proof("dialer"))))
        self._open_session("dialer", "listener")

    def _check_peer_and_answer_hello(self, hello: Hello, own_hello: Hello) -> None:
        self._secrets = Secrets(self.owner.key, hello, own_hello)
        self._check_peer(hello)
        answer = msgspec.structs.replace(own_hello, proof=self._secrets.make_proof("listener"))
        self._handle_body = self._handle_proof
        self._write_frame(wire.encode(answer))

    def _handle_proof(self, body: bytes) -> None:
        if self._secrets is None or self._theirs is None:
            raise InputError("a proof before a greeting")
        self._secrets.check_proof(read_proof(body).proof, "dialer")
        self._check_peer(self._theirs)  # another may have come meanwhile
        self._open_session("listener", "dialer")

    def _check_peer(self, hello: Hello) -> None:
        certificate = self._transport.get_extra_info("peercert") if self._transport else None
        self.owner.check_peer(hello, certificate)

    def _open_session(self, own_role: str, other_role: str) -> None:
        if self._secrets is None or self._theirs is None:
            raise InputError("a proof before a greeting")
        self.peer = self._theirs.process
        self.incarnation = self._theirs.incarnation
        self._outgoing = Sealer(self._secrets.derive_hash(f"frames of the {own_role}"))
        self._incoming = Sealer(self._secrets.derive_hash(f"frames of the {other_role}"))
        self._largest = self.owner.largest_record + self._incoming.seal_bytes
        self._handle_body = self._pass_record_to_owner
        self.state = "open"
        if self._timer is not None:
            self._timer.cancel()
        self.owner.begin_session(self)

    def _pass_record_to_owner(self, body: bytes) -> None:
        self.owner.receive_record(self, body)
