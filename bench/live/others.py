"""The same payloads between the same number of processes by other means: raw streams, pyzmq, Kafka alone.

All in one event loop, as our nodes are. Each is a `Mesh`: it sends a payload from one process to another and
calls `take` at the other end. None of them knows of causal order.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Protocol

import zmq
import zmq.asyncio
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench.live.group import NAMES, NODES, OTHERS, find_free_ports

Take = Callable[[bytes], None]


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


class KafkaMesh:
    """aiokafka as it comes: a topic for each process, and a producer and a consumer in each."""

    def __init__(self, take: Take, broker: str) -> None:
        self._take = take
        self._broker = broker
        self._run = secrets.token_hex(4)
        self._producers: dict[str, AIOKafkaProducer] = {}
        self._consumers: list[AIOKafkaConsumer] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        for name in NAMES:
            producer = self._producers[name] = AIOKafkaProducer(bootstrap_servers=self._broker)
            await producer.start()
            await producer.partitions_for(self._name_topic(name))  # makes the topic
        for name in NAMES:
            consumer = AIOKafkaConsumer(
                self._name_topic(name), bootstrap_servers=self._broker, auto_offset_reset="earliest"
            )
            await consumer.start()
            self._consumers.append(consumer)
            self._tasks.append(asyncio.create_task(self._receive(consumer)))

    def _name_topic(self, name: str) -> str:
        return f"bench-{self._run}-{name}"

    async def _receive(self, consumer: AIOKafkaConsumer) -> None:
        async for record in consumer:
            self._take(record.value)

    async def send(self, source: str, target: str, payload: bytes) -> None:
        await self._producers[source].send(self._name_topic(target), payload)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in [*self._producers.values(), *self._consumers]:
            await client.stop()
