"""Groups of nodes in one program, and the verdict of the audit on what they wrote down."""

import asyncio
import contextlib
import itertools
import json
import socket
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pyarrow as pa

import antecede
from antecede import live
from antecede.live.hub import Hub
from antecede.tables import EVENTS
from tests.cases import Case
from tests.harness import destinations

_places = itertools.count()


class Cluster:
    """Nodes p0, p1, ... of one protocol; each consumes its deliveries and keeps them."""

    def __init__(self, protocol: str, n: int, scheme: str = "memory", **options: Any) -> None:
        self.names = [f"p{i}" for i in range(n)]
        self.protocol, self.options = protocol, options
        self.addresses: dict[str, str] = {}
        self.scheme = scheme
        self.nodes: dict[str, live.Node] = {}
        self.taken: dict[str, list[live.LiveDelivery]] = {name: [] for name in self.names}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> "Cluster":
        """Start all; ports are those that the system chooses, so each node is dialled by those after it."""
        place = next(_places)
        for name in self.names:
            if self.scheme.startswith("kafka://"):
                self.addresses[name] = f"{self.scheme}/{uuid.uuid4().hex}-{name}"
            elif self.scheme == "tcp":
                self.addresses[name] = f"tcp://127.0.0.1:{find_free_port()}"
            else:
                self.addresses[name] = f"memory://{name}-{place}"
        for name in self.names:
            await self.start(name)
        return self

    async def __aexit__(self, *_: object) -> None:
        nodes = list(self.nodes.values())
        for name in list(self.nodes):
            self.stop(name)
        if self.scheme.startswith("kafka://"):  # its clients have to be closed
            await asyncio.gather(*(node._courier.close() for node in nodes))
        await asyncio.sleep(0.01)

    async def start(self, name: str, **more: Any) -> live.Node:
        peers = {other: self.addresses[other] for other in self.names if other != name}
        settings: dict[str, Any] = {"heartbeat": 0.2, **self.options, **more}
        if "journals" in settings:
            settings["journal"] = Path(settings.pop("journals")) / f"{name}.db"
        if "event_files" in settings:
            settings["events"] = Path(settings.pop("event_files")) / f"{name}.jsonl"
        node = await live.open_node(
            self.protocol, process=name, listen=self.addresses[name], peers=peers, **settings
        )
        self.nodes[name] = node
        return node

    def consume(self, *names: str) -> None:
        for name in names or self.names:
            self.tasks[name] = asyncio.create_task(self._consume(name))

    async def _consume(self, name: str) -> None:
        async for delivery in self.nodes[name]:
            self.taken[name].append(delivery)

    def stop(self, name: str) -> None:
        """As a crash would."""
        if name in self.tasks:
            self.tasks.pop(name).cancel()
        self.nodes.pop(name).abort()

    def payloads(self, name: str) -> list[bytes]:
        return [delivery.payload for delivery in self.taken[name]]

    async def wait_for(self, count: int, *names: str, timeout: float = 20.0) -> None:
        """Until the named nodes have taken that many together."""
        wanted = names or tuple(self.names)

        async def poll() -> None:
            while sum(len(self.taken[name]) for name in wanted) < count:
                await asyncio.sleep(0.005)

        await asyncio.wait_for(poll(), timeout)

    async def wait_until_connected(self, timeout: float = 10.0) -> None:
        async def poll() -> None:
            while not all(
                peer.connected or peer.excluded
                for node in self.nodes.values()
                for peer in node.status().peers.values()
            ):
                await asyncio.sleep(0.005)

        await asyncio.wait_for(poll(), timeout)


def get_hub(node: live.Node) -> Hub:
    """The hub of a node that has connections."""
    assert isinstance(node._courier, Hub)
    return node._courier


def find_free_port() -> int:
    """A port to listen at, not one of those that the system takes for connections: it may be used later."""
    while True:
        port = SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def audit_events(files: Iterable[Path]) -> Counter[str]:
    """What our own audit finds in the events that nodes have written: kinds of findings, counted."""
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    result = antecede.audit(pa.Table.from_pylist(rows, schema=EVENTS))
    return Counter(result.findings["kind"].to_pylist())


def count_events(files: Iterable[Path]) -> Counter[str]:
    """The kinds of events in some files."""
    return Counter(json.loads(line)["kind"] for file in files for line in file.read_text().splitlines())


async def run_case(case: Case, scheme: str, folder: Path, n: int = 4, messages: int = 60) -> int:
    """Everybody sends, and everybody gets all that is for it; returns how many deliveries there are."""
    options = case.options_for(n)
    random = Random(7)
    expected = 0
    async with Cluster(case.protocol, n, scheme, event_files=folder, **options) as cluster:
        cluster.consume()

        async def produce(at: int) -> None:
            nonlocal expected
            for _ in range(messages):
                to = destinations(cluster.names, at, random.randrange(999), case.kinds[-1])
                expected += n if to is None else len(to)
                await cluster.nodes[cluster.names[at]].send(b"x", to=to)
                await asyncio.sleep(0)

        await asyncio.gather(*(produce(at) for at in range(n)))
        await cluster.wait_for(expected)
        await asyncio.sleep(0.02)
        assert sum(map(len, cluster.taken.values())) == expected
    return expected
