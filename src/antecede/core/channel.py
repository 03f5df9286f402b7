"""A channel: the packets of one pair of processes over connections that keep order, in both directions.

A connection that keeps order needs no timers and no acknowledgement of single packets: what was sent stays
here until the other side says up to which number it has everything, and a new connection begins behind that
number. Packets of a pair are numbered by the endpoint, from 1 and without gaps, so a channel has no numbers
of its own. A *parcel* is what of a packet is not the same for all packets of the pair.

Credit bounds memory at both ends. A receiver allows numbers up to `received - unsettled + window`: at most
`window` packets of a peer are here that the application has not taken. Whatever causal order lets pass next
is always allowed: what its sender sent to the same process before it has been delivered, so the application
has only to take that. `core/link.py` is the other kind of link, for networks that lose and reorder single
frames.
"""

from collections import deque
from itertools import islice

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.packet import Kind

KINDS: tuple[Kind, ...] = ("message", "extra", "ack", "release", "ping", "pong")
CODES: dict[str, int] = {kind: code for code, kind in enumerate(KINDS)}

Parcel = tuple[int, bytes, bytes]
"""Code of the kind, stamp, payload."""


class SavedChannel(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What of a channel outlasts a crash."""

    acknowledged: wire.Count
    outgoing: list[Parcel]
    received: wire.Count
    unsettled: wire.Count
    excluded: bool
    incarnation: bytes
    position: wire.Count | None = None


class Channel:
    """`acknowledged`, `flying` and `waiting` are what was sent: known to be there, on its way, not on its
    way.

    `received` counts what was taken in from the peer, `unsettled` what of that the application has not taken.
    `incarnation` tells the peer from one that has come back under its name without its memory. `position` is
    where to read on in a log that a broker keeps of the peer's packets; None where there is no such log.
    """

    __slots__ = (
        "acknowledged", "allowed", "excluded", "flying", "incarnation", "position", "received", "unsettled",
        "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self.acknowledged = 0
        self.flying: deque[Parcel] = deque()
        self.waiting: deque[Parcel] = deque()
        self.allowed = 0
        self.received = 0
        self.unsettled = 0
        self.excluded = False
        self.incarnation = b""
        self.position: int | None = None

    def take_first_number_and_batch_to_transmit(
        self, max_packets: int, max_bytes: int
    ) -> tuple[int, list[Parcel]]:
        """What may be transmitted now, as the number of the first and the parcels; one parcel at least."""
        first = self.acknowledged + len(self.flying) + 1
        credit = min(self.allowed - first + 1, len(self.waiting), max_packets)
        if credit <= 0:
            return first, []
        batch: list[Parcel] = []
        size = 0
        for parcel in islice(self.waiting, credit):
            size += len(parcel[1]) + len(parcel[2])
            if size > max_bytes and batch:
                break
            batch.append(parcel)
        for _ in batch:
            self.waiting.popleft()
        self.flying.extend(batch)
        return first, batch

    def may_transmit(self) -> bool:
        """Whether `take_first_number_and_batch_to_transmit` would bring anything."""
        return bool(self.waiting) and self.acknowledged + len(self.flying) < self.allowed

    def apply_acknowledgement(self, received_up_to: int, allowed_up_to: int) -> None:
        """The peer has everything up to `received_up_to`, and allows numbers up to `allowed_up_to`."""
        landed = received_up_to - self.acknowledged
        if landed > len(self.flying):
            raise InputError(f"acknowledges packet {received_up_to}, which was not sent on this connection")
        flying = self.flying
        for _ in range(landed):
            flying.popleft()
        self.acknowledged = max(self.acknowledged, received_up_to)
        self.allowed = max(self.allowed, allowed_up_to)

    def begin_connection(self, received_up_to: int, allowed_up_to: int) -> None:
        """A new connection: the peer has everything up to `received_up_to`, and the rest goes again."""
        sent = self.acknowledged + len(self.flying) + len(self.waiting)
        if not self.acknowledged <= received_up_to <= sent:
            raise InputError(
                f"has {received_up_to} packets, of {sent} that were sent and {self.acknowledged} that it had "
                "before: one of the two processes has lost its memory"
            )
        self.waiting.extendleft(reversed(self.flying))
        self.flying.clear()
        for _ in range(received_up_to - self.acknowledged):
            self.waiting.popleft()
        self.acknowledged = received_up_to
        self.allowed = allowed_up_to

    def drop_packets_stored_by_broker(self, up_to: int) -> None:
        """A broker keeps everything up to `up_to` for the peer; so nothing of that need be kept here."""
        if up_to > self.acknowledged:
            self.begin_connection(up_to, self.allowed)

    def check_and_record_peer_incarnation(self, incarnation: bytes) -> None:
        """Remember who the peer is, or refuse one that is not who it was."""
        if incarnation == self.incarnation:
            return
        if self.incarnation and (self.received or self.acknowledged):
            raise InputError("has come back without its memory: it must be excluded, or get its journal back")
        self.incarnation = incarnation

    def exclude_peer(self) -> None:
        """Keep nothing for the peer from now on, and take nothing from it."""
        self.excluded = True
        self.acknowledged += len(self.flying) + len(self.waiting)
        self.flying.clear()
        self.waiting.clear()

    def save(self) -> SavedChannel:
        """What of it outlasts a crash."""
        outgoing = [*self.flying, *self.waiting]
        return SavedChannel(
            self.acknowledged,
            outgoing,
            self.received,
            self.unsettled,
            self.excluded,
            self.incarnation,
            self.position,
        )


def restore_channel(saved: SavedChannel) -> Channel:
    """The channel that was saved; nothing of it is on its way."""
    channel = Channel()
    channel.acknowledged = saved.acknowledged
    channel.waiting.extend(saved.outgoing)
    channel.received = saved.received
    channel.unsettled = saved.unsettled
    channel.excluded = saved.excluded
    channel.incarnation = saved.incarnation
    channel.position = saved.position
    return channel
