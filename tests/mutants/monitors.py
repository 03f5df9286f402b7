"""Wrong rules for `monitor` (Hoogerwoord) and `server` (KK89): causal order at one process."""

from antecede import DuplicateError, Effects
from antecede.core import wire
from antecede.core.gate import Pairs
from antecede.core.packet import Packet
from antecede.core.seen import Seen
from antecede.protocols.monitor import Monitor
from antecede.protocols.server import Server
from tests.mutants.drives import self_sends
from tests.mutants.selfsends import SelfSends
from tests.mutants.stories import resends
from tests.mutants.table import Mutant


class MonitorSelfSends(SelfSends, Monitor, kw_only=True):
    """The final program of Hoogerwoord: f counts a message to oneself at the send and at the receipt."""


class RepairedSelfSends(MonitorSelfSends, kw_only=True):
    """f[p] := max(f[p], e[p] + 1) instead of a second count: right."""

    def _learn_from_delivery(self, source: int, stamp: list[int]) -> None:
        self.past = [max(pair) for pair in zip(self.past, stamp, strict=True)]
        if self.process == self.monitor:
            self.past[source] = max(self.past[source], stamp[source] + 1)


class CountsDuplicates(Monitor, kw_only=True):
    """A duplicate is not delivered again, but k[p] := k[p] + 1 counts it."""

    def receive(self, packet: Packet) -> Effects:
        try:
            return super().receive(packet)
        except DuplicateError:
            source = self.id_by_process[packet.source]
            self.gate.advance_slot(source, self.gate.have.get(source, 0) + 1)
            return self._deliver_ready_and_take_outbox([])


class TakesDuplicates(Monitor, kw_only=True):
    """Nobody removes duplicates below the protocol."""

    def receive(self, packet: Packet) -> Effects:
        self.seen[packet.source] = Seen()
        return super().receive(packet)


class CountsBeforeStamp(Monitor, kw_only=True):
    """KK89's increment before the stamp with Hoogerwoord's test."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            if self.group[target] == self.monitor:
                self.past[self.me] += 1
            self._emit_packet(target, wire.encode(self.past), payload)


class ServerWithoutOwnEntry(Server, kw_only=True):
    """KK89 as Mattern95 tells it: no test on the entry of the sender."""

    def _find_local_needs_and_gains(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        return [need for need in needs if need[0] != source], gains


AT_P0 = {"monitor": "p0"}

ROWS = [
    Mutant(
        "hoogerwoord-self-send",
        "a message of the monitor to itself is counted twice",
        "Hoogerwoord, final program",
        "stuck",
        MonitorSelfSends,
        self_sends,
        options=AT_P0,
        watch=("p0",),
    ),
    Mutant(
        "hoogerwoord-duplicates-counted",
        "a duplicate is counted, though not delivered",
        "Hoogerwoord, the increments",
        "unsafe",
        CountsDuplicates,
        resends,
        options=AT_P0,
        watch=("p0",),
    ),
    Mutant(
        "hoogerwoord-duplicates-taken",
        "no link removes duplicates below the protocol",
        "all papers",
        "error",
        TakesDuplicates,
        resends,
        options=AT_P0,
        watch=("p0",),
        says="delivered there before",
    ),
    Mutant(
        "hoogerwoord-count-first",
        "the sender counts before it stamps",
        "Hoogerwoord and KK89 mixed",
        "stuck",
        CountsBeforeStamp,
        options=AT_P0,
        watch=("p0",),
    ),
    Mutant(
        "kk-no-own-entry",
        "no test on the sender's own entry, channels not FIFO",
        "KK89 as told by Mattern95",
        "unsafe",
        ServerWithoutOwnEntry,
        options={"server": "p0"},
        watch=("p0",),
    ),
]
