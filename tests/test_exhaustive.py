"""Every execution of three processes with a few messages, for every exact protocol.

The tree of all interleavings of sends and arrivals is walked; at each step the oracle checks safety and,
where claimed, delay-optimality, and at each leaf that nothing is stuck. Renaming processes changes
nothing, so the first message goes from p0 (to p1, for messages to one process).
"""

import copy
from collections.abc import Iterator

import pytest

import antecede
from antecede import Effects, Endpoint, Packet
from antecede.simulate.oracle import Oracle
from tests.cases import DELAY_OPTIMAL, EXACT, Case

NAMES = ["p0", "p1", "p2"]
Send = tuple[str, list[str] | None]


class State:
    """A point of the tree: endpoints, packets under way, what arrived and waits, and the oracle."""

    def __init__(self, case: Case) -> None:
        self.endpoints: dict[str, Endpoint] = case.world(3).endpoints
        self.snapshots: dict[str, bytes] = {}
        self.watch = case.watch or tuple(NAMES)
        self.optimal = case.name in DELAY_OPTIMAL
        self.fifo = case.fifo
        self.network: list[Packet] = []
        self.waiting: frozenset[tuple[str, int]] = frozenset()
        self.oracle = Oracle(NAMES)
        self.sends = 0

    def copy_for(self, process: str) -> "State":
        """A copy in which one process may move."""
        new = copy.copy(self)
        moved = antecede.restore(self.take_snapshot(process))
        new.endpoints = {**self.endpoints, process: moved}
        new.snapshots = {name: taken for name, taken in self.snapshots.items() if name != process}
        new.network = list(self.network)
        new.oracle = copy.copy(self.oracle)
        for field in ("past", "delivered", "addressed", "message_past", "sender"):
            setattr(new.oracle, field, copy.copy(getattr(self.oracle, field)))
        return new

    def take_snapshot(self, process: str) -> bytes:
        """The snapshot of an endpoint, taken once: most of them are those of the state before."""
        if process not in self.snapshots:
            self.snapshots[process] = self.endpoints[process].snapshot()
        return self.snapshots[process]

    def after_send(self, process: str, to: list[str] | None) -> "State":
        new = self.copy_for(process)
        new.sends += 1
        message = new.oracle.send(process, NAMES if to is None else to)
        new.apply(process, new.endpoints[process].send(str(message).encode(), to=to))
        return new

    def after_arrival(self, at: int) -> "State":
        packet = self.network[at]
        new = self.copy_for(packet.target)
        new.network.pop(at)
        if packet.kind == "message" and not new.oracle.delivered[packet.target] >> int(packet.payload) & 1:
            new.waiting |= {(packet.target, int(packet.payload))}
        new.apply(packet.target, new.endpoints[packet.target].receive(packet))
        return new

    def apply(self, process: str, effects: Effects) -> None:
        self.network += effects.packets
        for delivery in effects.deliveries:
            message = int(delivery.payload)
            assert self.oracle.deliver(process, message) == [] or process not in self.watch
            self.waiting -= {(process, message)}
        if self.optimal:
            assert not any(self.oracle.is_ready(p, m) for p, m in self.waiting if p in self.watch)

    def moves(self, sends: list[Send]) -> Iterator["State"]:
        """Every state one step away; acknowledgements and the like arrive in every order too."""
        for process, to in sends:
            if not self.endpoints[process].blocked:
                yield self.after_send(process, to)
        channels: set[tuple[str, str]] = set()
        for at, packet in enumerate(self.network):
            if not self.fifo or (packet.source, packet.target) not in channels:
                channels.add((packet.source, packet.target))
                yield self.after_arrival(at)

    def key(self) -> object:
        """What decides the future and the verdicts on it."""
        ends = tuple(self.take_snapshot(name) for name in self.endpoints)
        oracle = (tuple(self.oracle.message_past), *map(str, (self.oracle.past, self.oracle.delivered)))
        return ends, tuple(sorted(packet.encode() for packet in self.network)), self.waiting, oracle


def walk(case: Case, first: list[Send], sends: list[Send], messages: int, merge: bool = False) -> int:
    """Walk the whole tree (or, merged, the graph) of executions; the number of its leaves."""
    leaves, stack, known = 0, [State(case)], set()
    while stack:
        state = stack.pop()
        if merge and (key := state.key()) in known:
            continue
        known.add(key if merge else None)
        choices = [] if state.sends == messages else sends if state.sends else first
        following = list(state.moves(choices))
        stack += following
        if not following:
            leaves += 1
            assert case.name == "sync-rendezvous" or state.oracle.list_undelivered() == []
    return leaves


ONE: list[Send] = [(p, [q]) for p in NAMES for q in NAMES if p != q]
SOME: list[Send] = [*ONE, *((p, [q for q in NAMES if q != p]) for p in NAMES)]
ALL: list[Send] = [(p, None) for p in NAMES]
SPECIAL: list[Send] = [("p0", ["p1"]), ("p1", ["p0"]), ("p1", ["p2"])]
"""First messages that are different when p0 is the monitor or server."""

TREES = {
    "matrix": 22_680, "pairs": 22_680, "optimal": 22_680, "predecessors": 22_680, "history": 22_680,
    "semantic": 22_680, "bounded-n": 24_490, "bounded-n+1": 22_680, "bounded->n-1": 24_490,
    "server": 68_040, "monitor": 68_040,
}  # fmt: skip
CASES = {case.name: case for case in EXACT}


@pytest.mark.parametrize("name", TREES)
def test_four_messages_to_one_process(name: str) -> None:
    case = CASES[name]
    assert walk(case, SPECIAL if case.watch else ONE[:1], ONE, 4) == TREES[name]


@pytest.mark.parametrize("name", ["optimal", "matrix", "predecessors", "history", "semantic"])
def test_three_messages_to_some_processes(name: str) -> None:
    first = [send for send in SOME if send[0] == "p0"]
    assert walk(CASES[name], first, SOME, 3) == 48_960


@pytest.mark.parametrize("name", ["vector", "plausible-R=n", "optimal"])
def test_three_broadcasts(name: str) -> None:
    assert walk(CASES[name], ALL[:1], ALL, 3) == 20_160


TERMINAL = {
    "sync-rendezvous": 606, "sync-site": 822, "buffered": 1_022, "buffered-pipelined": 1_022,
    "release": 1_834,
}  # fmt: skip
"""Different last states; acknowledgements make the tree itself too large to count."""


@pytest.mark.parametrize("name", TERMINAL)
def test_four_messages_with_acknowledgements(name: str) -> None:
    assert walk(CASES[name], ONE[:1], ONE, 4, merge=True) == TERMINAL[name]


@pytest.mark.parametrize(
    ("name", "messages", "terminal"),
    [
        ("buffered", 2, 51),
        ("buffered-hold", 3, 817),
        ("buffered-pipelined", 3, 921),
        ("acknowledged", 2, 66),
        ("eager", 2, 170),
    ],
)
def test_messages_to_some_processes_with_acknowledgements(name: str, messages: int, terminal: int) -> None:
    first = [send for send in SOME if send[0] == "p0"]
    assert walk(CASES[name], first, SOME, messages, merge=True) == terminal


@pytest.mark.parametrize(("name", "terminal"), [("acknowledged", 159), ("eager", 211)])
def test_three_messages_that_are_acknowledged(name: str, terminal: int) -> None:
    """Four would have too many states: nothing waits at the sender, so everything is under way at once."""
    assert walk(CASES[name], ONE[:1], ONE, 3, merge=True) == terminal


@pytest.mark.parametrize(
    ("name", "messages", "terminal"),
    [("acknowledged", 2, 12), ("eager", 2, 76), ("flood", 2, 284)],
)
def test_broadcasts_that_are_acknowledged_or_passed_on(name: str, messages: int, terminal: int) -> None:
    assert walk(CASES[name], ALL[:1], ALL, messages, merge=True) == terminal


def test_three_broadcasts_along_a_line() -> None:
    """Not everybody is alike there, so the first one may be of anybody."""
    assert walk(CASES["flood-line"], ALL, ALL, 3, merge=True) == 256
