"""history: a message brings along every message of its past that its receivers may lack (Birman, Joseph
1987, the first ISIS).

Nothing ever waits: the past arrives with the message and is delivered first, and the original copies are
dropped when they arrive. `past[s]` is the number of the last message of s in this process's past, and the
log keeps the messages that some destination is not known to have. If the past of a packet covers a message
that the packet's log does not list, its sender knows that message to be delivered everywhere, and it is
removed from the log here too.
"""

import msgspec

from antecede.core import wire
from antecede.core.boxed import Boxed, Letter
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.packet import Packet
from antecede.protocols.stamps import (
    check_destinations,
    check_process_ids,
    check_vector_length,
    refuse_claimed_count_above_actual,
    refuse_packet_kind,
)


class PastMessage(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A message of the past; `may_lack` are the destinations not known to have it."""

    sender: wire.Count
    count: wire.Count
    may_lack: set[wire.Count]
    payload: bytes


class HistoryStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The sender's past before the message, its destinations, and the log, with causes before effects."""

    past: list[wire.Count]
    destinations: list[wire.Count]
    log: list[PastMessage]


_decode_stamp = wire.make_decoder(HistoryStamp, "stamp of 'history'")


class History(Boxed, kw_only=True):
    """An endpoint of 'history'. Its log lists causes before effects."""

    facts = Facts(
        name="history",
        title="piggybacked history",
        paper="Birman, Joseph 1987",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=True,
        stamp="n + every message of the past that some destination may lack: unbounded",
    )

    dense = False  # the past also counts messages that were not sent to this process
    brings_past = True

    past: list[int] = []
    log: list[PastMessage] = []

    def _init_state(self) -> None:
        self.past = [0] * self.n

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        # The stamp has the past before this message: its own number is one more than the past says.
        parts = wire.convert_sets_to_sorted_lists((self.past, targets, self.log))
        stamp = wire.encode(parts)
        self._emit_copies(targets, stamp, payload)
        self.past[self.me] += 1
        if targets:  # a message for the sender alone is lacked by nobody
            count = self.past[self.me]
            self.log.append(PastMessage(self.me, count, set(targets), payload))

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> HistoryStamp:
        """The past of the message, its destinations and what it brings along."""
        if kind != "message":
            refuse_packet_kind("history", kind)
        stamp = _decode_stamp(data)
        check_vector_length(stamp.past, group_size)
        check_destinations(stamp.destinations, source, receiver, group_size)
        for message in stamp.log:
            check_process_ids((message.sender, *message.may_lack), group_size)
            if not 0 < message.count <= stamp.past[message.sender]:
                raise InputError("stamp of 'history': a message of the log is not covered by the past")
        if stamp.past[source] >= wire.LARGEST:
            raise InputError("stamp of 'history': there is no number left for this message")
        names = {(message.sender, message.count) for message in stamp.log}
        if len(names) < len(stamp.log):
            raise InputError("stamp of 'history': a message stands twice in the log")
        return stamp

    @staticmethod
    def find_needs_and_gains(stamp: HistoryStamp, source: int, receiver: int) -> tuple[list[int], Pairs]:
        """All of the past comes first, to whomever it was sent; an endpoint gets it with the message."""
        return stamp.past, [(source, stamp.past[source] + 1)]

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """The needs and gains of a packet as (slot, count), from its stamp as it is on the wire."""
        read = cls.read_stamp(kind, stamp, source, receiver, group_size)
        past, gains = cls.find_needs_and_gains(read, source, receiver)
        return list(enumerate(past)), gains

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The past, the destinations, and what is said of each message that comes along."""
        read = _decode_stamp(stamp)
        brought = sum(2 + len(message.may_lack) for message in read.log)
        return len(read.past) + len(read.destinations) + brought

    def _decode_and_check_stamp(self, packet: Packet) -> HistoryStamp:
        source = self.id_by_process[packet.source]
        stamp = self.read_stamp(packet.kind, packet.stamp, source, self.me, self.n)
        refuse_claimed_count_above_actual(stamp.past[self.me], self.past[self.me])
        return stamp

    def _accept_packet(self, packet: Packet, stamp: HistoryStamp) -> None:
        source = self.id_by_process[packet.source]
        # The gain is the number of this message itself, one more than its stamp says of its source.
        _, [(_, count)] = self.find_needs_and_gains(stamp, source, self.me)
        new_messages = [message for message in stamp.log if message.count > self.past[message.sender]]
        # Pruned before the new messages are added: those stand in the packet's log, and stay.
        self._prune_log(stamp)
        if count > self.past[source]:  # otherwise it came along with another message before
            message = PastMessage(source, count, set(stamp.destinations), packet.payload)
            new_messages.append(message)
            stamp.past[source] = count
        for message in new_messages:
            self._deliver_here_and_keep_for_others(message, packet.number)
        self.past = list(map(max, self.past, stamp.past))

    def _deliver_here_and_keep_for_others(self, message: PastMessage, packet_number: int) -> None:
        if self.me in message.may_lack:
            message.may_lack.remove(self.me)
            sender = self.group[message.sender]
            self.inbox.append(Letter(sender, packet_number, message.payload))
        if message.may_lack:
            self.log.append(message)

    def _prune_log(self, stamp: HistoryStamp) -> None:
        """Keep of the log what the packet's sender does not know to be delivered everywhere."""
        may_lack_there = {(message.sender, message.count): message.may_lack for message in stamp.log}
        for message in self.log:
            if message.count <= stamp.past[message.sender]:
                # A destination has the message if either side knows so.
                message.may_lack &= may_lack_there.get((message.sender, message.count), set())
        self.log = [message for message in self.log if message.may_lack]
