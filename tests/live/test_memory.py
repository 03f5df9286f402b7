"""Memory that does not grow with what was sent: a slice of the soak, and every protocol, block by block."""

import asyncio
import gc
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from antecede import live
from antecede.protocols.vector import _decode_stamp
from tests.cases import Case
from tests.harness import destinations
from tests.live.cluster import Cluster
from tests.live.soak import judge_growth, run_soak
from tests.live.test_nodes import FITTING
from tests.live.virtual import run_virtually

ROUND = 900
"""Messages until memory is looked at."""
ONE_EACH = list({case.protocol: case for case in FITTING}.values())


def test_figures_that_grow_are_found_out() -> None:
    flat = [100] * 100
    assert judge_growth("it", flat, 0) is None
    assert judge_growth("it", [*range(10), *flat[:90]], 0) is None  # warming up
    assert judge_growth("it", [*flat[:-1], 112], 0) is not None
    assert judge_growth("it", [100 + number for number in range(100)], 0) is not None
    assert judge_growth("it", [100 + number for number in range(100)], 100) is None


@pytest.mark.slow
@pytest.mark.parametrize(("messages", "journal"), [(99_000, False), (9_000, True)])
def test_memory_and_journal_stay_flat(messages: int, journal: bool, tmp_path: Path) -> None:
    assert run_soak(tmp_path, messages, "optimal", journal) == []


@pytest.mark.parametrize("case", ONE_EACH, ids=lambda case: case.protocol)
def test_a_node_keeps_nothing_of_messages_that_are_done(case: Case) -> None:
    """What the interpreter has allocated: less than one block more for five messages."""
    before, after = run_virtually(_measure_rounds(case), 1)
    assert after - before < ROUND / 5


async def _measure_rounds(case: Case, n: int = 3) -> tuple[int, int]:
    options: dict[str, Any] = case.options_for(n)
    if case.protocol in ("plausible", "probabilistic", "scalar"):
        options["memory"] = 0  # so many are kept, as the protocol says
    gc.collect()
    gc.freeze()
    blocks = []
    async with Cluster(case.protocol, n, window=64, **options) as cluster:
        traffic = Traffic(cluster, case.kinds[-1])
        taking = [asyncio.create_task(traffic.take(node)) for node in cluster.nodes.values()]
        for _ in range(2):
            await asyncio.gather(*(traffic.produce(at, ROUND // n) for at in range(n)))
            while traffic.taken < traffic.expected:
                await asyncio.sleep(1.0)
            await asyncio.sleep(10.0)
            _decode_stamp.cache_clear()  # it has a size
            gc.collect()
            blocks.append(sys.getallocatedblocks())
        for task in taking:
            task.cancel()
    gc.unfreeze()
    return blocks[0], blocks[1]


class Traffic:
    """What a cluster is given to do; keeps nothing of it but two numbers."""

    def __init__(self, cluster: Cluster, kind: str) -> None:
        self.cluster, self.kind, self.random = cluster, kind, Random(1)
        self.taken = self.expected = 0

    async def take(self, node: live.Node) -> None:
        async for _ in node:
            self.taken += 1

    async def produce(self, at: int, messages: int) -> None:
        names = self.cluster.names
        for _ in range(messages):
            to = destinations(names, at, self.random.randrange(999), self.kind)
            self.expected += len(names) if to is None else len(to)
            await self.cluster.nodes[names[at]].send(b"x", to=to)
            await asyncio.sleep(0)
