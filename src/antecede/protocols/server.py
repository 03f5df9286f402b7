"""server: causal delivery at one server (Kearns, Koodalattupuram 1989, as told by 002, section 2).

V[i] counts the messages of client i to the server. Corrected: as told there is no test on the sender's
own entry, so two messages of one client may be swapped unless the channel is FIFO; with that test added
any channel will do.
"""

from antecede.core import wire
from antecede.core.errors import CallerError, InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import check_length, check_own, only_messages

_read = wire.reader(list[wire.Count], "stamp of 'server'")


class Server(Gated, kw_only=True):
    """V as in the paper; at the server the gate's `have` counts what was delivered from each client."""

    facts = Facts(
        name="server",
        title="causal delivery at one server",
        paper="KK89, cited by 002",
        order="causal at one process",
        unicast=True,
        monitor=True,
        exact=True,
        delay_optimal=True,
        stamp="n",
        options={"server": "name of the process that receives in causal order"},
    )
    shared = ("server",)

    server: str
    v: list[int] = []

    def _start(self) -> None:
        if self.server not in self.index:
            raise CallerError(f"the server {self.server!r} is not in the group {self.group}")
        self.v = [0] * self.n
        self._count_from_zero(self.n)

    def _send(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            if self.group[target] == self.server:
                self.v[self.me] += 1
            self._emit(target, wire.encode(self.v), payload)

    def _read(self, packet: Packet) -> list[int]:
        only_messages(packet)
        stamp = _read(packet.stamp)
        check_length(stamp, self.n)
        check_own(stamp[self.me], self.v[self.me])
        if self.process == self.server and stamp[self.index[packet.source]] == 0:
            raise InputError("stamp of 'server': the client's own entry is 0, it must count this message")
        return stamp

    def _rule(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        if self.process != self.server:
            return [], []
        wanted = stamp.copy()
        wanted[source] -= 1
        return self._unmet(wanted), [(source, stamp[source])]

    def _delivered(self, source: int, stamp: list[int]) -> None:
        self.v = list(map(max, self.v, stamp))
