"""fifo: a sequence number per pair of processes. Keeps each sender's order, not causal order."""

from antecede.core import wire
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.protocols.stamps import refuse_packet_kind

_decode_stamp = wire.make_decoder(wire.Count, "stamp of 'fifo'")


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

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        for target in targets:
            earlier = self.sequence.get(target, 0)
            self._emit_packet(target, wire.encode(earlier), payload)
            self.sequence[target] = earlier + 1

    @staticmethod
    def read_stamp(kind: str, data: bytes, source: int, receiver: int, group_size: int) -> int:
        """How many messages the sender has sent here before."""
        if kind != "message":
            refuse_packet_kind("fifo", kind)
        return _decode_stamp(data)

    @staticmethod
    def find_needs_and_gains(stamp: int, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        """All earlier messages of this sender come first."""
        return [(source, stamp)], [(source, stamp + 1)]

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """One number."""
        return 1
