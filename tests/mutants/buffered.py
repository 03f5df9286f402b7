"""Wrong rules for `buffered` (Mattern95): a split get, footnote 4, several destinations; and for `sync`."""

import msgspec

from antecede.core import wire
from antecede.core.boxed import Letter
from antecede.core.packet import Packet
from antecede.protocols.buffered import Buffered
from antecede.protocols.sync import Sync
from tests.mutants.drives import multicast
from tests.mutants.stories import selective
from tests.mutants.table import Mutant
from tests.mutants.trials import ManualTrial


class SplitGet(Buffered, kw_only=True):
    """Acknowledges, then enqueues: `limbo` is a get that was interrupted in between by the next one."""

    limbo: list[Letter] = msgspec.field(default_factory=list)

    def _put_in_inbox_and_acknowledge(self, packet: Packet) -> None:
        self._emit_packet(packet.source, wire.encode(packet.number), kind="ack")
        letter = Letter(packet.source, packet.number, packet.payload)
        interrupted, self.limbo = self.limbo, [] if self.limbo else [letter]
        self.inbox += [letter, *interrupted] if interrupted else []


class NeverWaits(Buffered, kw_only=True):
    """Posts without waiting for the acknowledgement."""

    def _may_send_to(self, targets: list[int]) -> bool:
        return True


class PipelinesAnywhere(Buffered, kw_only=True):
    """Footnote 4 over channels that reorder: nothing is refused."""

    def _decode_and_check_stamp(self, packet: Packet) -> int:
        pipelined, self.pipelined = self.pipelined, False
        try:
            return super()._decode_and_check_stamp(packet)
        finally:
            self.pipelined = pipelined


class LooksBehind(Buffered, kw_only=True):
    """A selective receive takes a message from behind the head of the input buffer."""

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        return look_behind(self.inbox, sender)


class SyncLooksBehind(Sync, kw_only=True):
    """The same where the receiving site acknowledges for the application."""

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        return None if self._is_application_blocked() else look_behind(self.inbox, sender)


class AcknowledgesUnblocked(Sync, kw_only=True):
    """The send ends when the packet is out."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        super()._send_message(payload, targets)
        self.awaiting = None

    def _decode_and_check_stamp(self, packet: Packet) -> None:
        pass


def look_behind(inbox: list[Letter], sender: str | None) -> int | None:
    """The first letter of this sender, wherever it stands."""
    return next((at for at, letter in enumerate(inbox) if sender in (None, letter.sender)), None)


class NoRelease(Buffered, kw_only=True):
    """Copies are delivered on arrival: all copies posted, all acknowledgements awaited, and no more."""

    def _must_wait_for_release(self, letter: Letter) -> bool:
        return False


class NoHold(Buffered, kw_only=True):
    """A receiver posts although a multicast that it delivered is not released."""

    def _may_send_to(self, targets: list[int]) -> bool:
        unreleased, self.unreleased = self.unreleased, set()
        try:
            return super()._may_send_to(targets)
        finally:
            self.unreleased = unreleased


class OvertakesUnreleased(Buffered, kw_only=True):
    """What is behind a copy that waits for its release is delivered before it."""

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        return next(
            (at for at, letter in enumerate(self.inbox) if not self._must_wait_for_release(letter)), None
        )


ROWS = [
    Mutant(
        "mattern-split-get",
        "a get acknowledges before it enqueues, and another slips in between",
        "Mattern95, the listing",
        "unsafe",
        SplitGet,
    ),
    Mutant(
        "mattern-no-wait",
        "the next message is posted before the acknowledgement",
        "Mattern95",
        "unsafe",
        NeverWaits,
    ),
    Mutant(
        "mattern-pipelined-any",
        "pipelining over channels that are not FIFO",
        "Mattern95, footnote 4",
        "unsafe",
        PipelinesAnywhere,
        options={"pipelined": True},
        sound={"pipelined": False},
    ),
    Mutant(
        "mattern-pipelined-all",
        "pipelining to another destination, channels FIFO",
        "Mattern95, footnote 4",
        "unsafe",
        NeverWaits,
        options={"pipelined": True},
        fifo=True,
    ),
    Mutant(
        "mattern-look-behind",
        "a selective receive looks behind the head",
        "Mattern95, section 4",
        "unsafe",
        LooksBehind,
        selective,
        options={"manual": True},
        trial=ManualTrial,
    ),
    Mutant(
        "sync-look-behind",
        "the same with synchronous sends that the site acknowledges",
        "Mattern95, section 2",
        "unsafe",
        SyncLooksBehind,
        selective,
        options={"manual": True, "form": "site"},
        trial=ManualTrial,
    ),
    Mutant(
        "sync-unblocked",
        "a synchronous send that does not wait",
        "Mattern95, section 2",
        "unsafe",
        AcknowledgesUnblocked,
        options={"form": "site"},
    ),
    Mutant(
        "mattern-several",
        "all copies are posted and all acknowledgements awaited, without a release",
        "Mattern95, several destinations",
        "unsafe",
        NoRelease,
        multicast,
    ),
    Mutant(
        "mattern-no-hold",
        "the receiver of an unreleased copy posts",
        "Mattern95, several destinations",
        "unsafe",
        NoHold,
        multicast,
        options={"multicast": "hold"},
    ),
    Mutant(
        "mattern-overtakes",
        "what stands behind an unreleased copy is delivered first",
        "Mattern95, several destinations",
        "unsafe",
        OvertakesUnreleased,
        multicast,
    ),
]
