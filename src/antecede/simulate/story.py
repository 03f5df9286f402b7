"""The story of a schedule: its steps as a person reads them, and where causal order was broken.

A schedule is played again through fresh endpoints. What waits, and for what, the endpoints say themselves;
the oracle says which messages were received too early.
"""

from typing import NamedTuple

from antecede.core.endpoint import Endpoint
from antecede.core.packet import Effects, Packet, decode
from antecede.simulate.explorer import End, Exploration
from antecede.simulate.moves import Step, perform_step
from antecede.simulate.oracle import Oracle


class StoryLine(NamedTuple):
    """A step, what happened in it, and what there is to say about it."""

    step: Step
    sentence: str
    note: str


class Story:
    """A shortest schedule that leads to an end; `early` are the messages received before their causes."""

    def __init__(self, exploration: Exploration, end: End) -> None:
        names = exploration.program.processes
        self.lines: list[StoryLine] = []
        self.early: list[str] = []
        self._endpoints = dict(zip(names, exploration.moves.make_endpoints(), strict=True))
        self._oracle = Oracle(names)
        self._numbers: dict[str, int] = {}
        for step in exploration.find_witness(end):
            self._perform_and_describe_step(step)

    def _perform_and_describe_step(self, step: Step) -> None:
        endpoint = self._endpoints[step.process]
        effects = perform_step(endpoint, step)
        assert effects is not None, f"possible when explored, and not now: {step}"
        message = _find_message_of_step(step, effects)
        left = [
            _describe_sent_packet(one)
            for one in effects.packets
            if not message or one.payload.decode() != message
        ]
        notes = [
            *self._tell_oracle_and_note_violations(step, message),
            *_describe_what_message_awaits(endpoint, message),
            *left,
        ]
        self.lines.append(StoryLine(step, _describe_step(step, message), "; ".join(notes)))

    def _tell_oracle_and_note_violations(self, step: Step, message: str) -> list[str]:
        """Tell the oracle what happened, and pass on what it says."""
        if step.what == "send":
            self._numbers[message] = self._oracle.record_send(step.process, step.others)
        if step.what != "receive":
            return []
        number = self._numbers[message]
        is_late = self._oracle.is_late(step.process, number)
        causes = self._oracle.record_delivery_and_list_missing_causes(step.process, number)
        notes = []
        if causes:
            self.early.append(message)
            names = [name for name, cause in self._numbers.items() if cause in causes]
            notes.append(f"early: {', '.join(names)} came first")
        if is_late:
            notes.append("late: an effect of it was faster")
        return notes


def _find_message_of_step(step: Step, effects: Effects) -> str:
    """The message that a step is about; none for control packets and internal steps."""
    if step.what == "receive":
        return effects.deliveries[0].payload.decode()
    return decode(step.packet).payload.decode() if step.packet else step.message


def _describe_step(step: Step, message: str) -> str:
    if step.what == "send":
        return f"{step.process} sends {message} to {', '.join(step.others)}"
    if step.what == "receive":
        return f"{step.process} receives {message}"
    if step.what == "step":
        return f"{step.process} takes an internal step"
    return f"{message or _describe_control_packet(decode(step.packet))} arrives at {step.process}"


def _describe_control_packet(packet: Packet) -> str:
    return f"{packet.kind} from {packet.source}"


def _describe_what_message_awaits(endpoint: Endpoint, message: str) -> list[str]:
    """What the message waits for here, in the endpoint's own words."""
    held = [one.missing for one in endpoint.held() if message and one.payload.decode() == message]
    return [f"waits for {', '.join(map(str, missing))}" for missing in held]


def _describe_sent_packet(packet: Packet) -> str:
    return f"{packet.payload.decode() or packet.kind} leaves for {packet.target}"
