"""RST, on which three of the papers build, and how they tell it; messages to oneself, which it mishandles."""

from copy import deepcopy
from operator import le
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Packet
from antecede.protocols.matrix import Matrix
from tests.cases import SCRIPTS, Script
from tests.harness import World, maker
from tests.papers.stage import cast, have, hear_each, missing, send, words


def test_rst_triangle() -> None:
    p0, p1, p2 = cast(Matrix, 3)
    x = send(p0, "x", 2)
    y = send(p0, "y", 1)
    assert p0.sent.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    p1.receive(y)
    assert p1.sent.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert have(p1) == [1, 0, 0]
    z = send(p1, "z", 2)
    assert words(p2.receive(z)) == ""
    assert missing(p2) == [("z", "p0", 0, 1)]
    assert words(p2.receive(x)) == "x z"
    assert p2.sent.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert have(p2) == [1, 1, 0]


def test_rst_multicast_adds_every_copy_to_the_packets_matrix() -> None:
    p0, p1, p2 = cast(Matrix, 3)
    copies = {packet.target: packet for packet in p0.send(b"m", to=["p1", "p2"]).packets}
    p1.receive(copies["p1"])
    assert p1.sent.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    answer = send(p1, "r", 2)
    assert hear_each(p2, answer, copies["p2"]) == ["", "m r"]


Counts = list[list[int]]


class Told:
    """RST as it is told. "printed": 1 more at send and at delivery, so a message to oneself counts twice.

    "mattern": adds 1, then attaches; tests the own entry for equality; takes the maximum at delivery, or, in
    "mattern-literal", whenever a process receives, which read literally is at arrival.
    """

    def __init__(self, n: int, how: str) -> None:
        self.n, self.how = n, how
        self.m = [[0] * n for _ in range(n)]
        self.deliv = [0] * n
        self.pending: list[tuple[int, int, Counts]] = []

    def send(self, me: int, to: int) -> Counts:
        before = deepcopy(self.m)
        self.m[me][to] += 1
        return before if self.how == "printed" else deepcopy(self.m)

    def arrive(self, me: int, message: int, source: int, carried: Counts) -> list[int]:
        """What is delivered now: the queue is looked through in arrival order until nothing more can be."""
        if self.how == "mattern-literal":
            self._learn(carried)
        self.pending.append((message, source, carried))
        delivered = []
        while ready := [item for item in self.pending if self._is_ready(me, *item[1:])]:
            first = ready[0]
            self.pending.remove(first)
            message, source, carried = first
            delivered.append(message)
            self._deliver(me, source, carried)
        return delivered

    def _is_ready(self, me: int, source: int, carried: Counts) -> bool:
        wanted = [row[me] for row in carried]
        if self.how == "printed":
            return all(map(le, wanted, self.deliv))
        known = [row[me] for row in self.m]
        is_next = wanted.pop(source) == known.pop(source) + 1
        return is_next and all(map(le, wanted, known))

    def _deliver(self, me: int, source: int, carried: Counts) -> None:
        self.deliv[source] += 1
        if self.how == "printed":
            self.m[source][me] += 1
        self._learn(carried)

    def _learn(self, carried: Counts) -> None:
        rows = zip(self.m, carried, strict=True)
        self.m = [[*map(max, mine, theirs)] for mine, theirs in rows]


@pytest.mark.parametrize("how", ["printed", "mattern"])
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_rst_as_told_delivers_what_the_endpoint_delivers(how: str, n: int, script: Script) -> None:
    endpoints = cast(Matrix, n)
    told = [Told(n, how) for _ in range(n)]
    network: list[tuple[Packet, Any]] = []
    for number, (action, a, b) in enumerate(script):
        if action % 2 and network:
            packet, carried = network.pop(a % len(network))
            j = int(packet.target[1:])
            source = int(packet.source[1:])
            got = told[j].arrive(j, int(packet.payload), source, carried)
            effects = endpoints[j].receive(packet)
            assert words(effects).split() == [*map(str, got)]
        else:
            i = a % n
            j = (a + 1 + b % (n - 1)) % n
            packet = send(endpoints[i], str(number), j)
            carried = told[i].send(i, j)
            network.append((packet, carried))


def test_rst_as_mattern_tells_it_literally_jams() -> None:
    sender, receiver = Told(2, "mattern-literal"), Told(2, "mattern-literal")
    carried = sender.send(0, 1)
    assert receiver.arrive(1, 0, 0, carried) == []


def test_rst_as_printed_counts_a_message_to_oneself_twice_and_blocks() -> None:
    p0 = Told(2, "printed")
    carried = p0.send(0, 0)
    assert p0.arrive(0, 0, 0, carried) == [0]
    assert p0.m[0][0] == 2
    carried = p0.send(0, 0)
    assert p0.arrive(0, 1, 0, carried) == []


SELF = [
    "fifo",
    "history",
    "matrix",
    "optimal",
    "acknowledged",
    "pairs",
    "predecessors",
    "semantic",
    "buffered",
    "release",
    "eager",
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
