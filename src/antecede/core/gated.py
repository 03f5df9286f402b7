"""Endpoints that hold at the receiver: they turn a stamp into needs and gains, and the gate does the rest."""

from functools import cached_property
from operator import gt
from typing import Any, ClassVar

import msgspec

from antecede.core.endpoint import Endpoint
from antecede.core.gate import Gate, Pairs
from antecede.core.packet import Delivery, Gap, Held, Missing, Packet


class Gated(Endpoint, kw_only=True):
    """A protocol that is a stamp, a rule for the gate, and what is learned from a stamp at its delivery.

    `read_stamp` and `find_needs_and_gains` know no state: endpoints and tables of packets both call them.
    """

    learns: ClassVar[bool] = False
    """Whether the protocol has a `_learn_from_delivery` of its own."""

    gate: Gate[Packet] = msgspec.field(default_factory=Gate)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.learns = cls._learn_from_delivery is not Gated._learn_from_delivery

    @cached_property
    def held_stamps_by_arrival(self) -> dict[int, Any]:
        """The stamps of what is held, by arrival, so that none is read twice; a snapshot has the packets."""
        return {}

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> Any:
        """Decode the stamp of a packet to `receiver`, and check what can be checked without an endpoint."""
        raise NotImplementedError

    @staticmethod
    def find_needs_and_gains(stamp: Any, source: int, receiver: int) -> tuple[Any, Pairs]:
        """The protocol's rule: the needs and gains of a packet at `receiver`; the first identifies it."""
        raise NotImplementedError

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """By the protocol's rule."""
        read = cls.read_stamp(kind, stamp, source, receiver, group_size)
        return cls.find_needs_and_gains(read, source, receiver)

    def _decode_and_check_stamp(self, packet: Packet) -> Any:
        source = self.id_by_process[packet.source]
        stamp = self.read_stamp(packet.kind, packet.stamp, source, self.me, self.n)
        self._refuse_claim_of_unsent_messages(stamp)
        return stamp

    def _refuse_claim_of_unsent_messages(self, stamp: Any) -> None:
        """Refuse a stamp that tells of more messages of this process than it has sent."""

    def _find_local_needs_and_gains(self, source: int, stamp: Any) -> tuple[Pairs, Pairs]:
        """The needs and gains of a packet from `source` here; needs that are met may be left out."""
        return self.find_needs_and_gains(stamp, source, self.me)

    def _accept_packet(self, packet: Packet, stamp: Any) -> Delivery | None:
        needs, gains = self._find_local_needs_and_gains(self.id_by_process[packet.source], stamp)
        if not self.manual and self.gate.let_through_if_ready(needs, gains):
            return self._deliver_packet(packet, stamp)
        self.held_stamps_by_arrival[self.gate.add_arrival(packet, needs, gains)] = stamp
        return None

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        if sender is None:
            return self.gate.find_ready_arrival() if self.gate.ready else None
        return self.gate.find_ready_arrival(lambda packet: packet.source == sender)

    def _pop_delivery(self, key: int) -> Delivery:
        return self._deliver_packet(*self._pop_ready_packet_and_stamp(key))

    def _pop_ready_packet_and_stamp(self, arrival: int) -> tuple[Packet, Any]:
        packet = self.gate.take_and_apply_gains(arrival)
        stamp = self.held_stamps_by_arrival.pop(arrival, None)
        if stamp is None:
            stamp = self._decode_and_check_stamp(packet)
        return packet, stamp

    def _deliver_packet(self, packet: Packet, stamp: Any) -> Delivery:
        source = packet.source
        if self.learns:
            self._learn_from_delivery(self.id_by_process[source], stamp)
        return Delivery(source, packet.payload)

    def held(self) -> list[Held]:
        """Every message that waits here, and what each one misses."""
        return [
            self._describe_held_packet(packet, unmet)
            for packet, unmet in self.gate.iterate_held_with_unmet_needs()
        ]

    def _describe_held_packet(self, packet: Packet, unmet: list[tuple[int, int, int]]) -> Held:
        """A packet with its unmet (slot, have, count)."""
        missing = [Missing(self._get_slot_name(slot), have, count) for slot, have, count in unmet]
        return Held(packet.source, packet.number, packet.payload, packet.kind, tuple(missing))

    def root_gaps(self) -> list[Gap]:
        """What is waited for here and is not itself held."""
        gaps = self.gate.root_gaps(dense=self.dense)
        return [Gap(self._get_slot_name(slot), first, last) for slot, first, last in gaps]

    def _get_slot_name(self, slot: int) -> str:
        """How a slot is called towards the user; most protocols have a slot per process."""
        return self.group[slot]

    def _learn_from_delivery(self, source: int, stamp: Any) -> None:
        """Learn from the stamp of a delivered packet what the gate does not keep."""


class VectorGated(Gated, kw_only=True):
    """A gated protocol whose rule asks for a count of every slot: its needs are a vector."""

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """By the protocol's rule."""
        read = cls.read_stamp(kind, stamp, source, receiver, group_size)
        wanted, gains = cls.find_needs_and_gains(read, source, receiver)
        return list(enumerate(wanted)), gains

    def _find_local_needs_and_gains(self, source: int, stamp: Any) -> tuple[Pairs, Pairs]:
        wanted, gains = self.find_needs_and_gains(stamp, source, self.me)
        have = self.gate.have
        if not any(map(gt, wanted, have.values())):  # nothing is missing, as is most often so
            return [], gains
        unmet = [(slot, count) for slot, count in enumerate(wanted) if count > have[slot]]
        return unmet, gains

    def _zero_slot_counts(self, number_of_slots: int) -> None:
        """Begin with a count of 0 in each of so many slots; `_find_local_needs_and_gains` asks for that."""
        self.gate.have = dict.fromkeys(range(number_of_slots), 0)
