"""semantic: causal order only where the application says that it matters.

Gambhire and Kshemkalyani 2000, Figure 3. SENT_PREV (SP) counts the messages that every later one must
follow, SENT_CONC (SC) those sent since that no later one depends on. A send that depends on a local event
after MCV[i] moves SC into SP (E1 to E5).

`variant="corrected"` (default) differs from Figure 3 in three places, each with a counterexample in
docs/errata.md: MCV at such a send is the past *before* the event (as printed, Lemmas 3 and 4 miss the
message itself); a packet also waits for the earlier ones of its own channel, whose number is SP + SC by
Lemma 2 (as printed it needs FIFO channels and in-order release); and a packet to several processes names
them, so that R3 counts every copy. `variant="printed"` is the figure with Property 1's MCV on board.
"""

from collections.abc import Iterable
from functools import partial
from typing import Literal

import msgspec
import numpy as np

from antecede.core import wire
from antecede.core.errors import CallerError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import VectorGated
from antecede.core.packet import Delivery, Effects, Packet
from antecede.protocols.counts import (
    Counts,
    count_packed_entries,
    make_empty_counts,
    make_zero_counts,
    pack_counts,
    unpack_counts,
)
from antecede.protocols.stamps import (
    check_destinations,
    refuse_claimed_count_above_actual,
    refuse_packet_kind,
)


class SemanticStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """SP, SC, MCV and ECV of the sender at the send; `dests` is empty for one destination."""

    dests: list[wire.Count]
    sp: bytes
    sc: bytes
    mcv: bytes
    ecv: bytes


Read = tuple[list[int], Counts, Counts, Counts, Counts]
"""Destinations, SP, SC, MCV and ECV of a stamp."""

_decode_stamp = wire.make_decoder(SemanticStamp, "stamp of 'semantic'")


class Semantic(VectorGated, kw_only=True):
    """SP, SC, MCV as in the paper; ECV[x] counts the events of x in the past, ECV[i] the own events.

    Sends, deliveries and `local()` events are numbered from 1; DELIV is the gate's `have`.
    """

    facts = Facts(
        name="semantic",
        title="causal order where the application depends on it",
        paper="Gambhire, Kshemkalyani 2000",
        order="semantic",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=False,
        stamp="2 * n^2 + 2 * n",
        options={"variant": "'corrected' (default), or 'printed': for study, unsafe"},
    )
    shared = ("variant",)

    variant: Literal["corrected", "printed"] = "corrected"
    sp: Counts = msgspec.field(default_factory=make_empty_counts)
    sc: Counts = msgspec.field(default_factory=make_empty_counts)
    mcv: Counts = msgspec.field(default_factory=make_empty_counts)
    ecv: Counts = msgspec.field(default_factory=make_empty_counts)

    def _init_state(self) -> None:
        self.sp = make_zero_counts(self.n, self.n)
        self.sc = make_zero_counts(self.n, self.n)
        self.mcv = make_zero_counts(self.n)
        self.ecv = make_zero_counts(self.n)
        self._zero_slot_counts(self.n)
        self.gate.add = self.variant == "printed"

    @property
    def events(self) -> int:
        """The number of own events so far, which is that of the latest: what the next send may depend on."""
        return int(self.ecv[self.me])

    def local(self) -> int:
        """Count an internal event and return its index; changes nothing else."""
        return self._count_own_event()

    def _count_own_event(self) -> int:
        self.ecv[self.me] += 1
        return self.events

    def send(self, payload: bytes, to: Iterable[str] | None = None, depends_on: int | None = None) -> Effects:
        """As for any endpoint; `depends_on` is the latest own event that this message depends on.

        0 declares that it depends on nothing; left out, it depends on everything before it.
        """
        latest = self.events if depends_on is None else depends_on
        if not isinstance(latest, int) or not 0 <= latest <= self.events:
            raise CallerError(f"depends_on={depends_on!r}: own events so far are numbered 1 to {self.events}")
        send = partial(self._send_message, depends_on=latest)
        effects = self._check_and_send_message(payload, to, send)
        own = [msgspec.structs.replace(copy, event=self.events) for copy in effects.deliveries]
        return msgspec.structs.replace(effects, deliveries=own)

    def _send_message(self, payload: bytes, targets: list[int], depends_on: int = 0) -> None:
        before = self.ecv.copy()
        self._count_own_event()
        if depends_on > self.mcv[self.me]:  # E1 to E5
            self.sp += self.sc
            self.sc[:] = 0
            self.mcv = before if self.variant == "corrected" else self.ecv.copy()
        dests = targets if len(targets) > 1 else ()
        counts = [pack_counts(array) for array in (self.sp, self.sc, self.mcv, self.ecv)]
        stamp = wire.encode((dests, *counts))
        self._emit_copies(targets, stamp, payload)  # E6
        self.sc[self.me, targets] += 1  # E7

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> Read:
        """The destinations, SP, SC, MCV and ECV."""
        if kind != "message":
            refuse_packet_kind("semantic", kind)
        stamp = _decode_stamp(data)
        if stamp.dests:
            check_destinations(stamp.dests, source, receiver, group_size)
        sp = unpack_counts(stamp.sp, group_size, group_size)
        sc = unpack_counts(stamp.sc, group_size, group_size)
        mcv = unpack_counts(stamp.mcv, group_size)
        ecv = unpack_counts(stamp.ecv, group_size)
        return stamp.dests or [receiver], sp, sc, mcv, ecv

    @staticmethod
    def find_needs_and_gains(stamp: Read, source: int, receiver: int) -> tuple[list[int], Pairs]:
        """R1: what the message depends on comes first, and what was sent before it on its own channel."""
        _, sp, sc, _, _ = stamp
        column = sp[:, receiver].tolist()
        column[source] += int(sc[source, receiver])
        return column, [(source, column[source] + 1)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The destinations, two numbers for each pair of processes, two for each process."""
        read = _decode_stamp(stamp)
        packed = (read.sp, read.sc, read.mcv, read.ecv)
        return len(read.dests) + sum(map(count_packed_entries, packed))

    def _refuse_claim_of_unsent_messages(self, stamp: Read) -> None:
        *_, mcv, ecv = stamp
        claimed = max(mcv[self.me], ecv[self.me])
        refuse_claimed_count_above_actual(int(claimed), self.events)

    def _find_local_needs_and_gains(self, source: int, stamp: Read) -> tuple[Pairs, Pairs]:
        if self.variant == "corrected":
            return super()._find_local_needs_and_gains(source, stamp)
        _, sp, _, _, _ = stamp
        column = sp[:, self.me].tolist()
        return list(enumerate(column)), [(source, 1)]

    def _learn_from_delivery(self, source: int, stamp: Read) -> None:
        dests, sp, sc, mcv, ecv = stamp
        sc[source, dests if self.variant == "corrected" else self.me] += 1  # R3
        largest = np.maximum(self.sp, sp)
        all_sent = np.maximum(self.sc + self.sp, sp + sc)
        self.sc = all_sent - largest  # R7
        self.sp = largest  # R8
        self.mcv = np.maximum(self.mcv, mcv)
        self.ecv = np.maximum(self.ecv, ecv)

    def _deliver_packet(self, packet: Packet, stamp: Read) -> Delivery:
        self._learn_from_delivery(self.id_by_process[packet.source], stamp)
        return Delivery(packet.source, packet.payload, (), self._count_own_event())
