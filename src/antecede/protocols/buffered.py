"""buffered: buffers and acknowledgements instead of timestamps (Mattern and Fünfrocken 1995).

A message waits in the output buffer until the one before it is acknowledged by the input buffer of its
destination, so nothing overtakes it, and messages carry no control data. Settled and corrected:
- `get` appends to the input buffer *and* acknowledges in one step; the paper's listing acknowledges
  first, and a get that slips in between breaks causal order.
- `pipelined=True` is footnote 4: the next message to the *same* destination need not wait. It needs FIFO
  channels; a packet that overtook another is refused.
- Several destinations, which the paper leaves open: posting all copies and waiting for all
  acknowledgements is not causal. Two repairs: "two-phase" (a copy takes its place at get and is delivered
  after the sender's release, sent when all have it) and "hold" (a copy is delivered at once, and its
  receiver posts nothing until the release).
"""

from typing import Literal

import msgspec

from antecede.core import wire
from antecede.core.boxed import Boxed, Letter
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.packet import Gap, Held, Missing, Packet

COPY = wire.encode(True)
"""Stamp of a copy with several destinations: a release will follow."""

_decode_stamp = wire.make_decoder(wire.Count, "stamp of 'buffered'")


class Posting(msgspec.Struct):
    """A message in the output buffer."""

    payload: bytes
    targets: list[int]


class Buffered(Boxed, kw_only=True):
    """OB is `outgoing`, by number of the message, from `posted` on; IB is `inbox`.

    `awaiting` are the packets posted and not acknowledged, `copies` those of the last message if it has
    several destinations; `unreleased` are copies got here whose release has not come.
    """

    facts = Facts(
        name="buffered",
        title="buffers and acknowledgements",
        paper="Mattern, Fünfrocken 1995",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=False,
        counts="packets of the pair",
        stamp="0 (1 with several destinations), and an acknowledgement (and a release) of 1",
        options={
            "pipelined": "do not wait between messages to one destination (footnote 4; needs FIFO channels)",
            "multicast": "'two-phase' (default) or 'hold': the repair used for several destinations",
        },
    )
    names_all_causes = False
    shared = ("pipelined", "multicast")

    pipelined: bool = False
    multicast: Literal["two-phase", "hold"] = "two-phase"
    outgoing: dict[int, Posting] = {}
    posted: int = 0
    awaiting: set[tuple[str, int]] = set()
    copies: list[tuple[str, int]] = []
    unreleased: set[tuple[str, int]] = set()

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """One in a copy, an acknowledgement or a release, none in a message to one process."""
        return 1 if stamp else 0

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        if targets:
            number = self.posted + len(self.outgoing)
            self.outgoing[number] = Posting(payload, targets)
            self._send_allowed_messages()

    def _send_allowed_messages(self) -> None:
        while self.outgoing and self._may_send_to(self.outgoing[self.posted].targets):
            posting = self.outgoing.pop(self.posted)
            self.posted += 1
            stamp = COPY if len(posting.targets) > 1 else b""
            posted = []
            for target in posting.targets:
                number = self._emit_packet(target, stamp, posting.payload)
                posted.append((self.group[target], number))
            self.awaiting.update(posted)
            self.copies = posted if stamp else []

    def _may_send_to(self, targets: list[int]) -> bool:
        if self.multicast == "hold" and self.unreleased:
            return False
        if not self.awaiting:
            return True
        if self.copies or not self.pipelined:
            return False
        target, _ = next(iter(self.awaiting))  # without copies they all have one target
        return [self.group[t] for t in targets] == [target]

    def _decode_and_check_stamp(self, packet: Packet) -> int:
        next_number = self.seen[packet.source].low + 1
        if self.pipelined and packet.number != next_number:
            raise InputError(
                f"packet {packet.number} from {packet.source} overtook an earlier one: pipelined=True needs "
                "FIFO channels; offer packets in order, or use pipelined=False"
            )
        if packet.kind == "message" and packet.stamp not in (b"", COPY):
            raise InputError("stamp of 'buffered': a message has none, or the mark of a copy")
        if packet.kind == "message":
            return 0
        number = _decode_stamp(packet.stamp)
        expected_by_kind = {"ack": self.awaiting, "release": self.unreleased}
        expected = expected_by_kind.get(packet.kind, ())
        if (packet.source, number) not in expected:
            raise InputError(f"a {packet.kind!r} packet from {packet.source} that nothing here waits for")
        return number

    def _accept_packet(self, packet: Packet, stamp: int) -> None:
        if packet.kind == "message":
            self._put_in_inbox_and_acknowledge(packet)
            return
        if packet.kind == "release":
            self.unreleased.remove((packet.source, stamp))
        else:
            self.awaiting.remove((packet.source, stamp))
            if not self.awaiting:
                self._emit_release_packets()
        self._send_allowed_messages()

    def _put_in_inbox_and_acknowledge(self, packet: Packet) -> None:
        self.inbox.append(Letter(packet.source, packet.number, packet.payload))
        if packet.stamp == COPY:
            self.unreleased.add((packet.source, packet.number))
        self._emit_packet(packet.source, wire.encode(packet.number), kind="ack")

    def _emit_release_packets(self) -> None:
        for target, number in self.copies:
            self._emit_packet(target, wire.encode(number), kind="release")
        self.copies = []

    def _must_wait_for_release(self, letter: Letter) -> bool:
        return self.multicast == "two-phase" and (letter.sender, letter.number) in self.unreleased

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        if self.inbox and self._must_wait_for_release(self.inbox[0]):
            return None
        return super()._find_next_deliverable(sender)

    @property
    def backlog(self) -> int:
        """How many messages of this process wait here, not yet on their way."""
        return len(self.outgoing)

    def held(self) -> list[Held]:
        """Copies before their release and what stands behind them; then the output buffer."""
        return self._list_held_in_inbox() + self._list_held_outgoing()

    def _list_held_in_inbox(self) -> list[Held]:
        waiting: list[Held] = []
        missing: list[Missing] = []
        for letter in self.inbox:
            if self._must_wait_for_release(letter):
                missing.append(Missing(f"release by {letter.sender}", 0, letter.number))
            if missing:
                held = Held(letter.sender, letter.number, letter.payload, "message", tuple(missing))
                waiting.append(held)
        return waiting

    def _list_held_outgoing(self) -> list[Held]:
        missing = [Missing(f"acknowledgement by {name}", 0, number) for name, number in sorted(self.awaiting)]
        if self.multicast == "hold":
            missing += [Missing(f"release by {name}", 0, number) for name, number in sorted(self.unreleased)]
        waiting = []
        for post in self.outgoing.values():
            waiting.append(Held(self.process, 0, post.payload, "message", tuple(missing)))
        return waiting

    def root_gaps(self) -> list[Gap]:
        """The releases and acknowledgements that something here waits for."""
        missing = dict.fromkeys(missing for held in self.held() for missing in held.missing)
        return [Gap(one.slot, one.needs, one.needs) for one in missing]
