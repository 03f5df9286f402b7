"""Messages a second and latency, with asyncio's event loop and with uvloop, beside others on the same loops.

As fast as it goes: packets with a message on the wall clock, and processor time for each, both ends. Latency
is from before `send` to the hand-over, at a rate that leaves the machine idle most of the time.
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypeVar

import numpy as np
import uvloop
from rich.table import Table

from antecede.core.errors import SetupError
from bench.live.group import NAMES, NODES, OTHERS, PAYLOAD, PROTOCOLS, count_copies, open_group
from bench.live.others import KafkaMesh, Mesh, StreamMesh, Take, ZmqMesh, start_broker
from bench.measure import count, processor_time

PAUSE = 0.02
"""Seconds between two messages of a process in the mean, where latency is measured."""
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}

T = TypeVar("T")
OpenMesh = Callable[[Take], Coroutine[Any, Any, Mesh]]


class Speed(NamedTuple):
    """Seconds for a packet on the wall and of processors, and the delays of single messages."""

    wall: float
    processor: float
    delays: list[float]


def run_on(loop: str, main: Coroutine[Any, Any, T]) -> T:
    """Run something on an event loop of this kind."""
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(main)


async def measure_nodes(protocol: str, packets: int, rounds: int) -> Speed:
    """Our nodes."""
    copies, _ = count_copies(protocol)
    messages = packets // NODES // copies
    group = await open_group(protocol)
    gc.collect()
    wall, processor = perf_counter(), process_time()
    await group.send_many(messages)
    sent = messages * NODES * copies
    wall, processor = (perf_counter() - wall) / sent, (process_time() - processor) / sent
    await group.leave()
    return Speed(wall, processor, await measure_delays(protocol, rounds, PAUSE))


async def measure_delays(protocol: str, rounds: int, pause: float, **options: Any) -> list[float]:
    """Seconds from before `send` to the hand-over, of so many messages of each node."""
    delays: list[float] = []

    def note(payload: bytes) -> None:
        delays.append(perf_counter() - float(payload))

    group = await open_group(protocol, note, **options)
    await group.send_now_and_then(rounds, pause)
    await group.leave()
    return delays


class Counter:
    """Takes payloads at the other end of a mesh."""

    def __init__(self, awaited: int) -> None:
        self.awaited = awaited
        self.delays: list[float] = []
        self.all_there = asyncio.Event()

    def take(self, payload: bytes) -> None:
        if payload is not PAYLOAD and payload != PAYLOAD:
            self.delays.append(perf_counter() - float(payload))
        self.awaited -= 1
        if not self.awaited:
            self.all_there.set()


async def measure_mesh(open_mesh: OpenMesh, packets: int, rounds: int) -> Speed:
    """The same payloads by other means."""
    counter = Counter(packets // NODES * NODES)
    mesh = await open_mesh(counter.take)

    async def send_many(name: str) -> None:
        random = Random(name)
        for _ in range(packets // NODES):
            await mesh.send(name, random.choice(OTHERS[name]), PAYLOAD)

    async def send_now_and_then(name: str) -> None:
        random = Random(name)
        for _ in range(rounds):
            await asyncio.sleep(random.expovariate(1 / PAUSE))
            now = f"{perf_counter():.9f}".encode()
            await mesh.send(name, random.choice(OTHERS[name]), now)

    gc.collect()
    wall, processor = perf_counter(), processor_time()
    sent = counter.awaited
    await asyncio.gather(*map(send_many, NAMES))
    await counter.all_there.wait()
    wall, processor = (perf_counter() - wall) / sent, (processor_time() - processor) / sent
    counter.awaited = rounds * NODES
    counter.all_there.clear()
    await asyncio.gather(*map(send_now_and_then, NAMES))
    await counter.all_there.wait()
    await mesh.close()
    return Speed(wall, processor, counter.delays)


async def open_streams(take: Take) -> Mesh:
    mesh = StreamMesh(take)
    await mesh.open()
    return mesh


async def open_zmq(take: Take) -> Mesh:
    mesh = ZmqMesh(take)
    await mesh.open()
    return mesh


def open_kafka(broker: str) -> OpenMesh:
    async def open_mesh(take: Take) -> Mesh:
        mesh = KafkaMesh(take, broker)
        await mesh.open()
        return mesh

    return open_mesh


def tables(quick: bool) -> Iterator[Table]:
    packets, rounds = (2_000, 25) if quick else (40_000, 250)
    table = Table(title=f"Live: how fast {NODES} nodes are, no journal", title_justify="left")
    table.caption = (
        "Packets with a message, 100 bytes, as fast as it goes; microseconds of processor time for each, "
        "both ends, with Kafka's broker. Latency in milliseconds, at 400 messages a second in all. The "
        "broker has the other cores to itself."
    )
    for name in ("", "event loop"):
        table.add_column(name, no_wrap=True)
    for name in ("packets/s", "processor µs", "p50 ms", "p99 ms", "time to raw"):
        table.add_column(name, justify="right", no_wrap=True)
    streams = run_on("asyncio", measure_mesh(open_streams, packets, rounds))
    for loop in LOOPS:
        for protocol in PROTOCOLS:
            speed = run_on(loop, measure_nodes(protocol, packets, rounds))
            table.add_row(protocol, loop, *_show(speed, streams))
    table.add_row("raw streams", "asyncio", *_show(streams, streams))
    queues = run_on("asyncio", measure_mesh(open_zmq, packets, rounds))
    table.add_row("pyzmq", "asyncio", *_show(queues, streams))
    try:
        kafka = _measure_kafka(packets, rounds)
        table.add_row("aiokafka", "asyncio", *_show(kafka, streams))
    except SetupError as error:
        table.caption += f" No Kafka here: {error}"
    yield table


def _measure_kafka(packets: int, rounds: int) -> Speed:
    """The second time, as Java compiles what is used often."""
    with start_broker() as broker:
        open_mesh = open_kafka(broker.address)
        run_on("asyncio", measure_mesh(open_mesh, packets, 1))
        return run_on("asyncio", measure_mesh(open_mesh, packets, rounds))


def _show(speed: Speed, streams: Speed) -> tuple[str, str, str, str, str]:
    p50, p99 = np.percentile(speed.delays, (50, 99))
    rate = count(1 / speed.wall)
    ratio = speed.wall / streams.wall
    times = (f"{1e6 * speed.processor:.1f}", f"{1e3 * p50:.2f}", f"{1e3 * p99:.2f}")
    return rate, *times, f"{ratio:.1f} ×"
