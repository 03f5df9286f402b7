"""A snapshot taken at any point changes nothing: who is restored from one goes on as if nothing had been.

Two worlds run in step. In one of them endpoints are replaced, again and again, by what `restore` makes of
their snapshots; every packet, delivery, error and explanation must stay the same, to the byte.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import antecede
from antecede import Effects, Endpoint
from tests.cases import EXACT, OTHER, Case, with_kinds
from tests.harness import destinations, maker

Script = list[tuple[int, int, int]]
Call = Callable[[Endpoint], Effects]
SCRIPTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 999), st.integers(0, 999)), max_size=40)
CASES = [*EXACT, *OTHER, Case("semantic-printed", "semantic", {"variant": "printed"}, fifo=True)]


def endpoints(case: Case, names: list[str], manual: bool) -> dict[str, Endpoint]:
    options = {key: value(len(names)) if callable(value) else value for key, value in case.options.items()}
    make = maker(case.protocol, manual=manual, **options)
    return {name: make(name, names) for name in names}


def attempt(call: Call, endpoint: Endpoint) -> Effects | str:
    """The effects of a call, or the error that it meets (a send while blocked, for one)."""
    try:
        return call(endpoint)
    except antecede.CallerError as error:
        return str(error)


class Twins:
    """Every process twice: `first` is left alone, `second` is replaced by its restored snapshot."""

    def __init__(self, case: Case, n: int, manual: bool) -> None:
        self.names = [f"p{i:02}" for i in range(n)]
        renamed = {key: "p00" if value == "p0" else value for key, value in case.options.items()}
        self.first, self.second = (
            endpoints(Case(case.name, case.protocol, renamed), self.names, manual) for _ in range(2)
        )
        self.fifo, self.manual = case.fifo, manual
        self.network: list[bytes] = []

    def replace(self, name: str) -> None:
        snapshot = self.second[name].snapshot()
        assert self.second[name].snapshot() == snapshot
        self.second[name] = antecede.restore(snapshot)
        self.check(name)

    def both(self, name: str, call: Call) -> Effects | str:
        one, two = attempt(call, self.first[name]), attempt(call, self.second[name])
        assert one == two
        if isinstance(one, Effects) and isinstance(two, Effects):
            sent = [packet.encode() for packet in one.packets]
            assert sent == [packet.encode() for packet in two.packets]
            self.network += sent
        self.check(name)
        return one

    def check(self, name: str) -> None:
        one, two = self.first[name], self.second[name]
        assert (one.held(), one.root_gaps(), one.blocked) == (two.held(), two.root_gaps(), two.blocked)
        assert one.snapshot() == two.snapshot()

    def send(self, name: str, payload: bytes, to: list[str] | None) -> None:
        self.both(name, lambda endpoint: endpoint.send(payload, to=to))

    def take(self, name: str, sender: str | None = None) -> Effects | str:
        return self.both(name, lambda endpoint: endpoint.take(sender))

    def arrive(self, choice: int) -> None:
        ends = [(packet.source, packet.target) for packet in map(antecede.decode, self.network)]
        place = choice % len(ends)
        packet = antecede.decode(self.network.pop(ends.index(ends[place]) if self.fifo else place))
        self.both(packet.target, lambda endpoint: endpoint.receive(packet))

    def take_all(self, name: str) -> None:
        while self.manual and isinstance(taken := self.take(name), Effects) and taken.deliveries:
            pass

    def finish(self) -> None:
        """Lets everything arrive and be taken, with replacements in between."""
        while self.network:
            self.replace(self.names[len(self.network) % len(self.names)])
            self.arrive(len(self.network) * 7)
            for name in self.names:
                self.take_all(name)


def play(twins: Twins, script: Script, kind: str) -> None:
    """0, 1: send; 2: arrive; 3: take, from anybody or from one; 4: replace. Then everything arrives."""
    n = len(twins.names)
    for step, (action, a, b) in enumerate(script):
        name = twins.names[a % n]
        if action == 4:
            twins.replace(name)
        elif action == 3 and twins.manual:
            twins.take(name, [None, *twins.names][b % (n + 1)])
        elif action >= 2 and twins.network:
            twins.arrive(a)
        else:
            twins.send(name, str(step).encode(), destinations(twins.names, a % n, b, kind))
    twins.finish()


@pytest.mark.parametrize("manual", [False, True], ids=["", "manual"])
@pytest.mark.parametrize(("case", "kind"), with_kinds(CASES))
@settings(max_examples=settings().max_examples // 3)
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_restored_endpoints_go_on_the_same(case: Case, kind: str, manual: bool, n: int, script: Script) -> None:
    play(Twins(case, n, manual), script, kind)


@pytest.mark.parametrize(("case", "kind"), with_kinds(CASES))
@settings(max_examples=3)
@given(seed=st.integers(0, 10**6))
@example(seed=1)
def test_so_they_do_in_large_groups_and_long_runs(case: Case, kind: str, seed: int) -> None:
    """Where sets grow past what a small table keeps in order."""
    script = [((seed + 7 * i) % 9 % 5, (seed + 31 * i) * 17 % 1000, (seed + 13 * i * i) % 1000) for i in range(150)]
    play(Twins(case, 12, manual=False), script, kind)


@pytest.mark.parametrize(("case", "kind"), with_kinds(CASES))
def test_every_kind_of_state_is_in_the_snapshot(case: Case, kind: str) -> None:
    """What a snapshot leaves out could not be restored: the fields are all there, by name."""
    twins = Twins(case, 3, manual=False)
    twins.send("p00", b"x", destinations(twins.names, 0, 0, kind))
    for name in twins.names:
        assert antecede.restore(twins.first[name].snapshot()) == twins.first[name] or case.protocol in ARRAYS
