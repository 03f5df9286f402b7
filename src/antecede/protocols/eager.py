"""eager: send at once, and let the receiver wait with its own sends instead. No causes on the wire.

A successor of `buffered` (Mattern, Fünfrocken 1995) and of its repair "hold". A message leaves at once. If
messages of its sender to other destinations are not acknowledged then, it is *flagged*: it is delivered like
any other, but what its receiver sends from then on stays there until the sender *clears* the message, which
it does when those are acknowledged. An acknowledgement says that a message is in the box of its destination.
So when a message leaves, everything in its past that others have sent is in the boxes of its destinations.

A message of the application waits for the clearance of what was delivered before it, and of nothing later:
else a process that is written to again and again would never send. The copies of a message with several
destinations are flagged for each other's sake. Both rest on the numbers of the pairs: over channels that
reorder, an acknowledgement would otherwise not speak for the messages before it.
"""

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Gate, Pairs
from antecede.core.packet import Gap, Held, Missing, Packet
from antecede.protocols.numbered import Numbered
from antecede.protocols.stamps import refuse_packet_kind

_decode_stamp = wire.make_decoder(tuple[wire.Count, bool], "stamp of 'eager'")
_decode_number = wire.make_decoder(wire.Number, "acknowledgement or release of 'eager'")

Stamp = tuple[str, int, bool]
"""The kind of the packet; of a message, how many to its target came before and whether it is flagged; of an
acknowledgement or a clearance, the number of the last message that it speaks for."""


class Outgoing(msgspec.Struct):
    """A message of this process."""

    payload: bytes
    targets: list[int]


class Flagged(msgspec.Struct):
    """The number of a flagged message at each of its targets."""

    numbers: dict[int, int]


class Eager(Numbered, kw_only=True):
    """`flags`: the number of the last flagged message of each process that it has not cleared.

    `outgoing` has what waits here; its slot x is the number of the last message that x has cleared.
    `uncleared` has what is to be cleared; its slot x is the number of the last message that x acknowledged.
    """

    facts = Facts(
        name="eager",
        title="sent at once; whoever gets it may have to wait with its own",
        paper="after Mattern, Fünfrocken 1995",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=False,
        counts="messages of that process to this one",
        stamp="2, and an acknowledgement (and a release) of 1",
    )

    flags: dict[int, int] = {}
    outgoing: Gate[Outgoing] = msgspec.field(default_factory=Gate)
    uncleared: Gate[Flagged] = msgspec.field(default_factory=Gate)

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        if targets:
            self.outgoing.add_arrival(Outgoing(payload, targets), self._list_needed_clearances(), [])
            self._emit_ready_messages()

    def _list_needed_clearances(self) -> Pairs:
        return sorted(self.flags.items())

    def _emit_ready_messages(self) -> None:
        while (ready := self.outgoing.find_ready_arrival()) is not None:
            message = self.outgoing.take_and_apply_gains(ready)
            numbers = {
                target: self._increment_sent_count_and_return_old(target) + 1 for target in message.targets
            }
            needs = self._list_messages_unacknowledged_by_others(message.targets)
            for target, number in numbers.items():
                stamp = wire.encode((number - 1, bool(needs)))
                self._emit_packet(target, stamp, message.payload)
            if needs:
                self.uncleared.add_arrival(Flagged(numbers), needs, [])

    def _list_messages_unacknowledged_by_others(self, targets: list[int]) -> Pairs:
        """The last messages that others lack; if there is one target, without what it lacks itself."""
        acknowledged = self.uncleared.have
        return [
            (other, number)
            for other, number in sorted(self.sent.items())
            if acknowledged.get(other, 0) < number and targets != [other]
        ]

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> Stamp:
        """As `Stamp` says."""
        if kind == "message":
            return kind, *_decode_stamp(data)
        if kind in ("ack", "release"):
            return kind, _decode_number(data), False
        refuse_packet_kind("eager", kind)

    @staticmethod
    def find_needs_and_gains(stamp: Stamp, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        """All earlier messages of the pair come first."""
        kind, number, _ = stamp
        if kind != "message":
            return [], []
        return [(source, number)], [(source, number + 1)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The number and the flag, or the number alone."""
        return 2 if isinstance(msgspec.msgpack.decode(stamp), list) else 1

    def _decode_and_check_stamp(self, packet: Packet) -> Stamp:
        stamp: Stamp = super()._decode_and_check_stamp(packet)
        kind, number, _ = stamp
        if kind == "ack" and number > self.sent.get(self.id_by_process[packet.source], 0):
            raise InputError(f"{packet.source} acknowledges a message that {self.process} has not sent")
        if kind == "release" and number >= packet.number:  # packets of a pair have numbers, too
            raise InputError(f"{packet.source} clears a message that it has not sent")
        return stamp

    def _process_ready_packet(self, packet: Packet, stamp: Stamp) -> None:
        _, earlier, flagged = stamp
        source, number = self.id_by_process[packet.source], earlier + 1
        self._add_to_inbox(packet.source, packet)
        self._emit_packet(packet.source, wire.encode(number), kind="ack")
        if flagged and self.outgoing.have.get(source, 0) < number:  # a clearance may overtake its message
            self.flags[source] = number

    def _process_control_packet(self, packet: Packet, stamp: Stamp) -> None:
        kind, number, _ = stamp
        source = self.id_by_process[packet.source]
        if kind == "ack":
            self.uncleared.advance_slot(source, number)
            self._emit_ready_clearances()
            return
        self.outgoing.advance_slot(source, number)
        if self.flags.get(source, 0) <= number:
            self.flags.pop(source, None)
        self._emit_ready_messages()

    def _emit_ready_clearances(self) -> None:
        while (ready := self.uncleared.find_ready_arrival()) is not None:
            flagged = self.uncleared.take_and_apply_gains(ready)
            for target, number in flagged.numbers.items():
                self._emit_packet(target, wire.encode(number), kind="release")

    @property
    def backlog(self) -> int:
        """How many messages of this process wait here, not yet on their way."""
        return len(self.outgoing.items)

    def held(self) -> list[Held]:
        """What came before an earlier message of its pair; then the own messages that wait for clearances."""
        waiting = super().held()
        for message, unmet in self.outgoing.iterate_held_with_unmet_needs():
            missing = [Missing(self._get_clearance_name(slot), have, count) for slot, have, count in unmet]
            waiting.append(Held(self.process, 0, message.payload, "message", tuple(missing)))
        return waiting

    def root_gaps(self) -> list[Gap]:
        """The messages that others wait for, and the clearances that own messages wait for."""
        gaps = self.outgoing.root_gaps(dense=False)
        cleared = [Gap(self._get_clearance_name(slot), first, last) for slot, first, last in gaps]
        return super().root_gaps() + cleared

    def _get_clearance_name(self, slot: int) -> str:
        return f"release by {self.group[slot]}"
