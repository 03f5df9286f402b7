"""acknowledged: the least control information, and less of it by acknowledgements of deliveries.

Mattern and Fünfrocken 1995 ask whether acknowledgements and small stamps can be combined; this is `optimal`
(Kshemkalyani, Singhal 1998) with both. A receiver acknowledges each message when it *delivers* it; the sender
then takes that destination out of LOG, as if a message had told it so, and its next messages spread the word.
An acknowledgement at arrival would be wrong: a message that has arrived and waits can still be overtaken.

Nothing waits for an acknowledgement, so it costs a packet and no time. It saves what it settles before the
next message leaves: the more messages are under way, the less.
"""

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.packet import Delivery, Packet
from antecede.protocols.optimal import Optimal, Stamp

_decode_ack = wire.make_decoder(wire.Number, "acknowledgement of 'acknowledged'")
_decode_any = msgspec.msgpack.Decoder(int | list[object]).decode
"""Reads an acknowledgement or a stamp, unchecked."""


class Acknowledged(Optimal, kw_only=True):
    """`awaited` are the (destination, clock) of messages that are not acknowledged."""

    facts = Facts(
        name="acknowledged",
        title="optimal control information, with acknowledgements of deliveries",
        paper="after Kshemkalyani, Singhal 1998 and Mattern, Fünfrocken 1995",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=True,
        counts="sends of that process, to anybody",
        stamp="n + 2 * messages not known to be delivered, one per pair at most, and an acknowledgement of 1",
    )

    awaited: set[tuple[int, int]] = set()

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        super()._send_message(payload, targets)
        self.awaited.update((d, self.clock) for d in targets)

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        super()._learn_from_delivery(source, stamp)
        clock, *_ = stamp
        self._emit_packet(source, wire.encode(clock), kind="ack")

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """By the rule of `optimal`; an acknowledgement needs and gains nothing."""
        if kind == "ack":
            _decode_ack(stamp)
            return [], []
        return super().read_needs_and_gains(kind, stamp, source, receiver, group_size)

    @classmethod
    def read_past_counts(cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int) -> Pairs:
        """Of a message, the newest one of each process that the sender knew of."""
        return [] if kind == "ack" else super().read_past_counts(kind, stamp, source, receiver, group_size)

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """As in `optimal`; one in an acknowledgement."""
        is_ack = isinstance(_decode_any(stamp), int)
        return 1 if is_ack else Optimal.count_entries(stamp)

    def _decode_and_check_stamp(self, packet: Packet) -> Stamp | int:
        if packet.kind != "ack":
            stamp: Stamp = super()._decode_and_check_stamp(packet)
            return stamp
        clock = _decode_ack(packet.stamp)
        if (self.id_by_process[packet.source], clock) not in self.awaited:
            raise InputError(f"{packet.source} acknowledges a message that {self.process} does not wait for")
        return clock

    def _accept_packet(self, packet: Packet, stamp: Stamp | int) -> Delivery | None:
        if not isinstance(stamp, int):
            return super()._accept_packet(packet, stamp)
        destination = self.id_by_process[packet.source]
        self.awaited.remove((destination, stamp))
        self._remove_delivered_from_log(destination, stamp)
        return None

    def _remove_delivered_from_log(self, destination: int, clock: int) -> None:
        """Take a destination out of LOG, unless a later message to it waits there, which is another one."""
        pair = self.me * self.n + destination
        if self.waiting.get(pair) == clock:
            del self.waiting[pair]
