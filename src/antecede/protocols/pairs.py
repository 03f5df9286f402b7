"""pairs: a message carries its time and, for each process written to, the time of the last message to it.

Schiper, Eggli, Sandoz 1989, for messages to one process. The tick comes before the stamp: stamping first
is unsafe. The copy for oneself never enters the protocol: the own tick would already satisfy its test.
"""

import msgspec

from antecede.core import wire
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import check_ids, check_length, check_own, only_messages

Time = list[wire.Count]


class PairsStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """t: the time of this message. V_m: per destination, the time of the last message to it."""

    time: Time
    last: dict[wire.Count, Time]


_read = wire.reader(PairsStamp, "stamp of 'pairs'")


class Pairs89(Gated, kw_only=True):
    """V: destination to time. The vector T is the gate's `have`.

    A slot counts the sends of a process to anybody, so a root gap names the time that is missing, which
    is not always the number of a message to this process.
    """

    facts = Facts(
        name="pairs",
        title="vector clock and destination-time pairs",
        paper="SES89, cited by 002 and 003",
        order="causal",
        unicast=True,
        exact=True,
        delay_optimal=True,
        counts="sends of that process, to anybody; some of those named may not be for this one",
        stamp="n + (n - 1) * (n + 1) at most",
    )
    dense = False

    last: dict[int, Time] = {}

    def _start(self) -> None:
        self._count_from_zero(self.n)

    def _send(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            have = self.gate.have
            self.gate.gain(self.me, have[self.me] + 1)
            time = list(have.values())
            self._emit(target, wire.encode((time, self.last)), payload)
            self.last[target] = time

    def _read(self, packet: Packet) -> PairsStamp:
        only_messages(packet)
        stamp = _read(packet.stamp)
        check_ids(stamp.last, self.n)
        for time in (stamp.time, *stamp.last.values()):
            check_length(time, self.n)
            check_own(time[self.me], self.gate.have.get(self.me, 0))
        return stamp

    def _rule(self, source: int, stamp: PairsStamp) -> tuple[Pairs, Pairs]:
        gains = [(x, count) for x, count in self._unmet(stamp.time) if x != source]
        return self._unmet(stamp.last.get(self.me, [])), [(source, stamp.time[source]), *gains]

    def _delivered(self, source: int, stamp: PairsStamp) -> None:
        for q, time in stamp.last.items():
            ours = self.last.get(q, time)
            if q != self.me:
                self.last[q] = time if ours == time else list(map(max, time, ours))
