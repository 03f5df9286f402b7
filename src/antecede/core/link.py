"""The reliable link: every piece of data arrives exactly once, over a network that loses, repeats, reorders.

It goes under any protocol, whose endpoints assume just that. Data frames are numbered per pair; each is
acknowledged by its number and by the low-water mark of the receiver, and is sent again until it is. Does
no I/O and asks no clock: time is an argument, and `tick` is due at `next_tick`. Memory is bounded: no frame
is sent that is `window` numbers ahead of an unacknowledged one, so a receiver remembers at most `window`
numbers per peer; what the caller sends beyond that waits here, and `congested` tells the caller to stop.
"""

from heapq import heapify, heappop, heappush
from typing import Annotated, Literal

import msgspec

from antecede.core import wire
from antecede.core.errors import CallerError, InputError
from antecede.core.seen import Seen

MOST_PATIENCE = 8
"""The time between two tries doubles up to this many times the first."""

SPARE_TIMERS = 64

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e12)]


class Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """`low`: of an acknowledgement, the number up to which everything has arrived."""

    kind: Literal["data", "ack"]
    source: str
    target: str
    number: wire.Number
    low: wire.Count = 0
    data: bytes = b""

    def encode(self) -> bytes:
        """The wire form."""
        return wire.encode(self)


_read_frame = wire.make_decoder(Frame, "not a frame of a link")


def decode_frame(data: bytes) -> Frame:
    """The frame that has this wire form; an InputError if there is none."""
    return _read_frame(data)


class Waiting(msgspec.Struct, array_like=True):
    """Data that is not acknowledged: when to send it again, and how long to wait after that."""

    data: bytes
    due: float = 0.0
    patience: float = 0.0


class Peer(msgspec.Struct, array_like=True):
    """The link to one other process, both directions."""

    numbered: wire.Count = 0
    sent: wire.Count = 0
    waiting: dict[int, Waiting] = {}
    """What was not acknowledged, by number; in order, so the first is the oldest."""
    seen: Seen = msgspec.field(default_factory=Seen)
    early: dict[int, bytes] = {}
    """With `ordered`, what arrived before its turn."""


class Link(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One process's end of its links to all others; its fields are its whole state."""

    process: str
    peers: dict[str, Peer]
    patience: Positive = 1000.0
    """Time until data is sent a second time."""
    window: Annotated[int, msgspec.Meta(ge=1)] = 1024
    ordered: bool = False
    """Hand data over in the order in which it was sent, for protocols that need FIFO channels."""
    resent: int = 0
    timers: list[tuple[float, str, int]] = []
    """When which frame is due again, the next one first; some are of frames acknowledged since."""

    def send(self, target: str, data: bytes, now: float) -> list[Frame]:
        """Take charge of data for a peer; returns the frames to transmit now."""
        if target not in self.peers:
            raise CallerError(f"{target!r} is not a peer of {self.process!r}: {sorted(self.peers)}")
        peer = self.peers[target]
        peer.numbered += 1
        peer.waiting[peer.numbered] = Waiting(data)
        return self._make_frames_within_window(target, peer, now)

    def receive(self, frame: Frame, now: float) -> tuple[list[bytes], list[Frame]]:
        """Take in a frame; returns the data that is new, and frames to transmit.

        Transmit the frames only when the data is safe: they acknowledge it.
        """
        if frame.target != self.process or frame.source not in self.peers:
            raise InputError(f"a frame from {frame.source!r} to {frame.target!r}: this is {self.process!r}")
        peer = self.peers[frame.source]
        if frame.kind == "ack":
            return [], self._apply_acknowledgement_and_make_next_frames(frame, peer, now)
        if frame.number > peer.seen.low + self.window:
            raise InputError(f"frame {frame.number} is more than {self.window} ahead: another window size?")
        is_new = not peer.seen.has(frame.number)
        data = self._accept_frame_and_take_deliverable_data(peer, frame) if is_new else []
        answer = Frame("ack", self.process, frame.source, frame.number, peer.seen.low)
        return data, [answer]

    def tick(self, now: float) -> list[Frame]:
        """The frames that are due to be sent again."""
        again = []
        while self.timers and self.timers[0][0] <= now:
            due, target, number = heappop(self.timers)
            waiting = self.peers[target].waiting.get(number)
            if waiting is not None and waiting.due == due:
                patience = min(2 * waiting.patience, MOST_PATIENCE * self.patience)
                self._set_resend_timer(target, number, waiting, now, patience)
                frame = Frame("data", self.process, target, number, 0, waiting.data)
                again.append(frame)
        self.resent += len(again)
        return again

    def next_tick(self) -> float | None:
        """When to call `tick`; None if nothing is under way. A call too early or too late does no harm."""
        while self.timers and not self._is_timer_pending(*self.timers[0]):
            heappop(self.timers)
        return self.timers[0][0] if self.timers else None

    @property
    def congested(self) -> bool:
        """Whether a peer is so slow that the caller should wait before it sends more."""
        longest = max((peer.numbered - peer.sent for peer in self.peers.values()), default=0)
        return longest > self.window

    def _accept_frame_and_take_deliverable_data(self, peer: Peer, frame: Frame) -> list[bytes]:
        """The data that may be handed over now; with `ordered`, what is before its turn is kept."""
        before = peer.seen.low
        peer.seen.add(frame.number)
        if not self.ordered:
            return [frame.data]
        peer.early[frame.number] = frame.data
        in_turn = range(before + 1, peer.seen.low + 1)
        return [peer.early.pop(number) for number in in_turn]

    def _apply_acknowledgement_and_make_next_frames(
        self, frame: Frame, peer: Peer, now: float
    ) -> list[Frame]:
        if max(frame.number, frame.low) > peer.sent:
            raise InputError(f"{frame.source} acknowledges frame {frame.number}, which was never sent to it")
        peer.waiting.pop(frame.number, None)
        while peer.waiting and (oldest := next(iter(peer.waiting))) <= frame.low:
            del peer.waiting[oldest]
        return self._make_frames_within_window(frame.source, peer, now)

    def _make_frames_within_window(self, target: str, peer: Peer, now: float) -> list[Frame]:
        """Put on its way what the window allows."""
        frames = []
        oldest = next(iter(peer.waiting), 0)
        last_allowed = min(peer.numbered, oldest + self.window - 1)
        while peer.sent < last_allowed:
            peer.sent += 1
            waiting = peer.waiting[peer.sent]
            self._set_resend_timer(target, peer.sent, waiting, now, self.patience)
            frame = Frame("data", self.process, target, peer.sent, 0, waiting.data)
            frames.append(frame)
        return frames

    def _set_resend_timer(
        self, target: str, number: int, waiting: Waiting, now: float, patience: float
    ) -> None:
        """Set the timer of a frame; when most timers are of acknowledged frames, drop those."""
        waiting.patience, waiting.due = patience, now + patience
        heappush(self.timers, (waiting.due, target, number))
        unacknowledged = sum(len(peer.waiting) for peer in self.peers.values())
        if len(self.timers) > SPARE_TIMERS + 2 * unacknowledged:
            self.timers = [timer for timer in self.timers if self._is_timer_pending(*timer)]
            heapify(self.timers)

    def _is_timer_pending(self, due: float, target: str, number: int) -> bool:
        waiting = self.peers[target].waiting.get(number)
        return waiting is not None and waiting.due == due


def make_link(process: str, group: list[str], **settings: float) -> Link:
    """The links of a process to the others of its group; settings: patience, window, ordered."""
    unknown = settings.keys() - {"patience", "window", "ordered"}
    if unknown:
        raise CallerError(f"link of {process!r}: no setting {min(unknown)!r}; use patience, window, ordered")
    peers = {name: Peer() for name in sorted(group) if name != process}
    try:
        return msgspec.convert({"process": process, "peers": peers, **settings}, Link)
    except msgspec.ValidationError as error:
        raise CallerError(f"link of {process!r}: {error}") from None
