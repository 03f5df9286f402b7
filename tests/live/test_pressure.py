"""A slow consumer slows whoever sends to it, on sockets and with journals; who is silent can be seen."""

import asyncio
import logging
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from antecede import live
from tests.live.cluster import Cluster
from tests.live.network import FaultyNetwork
from tests.live.virtual import run_virtually

WINDOW = 16


async def wait_until_still(counts: Counter[str], what: str) -> None:
    """Until something has not been counted for a while."""
    before = -1
    while counts[what] != before:
        before = counts[what]
        await asyncio.sleep(0.3)


@pytest.mark.parametrize("journals", [False, True], ids=["", "journals"])
@pytest.mark.parametrize("protocol", ["optimal", "vector"])
def test_a_consumer_that_stands_still_stops_its_senders_and_nobody_else(
    protocol: str, journals: bool, tmp_path: Path
) -> None:
    """Over TCP: neither end keeps more than its window, be it of 100 or of 10,000 bytes."""

    async def run() -> None:
        options: dict[str, Any] = {"journals": tmp_path} if journals else {}
        async with Cluster(protocol, 3, "tcp", window=WINDOW, **options) as cluster:
            await cluster.wait_until_connected()
            cluster.consume("p0", "p2")
            a, b = cluster.nodes["p0"], cluster.nodes["p1"]
            to = ["p1", "p2"] if protocol == "optimal" else None
            counts: Counter[str] = Counter()

            async def send_all() -> None:
                for number in range(200):
                    await a.send(b"x" * (100 if number % 2 else 10_000), to=to)
                    counts["sent"] += 1

            sending = asyncio.create_task(send_all())
            await wait_until_still(counts, "sent")
            assert WINDOW <= counts["sent"] <= 2 * WINDOW + 1
            assert b.status().peers["p0"].untaken == WINDOW
            assert a.status().peers["p1"].waiting <= WINDOW
            assert len(cluster.taken["p2"]) == counts["sent"]  # p2 has all that was sent
            await cluster.nodes["p2"].send(b"from p2", to=["p0"] if to else None)
            while b"from p2" not in cluster.payloads("p0"):
                await asyncio.sleep(0.01)
            cluster.consume("p1")
            await sending
            while len(cluster.taken["p1"]) < 200:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_sender_is_as_fast_as_the_slowest_of_its_receivers() -> None:
    """In virtual time: the consumer takes one message in a second, and so the sender sends one."""

    async def run() -> None:
        async with Cluster("vector", 2, window=WINDOW) as cluster:
            cluster.consume("p0")
            a, b = cluster.nodes["p0"], cluster.nodes["p1"]
            counts: Counter[str] = Counter()

            async def send_all() -> None:
                while True:
                    await a.send(b"x")
                    counts["sent"] += 1

            sending = asyncio.create_task(send_all())
            for _ in range(300):
                await asyncio.sleep(1.0)
                await anext(b)
                counts["taken"] += 1
                assert counts["sent"] <= counts["taken"] + 2 * WINDOW + 1
            assert counts["sent"] >= 300
            sending.cancel()

    run_virtually(run(), 3)


def test_who_is_silent_since_when_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "antecede.live")

    async def run() -> None:
        network = FaultyNetwork(Random(1))
        network.trouble = 0.0
        nodes = {}
        for name in ("a", "b", "c"):
            peers = {other: f"memory://{other}" for other in "abc" if other != name}
            nodes[name] = await live.open_node(
                "vector", process=name, listen=f"memory://{name}", peers=peers, silence=10.0,
                transports={"memory": network.port(name)},
            )  # fmt: skip
        await asyncio.sleep(30.0)
        for peer in nodes["a"].status().peers.values():
            assert peer.connected and peer.silent_for is not None and peer.silent_for < 3.0
        network.places.pop("c")
        network.silence("c")
        await asyncio.sleep(5.0)
        quiet = nodes["a"].status().peers["c"]
        assert quiet.connected and quiet.silent_for is not None and 4.0 < quiet.silent_for < 8.0
        await asyncio.sleep(95.0)
        gone, there = nodes["a"].status().peers["c"], nodes["a"].status().peers["b"]
        assert not gone.connected and gone.silent_for is not None and 99.0 < gone.silent_for < 103.0
        assert there.connected and there.silent_for is not None and there.silent_for < 3.0
        await nodes["a"].send(b"x")
        assert nodes["a"].status().peers["c"].waiting == 1
        await nodes["a"].exclude("c")
        assert nodes["a"].status().peers["c"].waiting == 0
        for node in nodes.values():
            node.abort()

    run_virtually(run(), 5)
