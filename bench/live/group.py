"""A group of nodes in one event loop, connected over TCP, and the traffic between them."""

import asyncio
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from random import Random
from time import perf_counter
from typing import Any

from antecede.live import Node, open_node
from antecede.live.journal import NodeJournal

NODES = 8
NAMES = [f"p{number}" for number in range(NODES)]
OTHERS = {name: [other for other in NAMES if other != name] for name in NAMES}
PAYLOAD = b"x" * 100
PROTOCOLS = ("vector", "matrix", "optimal", "buffered")
TO_ALL = ("vector",)

OnDelivery = Callable[[bytes], None]


def count_copies(protocol: str) -> tuple[int, int]:
    """Of one message: how many packets leave its sender, and how many deliveries follow."""
    return (NODES - 1, NODES) if protocol in TO_ALL else (1, 1)


def choose_targets(protocol: str, name: str, random: Random) -> list[str] | None:
    """All, or one of the others."""
    return None if protocol in TO_ALL else [random.choice(OTHERS[name])]


class Group:
    """Nodes that are connected, each with a task that takes its deliveries."""

    def __init__(self, protocol: str, nodes: list[Node], on_delivery: OnDelivery) -> None:
        self.protocol = protocol
        self.nodes = nodes
        self.delivered = 0
        self._awaited = 0
        self._all_there = asyncio.Event()
        self._on_delivery = on_delivery
        self._tasks = [asyncio.create_task(self._consume(node)) for node in nodes]

    async def _consume(self, node: Node) -> None:
        async for delivery in node:
            self._on_delivery(delivery.payload)
            self.delivered += 1
            if self.delivered == self._awaited:
                self._all_there.set()

    async def wait_for(self, number: int) -> None:
        """Return when so many deliveries were made in all."""
        self._awaited = number
        if self.delivered < number:
            await self._all_there.wait()

    async def send_many(self, messages: int) -> None:
        """Each node sends so many as fast as it may; returns when all were handed over."""
        await asyncio.gather(*(self._send_some(node, messages) for node in self.nodes))
        _, deliveries = count_copies(self.protocol)
        await self.wait_for(messages * NODES * deliveries)

    async def _send_some(self, node: Node, messages: int) -> None:
        random = Random(node.process)
        for _ in range(messages):
            await node.send(PAYLOAD, choose_targets(self.protocol, node.process, random))

    async def send_now_and_then(self, rounds: int, pause: float) -> None:
        """Each node sends the time, so often and after pauses of any length; returns when all are there."""
        await asyncio.gather(*(self._send_times(node, rounds, pause) for node in self.nodes))
        _, deliveries = count_copies(self.protocol)
        await self.wait_for(rounds * NODES * deliveries)

    async def _send_times(self, node: Node, rounds: int, pause: float) -> None:
        random = Random(node.process)
        for _ in range(rounds):
            await asyncio.sleep(random.expovariate(1 / pause))
            now = f"{perf_counter():.9f}".encode()
            await node.send(now, choose_targets(self.protocol, node.process, random))

    async def leave(self) -> None:
        """Close all nodes."""
        for node in self.nodes:
            await node.close(linger=0)
        await asyncio.gather(*self._tasks)


async def open_group(
    protocol: str,
    on_delivery: OnDelivery = lambda payload: None,
    journals: Mapping[str, NodeJournal] | None = None,
    **options: Any,
) -> Group:
    """All nodes of a group on free ports; returns when each is connected to each."""
    addresses = {
        name: f"tcp://127.0.0.1:{port}" for name, port in zip(NAMES, find_free_ports(NODES), strict=True)
    }
    nodes = []
    for name in NAMES:
        node = await open_node(
            protocol,
            process=name,
            listen=addresses[name],
            peers={other: addresses[other] for other in OTHERS[name]},
            journal=journals[name] if journals else None,
            **options,
        )
        nodes.append(node)
    while not all(peer.connected for node in nodes for peer in node.status().peers.values()):
        await asyncio.sleep(0.01)
    return Group(protocol, nodes, on_delivery)


def find_free_ports(number: int) -> list[int]:
    """Ports that nobody listens at."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
