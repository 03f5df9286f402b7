"""matrix: every message carries what its sender knows of who sent how many to whom.

Raynal, Schiper, Toueg 1991, as told by Sanchez and Alvarez (section 3), Mattern and Fünfrocken 1995
(section 2) and Gambhire and Kshemkalyani 2000 (Figure 3 without SC). Corrected: as printed, a message to
oneself is counted twice and blocks its sender for ever; here the copy for oneself is delivered at once and
never enters the matrix. Multicast: the packet names its destinations, and the receiver adds all of them to
the *packet's* matrix before the maximum; adding only its own entry, or adding to the local matrix, is
unsafe (docs/errata.md).
"""

import msgspec

from antecede.core import wire
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import VectorGated
from antecede.protocols.counts import (
    Counts,
    count_packed_entries,
    increment_count,
    make_empty_counts,
    make_zero_counts,
    merge_maximum_counts,
    narrow_counts,
    pack_counts,
    raise_count_to,
    view_packed_counts,
)
from antecede.protocols.stamps import (
    check_destinations,
    refuse_claimed_counts_above_actual,
    refuse_packet_kind,
)


class MatrixStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """`dests` is empty for a message to one process."""

    dests: list[wire.Count]
    sent: bytes


Read = tuple[list[int], Counts]
"""Destinations, and SENT before the message."""

_decode_stamp = wire.make_decoder(MatrixStamp, "stamp of 'matrix'")


class Matrix(VectorGated, kw_only=True):
    """SENT[x][y]: messages from x to y in this process's past. DELIV is the gate's `have`."""

    facts = Facts(
        name="matrix",
        title="matrix clocks",
        paper="Raynal, Schiper, Toueg 1991",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=True,
        stamp="n^2",
    )

    sent: Counts = msgspec.field(default_factory=make_empty_counts)

    def __post_init__(self) -> None:
        self.sent = narrow_counts(self.sent)  # from a snapshot it comes wide

    def _init_state(self) -> None:
        self.sent = narrow_counts(make_zero_counts(self.n, self.n))
        self._zero_slot_counts(self.n)

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        dests = targets if len(targets) > 1 else ()
        stamp = wire.encode((dests, pack_counts(self.sent)))
        self._emit_copies(targets, stamp, payload)
        for target in targets:
            self.sent = increment_count(self.sent, self.me, target)

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> Read:
        """The destinations, and SENT of the sender before this message."""
        if kind != "message":
            refuse_packet_kind("matrix", kind)
        stamp = _decode_stamp(data)
        if stamp.dests:
            check_destinations(stamp.dests, source, receiver, group_size)
        return stamp.dests or [receiver], view_packed_counts(stamp.sent, group_size, group_size)

    @staticmethod
    def find_needs_and_gains(stamp: Read, source: int, receiver: int) -> tuple[list[int], Pairs]:
        """All that the sender knows was sent to `receiver` comes first: the column of `receiver` in SENT."""
        column = stamp[1][:, receiver].tolist()
        return column, [(source, column[source] + 1)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The destinations, and a number for each pair of processes."""
        read = _decode_stamp(stamp)
        return len(read.dests) + count_packed_entries(read.sent)

    def _refuse_claim_of_unsent_messages(self, stamp: Read) -> None:
        _, sent = stamp
        refuse_claimed_counts_above_actual(sent[self.me], self.sent[self.me])

    def _learn_from_delivery(self, source: int, stamp: Read) -> None:
        dests, carried = stamp
        self.sent = merge_maximum_counts(self.sent, carried)
        for d in dests:
            with_this_message = carried.item(source, d) + 1
            self.sent = raise_count_to(self.sent, source, d, with_this_message)
