"""Protocols that hold at the sender, and `matrix`, which holds at the receiver, across round-trip times.

Mattern and Fünfrocken (1995) gave up timestamps for acknowledgements, and asked what the waiting would cost;
they had no experiment. Here it is, on sockets: what a node writes arrives at its peer after half a round
trip.

Throughput: each node sends to one of the others, again and again, as fast as it is let. Latency: each node
sends ten messages a second, at random moments: half of what one message per round trip allows at 50 ms.
"""

import asyncio
import select
import selectors
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich.table import Table

from antecede.live import Node
from antecede.live.transports import ByteProtocol, Listener, MakeProtocol
from antecede.live.transports.tcp import TcpTransport
from bench.live.group import NODES, PAYLOAD, Group, choose_targets, open_group
from bench.live.speed import measure_delays
from bench.measure import count

PROTOCOLS: dict[str, dict[str, Any]] = {
    "matrix": {},
    "buffered": {},
    "release": {},
    "eager": {},
    "sync": {"form": "site"},
}
ROUND_TRIPS = (0.1e-3, 0.5e-3, 1e-3, 5e-3, 10e-3, 50e-3)
LOOPBACK = 0.04e-3
"""What a round trip takes by itself."""
TIMER_SLACK = Path("/proc/self/timerslack_ns")
"""By how much Linux lets a thread sleep longer than asked for; 0.05 ms, unless told otherwise."""
PAUSE = 0.1
"""Seconds between two messages of a process in the mean, where latency is measured."""

T = TypeVar("T")


class Row(NamedTuple):
    """What was seen with a protocol at a round-trip time."""

    protocol: str
    round_trip: float
    messages_per_second: float
    p50: float
    p99: float


class LateProtocol(ByteProtocol):
    """Hands on what comes, some time later."""

    def __init__(self, inner: ByteProtocol, delay: float) -> None:
        self._inner = inner
        self._delay = delay
        self._buffer = memoryview(bytearray(256 * 1024))
        self._under_way: deque[tuple[float, bytes]] = deque()
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._under_way.clear()
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        due = self._loop.time() + self._delay
        if not self._under_way:
            self._loop.call_at(due, self._hand_on)
        self._under_way.append((due, bytes(self._buffer[:nbytes])))

    def _hand_on(self) -> None:
        now = self._loop.time()
        while self._under_way and self._under_way[0][0] <= now:
            _, data = self._under_way.popleft()
            self._inner.data_received(data)
        if self._under_way:
            self._loop.call_at(self._under_way[0][0], self._hand_on)


class LateTcp:
    """TCP whose bytes are under way for some time, in either direction."""

    def __init__(self, delay: float) -> None:
        self._tcp = TcpTransport()
        self._delay = delay

    async def listen(self, place: str, make: MakeProtocol) -> Listener:
        return await self._tcp.listen(place, self._delayed(make))

    async def dial(self, place: str, make: MakeProtocol) -> None:
        await self._tcp.dial(place, self._delayed(make))

    def _delayed(self, make: MakeProtocol) -> MakeProtocol:
        return lambda: LateProtocol(make(), self._delay)


@contextmanager
def fine_sleep() -> Iterator[None]:
    """Let this thread sleep no longer than asked for, where the system can do that."""
    if not TIMER_SLACK.exists():
        yield
        return
    usual = TIMER_SLACK.read_text()
    TIMER_SLACK.write_text("1000")
    yield
    TIMER_SLACK.write_text(usual)


class FineSelector(selectors.EpollSelector):
    """One that can wait for less than a millisecond, which epoll alone cannot."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout > 0:
            select.select([self.fileno()], [], [], timeout)
            timeout = 0
        return super().select(timeout)


def run_with_fine_timers(main: Coroutine[Any, Any, T]) -> T:
    """Run on an event loop whose timers know less than a millisecond."""

    def make_loop() -> asyncio.AbstractEventLoop:
        return asyncio.SelectorEventLoop(FineSelector())

    with fine_sleep(), asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(main)


async def _measure_throughput(protocol: str, seconds: float, **options: Any) -> float:
    """Messages a second, all nodes together, once it runs."""
    group = await open_group(protocol, **options)
    tasks = [asyncio.create_task(_send_on_and_on(group, node)) for node in group.nodes]
    await asyncio.sleep(seconds / 4)
    before, start = group.delivered, perf_counter()
    await asyncio.sleep(seconds)
    rate = (group.delivered - before) / (perf_counter() - start)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await group.leave()
    return rate


async def _send_on_and_on(group: Group, node: Node) -> None:
    random = Random(node.process)
    while True:
        await node.send(PAYLOAD, choose_targets(group.protocol, node.process, random))


class _Echo(ByteProtocol):
    """Sends back what comes, or notes when it came back."""

    def __init__(self, trips: list[float] | None = None) -> None:
        self.trips = trips
        self.buffer = memoryview(bytearray(1024))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        if self.trips is not None:
            self._send_time()

    def _send_time(self) -> None:
        self.sent = perf_counter()
        self.transport.write(PAYLOAD)  # type: ignore[attr-defined]

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(self.buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        if self.trips is None:
            self.transport.write(data)  # type: ignore[attr-defined]
        else:
            self.trips.append(perf_counter() - self.sent)
            self._send_time()


async def _measure_round_trip(delay: float) -> float:
    """The median of bytes that go to and fro without any node."""
    transport = LateTcp(delay)
    listener = await transport.listen("127.0.0.1:0", _Echo)
    trips: list[float] = []
    await transport.dial(listener.address.removeprefix("tcp://"), lambda: _Echo(trips))
    while len(trips) < 21:
        await asyncio.sleep(0.01)
    listener.close()
    return float(np.median(trips))


def measure(quick: bool) -> Iterator[Row]:
    """All protocols at all round-trip times."""
    seconds, rounds = (0.2, 2) if quick else (2.0, 50)
    for wanted in ROUND_TRIPS[:: 3 if quick else 1]:
        delay = (wanted - LOOPBACK) / 2
        seen = run_with_fine_timers(_measure_round_trip(delay))
        for protocol, options in PROTOCOLS.items():
            both = {**options, "transports": {"tcp": LateTcp(delay)}}
            rate = run_with_fine_timers(_measure_throughput(protocol, seconds, **both))
            delays = run_with_fine_timers(measure_delays(protocol, rounds, PAUSE, **both))
            p50, p99 = np.percentile(delays, (50, 99))
            yield Row(protocol, seen, rate, float(p50), float(p99))


def tables(quick: bool) -> Iterator[Table]:
    table = Table(title=f"Live: {NODES} nodes across round-trip times", title_justify="left")
    table.caption = (
        "Messages a second, all nodes together, as fast as each is let, and how many of each node fit into a "
        "round trip; latency at 80 messages a second in all, in milliseconds and in round trips."
    )
    for name in ("round trip ms", "protocol"):
        table.add_column(name, no_wrap=True)
    for name in ("messages/s", "a node, a round trip", "p50 ms", "p99 ms", "p50 in round trips"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in measure(quick):
        table.add_row(
            f"{1e3 * row.round_trip:.2f}",
            row.protocol,
            count(row.messages_per_second),
            f"{row.messages_per_second / NODES * row.round_trip:.2f}",
            f"{1e3 * row.p50:.2f}",
            f"{1e3 * row.p99:.2f}",
            f"{row.p50 / row.round_trip:.2f}",
        )
    yield table
