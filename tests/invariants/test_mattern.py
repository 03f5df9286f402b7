"""Mattern95: Lemmas 2, 3 and 4, and at most one message outstanding."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Effects
from antecede.protocols.buffered import Buffered
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
