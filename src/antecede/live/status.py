"""What a node tells of itself."""

import msgspec

from antecede.core.packet import Gap, Held
from antecede.core.station import Station
from antecede.live.courier import Courier, PeerSide


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`silent_for`: seconds since anything came from the peer; None if nothing ever did.

    `waiting` and `unacknowledged` are packets to the peer, not on their way and on their way; `untaken` are
    packets of the peer that the application has not taken, be they held or in the queue. `unread` are records
    of the peer that a broker keeps and that were not read here, when it was last asked.
    """

    connected: bool
    connections: int
    silent_for: float | None
    waiting: int
    unacknowledged: int
    received: int
    untaken: int
    unread: int
    excluded: bool


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """`queued`: deliveries that the application was not handed; `handed`: those it has not acknowledged.

    `backlog`: own messages that the protocol keeps until others answer. `refused` counts by kind and peer,
    where "" is a stranger. `records`: commits in the journal since its last snapshot.
    """

    process: str
    protocol: str
    address: str | None
    sent: int
    delivered: int
    queued: int
    handed: int
    backlog: int
    held: list[Held]
    root_gaps: list[Gap]
    peers: dict[str, PeerStatus]
    refused: dict[tuple[str, str], int]
    records: int


def describe_node(station: Station, courier: Courier, now: float, commits_since_snapshot: int) -> Status:
    """How a node is doing at this moment."""
    endpoint = station.endpoint
    return Status(
        process=station.process,
        protocol=endpoint.facts.name,
        address=courier.address,
        sent=station.sent,
        delivered=station.delivered,
        queued=len(station.queue),
        handed=len(station.handed),
        backlog=endpoint.backlog,
        held=endpoint.held(),
        root_gaps=endpoint.root_gaps(),
        peers={name: _describe_peer(peer, now) for name, peer in courier.peers.items()},
        refused=dict(courier.refusals.counts),
        records=commits_since_snapshot,
    )


def _describe_peer(peer: PeerSide, now: float) -> PeerStatus:
    channel = peer.channel
    return PeerStatus(
        connected=peer.started,
        connections=peer.connections,
        silent_for=None if peer.heard is None else now - peer.heard,
        waiting=len(channel.waiting),
        unacknowledged=len(channel.flying),
        received=channel.received,
        untaken=channel.unsettled,
        unread=peer.unread_broker_records,
        excluded=channel.excluded,
    )
