"""release: a sender lets a message go when all it sent before to others has arrived. No causes on the wire.

A successor of `buffered` (Mattern, Fünfrocken 1995), whose sender waits after each message: here messages to
one destination follow each other at once. m to k is released when all earlier messages of the same sender to
destinations other than k are acknowledged; an acknowledgement says that a message is in the box of its
destination, behind all earlier ones of the pair. So whatever an effect of m finds on its way, the causes of m
are in their boxes before it.

That is footnote 4 of the paper without its condition: over channels that reorder, the messages of a pair need
numbers, and without these it breaks causal order. One destination at a time: copies that are released
together are not in order with an answer to the first of them (see `eager`).
"""

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.packet import Gap, Held, Missing, Packet
from antecede.protocols.numbered import Numbered
from antecede.protocols.stamps import refuse_packet_kind

_decode_stamp = wire.make_decoder(wire.Count, "stamp of 'release'")
_decode_ack = wire.make_decoder(wire.Number, "acknowledgement of 'release'")

Stamp = tuple[str, int]
"""The kind of the packet, and: of a message, how many to its target came before; of an acknowledgement, how
many are in the box."""


class Unreleased(msgspec.Struct):
    """A message that its sender keeps."""

    payload: bytes
    target: int


class Release(Numbered, kw_only=True):
    """`kept` are messages that wait for their release; `unacknowledged` has who lacks something sent to it.

    All that is under way from a process goes to one destination. So an acknowledgement matters only if it is
    that of the last message.
    """

    facts = Facts(
        name="release",
        title="released when all before it has arrived",
        paper="after Mattern, Fünfrocken 1995, footnote 4",
        order="causal",
        unicast=True,
        exact=True,
        delay_optimal=False,
        counts="messages of that process to this one",
        stamp="1, and an acknowledgement of 1",
    )

    kept: list[Unreleased] = []
    unacknowledged: set[int] = set()

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        self.kept += [Unreleased(payload, target) for target in targets]
        self._send_kept_messages_while_allowed()

    def _send_kept_messages_while_allowed(self) -> None:
        """Send in order, until one must wait for what another process has not acknowledged."""
        released = 0
        for message in self.kept:
            if not self._may_send_to_target(message.target):
                break
            earlier = self._increment_sent_count_and_return_old(message.target)
            self._emit_packet(message.target, wire.encode(earlier), message.payload)
            self.unacknowledged.add(message.target)
            released += 1
        del self.kept[:released]

    def _may_send_to_target(self, target: int) -> bool:
        return self.unacknowledged <= {target}

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> Stamp:
        """As `Stamp` says."""
        if kind == "message":
            return kind, _decode_stamp(data)
        if kind == "ack":
            return kind, _decode_ack(data)
        refuse_packet_kind("release", kind)

    @staticmethod
    def find_needs_and_gains(stamp: Stamp, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        """All earlier messages of the pair come first."""
        kind, number = stamp
        if kind != "message":
            return [], []
        return [(source, number)], [(source, number + 1)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """One number."""
        return 1

    def _decode_and_check_stamp(self, packet: Packet) -> Stamp:
        stamp: Stamp = super()._decode_and_check_stamp(packet)
        kind, number = stamp
        if kind == "ack" and number > self.sent.get(self.id_by_process[packet.source], 0):
            raise InputError(f"{packet.source} acknowledges a message that {self.process} has not sent")
        return stamp

    def _process_ready_packet(self, packet: Packet, stamp: Stamp) -> None:
        _, earlier = stamp
        self._add_to_inbox(packet.source, packet)
        self._emit_packet(packet.source, wire.encode(earlier + 1), kind="ack")

    def _process_control_packet(self, packet: Packet, stamp: Stamp) -> None:
        _, number = stamp
        target = self.id_by_process[packet.source]
        if number == self.sent[target]:
            self.unacknowledged.discard(target)
            self._send_kept_messages_while_allowed()

    @property
    def backlog(self) -> int:
        """How many messages of this process wait here, not yet on their way."""
        return len(self.kept)

    def held(self) -> list[Held]:
        """What came before an earlier message of its pair; then what is kept here until its release."""
        missing = tuple(self._list_awaited_acknowledgements())
        kept = [Held(self.process, 0, one.payload, "message", missing) for one in self.kept]
        return super().held() + kept

    def _list_awaited_acknowledgements(self) -> list[Missing]:
        return [
            Missing(f"acknowledgement by {self.group[target]}", 0, self.sent[target])
            for target in sorted(self.unacknowledged)
        ]

    def root_gaps(self) -> list[Gap]:
        """The messages that others wait for, and the acknowledgements that what is kept here waits for."""
        awaited = self._list_awaited_acknowledgements() if self.kept else []
        return super().root_gaps() + [Gap(one.slot, one.needs, one.needs) for one in awaited]
