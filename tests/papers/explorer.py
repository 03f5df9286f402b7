"""Every execution of a small program over real endpoints.

A program is written as in the tables of 002: "P1: s x->3; s y->2. P2: r; s z->3. P3: r from 1; r". A global
state is the snapshots of all endpoints, the packets under way, the program counters and what was
received; from each the explorer takes every possible next step and remembers where it has been. What one
endpoint does in one of its states is computed once.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

import antecede
from antecede import Effects, Endpoint
from antecede.core import wire

Make = Callable[[str, list[str]], Endpoint]
Restore = Callable[[bytes], Endpoint]


def restorer(kind: type[Endpoint]) -> Restore:
    """`antecede.restore` for a class that is not in the registry."""
    read = wire.reader(kind, "snapshot")
    return lambda snapshot: read(msgspec.msgpack.decode(snapshot)[-1])


class Do(NamedTuple):
    """What a process may do: "send" to some, "take" from one, let a packet "arrive", or "step" inside."""

    what: str
    data: bytes = b""
    processes: tuple[str, ...] = ()


class Done(NamedTuple):
    """What came of it."""

    snapshot: bytes
    packets: frozenset[bytes]
    received: str


class State(NamedTuple):
    """A global state."""

    snapshots: tuple[bytes, ...]
    network: frozenset[bytes]
    counters: tuple[int, ...]
    received: tuple[str, ...]


class End(NamedTuple):
    """A state in which nothing more can happen; processes are separated by bars."""

    complete: bool
    received: str
    waiting: str


def parse(program: str) -> list[list[Do]]:
    """The instructions of each process. A plain "r" has no sender: any will do."""
    lines = [line.partition(":")[2].split(";") for line in program.split(". ")]
    return [[_instruction(text.strip()) for text in line] for line in lines]


def _instruction(text: str) -> Do:
    if text.startswith("r"):
        return Do("take", processes=("P" + text[-1],) if "from" in text else ())
    name, _, targets = text.removeprefix("s ").partition("->")
    return Do("send", name.encode(), tuple(f"P{target}" for target in targets.split(",")))


class Explorer:
    """All executions of a program; `make` gives the endpoints, which must be made with manual=True."""

    def __init__(self, program: str, make: Make, restore: Restore = antecede.restore) -> None:
        self.program = parse(program)
        self.names = [f"P{i + 1}" for i in range(len(self.program))]
        self.ways = [[self._ways(do) for do in instructions] for instructions in self.program]
        self.make, self.restore = make, restore
        self.known: dict[tuple[bytes, Do], Done | None] = {}
        self.targets: dict[bytes, int] = {}
        self.inside = False

    def ends(self) -> set[End]:
        """Every way in which the program may end or block."""
        endpoints = [self.make(name, self.names) for name in self.names]
        self.inside = any(hasattr(endpoint, "step") for endpoint in endpoints)
        snapshots = tuple(endpoint.snapshot() for endpoint in endpoints)
        start = State(snapshots, frozenset(), (0,) * len(self.names), ("",) * len(self.names))
        seen, ends, unexplored = {start}, set(), [start]
        while unexplored:
            state = unexplored.pop()
            successors = self._successors(state)
            if not successors:
                ends.add(self._end(state))
            unexplored += successors - seen
            seen |= successors
        return ends

    def _successors(self, state: State) -> set[State]:
        happenings = [
            self._step(state, self.targets[data], Do("arrive", data), 0, state.network - {data})
            for data in state.network
        ]
        for at, ways in enumerate(self.ways):
            if state.counters[at] < len(ways):
                happenings += [self._step(state, at, do, 1) for do in ways[state.counters[at]]]
            if self.inside:
                happenings.append(self._step(state, at, Do("step"), 0))
        return {successor for successor in happenings if successor is not None}

    def _ways(self, do: Do) -> list[Do]:
        """An instruction; but any receive may be served by whoever has something to receive."""
        anybody = [Do("take", processes=(name,)) for name in self.names]
        return anybody if do == Do("take") else [do]

    def _step(
        self, state: State, at: int, do: Do, count: int, network: frozenset[bytes] | None = None
    ) -> State | None:
        key = (state.snapshots[at], do)
        if key not in self.known:
            self.known[key] = self._do(*key)
        done = self.known[key]
        if done is None:
            return None
        left = state.network if network is None else network
        return State(
            _put(state.snapshots, at, done.snapshot),
            left | done.packets,
            _put(state.counters, at, state.counters[at] + count),
            _put(state.received, at, f"{state.received[at]} {done.received}".strip()),
        )

    def _do(self, snapshot: bytes, do: Do) -> Done | None:
        """One step of one endpoint, or None if it is not possible."""
        endpoint = self.restore(snapshot)
        effects: Effects | None
        if do.what == "send":
            if endpoint.blocked:
                return None
            effects = endpoint.send(do.data, to=do.processes)
        elif do.what == "arrive":
            effects = endpoint.receive(antecede.decode(do.data))
        elif do.what == "take":
            effects = endpoint.take(*do.processes)
            if not effects.deliveries:
                return None
        else:
            effects = getattr(endpoint, "step")()  # noqa: B009  (of endpoints that have internal steps)
            if effects is None:
                return None
        packets = frozenset(packet.encode() for packet in effects.packets)
        self.targets |= {packet.encode(): self.names.index(packet.target) for packet in effects.packets}
        return Done(endpoint.snapshot(), packets, " ".join(d.payload.decode() for d in effects.deliveries))

    def _end(self, state: State) -> End:
        complete = all(c == len(p) for c, p in zip(state.counters, self.program, strict=True))
        complete = complete and not any(self.restore(snapshot).blocked for snapshot in state.snapshots)
        waiting = " | ".join(" ".join(arrived(self.restore(s))) for s in state.snapshots)
        return End(complete, " | ".join(state.received), waiting)


def arrived(endpoint: Endpoint) -> list[str]:
    """What has arrived and was not received, in order of arrival."""
    if hasattr(endpoint, "inbox"):
        return [letter.payload.decode() for letter in endpoint.inbox]
    return [item.what.payload.decode() for item in getattr(endpoint, "gate").items.values()]  # noqa: B009


def _put(values: tuple, at: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:at], value, *values[at + 1 :])
