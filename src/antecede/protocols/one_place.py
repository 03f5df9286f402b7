"""What `monitor` and `server` share: causal order at one process; the others receive in any order.

past[q] counts the messages of q to that process in the past of this one; a message carries it. The two
protocols differ in when a sender counts a message of its own: `server` before it makes the stamp, which then
counts the message itself, `monitor` after.
"""

from typing import ClassVar

from antecede.core import wire
from antecede.core.errors import CallerError
from antecede.core.gate import Pairs
from antecede.core.gated import VectorGated
from antecede.protocols.stamps import (
    check_vector_length,
    refuse_claimed_count_above_actual,
    refuse_packet_kind,
)

_decode_stamp = wire.make_decoder(list[wire.Count], "stamp")


class OnePlace(VectorGated, kw_only=True):
    """At that process the gate's `have` counts what was delivered from each process; elsewhere it is open."""

    counts_itself: ClassVar[bool]
    """Whether a stamp counts the message that it is on."""

    past: list[int] = []

    @property
    def causal_receiver(self) -> str:
        """The process that receives in causal order."""
        raise NotImplementedError

    def _init_state(self) -> None:
        if self.causal_receiver not in self.id_by_process:
            raise CallerError(
                f"the {self.facts.name} {self.causal_receiver!r} is not in the group {self.group}"
            )
        self.past = [0] * self.n
        self._zero_slot_counts(self.n)

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            to_place = self.group[target] == self.causal_receiver
            if to_place and self.counts_itself:
                self.past[self.me] += 1
            self._emit_packet(target, wire.encode(self.past), payload)
            if to_place and not self.counts_itself:
                self.past[self.me] += 1

    @classmethod
    def read_stamp(cls, kind: str, data: bytes, source: int, receiver: int, group_size: int) -> list[int]:
        """The past of the sender."""
        if kind != "message":
            refuse_packet_kind(cls.facts.name, kind)
        stamp = _decode_stamp(data)
        check_vector_length(stamp, group_size)
        return stamp

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """One number per process."""
        return len(_decode_stamp(stamp))

    def _refuse_claim_of_unsent_messages(self, stamp: list[int]) -> None:
        refuse_claimed_count_above_actual(stamp[self.me], self.past[self.me])

    def _find_local_needs_and_gains(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        if self.process != self.causal_receiver:
            return [], []
        return super()._find_local_needs_and_gains(source, stamp)

    def _learn_from_delivery(self, source: int, stamp: list[int]) -> None:
        self.past = list(map(max, self.past, stamp))
        if self.process == self.causal_receiver and not self.counts_itself:
            self.past[source] += 1
