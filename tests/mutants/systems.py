"""Failures of public systems that are not failures of a gate alone (those are in gates.py)."""

import msgspec

from antecede.core.gate import Gate, Item, Pairs
from antecede.core.packet import Delivery, Packet
from antecede.protocols.vector import Vector
from tests.mutants.drives import broadcast
from tests.mutants.stories import crashes
from tests.mutants.table import Mutant
from tests.mutants.trials import ManualTrial


class AbsentIsSatisfied(Vector, kw_only=True):
    """A process of which nothing is known here yet counts as satisfied."""

    def _find_local_needs_and_gains(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        return [(slot, count) for slot, count in needs if self.gate.have[slot]], gains


class DropsOlder(Vector, kw_only=True):
    """A message that arrives after a later one of its sender is taken for a duplicate."""

    def _accept_packet(self, packet: Packet, stamp: list[int]) -> Delivery | None:
        seen = self.seen[packet.source]
        late = packet.number < max(seen.above, default=seen.low)
        return None if late else super()._accept_packet(packet, stamp)


class ReadyIsDone(Gate[Packet], kw_only=True):
    """What is ready counts as delivered before the application has taken it.

    `ready` is in the order of getting ready, so without a crash all is well.
    """

    def find_ready_arrival(self, wanted: object = None) -> int | None:
        return self.ready[0] if self.ready else None

    def take(self, arrival: int) -> Packet:
        self.ready.remove(arrival)
        return self.items.pop(arrival).what

    def _file_by_unmet_need_or_mark_ready(self, arrival: int, item: Item[Packet]) -> None:
        order = [*self.ready]
        super()._file_by_unmet_need_or_mark_ready(arrival, item)
        if len(self.ready) > len(order):
            self.ready = [*order, arrival]
            for slot, value in item.gains:
                self.advance_slot(slot, value)


class MarksBeforeAcknowledged(Vector, kw_only=True):
    gate: ReadyIsDone = msgspec.field(default_factory=ReadyIsDone)


class ForgetsHeld(Gate[Packet], kw_only=True):
    """The state on disk has the counts and not what waits."""

    def __post_init__(self) -> None:
        self.items, self.filed, self.ready = {}, {}, []


class RestartsEmpty(Vector, kw_only=True):
    gate: ForgetsHeld = msgspec.field(default_factory=ForgetsHeld)


MANUAL = {"manual": True}

ROWS = [
    Mutant(
        "ishikawa",
        "a process absent from the local clock counts as satisfied",
        "ishikawa",
        "unsafe",
        AbsentIsSatisfied,
        broadcast,
    ),
    Mutant(
        "tcb", "message 1 is dropped when it arrives after message 2", "tcb", "stuck", DropsOlder, broadcast
    ),
    Mutant(
        "p2panda",
        "ready is marked as done before the application acknowledged; then a crash",
        "p2panda #1278",
        "unsafe",
        MarksBeforeAcknowledged,
        crashes,
        options=MANUAL,
        trial=ManualTrial,
    ),
    Mutant(
        "restart-forgets",
        "a restart forgets what was held",
        "asked for by users of p2panda and ishikawa",
        "stuck",
        RestartsEmpty,
        crashes,
        options=MANUAL,
        trial=ManualTrial,
    ),
]
