"""vector: causal broadcast with vector clocks (Birman, Schiper, Stephenson 1991).

Every message goes to everybody, so one counter per sender describes any causal past.
"""

from functools import lru_cache

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import check_length, check_own, only_messages

_read = lru_cache(1024)(wire.reader(list[wire.Count], "stamp of 'vector'"))
"""Remembers the latest: copies of one message that arrive in one program are read once, and never changed."""


class Vector(Gated, kw_only=True):
    """V is the gate's `have`: slot x counts the broadcasts of x delivered here, own ones included."""

    facts = Facts(
        name="vector",
        title="causal broadcast with vector clocks",
        paper="BSS91, cited by 002 and 004",
        order="causal",
        broadcast=True,
        exact=True,
        delay_optimal=True,
        stamp="n",
    )

    def _start(self) -> None:
        self._count_from_zero(self.n)

    def _send(self, payload: bytes, targets: list[int]) -> None:
        have = self.gate.have
        self.gate.gain(self.me, have[self.me] + 1)
        stamp = wire.encode(list(have.values()))
        self._emit_all(targets, stamp, payload)

    def _read(self, packet: Packet) -> list[int]:
        if packet.kind != "message":
            only_messages(packet)
        stamp, me, have = _read(packet.stamp), self.me, self.gate.have
        if len(stamp) != len(have):
            check_length(stamp, self.n)
        if stamp[self.index[packet.source]] == 0:
            raise InputError("stamp of 'vector': the sender's own entry is 0, it must count this message")
        if stamp[me] > have[me]:
            check_own(stamp[me], have[me])
        return stamp

    def _rule(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        wanted = stamp.copy()
        wanted[source] -= 1
        return self._unmet(wanted), [(source, stamp[source])]
