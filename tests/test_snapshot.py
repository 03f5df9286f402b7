"""A snapshot taken at any point changes nothing: who is restored from one goes on as if nothing had been.

Two worlds run in step. In one of them endpoints are replaced, again and again, by what `restore` makes of
their snapshots; every packet, delivery, error and explanation must stay the same, to the byte.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import blake2b
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import antecede
from antecede import Effects, Endpoint, Packet
from tests.cases import EXACT, OTHER, Case, with_kinds
from tests.harness import destinations, maker

Script = list[tuple[int, int, int]]
Call = Callable[[Endpoint], Effects]
SCRIPTS = st.integers(0, 2**32).map(lambda seed: script_of(Random(seed), 40))
"""Long runs, made from a seed: short ones, which Hypothesis likes best, seldom hold anything."""
CASES = [*EXACT, *OTHER, Case("semantic-printed", "semantic", {"variant": "printed"}, fifo=True)]


def script_of(random: Random, size: int) -> Script:
    return [(random.randrange(5), random.randrange(4096), random.randrange(4096)) for _ in range(size)]


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
        self.names = [f"p{i}" for i in range(n)]
        self.first = endpoints(case, self.names, manual)
        self.second = endpoints(case, self.names, manual)
        self.fifo, self.manual = case.fifo, manual
        self.network: list[Packet] = []

    def replace(self, name: str) -> None:
        snapshot = self.second[name].snapshot()
        assert self.second[name].snapshot() == snapshot
        self.second[name] = antecede.restore(snapshot)
        assert self.first[name].snapshot() == snapshot == self.second[name].snapshot()
        self.check(name)

    def both(self, name: str, call: Call) -> Effects | str:
        one = attempt(call, self.first[name])
        two = attempt(call, self.second[name])
        assert one == two
        if isinstance(one, Effects) and isinstance(two, Effects):
            assert [packet.encode() for packet in one.packets] == [packet.encode() for packet in two.packets]
            self.network += one.packets
        self.check(name)
        return one

    def check(self, name: str) -> None:
        one, two = self.first[name], self.second[name]
        assert (one.held(), one.root_gaps(), one.blocked) == (two.held(), two.root_gaps(), two.blocked)

    def send(self, name: str, payload: bytes, to: list[str] | None) -> None:
        self.both(name, lambda endpoint: endpoint.send(payload, to=to))

    def take(self, name: str, sender: str | None = None) -> Effects | str:
        return self.both(name, lambda endpoint: endpoint.take(sender))

    def arrive(self, choice: int) -> None:
        place = choice % len(self.network)
        if self.fifo:
            channels = [(packet.source, packet.target) for packet in self.network]
            place = channels.index(channels[place])
        packet = self.network.pop(place)
        self.both(packet.target, lambda endpoint: endpoint.receive(packet))

    def take_all(self, name: str) -> None:
        while self.manual and isinstance(taken := self.take(name), Effects) and taken.deliveries:
            pass

    def finish(self) -> None:
        """Lets everything arrive and be taken, with replacements in between and one of each in the end."""
        while self.network:
            if len(self.network) % 3 == 0:
                self.replace(self.names[len(self.network) % len(self.names)])
            self.arrive(len(self.network) * 7)
            for name in self.names if self.manual else ():
                self.take_all(name)
        for name in self.names:
            self.replace(name)


def check_run(twins: Twins, script: Script, kind: str) -> None:
    """0, 1: send; 2: arrive; 3: take, from anybody or from one; 4: replace. Then everything arrives."""
    n = len(twins.names)
    for step, (action, a, b) in enumerate(script):
        name = twins.names[a % n]
        if action == 4:
            twins.replace(name)
        elif action == 3 and twins.manual:
            twins.take(name, [None, *twins.names][b % (n + 1)])
        elif action >= 2 and twins.network:
            twins.arrive(b)
        else:
            twins.send(name, str(step).encode(), destinations(twins.names, a % n, b, kind))
    twins.finish()


@pytest.mark.parametrize("manual", [False, True], ids=["automatic", "manual"])
@pytest.mark.parametrize(("case", "kind"), with_kinds(CASES))
@settings(max_examples=settings().max_examples // 6)
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_restored_endpoints_go_on_the_same(
    case: Case, kind: str, manual: bool, n: int, script: Script
) -> None:
    check_run(Twins(case, n, manual), script, kind)


@pytest.mark.parametrize(("case", "kind"), with_kinds(CASES))
def test_restored_endpoints_go_on_the_same_in_large_groups(case: Case, kind: str) -> None:
    """Where sets of ids and numbers grow past what a small hash table happens to keep in order."""
    script = script_of(Random(f"{case.name} {kind}"), 60)
    check_run(Twins(case, 10, manual=False), script, kind)


def digests() -> str:
    """One line for each case: the snapshots that a fixed run of six processes ends with."""
    lines = []
    for case in CASES:
        twins, random = Twins(case, 6, manual=False), Random(1)
        for step in range(40):
            sender = random.randrange(6)
            to = destinations(twins.names, sender, random.randrange(32), case.kinds[-1])
            twins.send(twins.names[sender], str(step).encode(), to)
            if step % 3 == 0 and twins.network:
                twins.arrive(random.randrange(1000))
        states = b"".join(endpoint.snapshot() for endpoint in twins.first.values())
        lines.append(f"{case.name} {blake2b(states, digest_size=8).hexdigest()}")
    return "\n".join(lines)


def test_equal_histories_have_equal_snapshots_in_every_interpreter() -> None:
    """Nothing in a snapshot may depend on how an interpreter scatters its hashes."""
    command = [sys.executable, "-c", "from tests.test_snapshot import digests; print(digests())"]
    answers = []
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        answers.append(done.stdout.splitlines())
    assert len(answers[0]) == len(CASES)
    assert answers[0] == answers[1]
