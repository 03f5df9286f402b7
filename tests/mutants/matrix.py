"""Wrong rules for `matrix`: RST 1991 as printed, as Mattern95 and Gambhire00 tell it, and its multicast."""

import numpy as np

from antecede.core import wire
from antecede.core.gate import Pairs
from antecede.core.packet import Delivery, Packet
from antecede.protocols.counts import Counts, list_nonzero_counts, make_zero_counts, pack_counts
from antecede.protocols.matrix import Matrix
from tests.mutants.drives import multicast, self_sends, slow_unicast
from tests.mutants.selfsends import SelfSends
from tests.mutants.table import Mutant

Stamp = tuple[list[int], Counts]
"""Destinations and SENT, as read from a packet."""


class Printed(Matrix, kw_only=True):
    """RST's own update at a delivery: add 1 to the local matrix, then take the maximum."""

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        self.sent[source, self.me] += 1
        np.maximum(self.sent, stamp[1], out=self.sent)


class MatrixSelfSends(SelfSends, Printed, kw_only=True):
    """Counted at the send and again at the delivery."""


class WithoutCountAtDelivery(SelfSends, Matrix, kw_only=True):
    """The account of Sanchez: only the maximum. Right, for messages to oneself too."""

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        np.maximum(self.sent, stamp[1], out=self.sent)


class LearnsAtArrival(Matrix, kw_only=True):
    """SENT takes in what a message knows before the message is delivered."""

    def _accept_packet(self, packet: Packet, stamp: Stamp) -> Delivery | None:
        delivery = super()._accept_packet(packet, stamp)
        super()._learn_from_delivery(self.id_by_process[packet.source], self._decode_and_check_stamp(packet))
        return delivery

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        pass


class CountsAtArrival(Matrix, kw_only=True):
    """DELIV counts what has arrived."""

    def _accept_packet(self, packet: Packet, stamp: Stamp) -> Delivery | None:
        delivery = super()._accept_packet(packet, stamp)
        for slot, count in self._find_local_needs_and_gains(self.id_by_process[packet.source], stamp)[1]:
            self.gate.advance_slot(slot, count)
        return delivery


class TakesMaximumAtArrival(Matrix, kw_only=True):
    """Mattern95's account by the letter: maximum at receipt, then the sender's entry must be one ahead."""

    def _find_local_needs_and_gains(self, source: int, stamp: Stamp) -> tuple[Pairs, Pairs]:
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        for slot, count in (*needs, *gains):
            self.gate.advance_slot(slot, count)
        one_ahead = gains[0][1] == self.gate.have[source] + 1
        return needs if one_ahead else [(source, wire.LARGEST)], gains


class ReadsOwnMatrix(Matrix, kw_only=True):
    """Gambhire00's introduction: the test names SENT, which the receiver has too."""

    def _find_local_needs_and_gains(self, source: int, stamp: Stamp) -> tuple[Pairs, Pairs]:
        return list_nonzero_counts(self.sent[:, self.me]), super()._find_local_needs_and_gains(source, stamp)[
            1
        ]


class ReadsWholeMatrix(Matrix, kw_only=True):
    """Gambhire00's introduction: "for all i and j"."""

    def _find_local_needs_and_gains(self, source: int, stamp: Stamp) -> tuple[Pairs, Pairs]:
        return list_nonzero_counts(stamp[1].max(axis=1)), super()._find_local_needs_and_gains(source, stamp)[
            1
        ]


class AddsToLocalMatrix(Matrix, kw_only=True):
    """All copies are counted, but in the local matrix, where the maximum may hide one."""

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        self.sent[source, stamp[0]] += 1
        np.maximum(self.sent, stamp[1], out=self.sent)


class AddsOwnCopy(Matrix, kw_only=True):
    """Only the copy for this process is counted."""

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        super()._learn_from_delivery(source, ([self.me], stamp[1]))


class CountsBetweenCopies(Matrix, kw_only=True):
    """The second copy already knows of the first."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            stamp = wire.encode((targets if len(targets) > 1 else (), pack_counts(self.sent)))
            self._emit_packet(target, stamp, payload)
            self.sent[self.me, target] += 1


class CarriesOwnColumn(Matrix, kw_only=True):
    """A message tells its destination of the messages to that destination, and of no others."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            known = make_zero_counts(self.n, self.n)
            known[:, target] = self.sent[:, target]
            self._emit_packet(target, wire.encode(((), pack_counts(known))), payload)
        self.sent[self.me, targets] += 1


ROWS = [
    Mutant(
        "rst-self-send",
        "a message to oneself is counted at its send and at its delivery",
        "RST91 as printed",
        "stuck",
        MatrixSelfSends,
        self_sends,
    ),
    Mutant(
        "rst-learns-at-arrival",
        "SENT is updated at arrival, not at delivery",
        "RST91 as told by Mattern95",
        "needless",
        LearnsAtArrival,
        slow_unicast,
    ),
    Mutant(
        "rst-counts-at-arrival",
        "DELIV counts arrivals",
        "RST91 as told by Mattern95",
        "unsafe",
        CountsAtArrival,
    ),
    Mutant(
        "rst-jams",
        "maximum at receipt, and an entry that must be exactly one ahead",
        "Mattern95, section 2",
        "stuck",
        TakesMaximumAtArrival,
    ),
    Mutant(
        "rst-own-matrix",
        "the test looks at the receiver's matrix",
        "Gambhire00, introduction",
        "unsafe",
        ReadsOwnMatrix,
    ),
    Mutant(
        "rst-whole-matrix",
        "the test looks at all columns",
        "Gambhire00, introduction",
        "stuck",
        ReadsWholeMatrix,
    ),
    Mutant(
        "rst-multicast-local",
        "all copies are added to the local matrix before the maximum",
        "RST91, several destinations",
        "unsafe",
        AddsToLocalMatrix,
        multicast,
    ),
    Mutant(
        "rst-multicast-own",
        "only the own copy is added",
        "RST91, several destinations",
        "unsafe",
        AddsOwnCopy,
        multicast,
    ),
    Mutant(
        "rst-multicast-between",
        "copies are counted while they are stamped",
        "RST91, several destinations",
        "error",
        CountsBetweenCopies,
        multicast,
        says="tells of",
    ),
    Mutant(
        "partisan",
        "only the destination's own entries are carried",
        "Partisan's causal back end",
        "unsafe",
        CarriesOwnColumn,
    ),
]
