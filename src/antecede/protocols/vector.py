"""vector: causal broadcast with vector clocks (Birman, Schiper, Stephenson 1991).

Every message goes to everybody, so one counter per sender describes any causal past.
"""

from functools import lru_cache

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import VectorGated
from antecede.protocols.stamps import (
    check_vector_length,
    refuse_claimed_count_above_actual,
    refuse_packet_kind,
)

_decode_stamp = lru_cache(1024)(wire.make_decoder(list[wire.Count], "stamp of 'vector'"))
"""Remembers the latest: copies of one message that arrive in one program are read once, and never changed."""


class Vector(VectorGated, kw_only=True):
    """V is the gate's `have`: slot x counts the broadcasts of x delivered here, own ones included."""

    facts = Facts(
        name="vector",
        title="causal broadcast with vector clocks",
        paper="Birman, Schiper, Stephenson 1991",
        order="causal",
        broadcast=True,
        exact=True,
        delay_optimal=True,
        stamp="n",
    )

    def _init_state(self) -> None:
        self._zero_slot_counts(self.n)

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        have = self.gate.have
        self.gate.advance_slot(self.me, have[self.me] + 1)
        stamp = wire.encode(list(have.values()))
        self._emit_copies(targets, stamp, payload)

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> list[int]:
        """V of the sender, which counts this message."""
        if kind != "message":
            refuse_packet_kind("vector", kind)
        stamp = _decode_stamp(data)
        if len(stamp) != group_size:
            check_vector_length(stamp, group_size)
        if stamp[source] == 0:
            raise InputError("stamp of 'vector': the sender's own entry is 0, it must count this message")
        return stamp

    @staticmethod
    def find_needs_and_gains(stamp: list[int], source: int, receiver: int) -> tuple[list[int], Pairs]:
        """All that the sender had delivered, and its own earlier broadcasts, come first."""
        wanted = stamp.copy()
        wanted[source] -= 1
        return wanted, [(source, stamp[source])]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """One number per process."""
        return len(_decode_stamp(stamp))

    def _refuse_claim_of_unsent_messages(self, stamp: list[int]) -> None:
        claimed, sent = stamp[self.me], self.gate.have[self.me]
        if claimed > sent:
            refuse_claimed_count_above_actual(claimed, sent)
