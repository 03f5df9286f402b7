"""The hub of a node: its listener, its connections, who may connect, and what goes out when.

Of two processes the one whose name sorts first dials, unless the other cannot be reached; a new connection
replaces an old one. Everything that is to go out in one turn of the event loop goes out at its end, in one
record for each peer. A word alone (what is safe here, what the peer may send) goes when a quarter of the
window has changed, or a little later.
"""

import asyncio
import contextlib
import secrets
import zlib
from collections.abc import Mapping
from typing import Any

from antecede.core.errors import CallerError, InputError
from antecede.core.station import Station
from antecede.live.connection import Connection
from antecede.live.courier import NodeSide
from antecede.live.errors import NodeFailedError
from antecede.live.handshake import NONCE_BYTES, VERSION, Hello
from antecede.live.peers import NodePeer
from antecede.live.records import read_record
from antecede.live.refusals import Refusals, log
from antecede.live.settings import NodeSettings
from antecede.live.transports import Listener, Transport, check_address, split_address
from antecede.live.transports.tcp import list_certified_names

WORD_DELAY = 0.05
RECORD_BYTES = 128 * 1024
READ_BYTES = 256 * 1024
STAMP_BYTES = 4 * 2**20
"""What a record may need beside its largest message: stamps, and smaller messages."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""Between two attempts to connect, in seconds."""


class Hub:
    """Connects a station with its peers, over connections."""

    def __init__(
        self,
        station: Station,
        addresses: Mapping[str, str | None],
        settings: NodeSettings,
        transports: Mapping[str, Transport],
        *,
        group: str,
        incarnation: bytes,
        key: bytes | None,
        certified: bool,
    ) -> None:
        self.station = station
        self.settings = settings
        self.transports = transports
        self.group = group
        self.incarnation = incarnation
        self.key = key
        self.certified = certified
        self.largest_record = settings.largest_message + STAMP_BYTES
        self.handshake_time = settings.handshake_time
        self.read_buffer = memoryview(bytearray(READ_BYTES))
        self.refusals = Refusals(station.process)
        self.peers = {
            name: NodePeer(name, addresses[name], channel, settings.window)
            for name, channel in station.channels.items()
        }
        self.node: NodeSide
        self.listener: Listener | None = None
        self._connections: dict[Connection, None] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._loop = asyncio.get_running_loop()
        self._flush_planned = False
        self._word_planned = False
        self._much_owed = settings.window // 4
        self.closing = False

    # -- life --------------------------------------------------------------------------------------

    @property
    def address(self) -> str | None:
        """Where peers reach this node."""
        return self.listener.address if self.listener else None

    def attach_node(self, node: NodeSide) -> None:
        """Serve this node."""
        self.node = node

    async def open(self, listen: str | None) -> None:
        """Listen, and begin to dial."""
        if listen is not None:
            scheme, place = split_address(listen)
            self.listener = await self.transports[scheme].listen(
                place, self._accept_connection_and_limit_strangers
            )
        for peer in self.peers.values():
            self._begin_dialling_if_this_side_dials(peer)
        self._tasks.append(self._loop.create_task(self._send_heartbeats_and_close_silent_connections()))

    async def close(self) -> None:
        """Close the listener and all connections."""
        self.closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.listener is not None:
            self.listener.close()
        connections = list(self._connections)
        self._send_due_acknowledgements()  # peers that close, too, need not wait for them
        for connection in connections:
            connection.close_after_writing("this node was closed")
        if connections:
            await asyncio.wait([connection.ended for connection in connections], timeout=1.0)

    def abort(self) -> None:
        """Let go of everything at once, as a crash does."""
        self.closing = True
        if self.listener is not None:
            self.listener.close()
        for task in self._tasks:
            task.cancel()
        for connection in list(self._connections):
            connection.close("aborted")

    def check_newcomer_address(self, address: str | None) -> None:
        """Refuse an address that cannot be dialled, and none at all if nobody can connect to this node."""
        if address is not None:
            check_address(address, self.transports)
        elif self.listener is None:
            raise CallerError("no address, and this node does not listen: nobody can connect")

    def add_peer(self, name: str, address: str | None) -> None:
        """Connect with a newcomer."""
        peer = self.peers[name] = NodePeer(name, address, self.station.channels[name], self.settings.window)
        self._begin_dialling_if_this_side_dials(peer)

    def exclude_peer(self, name: str) -> None:
        """Have no connection with a member any more."""
        connection = self.peers[name].connection
        if connection is not None:
            connection.close("excluded")

    # -- what goes out -----------------------------------------------------------------------------

    def schedule_transmission(self) -> None:
        """Transmit at the end of this turn what is there to transmit."""
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush_events_and_transmit_to_touched_peers)

    def _schedule_transmission_to(self, peer: str) -> None:
        self.station.touched[peer] = None
        self.schedule_transmission()

    def _flush_events_and_transmit_to_touched_peers(self) -> None:
        self._flush_planned = False
        try:
            self.node.flush_events_before_transmit()
        except NodeFailedError:
            return
        touched = list(self.station.touched)
        self.station.touched.clear()
        owing = 0
        for name in touched:
            peer = self.peers[name]
            if peer.channel.waiting:
                peer.transmit_waiting_packets(RECORD_BYTES)
            owed = peer.measure_acknowledgement_lag()
            if owed >= self._much_owed:
                peer.send_acknowledgement()
            elif owed:
                owing += 1
        if owing and not self._word_planned:
            self._word_planned = True
            self._loop.call_later(WORD_DELAY, self._send_due_acknowledgements)

    def _send_due_acknowledgements(self) -> None:
        self._word_planned = False
        for peer in self.peers.values():
            if peer.measure_acknowledgement_lag():
                peer.send_acknowledgement()

    # -- what connections ask (ConnectionOwner) ----------------------------------------------------

    def make_hello(self, target: str) -> Hello:
        """What this process says of itself."""
        endpoint = self.station.endpoint
        return Hello(
            magic="antecede",
            version=VERSION,
            group=self.group,
            protocol=endpoint.facts.name,
            tag=endpoint.group_fingerprint,
            process=endpoint.process,
            target=target,
            incarnation=self.incarnation,
            nonce=secrets.token_bytes(NONCE_BYTES),
        )

    def check_peer(self, hello: Hello, certificate: Any) -> None:
        """Members may connect, if they are who they were; with TLS their certificate names them."""
        peer = self.peers.get(hello.process)
        if peer is None:
            raise InputError(f"{hello.process!r} is not another member of the group")
        if peer.channel.excluded:
            raise InputError("is excluded")
        if self.certified and hello.process not in list_certified_names(certificate):
            raise InputError(f"the certificate is not that of {hello.process!r}")
        known = peer.channel
        if known.incarnation not in (b"", hello.incarnation) and (known.received or known.acknowledged):
            raise InputError("has come back without its memory: exclude it, or give it its journal back")

    def begin_session(self, connection: Connection) -> None:
        """A peer has shown who it is."""
        peer = self.peers[connection.peer]
        old = peer.connection
        if connection.incarnation != peer.channel.incarnation:
            self.node.record_peer_incarnation(peer.name, connection.incarnation)
        peer.begin_session(connection)
        if old is not None:
            old.close("replaced by a newer connection")
        facts = {"peer": peer.name}
        log.info("%s is connected with %s", self.station.process, peer.name, extra={"facts": facts})

    def receive_record(self, connection: Connection, body: bytes) -> None:
        """Take a peer's word, and pass new packets on."""
        peer = self.peers[connection.peer]
        if connection is not peer.connection or peer.channel.excluded:
            return
        record = read_record(body)
        peer.heard = connection.heard
        if peer.accept_record_and_tell_if_new_packets(record):
            self.node.receive_record(peer.name, record, body)
        else:
            self.node.wake_senders()
        if peer.channel.waiting:
            self._schedule_transmission_to(peer.name)

    def end_session(self, connection: Connection, reason: str) -> None:
        """A connection is gone."""
        self._connections.pop(connection, None)
        peer = self.peers.get(connection.peer)
        if peer is not None and peer.connection is connection:
            peer.end_session()
            facts = {"peer": peer.name, "reason": reason}
            text = "%s lost its connection with %s"
            log.info(text, self.station.process, peer.name, extra={"facts": facts})

    def continue_writing(self, connection: Connection) -> None:
        """There is room on a connection again."""
        self._schedule_transmission_to(connection.peer)

    def report_refusal(self, kind: str, peer: str, reason: str) -> None:
        """Something was refused."""
        self.refusals.count_and_log_refusal(kind, peer, reason)

    # -- how connections come about ----------------------------------------------------------------

    def _accept_connection_and_limit_strangers(self) -> Connection:
        connection = Connection(self)
        strangers = [
            other for other in self._connections if other.target is None and other.state == "greeting"
        ]
        if len(strangers) >= self.settings.most_strangers:
            # The oldest has had its time: who belongs here is through with its handshake long before.
            self.report_refusal("flood", "", "too many connections that do not say who they are")
            strangers[0].close("too many strangers")
        if self.closing:
            connection.close("this node was closed")
        self._connections[connection] = None
        return connection

    def _begin_dialling_if_this_side_dials(self, peer: NodePeer) -> None:
        """Of two processes one dials."""
        if peer.address is not None and (self.station.process < peer.name or self.listener is None):
            self._tasks.append(self._loop.create_task(self._keep_dialling(peer)))

    async def _keep_dialling(self, peer: NodePeer) -> None:
        """Connect, and connect again when the connection is lost; pauses get longer while nobody is there."""
        failures = 0
        last_reason = ""
        while not peer.channel.excluded:
            before = peer.connections
            reason = await self._connect_and_await_reason_of_loss(peer)
            if peer.connections > before:
                failures, last_reason = 0, ""
            else:
                failures += 1
                if reason != last_reason:
                    self._log_failed_dialling(peer, reason)
                last_reason = reason
            await asyncio.sleep(self._choose_redial_pause(peer.name, failures))

    async def _connect_and_await_reason_of_loss(self, peer: NodePeer) -> str:
        """Connect once; returns when the connection is lost, or did not come about, with the reason."""
        scheme, place = split_address(peer.address)
        made: list[Connection] = []

        def make_connection() -> Connection:
            connection = Connection(self, peer.name)
            self._connections[connection] = None
            made.append(connection)
            return connection

        try:
            async with asyncio.timeout(self.handshake_time):
                await self.transports[scheme].dial(place, make_connection)
        except (OSError, TimeoutError, CallerError) as error:
            for connection in made:
                connection.close("could not connect")
                self._connections.pop(connection, None)
            gone = "nobody answers" if isinstance(error, TimeoutError) else "cut off during the handshake"
            return str(error) or gone
        for connection in made:
            with contextlib.suppress(OSError):
                await asyncio.shield(connection.ended)
        return "".join(connection.reason for connection in made)

    def _log_failed_dialling(self, peer: NodePeer, reason: str) -> None:
        facts = {"peer": peer.name, "address": peer.address, "reason": reason}
        text = "%s is not connected with %s yet, and keeps trying: %s"
        log.info(text, self.station.process, peer.name, reason, extra={"facts": facts})

    def _choose_redial_pause(self, peer: str, failures: int) -> float:
        """Doubles with each failure; differs from pair to pair, so that not all come back at once."""
        pause = min(FIRST_PAUSE * 2.0 ** min(failures, 16), LONGEST_PAUSE)
        pair = zlib.crc32(f"{self.station.process}\0{peer}".encode())
        return pause * (1 + (pair % 64) / 128)

    async def _send_heartbeats_and_close_silent_connections(self) -> None:
        """Say something on idle connections, and give silent ones up."""
        beat, silence = self.settings.heartbeat, self.settings.silence
        while True:
            await asyncio.sleep(beat)
            now = self._loop.time()
            for peer in self.peers.values():
                connection = peer.connection
                if connection is None:
                    continue
                if now - connection.heard > silence:
                    connection.close(f"nothing came for {silence} s")
                elif now - connection.written >= beat:
                    peer.send_acknowledgement()
