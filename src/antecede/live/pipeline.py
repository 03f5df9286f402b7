"""How inputs reach the station of a node with a journal: written, committed, applied, and only then let out.

Inputs gather in a group while the commit of the group before them is made; so a commit carries whatever came
meanwhile, and the busier a node, the more each commit carries. What the station has applied is on disk: a
snapshot can be taken at any time, and goes with the next commit.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from antecede.core.channel import Parcel
from antecede.core.errors import AntecedeError
from antecede.core.station import Station
from antecede.live.errors import NodeFailedError
from antecede.live.inputs import AcknowledgeInput, Applied, LandedInput, NodeInput, SendInput, apply_input
from antecede.live.journal import NodeJournal, Statement, Unit
from antecede.live.refusals import log
from antecede.live.thread import JournalThread

T = TypeVar("T")
NumberedParcels = tuple[int, list[Parcel]]
"""Parcels, and the number of the first."""
Report = Callable[[NodeInput, Applied, NumberedParcels | None], None]


class Entry:
    """A unit on its way to the journal, and what came of its inputs."""

    __slots__ = ("parcels", "results", "unit")

    def __init__(self, unit: Unit, parcels: NumberedParcels | None = None) -> None:
        self.unit = unit
        self.parcels = parcels
        self.results: list[Applied] = []


PendingSend = tuple[str, Entry, asyncio.Future[str]]
"""Who sends, the message on its way, and what will have its name."""


class CommitGroup:
    """What one commit will carry, and who waits for it."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.acknowledged = 0
        self.landed: dict[str, int] = {}
        self.waiters: list[asyncio.Future[None]] = []
        self.sends: list[PendingSend] = []

    def is_urgent(self) -> bool:
        """Whether there is something that a commit must not wait with."""
        return bool(self.entries or self.acknowledged)

    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.is_urgent() or self.landed)

    def list_units(self) -> list[Unit]:
        """What the journal writes."""
        units = [entry.unit for entry in self.entries]
        if self.acknowledged:
            units.append(Unit([AcknowledgeInput(self.acknowledged)]))
        if self.landed:
            landed = [LandedInput(peer, low) for peer, low in self.landed.items()]
            units.append(Unit(list[NodeInput](landed)))
        return units

    def resolve_waiters(self, error: AntecedeError | None) -> None:
        """Tell all who wait; one whose task was cancelled does not."""
        for waiter in self.waiters:
            _resolve_future(waiter, None, error)
        for process, entry, name in self.sends:
            if error is None:
                (applied,) = entry.results
                _resolve_future(name, f"{process}#{applied.sent}", applied.error)
            else:
                _resolve_future(name, "", error)


def _resolve_future(future: asyncio.Future[T], result: T, error: AntecedeError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class Pipeline:
    """`report` is called for each input that was applied, `release` when all of a commit were."""

    def __init__(self, station: Station, journal: NodeJournal, snapshot_every: int) -> None:
        self.station = station
        self.journal = journal
        self.records = 0
        self.report: Report
        self.release: Callable[[], None]
        self.fail: Callable[[AntecedeError], None]
        self._snapshot_every = snapshot_every
        self._inputs = 0
        self._snapshot: bytes | None = None
        self._loop = asyncio.get_running_loop()
        self._group = CommitGroup()
        self._current: CommitGroup | None = None
        self._is_commit_planned = False
        self._thread = JournalThread()
        self._failure: AntecedeError | None = None
        self._stopping = False
        self._acknowledged = 0

    async def call_in_journal_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the journal, in its thread."""
        return await self._loop.run_in_executor(self._thread, function, *arguments)

    def adopt_recovered_station(self, station: Station, records: list[list[NodeInput]]) -> None:
        """Write for the station that was recovered from these records; they count towards a snapshot."""
        self.station = station
        self.records = len(records)
        self._inputs = sum(map(len, records))

    async def stop(self, reason: AntecedeError) -> None:
        """Write what is there, and close the journal; who comes later is told the reason."""
        self._stopping = True
        self._schedule_commit()
        while self._failure is None and not (self._group.is_empty() and self._current is None):
            # A failure is told to the application, who sent or acknowledged.
            with suppress(AntecedeError):
                await self._wait_for_commit(self._current or self._group)
        self._failure = self._failure or reason
        await self.call_in_journal_thread(self.journal.close)
        self._thread.shutdown()

    def abort(self, error: AntecedeError) -> None:
        """Write nothing more; the commit that is under way may still succeed, and nobody will know."""
        self._failure = error
        for group in (self._current, self._group):
            if group is not None:
                group.resolve_waiters(error)
        self._loop.run_in_executor(self._thread, self.journal.close)
        self._thread.shutdown(wait=False)

    def queue_unit(self, unit: Unit, parcels: NumberedParcels | None = None) -> Entry:
        """Put a unit on its way."""
        entry = Entry(unit, parcels)
        self._group.entries.append(entry)
        self._schedule_commit()
        return entry

    async def commit_unit(self, unit: Unit) -> list[Applied]:
        """Put a unit on its way, wait until it is durable and applied, and say what came of its inputs."""
        group = self._group
        entry = self.queue_unit(unit)
        await self._wait_for_commit(group)
        if entry.unit.error is not None:
            raise entry.unit.error
        return entry.results

    def begin_send(self, send_input: SendInput) -> asyncio.Future[str]:
        """Put a message on its way; the future has its name when it is durable and applied."""
        if self._failure is not None:
            raise self._failure
        name: asyncio.Future[str] = self._loop.create_future()
        entry = self.queue_unit(Unit([send_input]))
        self._group.sends.append((self.station.process, entry, name))
        return name

    def has_pending_sends(self) -> bool:
        """Whether messages are on their way to the journal."""
        groups = [group for group in (self._current, self._group) if group is not None]
        units = [entry.unit for group in groups for entry in group.entries]
        return any(isinstance(one, SendInput) for unit in units for one in unit.inputs)

    async def wait_for_room(self, max_units: int) -> None:
        """Wait while so many units have gathered for the next commit."""
        while len(self._group.entries) >= max_units:
            await self._wait_for_commit(self._current or self._group)

    def acknowledge_up_to(self, delivery_number: int) -> CommitGroup:
        """The application has dealt with deliveries up to this number; returns the group that will say so."""
        self.station.acknowledge_deliveries_up_to(delivery_number)
        # Whoever acknowledges an earlier delivery later takes nothing back.
        self._acknowledged = max(self._acknowledged, delivery_number)
        self._group.acknowledged = self._acknowledged
        self._schedule_commit()
        return self._group

    def note_stored_by_broker(self, peer: str, up_to: int) -> None:
        """A broker keeps what was sent to a peer up to this number.

        That goes with the next commit, whatever it is for: if it is forgotten, packets are sent again.
        """
        self._group.landed[peer] = up_to

    async def acknowledge_up_to_durably(self, delivery_number: int) -> None:
        """Acknowledge, and wait until that is durable."""
        await self._wait_for_commit(self.acknowledge_up_to(delivery_number))

    async def query(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Rows of the application's tables."""
        if self._failure is not None:
            raise self._failure
        rows: list[tuple[Any, ...]] = await self.call_in_journal_thread(self.journal.query, statement)
        return rows

    async def _wait_for_commit(self, group: CommitGroup) -> None:
        if self._failure is not None:
            raise self._failure
        waiter = self._loop.create_future()
        group.waiters.append(waiter)
        await waiter

    def _schedule_commit(self) -> None:
        """Begin a commit in the next turn of the event loop, so that it has all that comes in this one."""
        if not self._is_commit_planned and self._current is None:
            self._is_commit_planned = True
            self._loop.call_soon(self._begin_commit)

    def _has_group_to_commit(self) -> bool:
        group = self._group
        return not group.is_empty() if self._stopping else group.is_urgent()

    def _begin_commit(self) -> None:
        self._is_commit_planned = False
        if self._failure is not None or not self._has_group_to_commit():
            return
        group = self._current = self._group
        self._group = CommitGroup()
        snapshot, self._snapshot = self._snapshot, None
        done = partial(self._finish_commit, group, snapshot is not None)
        units = group.list_units()
        has_more_than_inputs = snapshot is not None or any(unit.statements for unit in units)
        call = self._thread.queue_call if has_more_than_inputs else self._thread.make_or_queue_short_call
        call(done, self.journal.commit, units, snapshot)

    def _finish_commit(
        self, group: CommitGroup, has_snapshot: bool, _: None, error: BaseException | None
    ) -> None:
        """Apply what is on disk now, and go on with what has gathered meanwhile."""
        if self._failure is not None:
            return
        try:
            if error is not None:
                raise error
            self.records = 1 if has_snapshot else self.records + 1
            self._apply_group_and_take_due_snapshot(group)
        except AntecedeError as error:
            self._fail_node(error, group)
            return
        except Exception as error:
            log.exception("the node of %s failed", self.station.process)
            self._fail_node(NodeFailedError(f"the node of {self.station.process} failed: {error!r}"), group)
            return
        self._current = None
        group.resolve_waiters(None)
        if self._has_group_to_commit():
            self._schedule_commit()

    def _apply_group_and_take_due_snapshot(self, group: CommitGroup) -> None:
        for entry in group.entries:
            if entry.unit.error is not None:
                continue
            for one in entry.unit.inputs:
                applied = apply_input(self.station, one, entry.parcels)
                entry.results.append(applied)
                self.report(one, applied, entry.parcels)
            self._inputs += len(entry.unit.inputs)
        self.release()
        if self._inputs >= self._snapshot_every:
            self._inputs = 0
            self._snapshot = self.station.snapshot()

    def _fail_node(self, error: AntecedeError, group: CommitGroup) -> None:
        """Nothing of this group is known to be durable: the node ends here."""
        self._failure = error
        self._current = None
        for each in (group, self._group):
            each.resolve_waiters(error)
        self.fail(error)
