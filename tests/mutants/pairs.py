"""Wrong rules for `pairs`: SES 1989."""

import msgspec

from antecede.core import wire
from antecede.core.gate import Gate
from antecede.core.packet import Packet
from antecede.protocols.pairs import Pairs89, PairsStamp
from tests.mutants.drives import self_sends
from tests.mutants.gates import Queueing
from tests.mutants.selfsends import SelfSends
from tests.mutants.table import Mutant

_stamp = wire.make_decoder(PairsStamp, "stamp")


class StampsBeforeTick(Pairs89, kw_only=True):
    """A message carries the time before its own send."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        have = self.gate.have
        for target in targets:
            time = [have.get(x, 0) for x in range(self.n)]
            self._emit_packet(target, wire.encode((time, self.last)), payload)
            self.last[target] = time
            self.gate.advance_slot(self.me, have.get(self.me, 0) + 1)


class Strict(Pairs89, kw_only=True):
    """The carried time must be less than the own time, not less or equal."""

    gate: Gate[Packet] = msgspec.field(default_factory=Queueing)

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        now = [self.gate.have.get(x, 0) for x in range(self.n)]
        return self.gate.find_ready_arrival(
            lambda packet: sender in (None, packet.source) and _stamp(packet.stamp).last.get(self.me) != now
        )


class StrictTicking(Strict, kw_only=True):
    """The strict test with a clock that ticks at deliveries too: right again."""

    def _learn_from_delivery(self, source: int, stamp: PairsStamp) -> None:
        super()._learn_from_delivery(source, stamp)
        self.gate.advance_slot(self.me, self.gate.have.get(self.me, 0) + 1)


class PairsSelfSends(SelfSends, Pairs89, kw_only=True):
    """The own tick already meets the test of a message to oneself."""


ROWS = [
    Mutant("ses-stamp-first", "the stamp is taken before the tick", "SES89", "unsafe", StampsBeforeTick),
    Mutant(
        "ses-strict", "the delivery test is strict and only sends tick", "SES89", "stuck", Strict, runs=150
    ),
    Mutant(
        "ses-self-send",
        "messages to oneself go through the protocol",
        "SES89",
        "unsafe",
        PairsSelfSends,
        self_sends,
    ),
]
