"""What `release`, `eager` and `flood` share: packets of a pair are numbered, and taken up in that order.

A gate puts the packets of a pair in order, over a network that reorders; a box has what is taken up for the
application, in the order in which that happened. Only the head of the box may be received, since what stands
behind it may be an effect of it: numbers of pairs alone do not tell.
"""

from typing import Any

from antecede.core.boxed import Letter
from antecede.core.gated import Gated
from antecede.core.packet import Delivery, Packet


class Numbered(Gated, kw_only=True):
    """The gate's slot x counts what was taken up from x; `sent` counts what was sent to each process."""

    names_all_causes = False

    inbox: list[Letter] = []
    sent: dict[int, int] = {}

    def _increment_sent_count_and_return_old(self, target: int) -> int:
        """Number one more packet to a process; returns how many came before it."""
        earlier = self.sent.get(target, 0)
        self.sent[target] = earlier + 1
        return earlier

    def _accept_packet(self, packet: Packet, stamp: Any) -> Delivery | None:
        needs, gains = self._find_local_needs_and_gains(self.id_by_process[packet.source], stamp)
        if not gains:
            self._process_control_packet(packet, stamp)
            return None
        arrival = self.gate.add_arrival(packet, needs, gains)
        self.held_stamps_by_arrival[arrival] = stamp
        while (ready := self.gate.find_ready_arrival()) is not None:
            self._process_ready_packet(*self._pop_ready_packet_and_stamp(ready))
        return None

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        """The head of the box or nothing."""
        if not self.inbox or sender not in (None, self.inbox[0].sender):
            return None
        return 0

    def _pop_delivery(self, key: int) -> Delivery:
        letter = self.inbox.pop(key)
        return Delivery(letter.sender, letter.payload)

    def _add_to_inbox(self, sender: str, packet: Packet) -> None:
        self.inbox.append(Letter(sender, packet.number, packet.payload))

    def _process_ready_packet(self, packet: Packet, stamp: Any) -> None:
        """Take up a packet whose turn it is: all earlier ones of its pair were taken up."""
        raise NotImplementedError

    def _process_control_packet(self, packet: Packet, stamp: Any) -> None:
        """Take up a packet that has no number of its pair: acknowledgements and the like."""
        raise NotImplementedError
