"""RST, on which three of the papers build, and how they tell it; messages to oneself, which it mishandles."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Packet
from antecede.protocols.matrix import Matrix
from tests.cases import SCRIPTS, Script
from tests.harness import World, maker
from tests.papers.stage import cast, have, missing, send, words


def test_rst_triangle() -> None:
    p0, p1, p2 = cast(Matrix, 3)
    x, y = send(p0, "x", 2), send(p0, "y", 1)
    assert p0.sent.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    p1.receive(y)
    assert p1.sent.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]] and have(p1) == [1, 0, 0]
    z = send(p1, "z", 2)
    assert words(p2.receive(z)) == "" and missing(p2) == [("z", "p0", 0, 1)]
    assert words(p2.receive(x)) == "x z"
    assert p2.sent.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]] and have(p2) == [1, 1, 0]


def test_rst_multicast_adds_every_copy_to_the_packets_matrix() -> None:
    p0, p1, p2 = cast(Matrix, 3)
    copies = {packet.target: packet for packet in p0.send(b"m", to=["p1", "p2"]).packets}
    p1.receive(copies["p1"])
    assert p1.sent.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    answer = send(p1, "r", 2)
    assert [words(p2.receive(packet)) for packet in (answer, copies["p2"])] == ["", "m r"]


class Told:
    """RST as it is told. "printed": 1 more at send and at delivery, so a message to oneself counts twice.

    "mattern": adds 1, then attaches; tests the own entry for equality; takes the maximum at delivery, or, in
    "mattern-literal", whenever a process receives, which read literally is at arrival.
    """

    def __init__(self, n: int, how: str) -> None:
        self.n, self.how = n, how
        self.m = [[0] * n for _ in range(n)]
        self.deliv = [0] * n
        self.pending: list[tuple[int, int, list[list[int]]]] = []

    def send(self, me: int, to: int) -> list[list[int]]:
        before = [row[:] for row in self.m]
        self.m[me][to] += 1
        return before if self.how == "printed" else [row[:] for row in self.m]

    def arrive(self, me: int, message: int, source: int, carried: list[list[int]]) -> list[int]:
        """What is delivered now: the queue is looked through in arrival order until nothing more can be."""
        if self.how == "mattern-literal":
            self._learn(carried)
        self.pending.append((message, source, carried))
        delivered = []
        while ready := [item for item in self.pending if self._ready(me, *item[1:])]:
            self.pending.remove(ready[0])
            delivered.append(ready[0][0])
            self._deliver(me, *ready[0][1:])
        return delivered

    def _ready(self, me: int, source: int, carried: list[list[int]]) -> bool:
        if self.how == "printed":
            return all(carried[x][me] <= self.deliv[x] for x in range(self.n))
        others = all(carried[x][me] <= self.m[x][me] for x in range(self.n) if x != source)
        return others and carried[source][me] == self.m[source][me] + 1

    def _deliver(self, me: int, source: int, carried: list[list[int]]) -> None:
        self.deliv[source] += 1
        if self.how == "printed":
            self.m[source][me] += 1
        self._learn(carried)

    def _learn(self, carried: list[list[int]]) -> None:
        self.m = [[max(p) for p in zip(a, b, strict=True)] for a, b in zip(self.m, carried, strict=True)]


@pytest.mark.parametrize("how", ["printed", "mattern"])
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_rst_as_told_delivers_what_the_endpoint_delivers(how: str, n: int, script: Script) -> None:
    endpoints, told = cast(Matrix, n), [Told(n, how) for _ in range(n)]
    network: list[tuple[Packet, Any]] = []
    for number, (action, a, b) in enumerate(script):
        if action % 2 and network:
            packet, carried = network.pop(a % len(network))
            j, source = int(packet.target[1:]), int(packet.source[1:])
            got = told[j].arrive(j, int(packet.payload), source, carried)
            assert words(endpoints[j].receive(packet)).split() == [str(message) for message in got]
        else:
            i, j = a % n, (a + 1 + b % (n - 1)) % n
            network.append((send(endpoints[i], str(number), j), told[i].send(i, j)))


def test_rst_as_mattern_tells_it_literally_jams() -> None:
    p = [Told(2, "mattern-literal") for _ in range(2)]
    assert p[1].arrive(1, 0, 0, p[0].send(0, 1)) == []


def test_rst_as_printed_counts_a_message_to_oneself_twice_and_blocks() -> None:
    p0 = Told(2, "printed")
    assert p0.arrive(0, 0, 0, p0.send(0, 0)) == [0]
    assert p0.m[0][0] == 2 and p0.arrive(0, 1, 0, p0.send(0, 0)) == []


SELF = [
    "fifo",
    "history",
    "matrix",
    "optimal",
    "pairs",
    "predecessors",
    "semantic",
    "buffered",
    "unordered",
    "sync",
]


@pytest.mark.parametrize("protocol", SELF)
def test_messages_to_oneself_are_delivered_at_once_and_block_nothing(protocol: str) -> None:
    world = World(maker(protocol), 2)
    for _ in range(3):
        world.send("p0", ["p0"])
        world.send("p0", ["p1"])
        world.drain()
        world.send("p1", ["p0"])
        world.drain()
    assert world.stuck() == [] and world.violations == []
