"""A network in this program, with faults: delays, broken and dead connections, partitions, copies, swaps.

What a connection does is what TCP may do, and worse: a write may also arrive twice, or behind the next one.
All draws come from one source, and `counts` says which faults have really happened.
"""

import asyncio
from collections import Counter
from random import Random

from antecede.live.transports import ByteProtocol, Listener, MakeProtocol
from antecede.live.transports.memory import MemoryEnd, MemoryListener, MemoryTransport

DELAYS = [0.002, 0.02, 0.3]
"""Mean delays: each connection has one of them, in each direction, so that some ways round are shorter."""


class FaultyNetwork(MemoryTransport):
    """`trouble` is between 0 (only delays) and 1; `cut` has the pairs that cannot reach each other."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.trouble = 1.0
        self.cut: set[tuple[str, str]] = set()
        self.counts: Counter[str] = Counter()
        self.ends: dict[FaultyEnd, None] = {}

    def port(self, name: str) -> "FaultyPort":
        """The network as one process sees it."""
        return FaultyPort(self, name)

    def is_cut(self, one: str, other: str) -> bool:
        return (one, other) in self.cut or (other, one) in self.cut

    def happens(self, what: str, chance: float) -> bool:
        """Whether a fault happens now."""
        if self.random.random() >= chance * self.trouble:
            return False
        self.counts[what] += 1
        return True

    def part(self, names: list[str]) -> None:
        """Cut the group in two; connections between the parts stall, or are dead from now on."""
        self.counts["partition"] += 1
        side = set(self.random.sample(names, self.random.randrange(1, len(names))))
        others = [name for name in names if name not in side]
        self.cut |= {(one, other) for one in sorted(side) for other in others}
        for end in list(self.ends):
            if self.is_cut(end.name, end.other_name) and self.random.random() < 0.5:
                end.kill()

    def heal(self) -> None:
        """Everybody can reach everybody; what stalled goes on."""
        self.cut.clear()
        for end in list(self.ends):
            end.resume()

    def silence(self, name: str) -> None:
        """A machine is gone: nobody is told."""
        for end in list(self.ends):
            if end.name == name:
                end.kill()


class FaultyPort:
    """The transport of one process."""

    def __init__(self, network: FaultyNetwork, name: str) -> None:
        self.network, self.name = network, name

    async def listen(self, place: str, make: MakeProtocol) -> Listener:
        self.network.places[place] = make
        return MemoryListener(self.network, place)

    async def dial(self, place: str, make: MakeProtocol) -> None:
        network = self.network
        await asyncio.sleep(network.random.expovariate(1 / DELAYS[0]))
        if network.is_cut(self.name, place):
            network.counts["dialled in vain"] += 1
            await asyncio.sleep(network.random.choice([0.1, 60.0]))
            raise ConnectionRefusedError
        if place not in network.places:
            raise ConnectionRefusedError
        near = FaultyEnd(network, make(), self.name, place)
        far = FaultyEnd(network, network.places[place](), place, self.name)
        network.connect_ends(near, far)


class FaultyEnd(MemoryEnd):
    """One end of a connection between two processes."""

    def __init__(self, network: FaultyNetwork, protocol: ByteProtocol, name: str, other_name: str) -> None:
        super().__init__(protocol)
        self.network, self.name, self.other_name = network, name, other_name
        self.dead = False
        self.delay = network.random.choice(DELAYS)
        self.last = 0.0
        self.stalled: list[bytes] = []
        network.ends[self] = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.closing or self.dead:
            return
        if self.network.is_cut(self.name, self.other_name):
            self.stalled.append(bytes(data))
            return
        self._transmit(bytes(data))

    def _transmit(self, data: bytes) -> None:
        network = self.network
        if network.happens("broken connection", 0.004):
            self.loop.call_later(network.random.expovariate(1 / self.delay), self.abort)
            return
        if network.happens("dead connection", 0.002):
            self.kill()
            return
        behind = network.happens("swapped", 0.002)
        for piece in self._split(data):
            self._schedule(piece, behind)
        if network.happens("repeated", 0.003):
            self._schedule(data, False)

    def _split(self, data: bytes) -> list[bytes]:
        if not self.network.happens("in pieces", 0.05):
            return [data]
        at = self.network.random.randrange(len(data) + 1)
        return [data[:at], data[at:]]

    def _schedule(self, data: bytes, behind: bool) -> None:
        network = self.network
        arrival = self.loop.time() + network.random.expovariate(1 / self.delay)
        if behind:
            arrival += 5 * self.delay
        else:
            self.last = arrival = max(arrival, self.last + 1e-6)  # asyncio does not keep the order of ties
        if isinstance(self.other, FaultyEnd):
            self.loop.call_at(arrival, self.other.receive_bytes, data)

    def receive_bytes(self, data: bytes) -> None:
        if data and not self.dead:
            super().receive_bytes(data)

    def abort(self) -> None:
        """The other end hears of it later, unless the connection is dead."""
        if self.closing:
            return
        self.closing = True
        self.network.ends.pop(self, None)
        self.loop.call_soon(self.protocol.connection_lost, None)
        if isinstance(self.other, FaultyEnd) and not self.dead:
            arrival = max(self.last, self.loop.time()) + self.network.random.expovariate(1 / self.delay)
            self.loop.call_at(arrival, self.other.abort)

    def kill(self) -> None:
        """Nothing goes through any more, in either direction, and nobody is told."""
        self.dead = True
        if isinstance(self.other, FaultyEnd):
            self.other.dead = True

    def resume(self) -> None:
        stalled, self.stalled = self.stalled, []
        for data in stalled:
            self.write(data)
