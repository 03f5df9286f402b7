"""history: a message brings along every message of its past that its receivers may lack (Birman, Joseph
1987, the first ISIS).

Nothing ever waits: the past arrives with the message, is delivered first, and the original copies are
dropped when they come. `past[s]` is the number of the last message of s in this process's past, and the
log keeps those that some destination is not known to have. What a packet's past covers and its log lacks
is known by its sender to be delivered everywhere, and is pruned here too.
"""

import msgspec

from antecede.core import wire
from antecede.core.boxed import Boxed, Letter
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.packet import Packet
from antecede.protocols.stamps import (
    check_claimed_count,
    check_destinations,
    check_process_ids,
    check_vector_length,
    refuse_kind,
)


class Past(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A message of the past; `waiting` are the destinations not known to have it."""

    sender: wire.Count
    count: wire.Count
    waiting: set[wire.Count]
    payload: bytes


class HistoryStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The log lists causes before effects."""

    past: list[wire.Count]
    dests: list[wire.Count]
    log: list[Past]


_decode_stamp = wire.make_decoder(HistoryStamp, "stamp of 'history'")


class History(Boxed, kw_only=True):
    """The log is in an order that respects causality, and so is every piece of it that is sent."""

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

    dense = False
    brings_past = True

    past: list[int] = []
    log: list[Past] = []

    def _init_state(self) -> None:
        self.past = [0] * self.n

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        parts = wire.to_canonical((self.past, targets, self.log))
        stamp = wire.encode(parts)
        self._emit_copies(targets, stamp, payload)
        self.past[self.me] += 1
        if targets:
            count = self.past[self.me]
            self.log.append(Past(self.me, count, set(targets), payload))

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> HistoryStamp:
        """The past of the message, its destinations and what it brings along."""
        if kind != "message":
            refuse_kind("history", kind)
        stamp = _decode_stamp(data)
        check_vector_length(stamp.past, group_size)
        check_destinations(stamp.dests, source, receiver, group_size)
        for old in stamp.log:
            check_process_ids((old.sender, *old.waiting), group_size)
            if not 0 < old.count <= stamp.past[old.sender]:
                raise InputError("stamp of 'history': a message of the log is not covered by the past")
        if stamp.past[source] >= wire.LARGEST:
            raise InputError("stamp of 'history': there is no number left for this message")
        names = {(old.sender, old.count) for old in stamp.log}
        if len(names) < len(stamp.log):
            raise InputError("stamp of 'history': a message stands twice in the log")
        return stamp

    @staticmethod
    def find_needs_and_gains(stamp: HistoryStamp, source: int, receiver: int) -> tuple[list[int], Pairs]:
        """All of the past comes first, to whomever it was sent; an endpoint has it with the message."""
        return stamp.past, [(source, stamp.past[source] + 1)]

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """By the protocol's rule."""
        read = cls.read_stamp(kind, stamp, source, receiver, group_size)
        past, gains = cls.find_needs_and_gains(read, source, receiver)
        return list(enumerate(past)), gains

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The past, the destinations, and what is said of each message that comes along."""
        read = _decode_stamp(stamp)
        brought = sum(2 + len(old.waiting) for old in read.log)
        return len(read.past) + len(read.dests) + brought

    def _decode_packet_stamp(self, packet: Packet) -> HistoryStamp:
        source = self.index[packet.source]
        stamp = self.read_stamp(packet.kind, packet.stamp, source, self.me, self.n)
        check_claimed_count(stamp.past[self.me], self.past[self.me])
        return stamp

    def _accept_packet(self, packet: Packet, stamp: HistoryStamp) -> None:
        source = self.index[packet.source]
        _, gains = self.find_needs_and_gains(stamp, source, self.me)
        [(_, count)] = gains
        news = [old for old in stamp.log if old.count > self.past[old.sender]]
        self._prune_log(stamp)
        if count > self.past[source]:
            news.append(Past(source, count, set(stamp.dests), packet.payload))
            stamp.past[source] = count
        for message in news:
            self._deliver_or_keep_for_others(message, packet.number)
        self.past = list(map(max, self.past, stamp.past))

    def _deliver_or_keep_for_others(self, message: Past, number: int) -> None:
        if self.me in message.waiting:
            message.waiting.remove(self.me)
            sender = self.group[message.sender]
            self.inbox.append(Letter(sender, number, message.payload))
        if message.waiting:
            self.log.append(message)

    def _prune_log(self, stamp: HistoryStamp) -> None:
        """Keep of the log what the packet's sender does not know to be delivered everywhere."""
        theirs = {(old.sender, old.count): old.waiting for old in stamp.log}
        for old in self.log:
            if old.count <= stamp.past[old.sender]:
                old.waiting &= theirs.get((old.sender, old.count), set())
        self.log = [old for old in self.log if old.waiting]
