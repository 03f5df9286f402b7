"""What changes a node, as its journal writes it down; and how such an input is applied to a station.

Applying is the same when it happens and when it is done again after a crash. An input that is refused is
refused both times, and changes nothing.
"""

from typing import Any

import msgspec

from antecede.core import wire
from antecede.core.channel import Parcel
from antecede.core.errors import AntecedeError
from antecede.core.station import Station
from antecede.live.records import read_record


class SendInput(msgspec.Struct, tag="send", array_like=True, forbid_unknown_fields=True):
    """The application sends a message."""

    data: bytes
    to: list[str] | None
    how: dict[str, Any]


class ParcelsInput(msgspec.Struct, tag="parcels", array_like=True, forbid_unknown_fields=True):
    """A record has come from a peer, as it was on the connection.

    If a broker keeps the packets of the peer, `position` is where to read on behind these.
    """

    source: str
    body: bytes
    position: wire.Count | None = None


class MeetInput(msgspec.Struct, tag="meet", array_like=True, forbid_unknown_fields=True):
    """A peer has shown which incarnation it is."""

    peer: str
    incarnation: bytes


class LandedInput(msgspec.Struct, tag="landed", array_like=True, forbid_unknown_fields=True):
    """A broker keeps all packets for a peer up to a number."""

    peer: str
    low: int


class ExcludeInput(msgspec.Struct, tag="exclude", array_like=True, forbid_unknown_fields=True):
    """The application excludes a member."""

    peer: str


class LinkInput(msgspec.Struct, tag="link", array_like=True, forbid_unknown_fields=True):
    """The application adds or removes a link."""

    peer: str
    is_added: bool


class AdmitInput(msgspec.Struct, tag="admit", array_like=True, forbid_unknown_fields=True):
    """The application lets a newcomer in, who is reached at an address."""

    peer: str
    address: str | None


class DismissInput(msgspec.Struct, tag="dismiss", array_like=True, forbid_unknown_fields=True):
    """The application lets a member go that has sent so many messages."""

    peer: str
    sent: int


class AcknowledgeInput(msgspec.Struct, tag="acknowledge", array_like=True, forbid_unknown_fields=True):
    """The application has dealt with all deliveries up to a number."""

    number: int


Change = LinkInput | AdmitInput | DismissInput | ExcludeInput
"""What changes who a node has to do with."""
NodeInput = SendInput | ParcelsInput | MeetInput | LandedInput | AcknowledgeInput | Change

read_inputs = wire.make_decoder(list[NodeInput], "not a list of inputs")


def encode_inputs(inputs: list[NodeInput]) -> bytes:
    """Inputs as bytes."""
    return wire.encode(inputs)


class Applied(msgspec.Struct):
    """What came of an input, but for what now lies in the station's channels and queue.

    `sent` is the number of a message, or how many were sent before a newcomer was admitted; `before` is how
    many packets of a peer had come before a record.
    """

    sent: int = 0
    before: int = 0
    refused: list[str] = []
    error: AntecedeError | None = None


def apply_input(
    station: Station, node_input: NodeInput, numbered_parcels: tuple[int, list[Parcel]] | None = None
) -> Applied:
    """Do what an input asks for; `numbered_parcels` are those of its record, with the number of the
    first, if it was read already."""
    try:
        return _apply_input_or_raise(station, node_input, numbered_parcels)
    except AntecedeError as error:
        return Applied(error=error)


def _apply_input_or_raise(
    station: Station, node_input: NodeInput, numbered_parcels: tuple[int, list[Parcel]] | None
) -> Applied:
    if isinstance(node_input, ParcelsInput):
        if numbered_parcels is None:
            record = read_record(node_input.body)
            numbered_parcels = record.first, record.parcels
        first, parcels = numbered_parcels
        channel = station.channels[node_input.source]
        before = channel.received
        refused = station.receive_parcels_and_list_refusals(node_input.source, first, parcels)
        if node_input.position is not None:
            channel.position = node_input.position
        return Applied(before=before, refused=refused)
    if isinstance(node_input, SendInput):
        return Applied(sent=station.send(node_input.data, node_input.to, node_input.how))
    if isinstance(node_input, AcknowledgeInput):
        station.acknowledge_deliveries_up_to(node_input.number)
    elif isinstance(node_input, MeetInput):
        station.check_and_record_peer_incarnation(node_input.peer, node_input.incarnation)
    elif isinstance(node_input, LandedInput):
        station.drop_packets_stored_by_broker(node_input.peer, node_input.low)
    else:
        return _apply_group_change(station, node_input)
    return Applied()


def _apply_group_change(station: Station, change: Change) -> Applied:
    if isinstance(change, AdmitInput):
        return Applied(sent=station.admit_member(change.peer, change.address))
    if isinstance(change, LinkInput):
        station.add_or_remove_link(change.peer, change.is_added)
    elif isinstance(change, DismissInput):
        station.dismiss(change.peer, change.sent)
    else:
        station.exclude(change.peer)
    return Applied()
