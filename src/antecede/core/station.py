"""A station: one process's endpoint over channels, made so that it survives a crash. Does no I/O.

As a site does (core/site.py, for networks that lose frames), a station changes by inputs only: messages to
send, parcels that arrived, acknowledgements of the application. What follows is a function of the state and
the input. So a caller writes inputs down, applies them, and only then transmits what lies in the channels, or
hands up what lies in `queue`. After a crash, `restore_station` and the inputs since its snapshot bring
everything back; what peers had acknowledged is not written down, as they say so again on a new connection.

Messages of a process are numbered (`sent`), and the number travels before the payload: it names the message
at all its receivers. Deliveries are numbered, too (`delivered`), in an order that a crash does not change.
"""

import zlib
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from antecede.core import wire
from antecede.core.channel import CODES, KINDS, Channel, Parcel, SavedChannel, restore_channel
from antecede.core.endpoint import Endpoint
from antecede.core.errors import CallerError, InputError, TooEarlyError
from antecede.core.packet import Delivery, Packet

NAME_BYTES = 8
"""How many bytes before a payload name its message."""


class HandUp(msgspec.Struct, frozen=True, array_like=True, gc=False, forbid_unknown_fields=True):
    """A delivery on its way to the application. `owner` is the peer whose credit it takes."""

    number: int
    owner: str
    sender: str
    message: int
    payload: bytes
    alarms: tuple[str, ...]
    event: int | None


class Admission(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Of a member that was admitted later: its address, and how many messages this process sent before."""

    address: str | None
    sent: wire.Count


class _SavedStation(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    endpoint: bytes
    channels: dict[str, SavedChannel]
    sent: wire.Count
    delivered: wire.Count
    own_unsettled: wire.Count
    unacknowledged: list[HandUp]
    admissions: dict[str, Admission] = {}


class _SealedStation(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    version: Literal[1]
    checksum: int
    saved: bytes


_read_sealed = wire.make_decoder(_SealedStation, "not a snapshot of a station")
_read_saved = wire.make_decoder(_SavedStation, "not a snapshot of a station")


class Station:
    """`queue` has what the application was not handed yet, `handed` what it was and has not acknowledged.

    `touched` names the peers for which there may be something to transmit; whoever looks at them clears it.
    `admissions` has the members that were admitted later.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        if endpoint.manual:
            raise CallerError("a station delivers by itself: leave manual out")
        self.endpoint = endpoint
        self.process = endpoint.process
        self.channels = {name: Channel() for name in endpoint.group if name != endpoint.process}
        self.sent = 0
        self.delivered = 0
        self.own_unsettled = 0
        self.queue: deque[HandUp] = deque()
        self.handed: deque[HandUp] = deque()
        self.touched: dict[str, None] = {}
        self.admissions: dict[str, Admission] = {}
        self.relays = endpoint.facts.relays or endpoint.brings_past
        self._may_pass_over = endpoint.shares_entries

    # -- the inputs --------------------------------------------------------------------------------

    def send(self, data: bytes, to: list[str] | None, options: dict[str, Any]) -> int:
        """Send a message; returns its number. If it is refused with an error, nothing has changed."""
        if not isinstance(data, bytes):
            self.endpoint.check_send(data, to)
        number = self.sent + 1
        named = number.to_bytes(NAME_BYTES, "big") + data
        if options:
            effects = self._send_with_options(named, to, options)
        else:
            effects = self.endpoint.send(named, to)
        self.sent = number
        self._queue_packets(effects.packets)
        for delivery in effects.deliveries:
            self._queue_delivery(delivery, "" if delivery.sender == self.process else delivery.sender)
        return number

    def receive_parcels_and_list_refusals(
        self, source: str, first_number: int, parcels: list[Parcel]
    ) -> list[str]:
        """Take in what a peer sent, from number `first_number` on; what is here already is passed over.

        Returns why parcels were refused: those are lost, and what depends on them is held.
        """
        channel = self.channels[source]
        number = channel.received
        if first_number > number + 1:
            raise InputError(f"packet {first_number} of {source} came after packet {number}: there is a gap")
        if first_number <= number:
            parcels = parcels[number + 1 - first_number :]
        refused = []
        protocol, tag, process = self.endpoint.protocol_group_and_process
        for code, stamp, payload in parcels:
            number += 1
            packet = Packet(protocol, tag, KINDS[code], source, process, number, stamp, payload)
            try:
                self._receive_packet(channel, packet)
            except InputError as error:
                refused.append(str(error))
        channel.received = number
        self.touched[source] = None
        return refused

    def acknowledge_deliveries_up_to(self, number: int) -> None:
        """The application has dealt with all deliveries up to this number."""
        handed = self.handed
        while handed and handed[0].number <= number:
            self._decrement_unsettled_count(handed.popleft())
        while self.queue and self.queue[0].number <= number:  # when inputs are applied again
            self._decrement_unsettled_count(self.queue.popleft())

    def check_and_record_peer_incarnation(self, peer: str, incarnation: bytes) -> None:
        """Remember who a peer is."""
        self.channels[peer].check_and_record_peer_incarnation(incarnation)

    def drop_packets_stored_by_broker(self, peer: str, up_to: int) -> None:
        """A broker keeps all packets for a peer up to this number."""
        self.channels[peer].drop_packets_stored_by_broker(up_to)

    def exclude(self, name: str) -> None:
        """Keep nothing for a member from now on, and take nothing from it."""
        self.channels[name].exclude_peer()

    def add_or_remove_link(self, peer: str, is_added: bool) -> None:
        """Begin to pass messages on to a peer, or cease to."""
        change = self._get_endpoint_method_or_refuse(
            "add_link" if is_added else "remove_link", "links", "flood"
        )
        effects = change(peer)
        if effects is not None:
            self._queue_packets(effects.packets)

    def admit_member(self, name: str, address: str | None) -> int:
        """Let a newcomer in; returns how many messages this process had sent before.

        Asking again for the same member changes nothing, and gives the first answer.
        """
        admit = self._get_endpoint_method_or_refuse("admit", "members", "probabilistic")
        if name not in self.admissions:
            sent = admit(name)
            self.channels[name] = Channel()
            self.admissions[name] = Admission(address, sent)
        return self.admissions[name].sent

    def dismiss(self, name: str, sent: int) -> None:
        """Let a member go that has sent so many messages, all of which are delivered here."""
        self.check_dismissal(name, sent)
        if name in self.endpoint.id_by_process:
            self._get_endpoint_method_or_refuse("dismiss", "members", "probabilistic")(name, sent)
            self.channels[name].exclude_peer()

    # -- what the application asks for -------------------------------------------------------------

    def check_dismissal(self, name: str, sent: int) -> None:
        """Refuse to let a member go whose messages are not all here: what depends on them would wait."""
        has_delivered = self._get_endpoint_method_or_refuse("has_delivered", "members", "probabilistic")
        if name not in self.channels:
            raise CallerError(f"{name!r} is not another member of the group {self.endpoint.group}")
        if not has_delivered(name, sent):
            raise TooEarlyError(f"too early: not all {sent} messages of {name} are delivered here; try later")

    def list_links(self) -> list[str]:
        """To whom messages are passed on."""
        self._get_endpoint_method_or_refuse("add_link", "links", "flood")
        links: list[str] = self.endpoint.links  # type: ignore[attr-defined]
        return links

    def check_members_may_change(self) -> None:
        """Refuse a change of members, if the protocol knows none."""
        self._get_endpoint_method_or_refuse("dismiss", "members", "probabilistic")

    def build_welcome_state(self, name: str, sent: dict[str, int]) -> bytes:
        """The state with which a newcomer begins that all members have admitted."""
        state: bytes = self._get_endpoint_method_or_refuse("welcome", "members", "probabilistic")(name, sent)
        return state

    def hand_next_delivery(self) -> HandUp:
        """The next delivery, now in the hands of the application."""
        item = self.queue.popleft()
        self.handed.append(item)
        return item

    @property
    def last_acknowledged(self) -> int:
        """The number of the last delivery that the application has dealt with."""
        return self.delivered - len(self.queue) - len(self.handed)

    def snapshot(self) -> bytes:
        """The whole state, with a checksum."""
        state = _SavedStation(
            self.endpoint.snapshot(),
            {name: channel.save() for name, channel in self.channels.items()},
            self.sent,
            self.delivered,
            self.own_unsettled,
            [*self.handed, *self.queue],
            self.admissions,
        )
        saved = wire.encode(state)
        return wire.encode(_SealedStation(1, zlib.crc32(saved), saved))

    # -- how ---------------------------------------------------------------------------------------

    def _get_endpoint_method_or_refuse(
        self, method: str, fixed_thing: str, suitable_protocol: str
    ) -> Callable[..., Any]:
        """A method that only endpoints have whose links or members may change."""
        found: Callable[..., Any] | None = getattr(self.endpoint, method, None)
        if found is None:
            raise CallerError(
                f"the {fixed_thing} of {self.endpoint.facts.name!r} are fixed; use {suitable_protocol!r}"
            )
        return found

    def _send_with_options(self, data: bytes, to: list[str] | None, options: dict[str, Any]) -> Any:
        try:
            return self.endpoint.send(data, to, **options)
        except TypeError:
            protocol = self.endpoint.facts.name
            raise CallerError(f"send of {protocol!r} does not take {sorted(options)}: leave it out") from None

    def _receive_packet(self, channel: Channel, packet: Packet) -> None:
        is_message = packet.kind == "message"
        if is_message and len(packet.payload) < NAME_BYTES:
            raise InputError("a message without a number before its payload")
        counts = is_message and not self.relays
        if counts and self._may_pass_over:
            counts = not self.endpoint.will_never_deliver(packet)
        effects = self.endpoint.receive(packet)
        if counts:
            channel.unsettled += 1
        if effects.packets:
            self._queue_packets(effects.packets)
        for delivery in effects.deliveries:
            owner = delivery.sender
            if self.relays:  # the credit is that of whoever passed the message on
                owner = packet.source
                channel.unsettled += 1
            self._queue_delivery(delivery, owner)

    def _queue_packets(self, packets: list[Packet]) -> None:
        channels, touched = self.channels, self.touched
        for packet in packets:
            target = packet.target
            channel = channels[target]
            if channel.excluded:
                channel.acknowledged += 1
            else:
                touched[target] = None
                channel.waiting.append((CODES[packet.kind], packet.stamp, packet.payload))

    def _queue_delivery(self, delivery: Delivery, owner: str) -> None:
        if not owner:
            self.own_unsettled += 1
        self.delivered += 1
        payload = delivery.payload
        message = int.from_bytes(payload[:NAME_BYTES], "big")
        item = HandUp(
            self.delivered,
            owner,
            delivery.sender,
            message,
            payload[NAME_BYTES:],
            delivery.alarms,
            delivery.event,
        )
        self.queue.append(item)

    def _decrement_unsettled_count(self, item: HandUp) -> None:
        if item.owner:
            self.channels[item.owner].unsettled -= 1
            self.touched[item.owner] = None
        else:
            self.own_unsettled -= 1


def restore_station(snapshot: bytes, restore: Callable[[bytes], Endpoint]) -> Station:
    """The station that took this snapshot; `restore` makes an endpoint of its own snapshot.

    What the application was handed and had not acknowledged is in the queue again.
    """
    sealed = _read_sealed(snapshot)
    if zlib.crc32(sealed.saved) != sealed.checksum:
        raise InputError("the snapshot of a station is damaged (wrong checksum)")
    saved = _read_saved(sealed.saved)
    station = Station(restore(saved.endpoint))
    station.channels = {name: restore_channel(channel) for name, channel in saved.channels.items()}
    station.sent = saved.sent
    station.delivered = saved.delivered
    station.own_unsettled = saved.own_unsettled
    station.queue.extend(saved.unacknowledged)
    station.admissions = saved.admissions
    return station
