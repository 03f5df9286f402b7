"""What may happen next in a small program whose processes are real endpoints.

A state is the snapshots of all endpoints, the packets under way, the program counters and what was received.
Owns: the steps, the states and the step from one state to the next. What one endpoint does in one of its
states is computed once: snapshots and packets are kept once and states hold their numbers.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Literal, NamedTuple, TypeVar

from antecede.core.boxed import Boxed
from antecede.core.endpoint import Endpoint
from antecede.core.errors import CallerError, InputError
from antecede.core.gated import Gated
from antecede.core.packet import Effects, Packet, decode
from antecede.protocols.numbered import Numbered
from antecede.simulate.programs import Instruction, Program, Send

Make = Callable[[str, list[str]], Endpoint]
Restore = Callable[[bytes], Endpoint]
T = TypeVar("T")


class Step(NamedTuple):
    """One thing that happens at one process.

    `message` is what is sent; `others` are its destinations, or the process received from; `packet` is
    what arrives. A "step" is internal: only endpoints that have a method `step` take it.
    """

    process: str
    what: Literal["send", "receive", "arrive", "step"]
    message: str = ""
    others: tuple[str, ...] = ()
    packet: bytes = b""


class ProgramState(NamedTuple):
    """A global state; endpoints and packets are numbers given by `Moves`."""

    endpoints: tuple[int, ...]
    network: tuple[int, ...]
    counters: tuple[int, ...]
    received: tuple[tuple[str, ...], ...]


class StepResult(NamedTuple):
    """What came of a step at one endpoint."""

    endpoint: int
    packets: tuple[int, ...]
    received: tuple[str, ...]


def perform_step(endpoint: Endpoint, step: Step) -> Effects | None:
    """Let one step happen at an endpoint made with manual=True; None if it is not possible."""
    if step.what == "send":
        return None if endpoint.blocked else endpoint.send(step.message.encode(), to=step.others)
    if step.what == "arrive":
        return _receive_packet(endpoint, step.packet)
    if step.what == "receive":
        effects = endpoint.take(*step.others)
        return effects if effects.deliveries else None
    internal: Callable[[], Effects | None] | None = getattr(endpoint, "step", None)
    return internal() if internal else None


def _receive_packet(endpoint: Endpoint, packet: bytes) -> Effects:
    try:
        return endpoint.receive(decode(packet))
    except InputError as error:
        raise CallerError(f"{endpoint.process} refuses a packet: {error}; or explore with fifo") from None


def list_inbox(endpoint: Endpoint) -> tuple[str, ...]:
    """What has arrived and was not received: in order of arrival in a box, by name in a gate's pool."""
    if isinstance(endpoint, Boxed | Numbered):
        return tuple(letter.payload.decode() for letter in endpoint.inbox)
    if isinstance(endpoint, Gated):
        waiting = [item.what for item in endpoint.gate.items.values()]
        return tuple(sorted(packet.payload.decode() for packet in waiting if packet.kind == "message"))
    return ()


class Moves:
    """The steps of a program; with `fifo` no packet overtakes another of the same pair of processes."""

    def __init__(
        self,
        program: Program,
        make: Make,
        restore: Restore,
        fifo: bool = False,
    ) -> None:
        self.program, self.make, self.restore, self.fifo = program, make, restore, fifo
        names = program.processes
        self._place = {name: at for at, name in enumerate(names)}
        lines = zip(names, program.instructions, strict=True)
        self._ways = [[_list_instruction_steps(name, one, names) for one in code] for name, code in lines]
        self._internal = [Step(name, "step") for name in names]
        self._snapshots: dict[bytes, int] = {}
        self._packets: dict[bytes, int] = {}
        self._snapshot: list[bytes] = []
        self._packet: list[Packet] = []
        self._arrival: list[Step] = []
        self._known: dict[tuple[int, Step], StepResult | None] = {}
        self._boxes: dict[int, tuple[str, ...]] = {}

    def make_initial_state(self) -> ProgramState:
        """Nothing has happened yet."""
        endpoints = self.make_endpoints()
        if not any(hasattr(endpoint, "step") for endpoint in endpoints):
            self._internal = []
        numbers = tuple(self._assign_snapshot_number(endpoint) for endpoint in endpoints)
        return ProgramState(numbers, (), (0,) * len(numbers), ((),) * len(numbers))

    def make_endpoints(self) -> list[Endpoint]:
        """Fresh endpoints of all processes."""
        names = list(self.program.processes)
        return [self.make(name, names) for name in names]

    def restore_endpoint(self, state: ProgramState, process_index: int) -> Endpoint:
        """The endpoint of a process as it is in a state."""
        return self.restore(self._snapshot[state.endpoints[process_index]])

    def iterate_next_states(self, state: ProgramState) -> Iterator[tuple[Step, ProgramState]]:
        """Every possible next step, in a fixed order, and the state after it."""
        for at, step, number in self._iterate_candidate_steps_with_packets(state):
            key = (state.endpoints[at], step)
            if key not in self._known:
                self._known[key] = self._compute_step_result(*key)
            done = self._known[key]
            if done is not None:
                yield step, _make_next_state(state, at, step, number, done)

    def make_visible_configuration(self, state: ProgramState) -> Hashable:
        """A state as one sees it from outside: without the numbers of packets and the order of pools.

        Under `buffered` and under matrix clocks nothing else matters to a program (the tests show it).
        """
        packets = (self._packet[number] for number in state.network)
        network = sorted((one.kind, one.source, one.target, one.payload) for one in packets)
        return tuple(network), state.counters, state.received, self.list_inboxes(state)

    def list_inboxes(
        self,
        state: ProgramState,
    ) -> tuple[tuple[str, ...], ...]:
        """What has arrived at each process and was not received."""
        for at, number in enumerate(state.endpoints):
            if number not in self._boxes:
                self._boxes[number] = list_inbox(self.restore_endpoint(state, at))
        return tuple(self._boxes[number] for number in state.endpoints)

    def _iterate_candidate_steps_with_packets(
        self,
        state: ProgramState,
    ) -> Iterator[tuple[int, Step, int]]:
        """What might be done: the place, the step and the packet that arrives (or -1)."""
        for at, (ways, counter) in enumerate(zip(self._ways, state.counters, strict=True)):
            if counter < len(ways):
                for step in ways[counter]:
                    yield at, step, -1
        for at, step in enumerate(self._internal):
            yield at, step, -1
        arriving: Iterable[int] = state.network
        if self.fifo:
            arriving = self._list_earliest_packet_per_pair(state.network)
        for number in arriving:
            step = self._arrival[number]
            yield self._place[step.process], step, number

    def _list_earliest_packet_per_pair(self, packet_numbers: tuple[int, ...]) -> list[int]:
        """Of these packets those that none of their pair of processes is ahead of."""
        earliest: dict[tuple[str, str], int] = {}
        for packet_number in packet_numbers:
            packet = self._packet[packet_number]
            pair = packet.source, packet.target
            known = earliest.get(pair)
            if known is None or packet.number < self._packet[known].number:
                earliest[pair] = packet_number
        return sorted(earliest.values())

    def _compute_step_result(self, snapshot_number: int, step: Step) -> StepResult | None:
        endpoint = self.restore(self._snapshot[snapshot_number])
        effects = perform_step(endpoint, step)
        if effects is None:
            return None
        packets = tuple(self._assign_packet_number(packet) for packet in effects.packets)
        received = tuple(delivery.payload.decode() for delivery in effects.deliveries)
        return StepResult(self._assign_snapshot_number(endpoint), packets, received)

    def _assign_snapshot_number(self, endpoint: Endpoint) -> int:
        snapshot = endpoint.snapshot()
        if snapshot not in self._snapshots:
            self._snapshots[snapshot] = len(self._snapshot)
            self._snapshot.append(snapshot)
        return self._snapshots[snapshot]

    def _assign_packet_number(self, packet: Packet) -> int:
        data = packet.encode()
        if data not in self._packets:
            self._packets[data] = len(self._packet)
            self._packet.append(packet)
            self._arrival.append(Step(packet.target, "arrive", packet=data))
        return self._packets[data]


def _list_instruction_steps(
    name: str,
    instruction: Instruction,
    names: tuple[str, ...],
) -> list[Step]:
    """An instruction as steps; a receive from anybody may be served by whoever has something to receive."""
    if isinstance(instruction, Send):
        return [Step(name, "send", instruction.message, instruction.targets)]
    senders = [one for one in names if one != name] if instruction.sender is None else [instruction.sender]
    return [Step(name, "receive", others=(sender,)) for sender in senders]


def _make_next_state(
    state: ProgramState,
    process_index: int,
    step: Step,
    arrived_packet: int,
    result: StepResult,
) -> ProgramState:
    counted = step.what in ("send", "receive")
    return ProgramState(
        _replace_item_at(state.endpoints, process_index, result.endpoint),
        tuple(sorted({*state.network, *result.packets} - {arrived_packet})),
        _replace_item_at(state.counters, process_index, state.counters[process_index] + counted),
        _replace_item_at(state.received, process_index, state.received[process_index] + result.received),
    )


def _replace_item_at(
    values: tuple[T, ...],
    at: int,
    value: T,
) -> tuple[T, ...]:
    return (*values[:at], value, *values[at + 1 :])
