"""matrix: every message carries what its sender knows of who sent how many to whom.

Raynal, Schiper, Toueg 1991, as told by 000 (section 3), 002 (section 2) and 003 (Figure 3 without SC).
Corrected: as printed, a message to oneself is counted twice and blocks its sender for ever; here the
copy for oneself is delivered at once and never enters the matrix. Multicast: the packet names its
destinations, and the receiver adds all of them to the *packet's* matrix before the maximum; adding only
its own entry, or adding to the local matrix, is unsafe (docs/errata.md).
"""

import msgspec
import numpy as np

from antecede.core import wire
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.counts import Counts, count_up, exceeds, narrow, none, pack, raise_to, view, zeros
from antecede.protocols.stamps import check_destinations, check_own, only_messages


class MatrixStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """`dests` is empty for a message to one process."""

    dests: list[wire.Count]
    sent: bytes


_read = wire.reader(MatrixStamp, "stamp of 'matrix'")


class Matrix(Gated, kw_only=True):
    """SENT[x][y]: messages from x to y in this process's past. DELIV is the gate's `have`."""

    facts = Facts(
        name="matrix",
        title="matrix clocks",
        paper="RST91, the base of 000, 002 and 003",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=True,
        stamp="n^2",
    )

    sent: Counts = msgspec.field(default_factory=none)

    def __post_init__(self) -> None:
        self.sent = narrow(self.sent)  # from a snapshot it comes wide

    def _start(self) -> None:
        self.sent = narrow(zeros(self.n, self.n))
        self._count_from_zero(self.n)

    def _send(self, payload: bytes, targets: list[int]) -> None:
        stamp = wire.encode((targets if len(targets) > 1 else (), pack(self.sent)))
        self._emit_all(targets, stamp, payload)
        for target in targets:
            self.sent = count_up(self.sent, self.me, target)

    def _read(self, packet: Packet) -> tuple[list[int], Counts]:
        only_messages(packet)
        stamp = _read(packet.stamp)
        if stamp.dests:
            check_destinations(stamp.dests, self.index[packet.source], self.me, self.n)
        sent, own = view(stamp.sent, self.n, self.n), self.sent[self.me]
        if exceeds(sent[self.me], own):
            check_own(int((sent[self.me].astype(np.int64) - own.astype(np.int64)).max()), 0)
        return stamp.dests or [self.me], sent

    def _rule(self, source: int, stamp: tuple[list[int], Counts]) -> tuple[Pairs, Pairs]:
        column = stamp[1][:, self.me].tolist()
        return self._unmet(column), [(source, column[source] + 1)]

    def _delivered(self, source: int, stamp: tuple[list[int], Counts]) -> None:
        dests, carried = stamp
        carried = carried.copy()
        for d in dests:
            carried = count_up(carried, source, d)
        self.sent = raise_to(self.sent, carried)
