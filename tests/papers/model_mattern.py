"""Mattern95: abstract models of the buffer protocol and of the matrix protocol, written without any endpoint.

They count states as the table of the programs does. In the buffer model `post` is a step of its own, as in
the paper's listing; in the matrix model a site keeps a *set* of what has arrived, and the stamp of a message
is its causal past. Both remember what was received. `configuration` is a state as the explorer sees it.
"""

from collections.abc import Hashable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from antecede.simulate.programs import Program, Receive, Send

T = TypeVar("T")
S = TypeVar("S", bound=Hashable)
Words = tuple[str, ...]


class Message(NamedTuple):
    """A message on its way from one process to another."""

    name: str
    source: int
    target: int


class BufferState(NamedTuple):
    """OB and IB of each site, whether it awaits an acknowledgement, and what is under way."""

    counters: tuple[int, ...]
    ob: tuple[tuple[Message, ...], ...]
    ib: tuple[tuple[Message, ...], ...]
    awaiting: tuple[bool, ...]
    network: frozenset[Message]
    acks: frozenset[Message]
    received: tuple[Words, ...]


class MatrixState(NamedTuple):
    """What is under way, and what waits in the pools of the sites; pasts are names of messages."""

    counters: tuple[int, ...]
    network: frozenset[Message]
    pools: tuple[frozenset[Message], ...]
    pasts: tuple[frozenset[str], ...]
    stamps: frozenset[tuple[str, frozenset[str]]]
    received: tuple[Words, ...]


class Model(Protocol[S]):
    """A first state and the states after each."""

    def start(self) -> S: ...
    def successors(self, state: S) -> Iterator[S]: ...


def graph(model: Model[S]) -> dict[S, set[S]]:
    """Every reachable state with its successors."""
    found: dict[S, set[S]] = {}
    unexplored = [model.start()]
    while unexplored:
        state = unexplored.pop()
        if state not in found:
            found[state] = set(model.successors(state))
            unexplored += found[state]
    return found


class Buffer:
    """send, post, get, ack and receive, each a step of its own; get appends and acknowledges at once."""

    def __init__(self, program: Program) -> None:
        self.names, self.code = program.processes, program.instructions

    def start(self) -> BufferState:
        n = len(self.names)
        return BufferState((0,) * n, ((),) * n, ((),) * n, (False,) * n, frozenset(), frozenset(), ((),) * n)

    def successors(self, state: BufferState) -> Iterator[BufferState]:
        for i, code in enumerate(self.code):
            if state.counters[i] < len(code):
                yield from self._instruction(state, i, code[state.counters[i]])
        yield from self.posts(state)
        for one in state.network:
            ib = replace_value(state.ib, one.target, (*state.ib[one.target], one))
            yield state._replace(ib=ib, network=state.network - {one}, acks=state.acks | {one})
        for one in state.acks:
            awaiting = replace_value(state.awaiting, one.source, False)
            yield state._replace(awaiting=awaiting, acks=state.acks - {one})

    def posts(self, state: BufferState) -> Iterator[BufferState]:
        """The states after a post alone."""
        for i, ob in enumerate(state.ob):
            if ob and not state.awaiting[i]:
                yield state._replace(
                    ob=replace_value(state.ob, i, ob[1:]),
                    awaiting=replace_value(state.awaiting, i, True),
                    network=state.network | {ob[0]},
                )

    def settle(self, state: BufferState) -> BufferState:
        """Post whatever can be posted; the order of posts does not matter."""
        while (after := next(self.posts(state), None)) is not None:
            state = after
        return state

    def _instruction(self, state: BufferState, i: int, do: Send | Receive) -> Iterator[BufferState]:
        state = state._replace(counters=replace_value(state.counters, i, state.counters[i] + 1))
        if isinstance(do, Send):
            message = Message(do.message, i, self.names.index(do.targets[0]))
            yield state._replace(ob=replace_value(state.ob, i, (*state.ob[i], message)))
        elif state.ib[i] and do.sender in (None, self.names[state.ib[i][0].source]):
            head, *rest = state.ib[i]
            received = replace_value(state.received, i, (*state.received[i], head.name))
            yield state._replace(ib=replace_value(state.ib, i, tuple(rest)), received=received)

    def configuration(self, state: BufferState) -> Hashable:
        """Acknowledgements are seen as packets with no content."""
        packets = [("message", one.source, one.target, one.name) for one in state.network]
        packets += [("ack", one.target, one.source, "") for one in state.acks]
        boxes = tuple(tuple(one.name for one in ib) for ib in state.ib)
        return sort_packets(packets, self.names), state.counters, state.received, boxes


class Matrix:
    """A message may be received when all messages in its past for the same process were."""

    def __init__(self, program: Program) -> None:
        self.names, self.code = program.processes, program.instructions
        sends = [do for code in self.code for do in code if isinstance(do, Send)]
        self.target = {do.message: self.names.index(do.targets[0]) for do in sends}

    def start(self) -> MatrixState:
        n, nothing = len(self.names), frozenset[Message]()
        return MatrixState((0,) * n, nothing, (nothing,) * n, (frozenset[str](),) * n, frozenset(), ((),) * n)

    def successors(self, state: MatrixState) -> Iterator[MatrixState]:
        for i, code in enumerate(self.code):
            if state.counters[i] < len(code):
                yield from self._instruction(state, i, code[state.counters[i]])
        for one in state.network:
            pools = replace_value(state.pools, one.target, state.pools[one.target] | {one})
            yield state._replace(pools=pools, network=state.network - {one})

    def _instruction(self, state: MatrixState, i: int, do: Send | Receive) -> Iterator[MatrixState]:
        state = state._replace(counters=replace_value(state.counters, i, state.counters[i] + 1))
        if isinstance(do, Send):
            message = Message(do.message, i, self.target[do.message])
            yield state._replace(
                network=state.network | {message},
                stamps=state.stamps | {(message.name, state.pasts[i])},
                pasts=replace_value(state.pasts, i, state.pasts[i] | {message.name}),
            )
            return
        for one in state.pools[i]:
            if do.sender in (None, self.names[one.source]) and self._ready(state, one):
                yield self._receive(state, one)

    def _ready(self, state: MatrixState, message: Message) -> bool:
        past = dict(state.stamps)[message.name]
        before = {name for name in past if self.target[name] == message.target}
        return before <= set(state.received[message.target])

    def _receive(self, state: MatrixState, message: Message) -> MatrixState:
        i = message.target
        learnt = state.pasts[i] | dict(state.stamps)[message.name] | {message.name}
        return state._replace(
            pools=replace_value(state.pools, i, state.pools[i] - {message}),
            pasts=replace_value(state.pasts, i, learnt),
            received=replace_value(state.received, i, (*state.received[i], message.name)),
        )

    def configuration(self, state: MatrixState) -> Hashable:
        """The pools by name."""
        packets = [("message", one.source, one.target, one.name) for one in state.network]
        boxes = tuple(tuple(sorted(one.name for one in pool)) for pool in state.pools)
        return sort_packets(packets, self.names), state.counters, state.received, boxes


def sort_packets(packets: list[tuple[str, int, int, str]], names: Words) -> Hashable:
    """Packets under way, as the explorer sees them."""
    return tuple(sorted((kind, names[i], names[j], name.encode()) for kind, i, j, name in packets))


def replace_value(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    """The values with one of them replaced."""
    return (*values[:at], value, *values[at + 1 :])
