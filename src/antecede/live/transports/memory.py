"""Connections within one program: for tests, and for processes that live together.

Bytes arrive in the next turn of the event loop, in order; nobody ever has to pause, as credit bounds what is
under way.
"""

import asyncio
from typing import Any

from antecede.core.errors import CallerError
from antecede.live.transports import ByteProtocol, Listener, MakeProtocol


class MemoryEnd(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, protocol: ByteProtocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.other: MemoryEnd | None = None
        self.loop = asyncio.get_running_loop()
        self.closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Let bytes arrive at the other end."""
        if not self.closing and self.other is not None:
            self.loop.call_soon(self.other.receive_bytes, bytes(data))

    def receive_bytes(self, data: bytes) -> None:
        """Bytes of the other end."""
        if not self.closing:
            self.protocol.data_received(data)

    def close(self) -> None:
        """Close behind what was written."""
        self.abort()

    def abort(self) -> None:
        """Close both ends."""
        if self.closing:
            return
        self.closing = True
        self.loop.call_soon(self.protocol.connection_lost, None)
        if self.other is not None:
            self.loop.call_soon(self.other.abort)

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is buffered: what is written is with the other end in the next turn."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Nothing is known."""
        return default


class MemoryListener:
    """A name at which connections are accepted."""

    def __init__(self, network: "MemoryTransport", place: str) -> None:
        self._network = network
        self._place = place
        self.address = f"memory://{place}"

    def close(self) -> None:
        """Accept no more."""
        self._network.places.pop(self._place, None)


class MemoryTransport:
    """The places of one program."""

    def __init__(self) -> None:
        self.places: dict[str, MakeProtocol] = {}

    async def listen(self, place: str, make: MakeProtocol) -> Listener:
        """Accept connections under a name."""
        if place in self.places:
            raise CallerError(f"memory://{place} is taken")
        self.places[place] = make
        return MemoryListener(self, place)

    async def dial(self, place: str, make: MakeProtocol) -> None:
        """Connect to a name."""
        if place not in self.places:
            raise ConnectionRefusedError(f"nobody listens at memory://{place}")
        self.connect_ends(MemoryEnd(make()), MemoryEnd(self.places[place]()))

    def connect_ends(self, near: MemoryEnd, far: MemoryEnd) -> None:
        """Make two ends a connection."""
        near.other, far.other = far, near
        far.protocol.connection_made(far)
        near.protocol.connection_made(near)


PROGRAM = MemoryTransport()
"""The places of this program, unless other ones are given."""
