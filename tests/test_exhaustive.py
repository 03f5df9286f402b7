"""Every execution of three processes with a few messages, for every exact protocol.

All interleavings of sends and arrivals are walked; at each step the oracle checks safety and, where claimed,
delay-optimality, and at each end that nothing is stuck. Executions that meet in the same state have the same
future, so each step out of each state is taken once, and executions are counted, not repeated. Renaming
processes changes nothing, so the first message goes from p0 (to p1, for messages to one process).
"""

import copy
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

import pytest

import antecede
from antecede import Effects, Endpoint, Packet
from antecede.simulate.oracle import Oracle
from tests.cases import DELAY_OPTIMAL, EXACT, Case

NAMES = ["p0", "p1", "p2"]
Send = tuple[str, list[str] | None]


class Sent(NamedTuple):
    """A packet under way."""

    data: bytes
    packet: Packet


class Step(NamedTuple):
    """What an endpoint is after an input, and what came of it."""

    snapshot: bytes
    is_blocked: bool
    packets: list[Sent]
    delivered: list[int]


class Steps:
    """What endpoints do, tried once: with the same input in the same state they always do the same."""

    def __init__(self) -> None:
        self._known: dict[object, Step] = {}

    def send(self, end: Step, message: int, to: list[str] | None) -> Step:
        key = (end.snapshot, message, str(to))
        return self.take(key, end, lambda endpoint: endpoint.send(str(message).encode(), to=to))

    def receive(self, end: Step, sent: Sent) -> Step:
        return self.take((end.snapshot, sent.data), end, lambda endpoint: endpoint.receive(sent.packet))

    def take(self, key: object, end: Step, act: Callable[[Endpoint], Effects]) -> Step:
        if key not in self._known:
            endpoint = antecede.restore(end.snapshot)
            effects = act(endpoint)
            packets = [Sent(packet.encode(), packet) for packet in effects.packets]
            delivered = [int(delivery.payload) for delivery in effects.deliveries]
            self._known[key] = Step(endpoint.snapshot(), endpoint.blocked, packets, delivered)
        return self._known[key]


class State:
    """A point of some executions: endpoints, packets under way, what arrived and waits, and the oracle."""

    def __init__(self, case: Case) -> None:
        endpoints = case.world(3).endpoints
        self.ends = {name: Step(end.snapshot(), end.blocked, [], []) for name, end in endpoints.items()}
        self.steps = Steps()
        self.watch = case.watch or tuple(NAMES)
        self.optimal = case.name in DELAY_OPTIMAL
        self.fifo = case.fifo
        self.network: list[Sent] = []
        self.waiting: frozenset[tuple[str, int]] = frozenset()
        self.oracle = Oracle(NAMES)
        self.sends = 0

    def copy(self) -> Self:
        new = copy.copy(self)
        new.ends = dict(self.ends)
        new.network = list(self.network)
        new.oracle = copy.copy(self.oracle)
        for field in ("past", "delivered", "addressed", "message_past", "sender"):
            setattr(new.oracle, field, copy.copy(getattr(self.oracle, field)))
        return new

    def after_send(self, process: str, to: list[str] | None) -> Self:
        new = self.copy()
        new.sends += 1
        message = new.oracle.record_send(process, NAMES if to is None else to)
        new.apply(process, self.steps.send(self.ends[process], message, to))
        return new

    def after_arrival(self, at: int) -> Self:
        sent = self.network[at]
        packet = sent.packet
        new = self.copy()
        new.network.pop(at)
        if packet.kind == "message" and not new.oracle.delivered[packet.target] >> int(packet.payload) & 1:
            new.waiting |= {(packet.target, int(packet.payload))}
        new.apply(packet.target, self.steps.receive(self.ends[packet.target], sent))
        return new

    def apply(self, process: str, step: Step) -> None:
        self.ends[process] = step
        self.network += step.packets
        for message in step.delivered:
            assert (
                self.oracle.record_delivery_and_list_missing_causes(process, message) == []
                or process not in self.watch
            )
            self.waiting -= {(process, message)}
        if self.optimal:
            assert not any(self.oracle.is_ready(p, m) for p, m in self.waiting if p in self.watch)

    def moves(self, sends: list[Send]) -> Iterator[Self]:
        """Every state one step away; acknowledgements and the like arrive in every order too."""
        for process, to in sends:
            if not self.ends[process].is_blocked:
                yield self.after_send(process, to)
        channels: set[tuple[str, str]] = set()
        for at, (_, packet) in enumerate(self.network):
            if not self.fifo or (packet.source, packet.target) not in channels:
                channels.add((packet.source, packet.target))
                yield self.after_arrival(at)

    def key(self) -> object:
        """What decides the future and the verdicts on it."""
        ends = tuple(end.snapshot for end in self.ends.values())
        network = tuple(sorted(sent.data for sent in self.network))
        oracle = self.oracle
        by_message = (*oracle.message_past, *oracle.sender)
        by_process = (*oracle.past.values(), *oracle.delivered.values(), *oracle.addressed.values())
        return ends, network, self.waiting, by_message, by_process


def count_executions(case: Case, first: list[Send], sends: list[Send], messages: int) -> int:
    """Walk all executions with so many messages; returns their number."""
    known: dict[object, int] = {}

    def count_from(state: State) -> int:
        key = state.key()
        if key not in known:
            choices = [] if state.sends == messages else sends if state.sends else first
            known[key] = sum(map(count_from, state.moves(choices))) or end(state)
        return known[key]

    def end(state: State) -> int:
        assert case.name == "sync-rendezvous" or state.oracle.list_undelivered_messages() == []
        return 1

    return count_from(State(case))


ONE: list[Send] = [(p, [q]) for p in NAMES for q in NAMES if p != q]
SOME: list[Send] = [*ONE, *((p, [q for q in NAMES if q != p]) for p in NAMES)]
ALL: list[Send] = [(p, None) for p in NAMES]
SPECIAL: list[Send] = [("p0", ["p1"]), ("p1", ["p0"]), ("p1", ["p2"])]
"""First messages that are different when p0 is the monitor or server."""

EXECUTIONS = {
    "matrix": 22_680, "pairs": 22_680, "optimal": 22_680, "predecessors": 22_680, "history": 22_680,
    "semantic": 22_680, "bounded-n": 24_490, "bounded-n+1": 22_680, "bounded->n-1": 24_490,
    "server": 68_040, "monitor": 68_040,
}  # fmt: skip
CASES = {case.name: case for case in EXACT}


@pytest.mark.parametrize("name", EXECUTIONS)
def test_four_messages_to_one_process(name: str) -> None:
    case = CASES[name]
    assert count_executions(case, SPECIAL if case.watch else ONE[:1], ONE, 4) == EXECUTIONS[name]


TO_SOME = ["optimal", "matrix", "predecessors", "history", "semantic"]


@pytest.mark.parametrize("name", TO_SOME)
def test_three_messages_to_some_processes(name: str) -> None:
    first = [send for send in SOME if send[0] == "p0"]
    assert count_executions(CASES[name], first, SOME, 3) == 48_960


BROADCAST = ["vector", "plausible-R=n", "optimal"]


@pytest.mark.parametrize("name", BROADCAST)
def test_three_broadcasts(name: str) -> None:
    assert count_executions(CASES[name], ALL[:1], ALL, 3) == 20_160


WITH_ACKNOWLEDGEMENTS = {
    "sync-rendezvous": 28_640, "sync-site": 158_760, "buffered": 552_728, "buffered-pipelined": 495_957,
    "release": 1_457_476,
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_ACKNOWLEDGEMENTS)
def test_four_messages_with_acknowledgements(name: str) -> None:
    assert count_executions(CASES[name], ONE[:1], ONE, 4) == WITH_ACKNOWLEDGEMENTS[name]


@pytest.mark.parametrize(
    ("name", "messages", "executions"),
    [
        ("buffered", 2, 522_260),
        ("buffered-hold", 3, 101_995_784_784),
        ("buffered-pipelined", 3, 20_943_600_052),
        ("acknowledged", 2, 14_408),
        ("eager", 2, 760_808),
    ],
)
def test_messages_to_some_processes_with_acknowledgements(name: str, messages: int, executions: int) -> None:
    first = [send for send in SOME if send[0] == "p0"]
    assert count_executions(CASES[name], first, SOME, messages) == executions


@pytest.mark.parametrize(("name", "executions"), [("acknowledged", 9_586), ("eager", 17_902)])
def test_three_messages_that_are_acknowledged(name: str, executions: int) -> None:
    """Four would have too many states: nothing waits at the sender, so everything is under way at once."""
    assert count_executions(CASES[name], ONE[:1], ONE, 3) == executions


PASSED_ON = [("acknowledged", 2, 12_358), ("eager", 2, 746_552), ("flood", 2, 19_896)]


@pytest.mark.parametrize(("name", "messages", "executions"), PASSED_ON)
def test_broadcasts_that_are_acknowledged_or_passed_on(name: str, messages: int, executions: int) -> None:
    assert count_executions(CASES[name], ALL[:1], ALL, messages) == executions


def test_three_broadcasts_along_a_line() -> None:
    """Not everybody is alike there, so the first one may be of anybody."""
    assert count_executions(CASES["flood-line"], ALL, ALL, 3) == 17_280


def test_every_exact_protocol_is_walked() -> None:
    passed_on = [name for name, _, _ in PASSED_ON]
    walked = [*EXECUTIONS, *TO_SOME, *BROADCAST, *WITH_ACKNOWLEDGEMENTS, *passed_on]
    assert {CASES[name].protocol for name in walked} == {case.protocol for case in EXACT}
