"""predecessors: a message carries, per destination, only its immediate predecessors (Prakash, Raynal,
Singhal 1997).

For messages to one process this is `bounded` without extras: the same pairs on every packet, the same
deliveries. It also serves several destinations.
"""

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.protocols.stamps import (
    check_destinations,
    check_process_ids,
    refuse_claimed_count_above_actual,
    refuse_packet_kind,
)

Barriers = dict[wire.Count, dict[wire.Count, wire.Count]]
"""Destination to sender to count: what must be delivered there first."""


class PredecessorsStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """`barriers` is CB before this message."""

    count: wire.Count
    dests: list[wire.Count]
    barriers: Barriers


_decode_stamp = wire.make_decoder(PredecessorsStamp, "stamp of 'predecessors'")


class Predecessors(Gated, kw_only=True):
    """CB per destination. D is the gate's `have`: slot a holds the count of the last delivery from a."""

    facts = Facts(
        name="predecessors",
        title="immediate predecessors per destination",
        paper="Prakash, Raynal, Singhal 1997",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=True,
        counts="sends of that process, to anybody",
        stamp="2 * immediate predecessors of all destinations; n^2 at worst",
    )
    dense = False
    names_all_causes = False

    count: int = 0
    barriers: Barriers = {}

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        self.count += 1
        stamp = wire.encode((self.count, targets, self.barriers))
        self._emit_copies(targets, stamp, payload)
        for target in targets:
            self.barriers[target] = {self.me: self.count}

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> PredecessorsStamp:
        """The count of this message, its destinations, and CB of the sender before it."""
        if kind != "message":
            refuse_packet_kind("predecessors", kind)
        stamp = _decode_stamp(data)
        check_destinations(stamp.dests, source, receiver, group_size)
        if stamp.count == 0:
            raise InputError("stamp of 'predecessors': the count starts at 1")
        check_process_ids(stamp.barriers, group_size)
        for barrier in stamp.barriers.values():
            check_process_ids(barrier, group_size)
        return stamp

    @staticmethod
    def find_needs_and_gains(stamp: PredecessorsStamp, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        """The immediate predecessors to `receiver` come first."""
        barrier = stamp.barriers.get(receiver, {})
        return list(barrier.items()), [(source, stamp.count)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The count, the destinations, and for each destination its name and two numbers per barrier."""
        read = _decode_stamp(stamp)
        barriers = sum(1 + 2 * len(barrier) for barrier in read.barriers.values())
        return 1 + len(read.dests) + barriers

    def _refuse_claim_of_unsent_messages(self, stamp: PredecessorsStamp) -> None:
        for barrier in stamp.barriers.values():
            refuse_claimed_count_above_actual(barrier.get(self.me, 0), self.count)

    def _learn_from_delivery(self, source: int, stamp: PredecessorsStamp) -> None:
        for target in stamp.dests:
            if target != self.me:
                implied = stamp.barriers.get(target, {})
                ours = self.barriers.get(target, {})
                newer = {sender: count for sender, count in ours.items() if count > implied.get(sender, 0)}
                self.barriers[target] = {**newer, source: stamp.count}
        for target, barrier in stamp.barriers.items():
            if target not in stamp.dests and target != self.me:
                ours = self.barriers.setdefault(target, {})
                for sender, count in barrier.items():
                    ours[sender] = max(count, ours.get(sender, 0))
