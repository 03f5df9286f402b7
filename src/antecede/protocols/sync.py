"""sync: the sender is blocked until its message is there. Causal order by having nothing in flight.

Two forms, which Mattern and Fünfrocken 1995 contrast: *rendezvous*, where the send ends when the partner
receives (what they call pure synchronous: it deadlocks on every cycle of sends), and *site*, where the
receiving site acknowledges on arrival (ISIS' conservative send). One destination at a time: waiting for the
acknowledgements of several copies is not causal. A blocked application neither sends nor receives.
"""

from typing import Literal

from antecede.core import wire
from antecede.core.boxed import Boxed, Letter
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.packet import Delivery, Gap, Held, Missing, Packet
from antecede.protocols.stamps import refuse_packet_kind

_decode_stamp = wire.make_decoder(wire.Count, "stamp of 'sync'")


class Sync(Boxed, kw_only=True):
    """`awaiting` is the packet (target, number) whose acknowledgement would end the send."""

    facts = Facts(
        name="sync",
        title="synchronous send",
        paper="Mattern, Fünfrocken 1995, section 2",
        order="causal",
        unicast=True,
        exact=True,
        delay_optimal=False,
        counts="packets of the pair",
        stamp="0, and an acknowledgement of 1",
        options={"form": "'rendezvous' (default): ends at the partner's receive; 'site': at its arrival"},
    )
    names_all_causes = False
    shared = ("form",)
    blocks = True

    form: Literal["rendezvous", "site"] = "rendezvous"
    awaiting: tuple[str, int] | None = None

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """One in an acknowledgement, none in a message."""
        return 1 if stamp else 0

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            number = self._emit_packet(target, b"", payload)
            self.awaiting = (self.group[target], number)

    def _decode_and_check_stamp(self, packet: Packet) -> None:
        if packet.kind not in ("message", "ack"):
            refuse_packet_kind("sync", packet.kind)
        if packet.kind == "message":
            if packet.stamp:
                raise InputError("'sync' has no stamps on messages")
            return
        number = _decode_stamp(packet.stamp)
        if (packet.source, number) != self.awaiting:
            raise InputError(f"{packet.source} acknowledges something that {self.process} does not wait for")

    def _accept_packet(self, packet: Packet, stamp: None) -> None:
        if packet.kind == "ack":
            self.awaiting = None
            return
        self.inbox.append(Letter(packet.source, packet.number, packet.payload))
        if self.form == "site":
            self._emit_packet(packet.source, wire.encode(packet.number), kind="ack")

    def _is_application_blocked(self) -> bool:
        return self.awaiting is not None

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        if self._is_application_blocked():
            return None
        if self.form == "site":
            return super()._find_next_deliverable(sender)
        # Whoever is in a rendezvous sends nothing else: all are concurrent.
        return self._find_first_letter(sender)

    def _pop_delivery(self, key: int) -> Delivery:
        letter = self.inbox[key]
        if self.form == "rendezvous":
            self._emit_packet(letter.sender, wire.encode(letter.number), kind="ack")
        return super()._pop_delivery(key)

    def held(self) -> list[Held]:
        """What arrived while the application is blocked in its own send."""
        missing = tuple(Missing(gap.slot, 0, gap.first) for gap in self.root_gaps())
        letters = self.inbox if missing else []
        return [Held(one.sender, one.number, one.payload, "message", missing) for one in letters]

    def root_gaps(self) -> list[Gap]:
        """The acknowledgement that the blocked send waits for."""
        if self.awaiting is None:
            return []
        target, number = self.awaiting
        return [Gap(f"acknowledgement by {target}", number, number)]
