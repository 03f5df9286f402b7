"""monitor: causal delivery at one process, derived step by step (001).

The final program of section 6: f[q] counts the messages of q to the monitor in this process's past; a
message carries e = f of its sender; the monitor waits until e <= k. The other processes receive in any
order. The programs A to E of the derivation are kept as test oracles and run in step with this one.
A message of the monitor to itself would be counted twice by the printed program and block it
(docs/errata.md); here the copy for oneself is delivered at once and never enters the protocol.
"""

from antecede.core import wire
from antecede.core.errors import CallerError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import check_length, check_own, only_messages

_read = wire.reader(list[wire.Count], "stamp of 'monitor'")


class Monitor(Gated, kw_only=True):
    """k is the gate's `have` at the monitor; elsewhere the gate lets everything through."""

    facts = Facts(
        name="monitor",
        title="causal delivery at one monitor",
        paper="001",
        order="causal at one process",
        unicast=True,
        monitor=True,
        exact=True,
        delay_optimal=True,
        stamp="n",
        options={"monitor": "name of the process that receives in causal order"},
    )
    shared = ("monitor",)

    monitor: str
    f: list[int] = []

    def _start(self) -> None:
        if self.monitor not in self.index:
            raise CallerError(f"the monitor {self.monitor!r} is not in the group {self.group}")
        self.f = [0] * self.n
        self._count_from_zero(self.n)

    def _send(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            self._emit(target, wire.encode(self.f), payload)
            if self.group[target] == self.monitor:
                self.f[self.me] += 1

    def _read(self, packet: Packet) -> list[int]:
        only_messages(packet)
        stamp = _read(packet.stamp)
        check_length(stamp, self.n)
        check_own(stamp[self.me], self.f[self.me])
        return stamp

    def _rule(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        if self.process != self.monitor:
            return [], []
        return self._unmet(stamp), [(source, stamp[source] + 1)]

    def _delivered(self, source: int, stamp: list[int]) -> None:
        self.f = list(map(max, self.f, stamp))
        if self.process == self.monitor:
            self.f[source] += 1
