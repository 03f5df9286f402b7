"""fifo: a sequence number per pair of processes. Keeps each sender's order, not causal order."""

from antecede.core import wire
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import only_messages

_read = wire.reader(wire.Count, "stamp of 'fifo'")


class Fifo(Gated, kw_only=True):
    """Slot x counts what was delivered here from x."""

    facts = Facts(
        name="fifo",
        title="first in, first out",
        paper="baseline",
        order="fifo",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=False,
        delay_optimal=False,
        stamp="1",
    )

    sequence: dict[int, int] = {}

    def _send(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            earlier = self.sequence.get(target, 0)
            self._emit(target, wire.encode(earlier), payload)
            self.sequence[target] = earlier + 1

    def _read(self, packet: Packet) -> int:
        if packet.kind != "message":
            only_messages(packet)
        return _read(packet.stamp)

    def _rule(self, source: int, stamp: int) -> tuple[Pairs, Pairs]:
        return [(source, stamp)], [(source, stamp + 1)]
