"""pairs: a message carries its time and, for each process written to, the time of the last message to it.

Schiper, Eggli, Sandoz 1989, for messages to one process. The tick comes before the stamp: stamping first
is unsafe. The copy for oneself never enters the protocol: the own tick would already satisfy its test.
"""

import msgspec

from antecede.core import wire
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import VectorGated
from antecede.protocols.stamps import (
    check_process_ids,
    check_vector_length,
    refuse_claimed_count_above_actual,
    refuse_packet_kind,
)

Time = list[wire.Count]


class PairsStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """t: the time of this message. V_m: per destination, the time of the last message to it."""

    time: Time
    last: dict[wire.Count, Time]


_decode_stamp = wire.make_decoder(PairsStamp, "stamp of 'pairs'")


class Pairs89(VectorGated, kw_only=True):
    """V: destination to time. The vector T is the gate's `have`.

    A slot counts the sends of a process to anybody, so a root gap names the time that is missing, which
    is not always the number of a message to this process.
    """

    facts = Facts(
        name="pairs",
        title="vector clock and destination-time pairs",
        paper="Schiper, Eggli, Sandoz 1989",
        order="causal",
        unicast=True,
        exact=True,
        delay_optimal=True,
        counts="sends of that process, to anybody; some of those named may not be for this one",
        stamp="n + (n - 1) * (n + 1) at most",
    )
    dense = False
    gains_time = True

    last: dict[int, Time] = {}

    def _init_state(self) -> None:
        self._zero_slot_counts(self.n)

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            have = self.gate.have
            self.gate.advance_slot(self.me, have[self.me] + 1)
            time = list(have.values())
            stamp = wire.encode((time, self.last))
            self._emit_packet(target, stamp, payload)
            self.last[target] = time

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> PairsStamp:
        """The time of this message, and V of the sender before it."""
        if kind != "message":
            refuse_packet_kind("pairs", kind)
        stamp = _decode_stamp(data)
        check_process_ids(stamp.last, group_size)
        check_vector_length(stamp.time, group_size)
        for time in stamp.last.values():
            check_vector_length(time, group_size)
        return stamp

    @staticmethod
    def find_needs_and_gains(stamp: PairsStamp, source: int, receiver: int) -> tuple[list[int], Pairs]:
        """The time of the last message to `receiver` must be past; a delivery gains the message's time."""
        own = (source, stamp.time[source])
        others = [(x, count) for x, count in enumerate(stamp.time) if x != source and count]
        return stamp.last.get(receiver, []), [own, *others]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """A time, and for each process written to its id and a time."""
        read = _decode_stamp(stamp)
        last = sum(1 + len(time) for time in read.last.values())
        return len(read.time) + last

    def _refuse_claim_of_unsent_messages(self, stamp: PairsStamp) -> None:
        sent = self.gate.have[self.me]
        refuse_claimed_count_above_actual(stamp.time[self.me], sent)
        for time in stamp.last.values():
            refuse_claimed_count_above_actual(time[self.me], sent)

    def _find_local_needs_and_gains(self, source: int, stamp: PairsStamp) -> tuple[Pairs, Pairs]:
        """Without the gains that change nothing, which are most."""
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        have = self.gate.have
        identity, *others = gains
        others = [(slot, count) for slot, count in others if count > have[slot]]
        return needs, [identity, *others]

    def _learn_from_delivery(self, source: int, stamp: PairsStamp) -> None:
        for q, time in stamp.last.items():
            ours = self.last.get(q, time)
            if ours != time:
                time = list(map(max, time, ours))
            if q != self.me:
                self.last[q] = time
