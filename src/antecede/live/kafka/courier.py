"""The courier of a node over Kafka: what the hub is for connections.

    a ──▶ topic of b, partition of a ──▶ b        one writer, one reader, in order, kept by the broker

What the broker has acknowledged (from all its replicas in step) is safe, and forgotten here: from then on
the broker keeps it, not the sender. A reader's position is in its own journal, in the commit of what it has
read; so a restart reads on behind what it knows, and nothing is taken twice or left out.

Packets to one peer go in batches, one after the other: a batch is in the log whole or not at all, and the
next one follows only when it is. So whatever is in a log comes behind everything before it. What is written
again, because nobody knows whether it was written, is passed over by its number; a number that is missing
was lost by the broker (its retention, a deleted topic), and is told.

Back-pressure: the broker is the buffer. A sender waits for the broker alone; a receiver reads no more from a
peer while the application has a window of its packets to take. A partition for each peer makes that
possible: a peer whose window is full must not keep back another, on whose message causal order may wait.

Peers meet by hellos. One that names this process's life shows that its sender knows it; packets go to a peer
that was met, under the name of its life. So letters to a process that came back without its memory, or from
one, are told from others.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from antecede.core.channel import Channel
from antecede.core.errors import AntecedeError, CallerError, InputError
from antecede.core.station import Station
from antecede.core.wire import LARGEST
from antecede.live.courier import NodeSide
from antecede.live.errors import NodeFailedError
from antecede.live.inputs import MeetInput, ParcelsInput
from antecede.live.kafka.address import Inboxes
from antecede.live.kafka.letters import InboxLetter, LetterForm, WriterIdentity
from antecede.live.kafka.session import CLOSING_TIME, TROUBLES, BrokerSession, BrokerSettings
from antecede.live.peers import MOST_PACKETS
from antecede.live.records import PacketRecord, encode_record
from antecede.live.refusals import Refusals, log
from antecede.live.settings import NodeSettings
from antecede.live.transports.tcp import Certificate

BATCH_BYTES = 128 * 1024
STAMP_BYTES = 4 * 2**20
"""What a record may need beside its largest message."""
OPENING_TIME = 30.0
"""A session that has not begun after so many seconds is given up, and another is tried."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Between two sessions, in seconds."""


class InboxPeer:
    """A peer: what it wrote here, and what is for it.

    `accepted` counts its packets that were read, of which the channel's `received` has been applied;
    `position` is where to read on, `end` where its log ended when the broker was last asked. `life` is its
    incarnation, empty until it was met; `greeting` the life that a hello is due to, `told` the one that got
    the last hello.
    """

    def __init__(self, name: str, channel: Channel, topic: str, partition: int) -> None:
        self.name = name
        self.channel = channel
        self.topic = topic
        self.partition = partition
        self.life = channel.incarnation
        self.accepted = channel.received
        self.position = channel.position
        self.end = 0
        self.greeting: bytes | None = None
        self.told: bytes | None = None
        self.started = False
        self.connections = 0
        self.heard: float | None = None
        self.reading = True
        self.wake = asyncio.Event()

    @property
    def unread_broker_records(self) -> int:
        """Records of its log that were not read."""
        return max(0, self.end - (self.position or 0))

    def count_untaken_packets(self) -> int:
        """Its packets that are here and that the application has not taken."""
        return self.accepted - self.channel.received + self.channel.unsettled

    def has_exchanged_packets(self) -> bool:
        """Whether anything was exchanged with the life that is known."""
        return bool(self.accepted or self.channel.acknowledged or self.channel.flying)


class KafkaCourier:
    """Carries the packets of a station through the inboxes of a group."""

    def __init__(
        self,
        station: Station,
        inboxes: Inboxes,
        settings: NodeSettings,
        *,
        group: str,
        incarnation: bytes,
        key: bytes | None,
        tls: Certificate | None,
    ) -> None:
        endpoint = station.endpoint
        own = WriterIdentity(
            group, endpoint.facts.name, endpoint.group_fingerprint, station.process, incarnation
        )
        members = sorted(endpoint.group)
        largest = settings.largest_message + STAMP_BYTES
        self.station = station
        self.settings = settings
        self.refusals = Refusals(station.process)
        self.closing = False
        self.node: NodeSide
        self.peers = {
            name: InboxPeer(name, channel, inboxes.topics[name], members.index(name))
            for name, channel in station.channels.items()
        }
        self._inboxes = inboxes
        self._life = incarnation
        self._form = LetterForm(own, key)
        self._partition = members.index(station.process)
        self._by_partition = {peer.partition: peer for peer in self.peers.values()}
        self._broker = BrokerSettings(inboxes.brokers, station.process, settings.silence, largest, tls)
        self._share = max(1, settings.window // 4)
        self._session: BrokerSession | None = None
        self._are_topics_made = False
        self._trouble = ""
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._is_opening = True
        self._task: asyncio.Task[None] | None = None
        self._closing_sessions: set[asyncio.Task[None]] = set()
        self._flush_planned = False

    # -- life --------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """The inbox of this process."""
        return f"kafka://{','.join(self._inboxes.brokers)}/{self._inboxes.topics[self.station.process]}"

    def attach_node(self, node: NodeSide) -> None:
        """Serve this node."""
        self.node = node

    async def open(self, listen: str | None) -> None:
        """Connect with the broker; one that is not there is waited for in the background."""
        self._task = self._loop.create_task(self._run_sessions_forever())
        ends = [self._opened, self._task]
        await asyncio.wait(ends, timeout=self.settings.handshake_time, return_when=asyncio.FIRST_COMPLETED)
        self._is_opening = False
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        """End the session."""
        self.abort()
        if self._task is not None:
            with suppress(asyncio.CancelledError, AntecedeError):
                await self._task
        if self._closing_sessions:
            await asyncio.wait(self._closing_sessions, timeout=CLOSING_TIME)

    def abort(self) -> None:
        """Let go of everything at once, as a crash does."""
        self.closing = True
        if self._task is not None:
            self._task.cancel()

    def check_newcomer_address(self, address: str | None) -> None:
        """Refuse a newcomer: each member has a partition of its own in each inbox from the beginning."""
        raise CallerError("over Kafka the members of a group are fixed; let them join over TCP")

    def add_peer(self, name: str, address: str | None) -> None:
        """Refused before."""
        self.check_newcomer_address(address)

    def exclude_peer(self, name: str) -> None:
        """Read nothing more from a member."""
        self._pause_or_resume_reading(self.peers[name])

    def schedule_transmission(self) -> None:
        """Transmit at the end of this turn what is there to transmit."""
        if not self._flush_planned:
            self._flush_planned = True
            self._loop.call_soon(self._flush_events_and_wake_touched_peers)

    def _flush_events_and_wake_touched_peers(self) -> None:
        self._flush_planned = False
        try:
            self.node.flush_events_before_transmit()
        except NodeFailedError:
            return
        touched = list(self.station.touched)
        self.station.touched.clear()
        for name in touched:
            peer = self.peers[name]
            peer.wake.set()
            self._pause_or_resume_reading(peer)

    def report_refusal(self, kind: str, peer: str, reason: str) -> None:
        """Something was refused."""
        self.refusals.count_and_log_refusal(kind, peer, reason)

    # -- sessions ----------------------------------------------------------------------------------

    async def _run_sessions_forever(self) -> None:
        """Have a session, and another one when it ends; pauses get longer while no broker is there."""
        failures = 0
        while True:
            try:
                await self._run_session()
            except TROUBLES as error:
                failures = failures + 1 if self._session is None else 0
                self._mark_and_log_lost_session(error)
            except AntecedeError as error:
                self._raise_or_fail_node(error)
            except Exception as error:
                log.exception("the node of %s failed", self.station.process)
                self._raise_or_fail_node(
                    NodeFailedError(f"the node of {self.station.process} failed: {error!r}")
                )
            await asyncio.sleep(min(FIRST_PAUSE * 2.0**failures, LONGEST_PAUSE))

    def _raise_or_fail_node(self, error: AntecedeError) -> None:
        """Nothing helps: tell who opens the node, or whoever uses it."""
        if self._is_opening:
            raise error
        self.node.fail(error)
        raise asyncio.CancelledError

    async def _run_session(self) -> None:
        """Returns never; a trouble ends the session."""
        session = BrokerSession(self._broker, self._inboxes.topics[self.station.process], self._partition)
        try:
            async with asyncio.timeout(OPENING_TIME):
                await session.open()
                if not self._are_topics_made:
                    topics = self._inboxes.topics
                    await session.create_missing_and_check_topics(topics.values(), len(topics))
                    self._are_topics_made = True
                await self._choose_positions_and_begin_reading(session)
            self._reset_and_greet_peers_in_session(session)
            jobs = [self._keep_reading_inbox(session), self._probe_broker_periodically(session)]
            jobs += [self._keep_writing_to_inbox(session, peer) for peer in self.peers.values()]
            await _run_until_first_ends(jobs)
        finally:
            closing = self._loop.create_task(session.close())
            self._closing_sessions.add(closing)
            closing.add_done_callback(self._closing_sessions.discard)

    def _reset_and_greet_peers_in_session(self, session: BrokerSession) -> None:
        """What was on its way goes again; all peers are greeted."""
        self._session = session
        self._trouble = ""
        for peer in self.peers.values():
            peer.reading = True
            peer.connections += 1
            peer.channel.begin_connection(peer.channel.acknowledged, LARGEST)
            peer.greeting = peer.life
            peer.started = bool(peer.life)
            peer.wake.set()
            self._pause_or_resume_reading(peer)
        if not self._opened.done():
            self._opened.set_result(None)
        facts = {"address": self.address}
        log.info("%s is connected with its broker", self.station.process, extra={"facts": facts})

    def _mark_and_log_lost_session(self, error: BaseException) -> None:
        self._session = None
        for peer in self.peers.values():
            peer.started = False
        reason = str(error) or type(error).__name__
        if reason != self._trouble:
            self._trouble = reason
            facts = {"reason": reason}
            log.warning("%s has no connection with its broker", self.station.process, extra={"facts": facts})

    async def _probe_broker_periodically(self, session: BrokerSession) -> None:
        """Ask the broker something now and then: a request that is not answered ends the session."""
        while True:
            await asyncio.sleep(self.settings.heartbeat)
            async with asyncio.timeout(self.settings.silence):
                bounds = await session.find_offset_bounds(self._by_partition)
            for partition, (_, end) in bounds.items():
                self._by_partition[partition].end = end

    # -- reading -----------------------------------------------------------------------------------

    async def _choose_positions_and_begin_reading(self, session: BrokerSession) -> None:
        """A process without memory begins where the logs end: nobody can have written to this life of it.

        That must be in the journal before a hello tells anybody of this life.
        """
        bounds = await session.find_offset_bounds(self._by_partition)
        positions = {}
        for partition, (begin, end) in bounds.items():
            peer = self._by_partition[partition]
            if peer.position is None:
                nothing = encode_record(0, 0, peer.channel.received + 1, [])
                await self.node.apply_durably(ParcelsInput(peer.name, nothing, end))
                peer.position = end
            elif not begin <= peer.position <= end:
                self._report_position_outside_log(peer, begin, end)
                peer.position = begin
            peer.end = end
            positions[partition] = peer.position
        session.begin_reading(positions)

    def _report_position_outside_log(self, peer: InboxPeer, log_begin: int, log_end: int) -> None:
        reason = (
            f"the log of its packets has offsets {log_begin} to {log_end}, and {peer.position} was "
            "to be read next: the broker has deleted or lost records"
        )
        self.report_refusal("deleted", peer.name, reason)

    def _pause_or_resume_reading(self, peer: InboxPeer) -> None:
        """Read from a peer while a quarter of its window is free: so much is read at once, at most."""
        free = self.settings.window - peer.count_untaken_packets()
        wanted = free >= self._share and not peer.channel.excluded
        if self._session is not None and wanted != peer.reading:
            peer.reading = wanted
            self._session.pause_or_resume_partition(peer.partition, wanted)

    async def _keep_reading_inbox(self, session: BrokerSession) -> None:
        while True:
            found = await session.read_records(self._share)
            for partition, records in found.items():
                peer = self._by_partition[partition]
                self._pass_new_packets_to_node(peer, records)
                self._pause_or_resume_reading(peer)
            await asyncio.sleep(0)  # what was fetched already comes without a pause

    def _pass_new_packets_to_node(self, peer: InboxPeer, records: list[Any]) -> None:
        """Take what is new; what is not for this process, or not of this peer, is passed over and counted."""
        first = peer.accepted + 1
        parcels = []
        for record in records:
            try:
                letter = self._form.parse_letter(peer.name, record.headers, record.value)
            except InputError as error:
                self.report_refusal("letter", "", str(error))
                continue
            if self._handle_letter_and_accept_if_next(peer, letter) and letter.parcel is not None:
                parcels.append(letter.parcel)
        peer.position = records[-1].offset + 1
        if parcels:
            body = encode_record(0, 0, first, parcels)
            self.node.receive_record(peer.name, PacketRecord(0, 0, first, parcels), body, peer.position)

    def _handle_letter_and_accept_if_next(self, peer: InboxPeer, letter: InboxLetter) -> bool:
        """Whether it has the packet that is next."""
        if peer.channel.excluded:
            return False
        if peer.life not in (b"", letter.life) and peer.has_exchanged_packets():
            reason = "has come back without its memory: exclude it, or give it its journal back"
            self.report_refusal("memory", peer.name, reason)
            return False
        peer.heard = self._loop.time()
        if letter.to_life != self._life:
            if letter.parcel is None:
                self._schedule_hello(peer, letter.life)
            else:
                self.report_refusal("life", peer.name, "wrote to an earlier life of this process")
            return False
        self._mark_peer_as_met(peer, letter.life)
        if letter.parcel is None or letter.number <= peer.accepted:
            return False
        if letter.number > peer.accepted + 1:
            reason = (
                f"packets {peer.accepted + 1} to {letter.number - 1} are not in the log: the broker has "
                "deleted or lost them, and nothing that comes behind them is taken"
            )
            self.report_refusal("gap", peer.name, reason)
            return False
        peer.accepted = letter.number
        return True

    def _mark_peer_as_met(self, peer: InboxPeer, incarnation: bytes) -> None:
        """The peer knows this incarnation of this process; so it is here, and may be written to."""
        if incarnation != peer.life:
            peer.life = incarnation
            self.node.record_peer_incarnation(peer.name, incarnation)
            log.info("%s has met %s", self.station.process, peer.name, extra={"facts": {"peer": peer.name}})
        if peer.told != incarnation:
            self._schedule_hello(peer, incarnation)
        if not peer.started:
            peer.started = True
            peer.wake.set()

    def _schedule_hello(self, peer: InboxPeer, incarnation: bytes) -> None:
        peer.greeting = incarnation
        peer.wake.set()

    # -- writing -----------------------------------------------------------------------------------

    async def _keep_writing_to_inbox(self, session: BrokerSession, peer: InboxPeer) -> None:
        """Write to one inbox: hellos, then packets, one batch after the other."""
        while True:
            await peer.wake.wait()
            peer.wake.clear()
            if peer.greeting is not None:
                await self._write_hello(session, peer, peer.greeting)
            if peer.started and peer.channel.incarnation != peer.life:
                # Who it is must be in the journal before anything is written to it under that name.
                await self.node.apply_durably(MeetInput(peer.name, peer.life))
            while peer.started and peer.channel.waiting and peer.greeting is None:
                await self._write_and_acknowledge_packet_batch(session, peer)

    async def _write_hello(self, session: BrokerSession, peer: InboxPeer, incarnation: bytes) -> None:
        peer.greeting = None
        await session.write_hello(self._form, peer.topic, peer.name, incarnation)
        peer.told = incarnation

    async def _write_and_acknowledge_packet_batch(self, session: BrokerSession, peer: InboxPeer) -> None:
        self.node.flush_events_before_transmit()  # what leaves is in the events file
        channel = peer.channel
        head = self._form.build_common_headers(peer.name, peer.life)
        first, parcels = channel.take_first_number_and_batch_to_transmit(MOST_PACKETS, BATCH_BYTES)
        await session.write_packets(self._form, peer.topic, head, first, parcels)
        low = first + len(parcels) - 1
        channel.apply_acknowledgement(low, LARGEST)
        self.node.note_stored_by_broker(peer.name, low)


async def _run_until_first_ends(jobs: list[Coroutine[Any, Any, None]]) -> None:
    """Run jobs together; when one ends, the others are cancelled, and its error is raised."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        if task.cancelled():
            raise OSError("a client of the broker has ended")
        task.result()
