"""Wrong rules for `release` and `eager`, the successors of Mattern95's buffers."""

from typing import Any

from antecede.core import wire
from antecede.core.gate import Pairs
from antecede.core.packet import Delivery, Packet
from antecede.protocols import eager, release
from antecede.protocols.eager import Eager
from antecede.protocols.release import Release
from tests.mutants.drives import broadcast, long_unicast, multicast
from tests.mutants.stories import selective
from tests.mutants.table import Mutant
from tests.mutants.trials import ManualTrial


class ReleaseWithoutNumbers(Release, kw_only=True):
    """The messages of a pair are taken up as they arrive."""

    @staticmethod
    def find_needs_and_gains(stamp: release.Stamp, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        _, gains = Release.find_needs_and_gains(stamp, source, receiver)
        return [], gains


class ReleasesAtOnce(Release, kw_only=True):
    """Nothing is kept."""

    def _may_send_to_target(self, target: int) -> bool:
        return True


class ReleaseAcknowledgesArrival(Release, kw_only=True):
    """What has arrived is acknowledged, though earlier messages of the pair have not."""

    def _accept_packet(self, packet: Packet, stamp: Any) -> Delivery | None:
        kind, earlier = stamp
        if kind == "message":
            self._emit_packet(packet.source, wire.encode(earlier + 1), kind="ack")
        return super()._accept_packet(packet, stamp)

    def _process_ready_packet(self, packet: Packet, stamp: release.Stamp) -> None:
        self._add_to_inbox(packet.source, packet)


class ReleaseTakesAnyAcknowledgement(Release, kw_only=True):
    """The acknowledgement of an earlier message is taken for that of the last one."""

    def _process_control_packet(self, packet: Packet, stamp: release.Stamp) -> None:
        kind, _ = stamp
        super()._process_control_packet(packet, (kind, self.sent[self.id_by_process[packet.source]]))


class ReleaseLooksBehind(Release, kw_only=True):
    """A selective receive takes a message from behind the head of the box."""

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        places = (at for at, letter in enumerate(self.inbox) if sender in (None, letter.sender))
        return next(places, None)


class EagerWithoutNumbers(Eager, kw_only=True):
    """The messages of a pair are taken up as they arrive."""

    @staticmethod
    def find_needs_and_gains(stamp: eager.Stamp, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        _, gains = Eager.find_needs_and_gains(stamp, source, receiver)
        return [], gains


class IgnoresFlags(Eager, kw_only=True):
    """Who has a flagged message sends all the same."""

    def _list_needed_clearances(self) -> Pairs:
        return []


class NeverFlags(Eager, kw_only=True):
    """Messages are sent at once, and nobody is told to wait."""

    def _list_messages_unacknowledged_by_others(self, targets: list[int]) -> Pairs:
        return []


class ForgetsCopies(Eager, kw_only=True):
    """The copies of one message are not flagged for each other's sake."""

    def _list_messages_unacknowledged_by_others(self, targets: list[int]) -> Pairs:
        return [
            (other, number)
            for other, number in super()._list_messages_unacknowledged_by_others(targets)
            if other not in targets
        ]


class ClearsSoon(Eager, kw_only=True):
    """One acknowledgement is enough."""

    def _list_messages_unacknowledged_by_others(self, targets: list[int]) -> Pairs:
        return super()._list_messages_unacknowledged_by_others(targets)[:1]


class EagerAcknowledgesArrival(Eager, kw_only=True):
    """What has arrived is acknowledged, though earlier messages of the pair have not."""

    def _accept_packet(self, packet: Packet, stamp: Any) -> Delivery | None:
        kind, earlier, _ = stamp
        if kind == "message":
            self._emit_packet(packet.source, wire.encode(earlier + 1), kind="ack")
        return super()._accept_packet(packet, stamp)


class ForgetsOvertakingClearance(Eager, kw_only=True):
    """A clearance that comes before its message is not remembered."""

    def _process_control_packet(self, packet: Packet, stamp: eager.Stamp) -> None:
        kind, number, _ = stamp
        if kind == "ack" or number <= self.gate.have.get(self.id_by_process[packet.source], 0):
            super()._process_control_packet(packet, stamp)


SOURCE = "after Mattern95"

ROWS = [
    Mutant(
        "release-no-numbers",
        "no numbers of pairs over channels that reorder",
        "Mattern95, footnote 4",
        "unsafe",
        ReleaseWithoutNumbers,
    ),
    Mutant("release-at-once", "messages are released at once", SOURCE, "unsafe", ReleasesAtOnce),
    Mutant(
        "release-ack-at-arrival",
        "a message is acknowledged before an earlier one of its pair is there",
        SOURCE,
        "unsafe",
        ReleaseAcknowledgesArrival,
        long_unicast,
    ),
    Mutant(
        "release-any-ack",
        "the acknowledgement of an earlier message releases",
        SOURCE,
        "unsafe",
        ReleaseTakesAnyAcknowledgement,
    ),
    Mutant(
        "release-look-behind",
        "a selective receive looks behind the head",
        "Mattern95, section 4",
        "unsafe",
        ReleaseLooksBehind,
        selective,
        options={"manual": True},
        trial=ManualTrial,
    ),
    Mutant(
        "eager-no-numbers",
        "no numbers of pairs over channels that reorder",
        SOURCE,
        "unsafe",
        EagerWithoutNumbers,
    ),
    Mutant("eager-no-hold", "the receiver of a flagged message sends", SOURCE, "unsafe", IgnoresFlags),
    Mutant("eager-no-flags", "nothing is ever flagged", SOURCE, "unsafe", NeverFlags),
    Mutant(
        "eager-copies",
        "copies of one message are not flagged for each other's sake",
        "Mattern95, several destinations",
        "unsafe",
        ForgetsCopies,
        broadcast,
    ),
    Mutant(
        "eager-clears-soon",
        "a message is cleared by the first acknowledgement of several",
        SOURCE,
        "unsafe",
        ClearsSoon,
        multicast,
    ),
    Mutant(
        "eager-ack-at-arrival",
        "a message is acknowledged before an earlier one of its pair is there",
        SOURCE,
        "unsafe",
        EagerAcknowledgesArrival,
    ),
    Mutant(
        "eager-early-clearance",
        "a clearance that overtakes its message is forgotten",
        SOURCE,
        "stuck",
        ForgetsOvertakingClearance,
    ),
]
