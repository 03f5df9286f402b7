"""Gambhire00: Lemmas 1 to 4, semantic order and delays, with random dependencies on reordering channels."""

from collections.abc import Callable
from functools import partial
from operator import mod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Delivery, Effects
from antecede.protocols.semantic import Semantic
from tests.harness import destinations
from tests.invariants.checked import KINDS, Checked
from tests.semantic_oracle import SemanticOracle

Event = tuple[str, int]
STEP = st.tuples(st.integers(0, 5), st.integers(0, 999), st.integers(0, 999), st.integers(0, 999))
SCRIPTS = st.lists(STEP, max_size=15) | st.lists(STEP, min_size=25, max_size=50)


class SemanticWorld(Checked):
    """Keeps its own vector clocks and its own set of semantic predecessors of every event."""

    def __init__(self, n: int, fifo: bool, variant: str) -> None:
        super().__init__("semantic", n, fifo, variant=variant)
        self.semantic = SemanticOracle(self.names)
        self.past: dict[Event, set[Event]] = {(name, 0): set() for name in self.names}
        self.clock = {name: dict.fromkeys(self.names, 0) for name in self.names}
        self.sent: list[tuple[Event, dict[str, int]]] = []
        self.before = {name: (self.of(name).sp, self.of(name).mcv) for name in self.names}
        self.wrong: list[tuple[str, int, list[int]]] = []
        self.random: Callable[[int], int] = lambda size: 0

    def of(self, process: str) -> Semantic:
        endpoint = self.endpoints[process]
        assert isinstance(endpoint, Semantic)
        return endpoint

    def depends(self, process: str) -> int:
        """Any own event so far, or none."""
        return self.random(self.clock[process][process] + 1)

    def event(self, process: str, depends_on: int) -> Event:
        """A new event of the process, which depends on an earlier one of its own."""
        self.clock[process][process] += 1
        event = (process, self.clock[process][process])
        self.past[event] = {event} | self.past[process, depends_on]
        return event

    def local(self, process: str) -> None:
        """An internal event."""
        depends_on = self.depends(process)
        self.semantic.local(process, depends_on)
        assert self.event(process, depends_on) == (process, self.of(process).local())
        self.check(process, Effects([], []))

    def send(self, process: str, to: Any = None, **how: Any) -> int:
        depends_on = self.depends(process)
        others = [name for name in (to or self.names) if name != process]
        self.semantic.record_send(process, others, depends_on)
        event = self.event(process, depends_on)
        self.sent.append((event, dict(self.clock[process])))
        message = super().send(process, to, depends_on=depends_on)
        mcv = dict(zip(self.names, self.of(process).mcv.tolist(), strict=True))
        assert all(index <= mcv[q] for q, index in self.past[event] - {event})  # Lemma 1, at sends
        return message

    def _note_delivery(self, process: str, delivery: Delivery) -> None:
        super()._note_delivery(process, delivery)
        if delivery.sender == process:
            return
        message, depends_on = int(delivery.payload), self.depends(process)
        if missing := self.semantic.record_delivery_and_list_missing_causes(process, message, depends_on):
            self.wrong.append((process, message, missing))
        sent, clock = self.sent[message]
        self.clock[process] = {x: max(own, clock[x]) for x, own in self.clock[process].items()}
        event = self.event(process, depends_on)
        self.past[event] |= self.past[sent]
        assert delivery.event == event[1]

    def check(self, process: str, effects: Effects) -> None:
        p = self.of(process)
        sp, mcv = self.before[process]
        assert p.ecv.tolist() == list(self.clock[process].values())
        assert (p.sp + p.sc == self.sends(p.ecv)).all()  # Lemma 2
        assert (p.sp >= sp).all()
        assert (p.mcv >= mcv).all()
        assert (p.mcv <= p.ecv).all()
        if p.variant == "corrected":
            assert (p.sp == self.sends(p.mcv)).all()  # Lemma 3
            assert (p.sc == self.sends(p.ecv) - self.sends(p.mcv)).all()  # Lemma 4
        self.before[process] = (p.sp.copy(), p.mcv.copy())

    def sends(self, upto: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """[x][y]: the messages that x sent to y until its event upto[x]."""
        counts = np.zeros((len(self.names),) * 2, np.int64)
        for message, ((sender, index), _) in enumerate(self.sent):
            x = self.names.index(sender)
            if index <= upto[x]:
                counts[x, [self.names.index(target) for target in self.targets[message]]] += 1
        return counts


def play(world: SemanticWorld, script: list[tuple[int, int, int, int]], kind: str) -> None:
    """Sends, arrivals and internal events; then let everything arrive."""
    n = len(world.names)
    for action, a, b, c in script:
        world.random = partial(mod, c)
        if action in (1, 3) and world.network:
            world.arrive(a % len(world.choices()))
        elif action == 5:
            world.local(world.names[a % n])
        else:
            world.send(world.names[a % n], destinations(world.names, a % n, b, kind))
    world.drain(world.random)


@pytest.mark.parametrize("kind", KINDS)
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_gambhire_corrected_lemmas_and_semantic_order_on_any_channel(
    kind: str, n: int, script: list[tuple[int, int, int, int]]
) -> None:
    world = SemanticWorld(n, fifo=False, variant="corrected")
    play(world, script, kind)
    assert world.wrong == [] and world.stuck() == []
    assert world.needless == []  # what waits would wait under plain causal order too


@given(n=st.integers(2, 4), script=SCRIPTS)
def test_gambhire_theorem_1_as_printed_for_unicast_on_fifo_channels(
    n: int, script: list[tuple[int, int, int, int]]
) -> None:
    world = SemanticWorld(n, fifo=True, variant="printed")
    play(world, script, "unicast")
    assert world.wrong == []
    assert world.stuck() == []
    assert world.needless == []
