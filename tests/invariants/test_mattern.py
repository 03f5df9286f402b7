"""Mattern95: Lemmas 2, 3 and 4, and at most one message outstanding; and what its successors rest on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Effects, Packet
from antecede.protocols.buffered import Buffered
from antecede.protocols.eager import Eager
from antecede.protocols.release import Release
from antecede.simulate.oracle import list_set_bits
from tests.cases import SCRIPTS, Script
from tests.harness import run_script
from tests.invariants.checked import KINDS, Checked


class BufferedWorld(Checked):
    """Posts are the packets sent, gets their arrivals; several copies of a message are posted together."""

    def check(self, process: str, effects: Effects) -> None:
        self.check_outstanding(process)
        posts = [int(p.payload) for p in self.packets if p.kind == "message" and p.source == process]
        gets = [int(p.payload) for p in self.arrivals if p.kind == "message" and p.source == process]
        sends = [m for m, sender in enumerate(self.oracle.sender) if sender == process]
        assert gets == posts[: len(gets)]  # L2
        assert list(dict.fromkeys(posts)) == sends[: len(set(posts))]  # L3
        here = [int(p.payload) for p in self.arrivals if p.kind == "message" and p.target == process]
        received = [m for m in self.order(process) if self.oracle.sender[m] != process]
        assert received == here[: len(received)]  # L4

    def check_outstanding(self, process: str) -> None:
        """At most one message is posted and not acknowledged; by footnote 4, at most one destination."""
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Buffered)
        posted = {(p.target, p.number): p.payload for p in self.packets if p.source == process}
        messages = {posted[packet] for packet in endpoint.awaiting}
        destinations = {target for target, _ in endpoint.awaiting}
        assert len(messages) <= 1 or (endpoint.pipelined and len(destinations) == 1)


@pytest.mark.parametrize("options", [{}, {"multicast": "hold"}, {"pipelined": True}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_mattern_lemmas_2_to_4(options: dict[str, Any], kind: str, n: int, script: Script) -> None:
    world = BufferedWorld("buffered", n, fifo="pipelined" in options, **options)
    run_script(world, script, kind)
    assert world.stuck() == [] and world.violations == []


class BoxWorld(Checked):
    """When a message leaves, all of its past that others have sent is in the boxes of its destinations."""

    def check(self, process: str, effects: Effects) -> None:
        for packet in effects.packets:
            if packet.kind == "message":
                for cause in list_set_bits(self.oracle.message_past[int(packet.payload)]):
                    self.check_cause(cause, packet)

    def check_cause(self, cause: int, packet: Packet) -> None:
        if self.oracle.sender[cause] != packet.source:
            assert self.lacking(cause) == set()

    def lacking(self, message: int) -> set[str]:
        """The destinations of a message that do not have it."""
        return {name for name in self.targets[message] if (name, message) not in self.deliveries}


class ReleaseWorld(BoxWorld):
    """And so are the earlier messages of the sender itself, unless they go to the same destination."""

    def check(self, process: str, effects: Effects) -> None:
        super().check(process, effects)
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Release)
        assert len(endpoint.unacknowledged) <= 1

    def check_cause(self, cause: int, packet: Packet) -> None:
        super().check_cause(cause, packet)
        assert self.lacking(cause) <= {packet.target}


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_release_lets_nothing_go_before_its_causes_are_in_their_boxes(n: int, script: Script) -> None:
    world = ReleaseWorld("release", n)
    run_script(world, script, "unicast")
    assert world.stuck() == [] and world.needless == []


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_eager_sends_nothing_on_before_its_causes_are_in_their_boxes(
    kind: str, n: int, script: Script
) -> None:
    world = BoxWorld("eager", n)
    run_script(world, script, kind)
    assert world.stuck() == [] and world.needless == []
    for endpoint in world.endpoints.values():
        assert isinstance(endpoint, Eager)
        assert (endpoint.flags, endpoint.outgoing.items, endpoint.uncleared.items) == ({}, {}, {})
