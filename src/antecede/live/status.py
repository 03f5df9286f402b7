"""What a node tells of itself."""

import msgspec

from antecede.core.packet import Gap, Held


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`silent_for`: seconds since anything came from the peer; None if nothing ever did.

    `waiting` and `unacknowledged` are packets to the peer, not on their way and on their way; `untaken` are
    packets of the peer that the application has not taken, be they held or in the queue.
    """

    connected: bool
    connections: int
    silent_for: float | None
    waiting: int
    unacknowledged: int
    received: int
    untaken: int
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
