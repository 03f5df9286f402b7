"""A node: one process of a running group, as its application sees it.

The station (core/station.py) has the protocol, the courier its packets, the pipeline its journal. Without a
journal an input is applied at once; with one, when it is on disk. Either way packets leave at the end of the
turn of the event loop, and no task or future is made for a message that need not wait.

Back-pressure: `send` waits while a receiver is so far behind that its share of the window is full, be it that
it is slow, silent, or not there. An application that sends from within its own loop of deliveries should
expect that: two that do, and fill each other's windows, wait for each other. Send from another task then.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

import msgspec

from antecede.core.endpoint import check_process_name
from antecede.core.errors import AntecedeError, CallerError, TooEarlyError
from antecede.core.station import NAME_BYTES, HandUp, Station
from antecede.live.courier import Courier
from antecede.live.errors import NodeClosedError, NodeFailedError
from antecede.live.events import EventFile
from antecede.live.inputs import (
    AcknowledgeInput,
    AdmitInput,
    Applied,
    Change,
    DismissInput,
    ExcludeInput,
    LinkInput,
    MeetInput,
    NodeInput,
    ParcelsInput,
    SendInput,
    apply_input,
)
from antecede.live.journal import Parameters, Unit
from antecede.live.pipeline import NumberedParcels, Pipeline
from antecede.live.records import PacketRecord
from antecede.live.room import SendersRoom
from antecede.live.status import Status, describe_node
from antecede.live.transaction import Transaction, check_and_make_statement, copy_receivers

SENDS_IN_A_TURN = 128
"""After so many sends without a pause others get their turn."""


class LiveDelivery:
    """A message in the hands of the application. `message` names it: the same at all its receivers."""

    __slots__ = ("_node", "alarms", "event", "message", "number", "payload", "sender")

    def __init__(self, node: "Node", item: HandUp) -> None:
        self._node = node
        self.number = item.number
        self.sender = item.sender
        self.payload = item.payload
        self.message = f"{item.sender}#{item.message}"
        self.alarms = item.alarms
        self.event = item.event

    async def done(self) -> None:
        """Acknowledge this delivery and those before it; with a journal, returns when that is on disk."""
        await self._node._acknowledge_up_to_durably(self.number)

    def __repr__(self) -> str:
        return f"<{self.message}: {self.payload!r}>"


class Invitation(msgspec.Struct, frozen=True):
    """The state of a sponsor, and how many deliveries it had been given or was about to be given then."""

    state: bytes
    delivered: int


class Node:
    """Made by `join`. Iterating over it brings the deliveries, for one consumer."""

    def __init__(
        self, station: Station, courier: Courier, pipeline: Pipeline | None, events: EventFile | None
    ) -> None:
        self.station = station
        self.process = station.process
        self._courier = courier
        self._pipeline = pipeline
        self._events = events
        self._settings = courier.settings
        self._loop = asyncio.get_running_loop()
        self._failure: AntecedeError | None = None
        self._ended: asyncio.Future[AntecedeError] = self._loop.create_future()
        self._consumer: asyncio.Future[None] | None = None
        self._room = SendersRoom(station, courier.settings.window)
        self._sends_in_turn = 0
        self._is_leaving = False
        courier.attach_node(self)
        if pipeline is not None:
            pipeline.report = self._handle_effects_of_applied_input
            pipeline.release = self._flush_events_then_transmit_and_wake_waiters
            pipeline.fail = self.fail

    # -- the application's side --------------------------------------------------------------------

    @property
    def address(self) -> str | None:
        """Where peers reach this node."""
        return self._courier.address

    async def send(self, data: bytes, to: Iterable[str] | None = None, **how: int) -> str:
        """Send to some members (to all, if `to` is left out); returns the name of the message.

        Waits while a receiver is too far behind. With a journal it returns when the message is on disk.
        """
        names = copy_receivers(to)
        self._check_may_send(data)
        if not self._room.has_room(names):
            await self._room.wait_for_room(names)
        elif self._failure is not None:
            raise self._failure
        if self._pipeline is None:
            number = self._send_without_journal(data, names, how)
            self._sends_in_turn += 1
            if self._sends_in_turn > SENDS_IN_A_TURN:
                await asyncio.sleep(0)
            return f"{self.process}#{number}"
        return await self._begin_durable_send(self._pipeline, data, names, how)

    async def begin_send(
        self, data: bytes, to: Iterable[str] | None = None, **how: int
    ) -> asyncio.Future[str]:
        """As `send`, for one who has more to send: returns when the message has its place behind the others.

        The future has its name when it is on disk; so many messages of one sender share a commit.
        """
        pipeline = self._pipeline
        if pipeline is None or self.station.endpoint.blocks:
            finished = self._loop.create_future()
            finished.set_result(await self.send(data, to, **how))
            return finished
        names = copy_receivers(to)
        self._check_may_send(data)
        await pipeline.wait_for_room(self._settings.window)
        await self._room.wait_for_room(names)
        return self._begin_durable_send(pipeline, data, names, how)

    def __aiter__(self) -> "Node":
        return self

    async def __anext__(self) -> LiveDelivery:
        """The next delivery; asking for it acknowledges those before. Ends when the node is closed."""
        if self.station.handed:
            self._acknowledge_up_to(self.station.handed[-1].number)
        try:
            return await self.take()
        except NodeClosedError:
            raise StopAsyncIteration from None

    async def take(self) -> LiveDelivery:
        """The next delivery, for an application that acknowledges by `done` alone."""
        station = self.station
        while not station.queue or self._failure is not None:
            if self._failure is not None:
                raise self._failure
            await self._wait_for_delivery()
        item = station.hand_next_delivery()
        if self._events is not None:
            self._events.buffer_delivery_if_new(item.number, item.sender, item.message)
            self._flush_events_or_fail_node()
        return LiveDelivery(self, item)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Statements and sends that become durable in one commit, with the acknowledgement of what was
        handed.

        Needs a journal. If the block or a statement fails, nothing of it happens.
        """
        if self._pipeline is None:
            raise CallerError("a transaction needs a journal: join(..., journal=path)")
        transaction = Transaction()
        yield transaction
        if self.station.endpoint.blocks and len(transaction.sends) > 1:
            raise CallerError("this protocol sends one message at a time: one in a transaction")
        for data, to in transaction.sends:
            self._check_may_send(data)
            self.station.endpoint.check_send(data, to)
            await self._room.wait_for_room(to)
        inputs: list[NodeInput] = [SendInput(data, to, {}) for data, to in transaction.sends]
        if self.station.handed:
            inputs.append(AcknowledgeInput(self.station.handed[-1].number))
        for _, to in transaction.sends:
            self._room.note_send_on_its_way(to)
        unit = Unit(inputs, transaction.statements)
        try:
            results = await self._pipeline.commit_unit(unit)
        finally:
            if unit.error is not None:  # nothing of it was applied
                for _, to in transaction.sends:
                    self._room.note_send_arrived(to)
                self._room.wake_senders_that_have_room()
        for applied in results:
            if applied.error is not None:
                raise applied.error

    async def query(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Rows of the application's own tables in the journal."""
        if self._pipeline is None:
            raise CallerError("a query needs a journal: join(..., journal=path)")
        return await self._pipeline.query(check_and_make_statement(sql, parameters))

    async def exclude(self, name: str) -> None:
        """Have nothing to do with a member any more: keep nothing for it, take nothing from it.

        What it sent and has not arrived stays missing here: messages of others that depend on that are held.
        """
        if name not in self.station.channels:
            raise CallerError(f"{name!r} is not another member of the group")
        await self._apply_change_of_peers(ExcludeInput(name))

    async def add_link(self, peer: str) -> None:
        """Pass messages on to another member, too (`flood`); it may take a while until `links` names it."""
        await self._apply_change_of_peers(LinkInput(check_process_name(peer), True))

    async def remove_link(self, peer: str) -> None:
        """Pass nothing more on to a member (`flood`); the links that are left must connect the group."""
        await self._apply_change_of_peers(LinkInput(check_process_name(peer), False))

    @property
    def links(self) -> list[str]:
        """To whom messages are passed on (`flood`)."""
        return self.station.list_links()

    async def admit(self, name: str, address: str | None) -> int:
        """Let a newcomer in (`probabilistic`): from now on it gets what this node sends.

        Every member does that. Then one of them, the sponsor, calls `welcome` with the answers of all.
        """
        self._courier.check_newcomer_address(address)
        return (await self._apply_change_of_peers(AdmitInput(check_process_name(name), address))).sent

    async def welcome(self, name: str, sent: dict[str, int]) -> Invitation:
        """What a newcomer needs that all have admitted; `sent` has what `admit` returned at each member.

        Waits until all that was sent before is delivered here. The newcomer begins with `join(...,
        welcome=invitation.state)`, as if it had been given what the sponsor was given up to delivery number
        `invitation.delivered`.
        """
        while True:
            with contextlib.suppress(TooEarlyError):
                return Invitation(self.station.build_welcome_state(name, sent), self.station.delivered)
            await self._sleep_or_raise_failure()

    async def leave(self) -> int:
        """Send nothing more, wait until all others have what this node sent, and close (`probabilistic`).

        Returns how many messages it sent: the others call `dismiss` with that number.
        """
        self.station.check_members_may_change()
        self._is_leaving = True
        try:
            while self._has_pending_sends() or self._has_unacknowledged_packets():
                await self._sleep_or_raise_failure()
        except BaseException:
            self._is_leaving = False
            raise
        await self.close(linger=0)
        return self.station.sent

    async def dismiss(self, name: str, sent: int) -> None:
        """Let a member go that has left with so many messages; waits until they are all delivered here."""
        if not isinstance(sent, int) or sent < 0:
            raise CallerError(f"sent={sent!r}: give the number that leave() returned at {name}")
        while True:
            with contextlib.suppress(TooEarlyError):
                self.station.check_dismissal(check_process_name(name), sent)
                break
            await self._sleep_or_raise_failure()
        await self._apply_change_of_peers(DismissInput(name, sent))

    def status(self) -> Status:
        """How this node is doing."""
        records = 0 if self._pipeline is None else self._pipeline.records
        return describe_node(self.station, self._courier, self._loop.time(), records)

    async def wait_until_closed(self) -> AntecedeError:
        """Returns when the node works no more, with the reason: it was closed, or its journal failed."""
        return await asyncio.shield(self._ended)

    async def close(self, linger: float | None = None) -> None:
        """Wait a while for the peers to have what was sent, then close. A journal keeps what is left."""
        if self._courier.closing:
            return
        try:
            if self._failure is None:
                await self._wait_for_acknowledgements(self._settings.linger if linger is None else linger)
        finally:  # also if the caller waits no longer
            await self._close_at_once()

    async def _close_at_once(self) -> None:
        reason = self._failure or NodeClosedError(f"the node of {self.process} was closed")
        if self._failure is None:
            self.fail(reason)
        if self._pipeline is not None:
            await self._pipeline.stop(reason)
        await self._courier.close()
        if self._events is not None:
            self._flush_and_close_events(self._events)

    # -- changes -----------------------------------------------------------------------------------

    async def _apply_change_of_peers(self, change: Change) -> Applied:
        """Change who this node has to do with; with a journal, returns when that is on disk."""
        if self._pipeline is None:
            applied = apply_input(self.station, change)
            self._handle_effects_of_applied_input(change, applied, None)
            self._schedule_transmission_and_wake_waiters()
        else:
            (applied,) = await self._pipeline.commit_unit(Unit([change]))
        if applied.error is not None:
            raise applied.error
        return applied

    def _add_or_exclude_peer(self, change: Change) -> None:
        """Connect with whom the change admits, or not any more with whom it excludes."""
        if isinstance(change, AdmitInput) and change.peer not in self._courier.peers:
            self._courier.add_peer(change.peer, change.address)
        elif isinstance(change, DismissInput | ExcludeInput):
            self._courier.exclude_peer(change.peer)

    async def _sleep_or_raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
        await asyncio.sleep(0.02)

    # -- sending -----------------------------------------------------------------------------------

    def _check_may_send(self, data: bytes) -> None:
        if self._is_leaving:
            raise NodeClosedError(f"{self.process} is leaving the group")
        if isinstance(data, bytes) and len(data) > self._settings.largest_message:
            raise CallerError(
                f"a message of {len(data)} bytes; at most largest_message={self._settings.largest_message} "
                "are taken"
            )

    def _send_without_journal(self, data: bytes, to: Any, options: dict[str, int]) -> int:
        number = self.station.send(data, to, options)
        if self._events is not None:
            self._events.buffer_send_if_new(number, self._list_receivers_not_excluded(to))
        self._courier.schedule_transmission()
        if self.station.queue:
            self._wake_consumer()
        return number

    def _begin_durable_send(
        self, pipeline: Pipeline, data: bytes, to: Any, options: dict[str, int]
    ) -> asyncio.Future[str]:
        self.station.endpoint.check_send(data, to)
        sending = pipeline.begin_send(SendInput(data, to, options))
        self._room.note_send_on_its_way(to)
        return sending

    # -- receiving ---------------------------------------------------------------------------------

    def receive_record(
        self, source: str, record: PacketRecord, body: bytes, next_log_position: int | None = None
    ) -> None:
        """Packets of a peer have come."""
        if self._pipeline is not None:
            one = ParcelsInput(source, body, next_log_position)
            self._pipeline.queue_unit(Unit([one]), (record.first, record.parcels))
            self._room.wake_senders_that_have_room()
            return
        before = self.station.channels[source].received
        refused = self.station.receive_parcels_and_list_refusals(source, record.first, record.parcels)
        self._buffer_new_arrival_events(source, before, (record.first, record.parcels))
        self._report_refusals(source, refused)
        self._schedule_transmission_and_wake_waiters()

    def record_peer_incarnation(self, peer: str, incarnation: bytes) -> None:
        """A peer has shown who it is."""
        one = MeetInput(peer, incarnation)
        if self._pipeline is not None:
            self._pipeline.queue_unit(Unit([one]))
        else:
            apply_input(self.station, one)

    def note_stored_by_broker(self, peer: str, up_to: int) -> None:
        """A broker keeps all packets for a peer up to this number."""
        if self._pipeline is not None:
            self._pipeline.note_stored_by_broker(peer, up_to)
        self._room.wake_senders_that_have_room()

    async def apply_durably(self, node_input: NodeInput) -> None:
        """Apply an input; with a journal, returns when it is on disk."""
        if self._pipeline is None:
            apply_input(self.station, node_input)
        else:
            await self._pipeline.commit_unit(Unit([node_input]))

    def wake_senders(self) -> None:
        """There may be room for more to send."""
        self._room.wake_senders_that_have_room()

    def _buffer_new_arrival_events(
        self, source: str, received_before: int, numbered_parcels: NumberedParcels
    ) -> None:
        """Write down which messages have come; not for protocols that pass messages on."""
        if self._events is None or self.station.relays:
            return
        first, parcels = numbered_parcels
        for number, (code, _, payload) in enumerate(parcels, first):
            if code == 0 and number > received_before:
                message = int.from_bytes(payload[:NAME_BYTES], "big")
                self._events.buffer_arrival(source, message)

    def _report_refusals(self, source: str, reasons: list[str]) -> None:
        for reason in reasons:
            self._courier.report_refusal("packet", source, reason)

    def _list_receivers_not_excluded(self, to: list[str] | None) -> list[str]:
        channels = self.station.channels
        names = self.station.endpoint.group if to is None else to
        return [name for name in names if name not in channels or not channels[name].excluded]

    def _handle_effects_of_applied_input(
        self, node_input: NodeInput, applied: Applied, numbered_parcels: NumberedParcels | None
    ) -> None:
        """Something durable was applied: count and write down what came of it."""
        if isinstance(node_input, ParcelsInput):
            reasons = [str(applied.error)] if applied.error else applied.refused
            self._report_refusals(node_input.source, reasons)
            if numbered_parcels is not None:
                self._buffer_new_arrival_events(node_input.source, applied.before, numbered_parcels)
        elif isinstance(node_input, SendInput):
            self._room.note_send_arrived(node_input.to)
            if self._events is not None and applied.error is None:
                receivers = self._list_receivers_not_excluded(node_input.to)
                self._events.buffer_send_if_new(applied.sent, receivers)
        elif isinstance(node_input, Change) and applied.error is None:
            self._add_or_exclude_peer(node_input)

    def _flush_events_then_transmit_and_wake_waiters(self) -> None:
        """Events come first: a snapshot, which may go with the next commit, brings none of them back."""
        self._flush_events_or_fail_node()
        self._schedule_transmission_and_wake_waiters()

    def _schedule_transmission_and_wake_waiters(self) -> None:
        """Let out what followed from inputs."""
        self._courier.schedule_transmission()
        if self.station.queue:
            self._wake_consumer()
        self._room.wake_senders_that_have_room()

    def flush_events_before_transmit(self) -> None:
        """Something is about to leave: what the events file has to say of it comes first."""
        self._sends_in_turn = 0
        self._flush_events_or_fail_node()

    def _flush_events_or_fail_node(self) -> None:
        """Write events down; a node that cannot do that ends, as one does that cannot write its journal."""
        if self._events is None:
            return
        try:
            self._events.flush()
        except NodeFailedError as error:
            self.fail(error)
            raise

    async def _wait_for_delivery(self) -> None:
        if self._consumer is not None and not self._consumer.done():
            raise CallerError(f"two consumers iterate over the node of {self.process}; one at a time can")
        self._consumer = self._loop.create_future()
        await self._consumer

    def _wake_consumer(self) -> None:
        if self._consumer is not None and not self._consumer.done():
            self._consumer.set_result(None)

    def _acknowledge_up_to(self, delivery_number: int) -> None:
        if self._pipeline is None:
            self.station.acknowledge_deliveries_up_to(delivery_number)
        else:
            self._pipeline.acknowledge_up_to(delivery_number)
        self._courier.schedule_transmission()
        self._room.wake_senders_that_have_room()

    async def _acknowledge_up_to_durably(self, delivery_number: int) -> None:
        if self._pipeline is None:
            self._acknowledge_up_to(delivery_number)
        else:
            self._courier.schedule_transmission()
            await self._pipeline.acknowledge_up_to_durably(delivery_number)

    # -- the end -----------------------------------------------------------------------------------

    def fail(self, error: AntecedeError) -> None:
        """Nothing works from now on; whoever waits is told."""
        self._failure = error
        if not self._ended.done():
            self._ended.set_result(error)
        self._room.fail_waiting_senders(error)
        self._wake_consumer()

    def abort(self) -> None:
        """Stop at once, as a crash would: nothing is flushed, nobody is told."""
        if self._courier.closing:
            return
        error = NodeClosedError(f"the node of {self.process} was aborted")
        self.fail(error)
        self._courier.abort()
        if self._pipeline is not None:
            self._pipeline.abort(error)
        if self._events is not None:
            self._events.close()

    def _flush_and_close_events(self, events: EventFile) -> None:
        has_failed = not isinstance(self._failure, NodeClosedError)
        try:
            events.flush()
        except NodeFailedError:
            if not has_failed:  # else the application knows
                raise
        finally:
            events.close()

    async def _wait_for_acknowledgements(self, seconds: float) -> None:
        end = self._loop.time() + seconds
        while self._has_unacknowledged_packets() and self._loop.time() < end and self._failure is None:
            await asyncio.sleep(min(0.01, end - self._loop.time()))

    def _has_pending_sends(self) -> bool:
        return self._pipeline is not None and self._pipeline.has_pending_sends()

    def _has_unacknowledged_packets(self) -> bool:
        if self.station.endpoint.backlog:
            return True
        return any(channel.flying or channel.waiting for channel in self.station.channels.values())
