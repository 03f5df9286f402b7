"""unordered: no protocol at all. The baseline: what arrives is delivered, in order of arrival."""

from antecede.core.boxed import Boxed, Letter
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.packet import Packet


class Unordered(Boxed, kw_only=True):
    """Delivers on arrival."""

    facts = Facts(
        name="unordered",
        title="no ordering",
        paper="baseline",
        order="none",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=False,
        delay_optimal=False,
        stamp="0",
    )

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """None."""
        return 0

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            self._emit_packet(target, b"", payload)

    def _decode_and_check_stamp(self, packet: Packet) -> None:
        if packet.kind != "message" or packet.stamp:
            raise InputError(f"'unordered' has no {packet.kind} packets and no stamps")

    def _accept_packet(self, packet: Packet, stamp: None) -> None:
        self.inbox.append(Letter(packet.source, packet.number, packet.payload))

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        return self._find_first_letter(sender)
