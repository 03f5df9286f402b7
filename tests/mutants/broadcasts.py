"""Wrong rules for `vector` (BSS91), `predecessors` (PRS97) and `history` (BJ87)."""

from antecede.core.gate import Pairs
from antecede.core.packet import Packet
from antecede.protocols.counts import Counts
from antecede.protocols.history import History, HistoryStamp
from antecede.protocols.matrix import Matrix
from antecede.protocols.predecessors import Predecessors, PredecessorsStamp
from antecede.protocols.vector import Vector
from tests.mutants.drives import broadcast, multicast
from tests.mutants.table import Mutant


class NoOwnEntry(Vector, kw_only=True):
    """No test on the entry of the sender."""

    def _find_local_needs_and_gains(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        return [need for need in needs if need[0] != source], gains


class NeedsItself(Vector, kw_only=True):
    """The own entry is tested like the others, not less one."""

    def _find_local_needs_and_gains(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        return [*enumerate(stamp)], super()._find_local_needs_and_gains(source, stamp)[1]


class ForgetsConcurrent(Predecessors, kw_only=True):
    """A message to q becomes the only barrier of q, whatever else was on its way there."""

    def _learn_from_delivery(self, source: int, stamp: PredecessorsStamp) -> None:
        super()._learn_from_delivery(source, stamp)
        for q in stamp.dests:
            if q != self.me:
                self.barriers[q] = {source: stamp.count}


class ForgetsOwnSend(Predecessors, kw_only=True):
    """A send leaves no barrier."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        barriers = {q: dict(barrier) for q, barrier in self.barriers.items()}
        super()._send_message(payload, targets)
        self.barriers = barriers


class PrunesAtSend(History, kw_only=True):
    """What a message brings along is taken to be there once the message is sent."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        carried = self.log[:]
        super()._send_message(payload, targets)
        for message in carried:
            message.may_lack -= set(targets)
        self.log = [message for message in self.log if message.may_lack]


class SortsLog(History, kw_only=True):
    """The log is kept by sender, not in the order in which it was learned."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        self.log.sort(key=lambda message: (message.sender, message.count))
        super()._send_message(payload, targets)


class TakesOriginals(History, kw_only=True):
    """The copy of a message that came along before is delivered again."""

    def _accept_packet(self, packet: Packet, stamp: HistoryStamp) -> None:
        source = self.id_by_process[packet.source]
        self.past[source] = min(self.past[source], stamp.past[source])
        super()._accept_packet(packet, stamp)


class OnlyFifo(Matrix, kw_only=True):
    """Matrix clocks of which only the sender's own row is looked at: FIFO order, and no more."""

    def _find_local_needs_and_gains(
        self, source: int, stamp: tuple[list[int], Counts]
    ) -> tuple[Pairs, Pairs]:
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        return [need for need in needs if need[0] == source], gains


ROWS = [
    Mutant("bss-no-own-entry", "no test on the sender's own entry", "BSS91", "unsafe", NoOwnEntry, broadcast),
    Mutant("bss-needs-itself", "a message waits for itself", "BSS91", "stuck", NeedsItself, broadcast),
    Mutant(
        "fifo-only", "each sender's order is kept, and no more", "baseline", "unsafe", OnlyFifo, multicast
    ),
    Mutant(
        "prs-forgets-concurrent",
        "a barrier is replaced where it should be merged",
        "PRS97",
        "unsafe",
        ForgetsConcurrent,
        multicast,
    ),
    Mutant("prs-forgets-own", "a send leaves no barrier", "PRS97", "unsafe", ForgetsOwnSend, multicast),
    Mutant(
        "history-prunes-at-send",
        "the log is pruned when a message is sent, not when it is there",
        "BJ87",
        "unsafe",
        PrunesAtSend,
        multicast,
    ),
    Mutant("history-unordered-log", "the log is sorted by sender", "BJ87", "unsafe", SortsLog, multicast),
    Mutant(
        "history-originals",
        "the original of a message that came along is delivered again",
        "BJ87",
        "error",
        TakesOriginals,
        multicast,
        says="delivered there before",
    ),
]
