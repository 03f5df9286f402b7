"""A proxy between nodes that does to TCP connections what networks, and worse things, do to them.

    python -m tests.live.proxy FOLDER SEED

It listens at the addresses of FOLDER/plan.json's `routes` and passes on to its `addresses`. Every connection
has a delay of its own in each direction, so that messages over different connections overtake each other, and
sooner or later a fate. FOLDER/proxy.json counts what has happened; while FOLDER/quiet is there nothing does.
"""

import asyncio
import contextlib
import json
import sys
from collections import Counter, deque
from pathlib import Path
from random import Random

DELAYS = [0.0, 0.01, 0.2]
"""Mean delays, in seconds."""
MEAN_BYTES = 15_000
"""How much a connection carries, on average, until its fate comes."""
FATES = ["cut", "closed", "stalled", "stalled both ways", "altered", "doubled", "replayed", "refused"]
MOST_WAITING = 64
"""Pieces on their way; a proxy that took more would hide who is slow."""
MOST_REPLAYED = 256 * 1024


class Proxy:
    """All connections of a group; `random` draws their fates, `counts` has those that came."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, Random(seed)
        self.counts: Counter[str] = Counter()
        self.plan = json.loads((folder / "plan.json").read_text())
        self.is_quiet = False
        self.fates = list_fates(self.plan["key"])
        self.deck: list[str] = []

    async def run(self) -> None:
        for dialer, routes in self.plan["routes"].items():
            for listener, address in routes.items():
                if dialer < listener:
                    await self._listen(address, self.plan["addresses"][listener])
        while True:
            self.is_quiet = (self.folder / "quiet").exists()
            temporary = self.folder / "proxy.part"
            temporary.write_text(json.dumps(self.counts))
            temporary.rename(self.folder / "proxy.json")
            await asyncio.sleep(0.05)

    async def _listen(self, address: str, target: str) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = ProxiedConnection(self, split(target))
            with contextlib.suppress(OSError):
                await connection.run(reader, writer)

        await asyncio.start_server(accept, *split(address))

    def draw_fate(self) -> str:
        """The next fate of a deck, so that each comes as often as the others."""
        if self.is_quiet:
            return ""
        if not self.deck:
            self.deck = self.random.sample(self.fates, len(self.fates))
        return self.deck.pop()


def list_fates(key: str | None) -> list[str]:
    """Without a key names are taken on trust: what was once said can be said again by anybody."""
    return [fate for fate in FATES if key or fate != "replayed"]


def split(address: str) -> tuple[str, int]:
    host, port = address.removeprefix("tcp://").split(":")
    return host, int(port)


class ProxiedConnection:
    """From a dialer to a listener and back; what becomes of it was drawn when it began."""

    def __init__(self, proxy: Proxy, target: tuple[str, int]) -> None:
        random = proxy.random
        self.proxy, self.target = proxy, target
        self.fate = proxy.draw_fate()
        self.fate_at = int(random.expovariate(1 / random.choice([200, MEAN_BYTES])))
        self.fate_way = random.choice(["there", "back"])
        self.writers: list[asyncio.StreamWriter] = []
        self.copy: asyncio.StreamWriter | None = None
        self.carried: Counter[str] = Counter()
        self.recorded = bytearray()
        self.is_stalled = {"there": False, "back": False}

    async def run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            if self.fate == "refused":
                self._count("refused")
                return
            far_reader, far_writer = await self._dial()
            ways = [self._carry("there", reader, far_writer), self._carry("back", far_reader, writer)]
            if self.fate == "doubled":
                self._count("doubled")
                copy_reader, self.copy = await self._dial()
                ways.append(discard(copy_reader))
            tasks = [asyncio.create_task(way) for way in ways]
            await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self._end()
        if self.fate == "replayed" and self.recorded and not self.proxy.is_quiet:
            await self._replay()

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self.target)
        self.writers.append(writer)
        return reader, writer

    def _count(self, what: str) -> None:
        self.proxy.counts[what] += 1

    def _end(self) -> None:
        """Close: with a reset if the fate is to be cut, else as one closes."""
        for writer in self.writers:
            if self.fate in ("cut", "refused"):
                writer.transport.abort()
            else:
                writer.close()

    async def _replay(self) -> None:
        """Say again to the listener what was said on this connection, as if it were a new one."""
        self._count("replayed")
        _, writer = await asyncio.open_connection(*self.target)
        writer.write(self.recorded)
        with contextlib.suppress(OSError):
            await writer.drain()
            await asyncio.sleep(0.5)
        writer.close()

    async def _carry(self, way: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass pieces on in their order, each after its delay; returns when the connection is to end."""
        waiting: deque[tuple[float, bytes]] = deque()
        wake = asyncio.Event()
        taking = asyncio.create_task(self._take(reader, waiting, wake))
        loop = asyncio.get_running_loop()
        try:
            while True:
                await wake.wait()
                if not waiting:
                    return
                due, data = waiting[0]
                if loop.time() < due:
                    self._count("delayed")
                    await asyncio.sleep(due - loop.time())
                waiting.popleft()
                if not waiting and not taking.done():
                    wake.clear()
                if not await self._pass_on(way, writer, data):
                    return
        finally:
            taking.cancel()

    async def _take(
        self, reader: asyncio.StreamReader, waiting: deque[tuple[float, bytes]], wake: asyncio.Event
    ) -> None:
        random, loop = self.proxy.random, asyncio.get_running_loop()
        mean = random.choice(DELAYS)
        due = 0.0
        with contextlib.suppress(OSError):
            while data := await reader.read(16384):
                delay = random.expovariate(1 / mean) if mean and not self.proxy.is_quiet else 0.0
                due = max(due, loop.time() + delay)
                waiting.append((due, data))
                wake.set()
                while len(waiting) > MOST_WAITING:
                    await asyncio.sleep(0.01)
        wake.set()

    async def _pass_on(self, way: str, writer: asyncio.StreamWriter, data: bytes) -> bool:
        """Write a piece, unless its fate is another; returns whether the connection goes on."""
        goes_on = True
        at = self.fate_at - self.carried[way]
        self.carried[way] += len(data)
        if way == self.fate_way and 0 <= at < len(data) and not self.proxy.is_quiet:
            data, goes_on = self._meet_fate(way, data, at)
        if self.is_stalled[way]:
            return True
        writer.write(data)
        if way == "there" and self.copy is not None:
            self.copy.write(data)
        if way == "there" and self.fate == "replayed" and len(self.recorded) < MOST_REPLAYED:
            self.recorded += data
        await writer.drain()
        return goes_on

    def _meet_fate(self, way: str, data: bytes, at: int) -> tuple[bytes, bool]:
        """The fate of a connection has come: what of a piece is passed on, and whether it outlives that."""
        if self.fate in ("cut", "closed"):
            self._count(self.fate)
        if self.fate in ("cut", "closed", "doubled", "replayed"):
            return data[:at], False
        if self.fate in ("stalled", "stalled both ways"):
            self._count(self.fate)
            self.is_stalled[way] = True
            if self.fate == "stalled both ways":
                self.is_stalled = {"there": True, "back": True}
        if self.fate == "altered":
            self._count("altered")
            bit = 1 << self.proxy.random.randrange(8)
            data = data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :]
        return data, True


async def discard(reader: asyncio.StreamReader) -> None:
    """Take what comes, for nobody."""
    with contextlib.suppress(OSError):
        while await reader.read(65536):
            pass


if __name__ == "__main__":
    asyncio.run(Proxy(Path(sys.argv[1]), int(sys.argv[2])).run())
