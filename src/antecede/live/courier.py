"""The seam between a node and what carries its packets: a hub of connections, or the inboxes of a broker.

A courier takes what lies in the channels of the station, and brings what peers sent, packet after packet of
each peer. How far that is safe, and how much may be under way, is its business; what packets mean is not.
"""

from collections.abc import Mapping
from typing import Protocol

from antecede.core.channel import Channel
from antecede.core.errors import AntecedeError
from antecede.live.inputs import NodeInput
from antecede.live.records import PacketRecord
from antecede.live.refusals import Refusals
from antecede.live.settings import NodeSettings


class NodeSide(Protocol):
    """What a courier asks of its node."""

    def receive_record(
        self, source: str, record: PacketRecord, body: bytes, next_log_position: int | None = None
    ) -> None:
        """Packets of a peer have come, without a gap; `next_log_position` is behind them at a broker."""

    def record_peer_incarnation(self, peer: str, incarnation: bytes) -> None:
        """A peer has shown who it is."""

    def note_stored_by_broker(self, peer: str, up_to: int) -> None:
        """A broker keeps all packets for a peer up to this number."""

    async def apply_durably(self, node_input: NodeInput) -> None:
        """Apply an input; with a journal, returns when it is on disk."""

    def wake_senders(self) -> None:
        """There may be room for more to send."""

    def flush_events_before_transmit(self) -> None:
        """Something is about to leave; raises NodeFailedError, and has told so, if it may not."""

    def fail(self, error: AntecedeError) -> None:
        """This node cannot go on."""


class PeerSide(Protocol):
    """What a courier knows of a peer. `started`: packets may go to it, as far as can be told here."""

    channel: Channel
    started: bool
    connections: int
    heard: float | None

    @property
    def unread_broker_records(self) -> int:
        """What a broker keeps of the peer for this process, as far as is known."""


class Courier(Protocol):
    """What a node asks of its courier."""

    settings: NodeSettings
    refusals: Refusals
    closing: bool

    @property
    def address(self) -> str | None:
        """Where peers reach this node."""

    @property
    def peers(self) -> Mapping[str, PeerSide]:
        """The other members."""

    def attach_node(self, node: NodeSide) -> None:
        """Serve this node."""

    async def open(self, listen: str | None) -> None:
        """Begin to carry packets."""

    async def close(self) -> None:
        """End in order; what is in the channels stays there."""

    def abort(self) -> None:
        """Let go of everything at once, as a crash does."""

    def check_newcomer_address(self, address: str | None) -> None:
        """Refuse a newcomer that could not be reached there."""

    def add_peer(self, name: str, address: str | None) -> None:
        """Carry packets to and from a newcomer, too."""

    def exclude_peer(self, name: str) -> None:
        """Have nothing to do with a member any more."""

    def schedule_transmission(self) -> None:
        """Transmit at the end of this turn what is there to transmit."""

    def report_refusal(self, kind: str, peer: str, reason: str) -> None:
        """Something was refused."""
