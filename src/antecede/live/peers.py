"""What a node knows of one peer while it runs: its connection, and what was said on it."""

from antecede.core.channel import Channel
from antecede.core.errors import InputError
from antecede.live.connection import Connection
from antecede.live.records import PacketRecord, encode_record

MOST_PACKETS = 512
"""In one record; more go in the next."""


class NodePeer:
    """`accepted` counts what was taken off connections, of which the channel's `received` has been applied.

    `told` is the last `low` that the peer was told, `granted` the last number it was allowed to send.
    """

    def __init__(self, name: str, address: str | None, channel: Channel, window: int) -> None:
        self.name = name
        self.address = address
        self.channel = channel
        self.window = window
        self.connection: Connection | None = None
        self.started = False
        self.accepted = channel.received
        self.told = 0
        self.granted = 0
        self.heard: float | None = None
        self.connections = 0
        self.unread_broker_records = 0

    def begin_session(self, connection: Connection) -> None:
        """Say on a new connection what is here, and wait for the same."""
        self.connection = connection
        self.connections += 1
        self.started = False
        self.granted = 0
        self.send_acknowledgement()

    def end_session(self) -> None:
        """The connection is gone, and with it what was not safe."""
        self.connection = None
        self.started = False

    def accept_record_and_tell_if_new_packets(self, record: PacketRecord) -> bool:
        """Take what the other side acknowledges and allows; returns whether its packets are new."""
        if self.started:
            self.channel.apply_acknowledgement(record.low, record.allowed)
        else:
            self.channel.begin_connection(record.low, record.allowed)
            self.started = True
        last = record.first + len(record.parcels) - 1
        if last <= self.accepted or not record.parcels:
            return False
        if record.first > self.accepted + 1:
            raise InputError(f"packet {record.first} after packet {self.accepted}: something was left out")
        if last > self.granted:
            raise InputError(f"packet {last}, where {self.granted} is the last that was allowed")
        self.accepted = last
        return True

    def measure_acknowledgement_lag(self) -> int:
        """How far the peer's idea of what it may forget, or send, is behind."""
        if self.connection is None:
            return 0
        channel = self.channel
        owed = channel.received - self.told
        credit = channel.received - channel.unsettled + self.window - self.granted
        return owed if owed > credit else credit

    def transmit_waiting_packets(self, max_record_bytes: int) -> None:
        """Put on the connection what may go, and what there is to say."""
        connection, channel = self.connection, self.channel
        if connection is None or connection.paused or not self.started:
            return
        while channel.may_transmit() and not connection.paused:
            first, batch = channel.take_first_number_and_batch_to_transmit(MOST_PACKETS, max_record_bytes)
            self._send_record(connection, first, batch)

    def send_acknowledgement(self) -> None:
        """A record without packets."""
        if self.connection is not None:
            first = self.channel.acknowledged + len(self.channel.flying) + 1
            self._send_record(self.connection, first, [])

    def _send_record(
        self, connection: Connection, first_number: int, batch: list[tuple[int, bytes, bytes]]
    ) -> None:
        channel = self.channel
        self.told = channel.received
        self.granted = channel.received - channel.unsettled + self.window
        connection.send_record(encode_record(self.told, self.granted, first_number, batch))
