"""Sanchez: invariants I1 to I8."""

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Effects
from antecede.protocols.bounded import Bounded
from tests.cases import SCRIPTS, Script
from tests.harness import run_script
from tests.invariants.checked import Checked, vector


class BoundedWorld(Checked):
    """Sanchez: I1 to I7."""

    def __init__(self, n: int, k: int, rule: str) -> None:
        super().__init__("bounded", n, k=k, rule=rule)
        self.most = k - 1 if rule == ">=" else k
        self.before = {name: np.zeros((n, n), np.int64) for name in self.names}
        self.changes: list[tuple[int, int, Any, Any]] = []
        self.states: list[tuple[int, int, Any]] = []

    def check(self, process: str, effects: Effects) -> None:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Bounded)
        sent = Counter(packet.target for packet in self.packets if packet.source == process)
        assert not endpoint.m[:, endpoint.me].any()  # I1
        assert endpoint.m[endpoint.me].tolist() == [sent[name] for name in self.names]  # I2
        assert np.count_nonzero(endpoint.m) <= self.most  # I3
        assert all(delivery.payload for delivery in effects.deliveries)  # I7: an extra has no payload
        self.check_packets(effects)
        self.check_order(endpoint)
        self.remember(endpoint)

    def check_packets(self, effects: Effects) -> None:
        flat = [(p.kind, msgspec.msgpack.decode(p.stamp, type=list[int])) for p in effects.packets]
        assert all(len(stamp) <= 3 * self.most for kind, stamp in flat if kind == "message")  # I3
        assert all(len(stamp) >= 2 * 2 for kind, stamp in flat if kind == "extra")  # I6
        bursts = max(1, len(effects.deliveries))  # one after a send, or after each delivery
        assert sum(kind == "extra" for kind, _ in flat) <= bursts * (len(self.names) - 1)

    def check_order(self, endpoint: Bounded) -> None:
        """I4: of each sender the first DELIV[i] packets are delivered, and no other."""
        held = {(item.what.source, item.what.number) for item in endpoint.gate.items.values()}
        for i, source in enumerate(self.names):
            here = [p.number for p in self.arrivals if (p.source, p.target) == (source, endpoint.process)]
            delivered = {number for number in here if (source, number) not in held}
            assert delivered == set(range(1, endpoint.gate.have.get(i, 0) + 1))

    def remember(self, endpoint: Bounded) -> None:
        now, old = len(self.states), self.before[endpoint.process]
        self.changes += [
            (now, y, old[:, y], endpoint.m[:, y].copy()) for y in range(endpoint.n) if y != endpoint.me
        ]
        self.states.append((now, endpoint.me, np.array(vector(endpoint))))
        self.before[endpoint.process] = endpoint.m.copy()

    def check_lemma_2(self) -> None:
        """I5: whoever meets the constraints after an event meets those before it."""
        for at, y, old, new in self.changes:
            for now, process, deliv in self.states:
                if process == y and now >= at and (new <= deliv).all():
                    assert (old <= deliv).all()


@pytest.mark.parametrize(("slack", "rule"), [(0, ">="), (1, ">="), (3, ">="), (-1, ">"), (1, ">")])
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_sanchez_i1_to_i7(slack: int, rule: str, n: int, script: Script) -> None:
    world = BoundedWorld(n, n + slack, rule)
    run_script(world, script, "unicast")
    world.check_lemma_2()


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_sanchez_i8_beyond_the_largest_number_of_entries_nothing_fires_and_nothing_waits_needlessly(
    n: int, script: Script
) -> None:
    world = BoundedWorld(n, (n - 1) ** 2 + 1, ">=")
    run_script(world, script, "unicast")
    assert {packet.kind for packet in world.packets} <= {"message"}
    assert world.needless == []
