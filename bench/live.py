"""Section `live`: eight nodes over TCP on this machine, beside raw streams and beside the endpoints alone.

All nodes run in one event loop, so processor time is that of both ends. It is divided by the packets with a
message: one to all is seven, and what `buffered` answers is part of their cost. Latency is from before `send`
to the hand-over, at a rate that leaves the machine idle most of the time.
"""

import asyncio
import gc
from collections.abc import Callable, Iterator
from random import Random
from time import perf_counter, process_time

import numpy as np
from rich.table import Table

from antecede import endpoint
from antecede.core.endpoint import Endpoint
from antecede.core.packet import Packet, decode
from antecede.live import Node, open_node
from bench.measure import count, verdict

NODES = 8
PAYLOAD = b"x" * 100
PROTOCOLS = ("vector", "matrix", "optimal", "buffered")
TO_ALL = ("vector",)
NAMES = [f"p{number}" for number in range(NODES)]
PAUSE = 0.02
"""Seconds between two messages of a process, where latency is measured."""


def tables(quick: bool) -> Iterator[Table]:
    packets = 2_000 if quick else 40_000
    table = Table(
        title=f"Live: {NODES} nodes over TCP, payloads of 100 bytes, no journal", title_justify="left"
    )
    table.caption = (
        "Microseconds of processor time for a packet, both ends; the ratio is that of a node to the sum of "
        "raw streams and endpoints alone. Latency in milliseconds, at 400 messages a second in all."
    )
    table.add_column("protocol", no_wrap=True)
    for name in ("a node", "raw streams", "endpoints alone", "ratio", "bar", "", "packets/s", "p50", "p99"):
        table.add_column(name, justify="right", no_wrap=True)
    raw = asyncio.run(_measure_streams(packets))
    for protocol in PROTOCOLS:
        node, wall = asyncio.run(_measure_nodes(protocol, packets))
        alone = _measure_endpoints(protocol, packets)
        latency = asyncio.run(_measure_latency(protocol, 0.5 if quick else 5.0))
        ratio = node / (raw + alone)
        shown = [f"{1e6 * seconds:.1f}" for seconds in (node, raw, alone)]
        delays = [f"{1e3 * np.percentile(latency, share):.2f}" for share in (50, 99)]
        table.add_row(
            protocol, *shown, f"{ratio:.2f} ×", "2 ×", verdict(ratio <= 2), count(1 / wall), *delays
        )  # fmt: skip
    yield table


class Group:
    """Nodes that are connected, each with a task that takes its deliveries."""

    def __init__(self, nodes: list[Node], on_delivery: Callable[[bytes], None]) -> None:
        self.nodes = nodes
        self.delivered = 0
        self.awaited = 0
        self.all_there = asyncio.Event()
        self.on_delivery = on_delivery
        self.tasks = [asyncio.create_task(self._consume(node)) for node in nodes]

    async def _consume(self, node: Node) -> None:
        async for delivery in node:
            self.on_delivery(delivery.payload)
            self.delivered += 1
            if self.delivered == self.awaited:
                self.all_there.set()

    async def wait_for(self, number: int) -> None:
        """Return when so many deliveries were made in all."""
        self.awaited = number
        if self.delivered < number:
            await self.all_there.wait()

    async def leave(self) -> None:
        for node in self.nodes:
            await node.close(linger=0)
        await asyncio.gather(*self.tasks)


async def open_group(protocol: str, on_delivery: Callable[[bytes], None] = lambda payload: None) -> Group:
    """All nodes of a group on free ports; returns when each is connected to each."""
    ports = [await _find_free_port() for _ in NAMES]
    addresses = {name: f"tcp://127.0.0.1:{port}" for name, port in zip(NAMES, ports, strict=True)}
    nodes = []
    for name in NAMES:
        peers = {other: address for other, address in addresses.items() if other != name}
        nodes.append(await open_node(protocol, process=name, listen=addresses[name], peers=peers))
    while not all(peer.connected for node in nodes for peer in node.status().peers.values()):
        await asyncio.sleep(0.01)
    return Group(nodes, on_delivery)


async def _find_free_port() -> int:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    return port


def _choose_targets(protocol: str, name: str, random: Random) -> list[str] | None:
    if protocol in TO_ALL:
        return None
    return [random.choice([other for other in NAMES if other != name])]


async def _measure_nodes(protocol: str, packets: int) -> tuple[float, float]:
    """Seconds for a packet, of processor time and on the wall, as fast as it goes."""
    group = await open_group(protocol)
    copies = NODES if protocol in TO_ALL else 1
    packets_of_message = NODES - 1 if protocol in TO_ALL else 1
    own = packets // NODES // packets_of_message

    async def produce(node: Node) -> None:
        random = Random(node.process)
        for _ in range(own):
            await node.send(PAYLOAD, _choose_targets(protocol, node.process, random))

    gc.collect()
    processor, wall = process_time(), perf_counter()
    await asyncio.gather(*(produce(node) for node in group.nodes))
    await group.wait_for(own * NODES * copies)
    sent = own * NODES * packets_of_message
    spent = (process_time() - processor) / sent, (perf_counter() - wall) / sent
    await group.leave()
    return spent


async def _measure_latency(protocol: str, seconds: float) -> list[float]:
    """Seconds from `send` to the hand-over, message by message."""
    delays: list[float] = []

    def note(payload: bytes) -> None:
        delays.append(perf_counter() - float(payload))

    group = await open_group(protocol, note)
    rounds = int(seconds / PAUSE)

    async def produce(node: Node) -> None:
        random = Random(node.process)
        await asyncio.sleep(random.random() * PAUSE)
        for _ in range(rounds):
            payload = f"{perf_counter():.9f}".encode()
            await node.send(payload, _choose_targets(protocol, node.process, random))
            await asyncio.sleep(PAUSE)

    await asyncio.gather(*(produce(node) for node in group.nodes))
    await group.wait_for(rounds * NODES * (NODES if protocol in TO_ALL else 1))
    await group.leave()
    return delays


async def _measure_streams(packets: int) -> float:
    """Seconds of processor time for a payload with its length before it, over one connection."""
    received = asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(packets):
            size = int.from_bytes(await reader.readexactly(4), "big")
            await reader.readexactly(size)
        received.set()
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
    frame = len(PAYLOAD).to_bytes(4, "big") + PAYLOAD
    start = process_time()
    for _ in range(packets):
        writer.write(frame)
        await writer.drain()
    await received.wait()
    spent = (process_time() - start) / packets
    writer.close()
    server.close()
    return spent


def _measure_endpoints(protocol: str, packets: int) -> float:
    """The same for packets that are made, encoded, decoded and taken in without a network."""
    members = {name: endpoint(protocol, process=name, group=NAMES) for name in NAMES}
    random = Random(1)
    under_way: list[Packet] = []
    packets_of_round = NODES * (NODES - 1 if protocol in TO_ALL else 1)
    rounds = packets // packets_of_round
    start = process_time()
    for _ in range(rounds):
        for name, member in members.items():
            effects = member.send(PAYLOAD, _choose_targets(protocol, name, random))
            under_way += effects.packets
        while under_way:
            under_way = [after for packet in under_way for after in _pass_on(members, packet)]
    return (process_time() - start) / (rounds * packets_of_round)


def _pass_on(members: dict[str, Endpoint], packet: Packet) -> list[Packet]:
    arrived = decode(packet.encode())
    return members[arrived.target].receive(arrived).packets
