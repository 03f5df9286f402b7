"""The same payloads between the same number of processes by other means: raw streams, pyzmq, Kafka alone.

All in one event loop, as our nodes are. Each is a `Mesh`: it sends a payload from one process to another and
calls `take` at the other end. None of them knows of causal order.
"""

import asyncio
import logging
import os
import secrets
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import zmq
import zmq.asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from bench.live.group import NAMES, NODES, OTHERS, find_free_ports
from scripts.kafka_broker import Broker

Take = Callable[[bytes], None]

FULL_SPEED = "-XX:TieredStopAtLevel=4 -Xmx1g"
"""For a broker that was tuned to start soon: compile in full, as brokers that run for long do."""


@contextmanager
def start_broker() -> Iterator[Broker]:
    """A broker for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        broker = Broker(Path(folder))
        usual = os.environ.get("_JAVA_OPTIONS", "")
        os.environ["_JAVA_OPTIONS"] = f"{usual} {FULL_SPEED}"
        try:
            broker.start()
            yield broker
        finally:
            os.environ["_JAVA_OPTIONS"] = usual
            broker.stop(signal.SIGKILL)


class Mesh(Protocol):
    """Every process connected with every other."""

    async def send(self, source: str, target: str, payload: bytes) -> None:
        """Put a payload on its way; waits if too much is under way."""

    async def close(self) -> None:
        """Let go of everything."""


class StreamMesh:
    """asyncio's streams: a length of four bytes, and the payload."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._writers: dict[tuple[str, str], asyncio.StreamWriter] = {}
        self._servers: list[asyncio.Server] = []

    async def open(self) -> None:
        for name in NAMES:
            server = await asyncio.start_server(self._receive, "127.0.0.1", 0)
            self._servers.append(server)
            port = server.sockets[0].getsockname()[1]
            for other in OTHERS[name]:
                _, self._writers[other, name] = await asyncio.open_connection("127.0.0.1", port)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                self._take(await reader.readexactly(size))
        except asyncio.IncompleteReadError:
            writer.close()

    async def send(self, source: str, target: str, payload: bytes) -> None:
        writer = self._writers[source, target]
        writer.write(len(payload).to_bytes(4, "big") + payload)
        await writer.drain()

    async def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        for server in self._servers:
            server.close()
        await asyncio.sleep(0.05)  # for the readers to see the end


class ZmqMesh:
    """pyzmq's sockets for asyncio: everybody pulls at one, and pushes to the others'."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._context = zmq.asyncio.Context()
        self._pushing: dict[tuple[str, str], zmq.asyncio.Socket] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        for name, port in zip(NAMES, find_free_ports(NODES), strict=True):
            pulling = self._context.socket(zmq.PULL)
            pulling.bind(f"tcp://127.0.0.1:{port}")
            self._tasks.append(asyncio.create_task(self._receive(pulling)))
            for other in OTHERS[name]:
                pushing = self._pushing[other, name] = self._context.socket(zmq.PUSH)
                pushing.connect(f"tcp://127.0.0.1:{port}")
        await asyncio.sleep(0.1)

    async def _receive(self, socket: zmq.asyncio.Socket) -> None:
        while True:
            self._take(await socket.recv())

    async def send(self, source: str, target: str, payload: bytes) -> None:
        await self._pushing[source, target].send(payload)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._context.destroy(linger=0)


def quieten_client() -> None:
    """Keep aiokafka from telling of each topic that is not there yet."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


async def create_topics(broker: str) -> dict[str, str]:
    """A new topic for each process."""
    quieten_client()
    run = secrets.token_hex(4)
    topics = {name: f"bench-{run}-{name}" for name in NAMES}
    admin = AIOKafkaAdminClient(bootstrap_servers=broker)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1) for topic in topics.values()])
    await admin.close()
    return topics


class KafkaMesh:
    """aiokafka as it comes: a topic for each process, and a producer and a consumer in each."""

    def __init__(self, take: Take, broker: str) -> None:
        self._take = take
        self._broker = broker
        self._topics: dict[str, str] = {}
        self._producers: dict[str, AIOKafkaProducer] = {}
        self._consumers: list[AIOKafkaConsumer] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        self._topics = await create_topics(self._broker)
        for name in NAMES:
            producer = self._producers[name] = AIOKafkaProducer(bootstrap_servers=self._broker)
            await producer.start()
            consumer = AIOKafkaConsumer(
                self._topics[name], bootstrap_servers=self._broker, auto_offset_reset="earliest"
            )
            await consumer.start()
            self._consumers.append(consumer)
            self._tasks.append(asyncio.create_task(self._receive(consumer)))

    async def _receive(self, consumer: AIOKafkaConsumer) -> None:
        async for record in consumer:
            self._take(record.value)

    async def send(self, source: str, target: str, payload: bytes) -> None:
        await self._producers[source].send(self._topics[target], payload)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in [*self._producers.values(), *self._consumers]:
            await client.stop()
