"""Wrong rules for `acknowledged`: KS 1998 with acknowledgements, which Mattern95 asks for."""

from antecede.core import wire
from antecede.core.packet import Delivery, Packet
from antecede.protocols.acknowledged import Acknowledged
from antecede.protocols.optimal import Optimal, Stamp
from tests.mutants.drives import multicast
from tests.mutants.table import Mutant


class AcknowledgesArrival(Acknowledged, kw_only=True):
    """The receiver acknowledges what has arrived, though it may have to wait."""

    def _accept_packet(self, packet: Packet, stamp: Stamp | int) -> Delivery | None:
        if not isinstance(stamp, int):
            clock, *_ = stamp
            self._emit_packet(packet.source, wire.encode(clock), kind="ack")
        return super()._accept_packet(packet, stamp)

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        Optimal._learn_from_delivery(self, source, stamp)


class SettlesLater(Acknowledged, kw_only=True):
    """An acknowledgement is taken for that of the last message to its sender."""

    def _remove_delivered_from_log(self, destination: int, clock: int) -> None:
        self.waiting.pop(self.me * self.n + destination, None)


class SettlesMessage(Acknowledged, kw_only=True):
    """An acknowledgement by one destination is taken for all destinations of the message."""

    def _remove_delivered_from_log(self, destination: int, clock: int) -> None:
        for other in range(self.n):
            super()._remove_delivered_from_log(other, clock)


class IgnoresAcknowledgements(Acknowledged, kw_only=True):
    """LOG is that of `optimal`."""

    def _remove_delivered_from_log(self, destination: int, clock: int) -> None:
        pass


ROWS = [
    Mutant(
        "ks-ack-at-arrival",
        "what has arrived is acknowledged before it is delivered",
        "Mattern95, section 6, with KS98",
        "unsafe",
        AcknowledgesArrival,
    ),
    Mutant(
        "ks-ack-later",
        "an acknowledgement settles a later message to the same destination",
        "Mattern95, section 6, with KS98",
        "unsafe",
        SettlesLater,
    ),
    Mutant(
        "ks-ack-all",
        "an acknowledgement by one destination settles all of them",
        "Mattern95, section 6, with KS98",
        "unsafe",
        SettlesMessage,
        multicast,
    ),
    Mutant(
        "ks-ack-ignored",
        "acknowledgements are ignored",
        "KS98",
        "larger",
        IgnoresAcknowledgements,
    ),
]
