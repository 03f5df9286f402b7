"""One application that speaks with the node over one connection.

The reader never waits for a receiver of messages: sends go through a queue, in the order in which they came,
and acknowledgements are settled aside, the last one for all before it. Only when the queue of sends is full
is nothing more read. An application that has fewer sends unanswered is thus always heard, and two that write
to each other cannot block each other's acknowledgements. The end of the standard input is told apart from
what is read, so that the node also ends behind sends that wait for ever.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from antecede.core.errors import AntecedeError, CallerError, InputError
from antecede.live.node import LiveDelivery, Node
from antecede.live.service.lines import (
    AnyCommand,
    DoneCommand,
    ExcludeCommand,
    ReceiveCommand,
    SendCommand,
    StatusCommand,
    convert_status_to_dict,
    encode_delivery,
    encode_line,
    find_command_id,
    read_command,
    read_line_or_refuse_too_long,
)
from antecede.live.settings import NodeSettings

LEAST_LINGER = 1.0
"""Seconds in which what was written before the end of the input is read, however short `linger` is."""


class Desk:
    """What the sessions of one node share: who gets the deliveries, and which are not dealt with.

    `last` is the number of the last delivery that was handed over, `latest_settled` the last that is dealt
    with; whether that is on disk is known when its `done` returns. `stopping` is a wish, `closed` a fact.
    """

    def __init__(self, node: Node, settings: NodeSettings) -> None:
        self.node = node
        self.settings = settings
        self.consumer: Session | None = None
        self.handed: deque[LiveDelivery] = deque()
        self.last = node.station.last_acknowledged
        self.latest_settled: LiveDelivery | None = None
        self.stopping = asyncio.Event()
        self.closed = asyncio.Event()

    async def take_and_remember_delivery(self) -> LiveDelivery:
        """The next delivery, kept until it is settled."""
        delivery = await self.node.take()
        self.handed.append(delivery)
        self.last = delivery.number
        return delivery

    def settle_deliveries_up_to(self, number: int) -> None:
        """Take deliveries up to a number off the list: they are dealt with."""
        while self.handed and self.handed[0].number <= number:
            self.latest_settled = self.handed.popleft()

    async def acknowledge_settled_deliveries(self) -> None:
        """Tell the node of all that is dealt with; with a journal, returns when that is on disk."""
        if self.latest_settled is not None:
            await self.latest_settled.done()


class Session:
    """A connection. The node ends with the application that `owns` it, which need not ask for deliveries.

    `input_ended` is set when nothing more will come, though not all may be read.
    """

    def __init__(
        self,
        desk: Desk,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        owns: bool = False,
        input_ended: asyncio.Event | None = None,
    ) -> None:
        self.desk = desk
        self.node = desk.node
        self.owns = owns
        self._reader = reader
        self._writer = writer
        self._sends: asyncio.Queue[SendCommand] = asyncio.Queue(desk.settings.window)
        self._sendings: asyncio.Queue[tuple[SendCommand, asyncio.Future[str]]] = asyncio.Queue(
            desk.settings.window
        )
        self._unanswered_done: DoneCommand | None = None
        self._has_settled = asyncio.Event()
        self._is_gone = False
        self._input_ended = input_ended or asyncio.Event()
        self._answered_sends = 0
        self._tasks: list[asyncio.Task[Any]] = []

    async def run(self) -> None:
        """Serve until the application is gone, or the node has ended."""
        self._start_task(self._keep_sending_queued_messages())
        self._start_task(self._keep_answering_sends())
        self._start_task(self._keep_acknowledging_settled_deliveries())
        protocol = self.node.station.endpoint.facts.name
        await self.write_event(
            "ready", process=self.node.process, protocol=protocol, address=self.node.address
        )
        if self.owns:
            self._start_consuming_deliveries()
        reading = self._start_task(self._read_and_execute_commands())
        ending = self._start_task(self.desk.closed.wait())
        stuck = self._start_task(self._wait_until_stuck_behind_end_of_input())
        try:
            await asyncio.wait([reading, ending, stuck], return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            reading.cancel()
            await self._wait_for_sends()
            if self.owns:
                self.desk.stopping.set()
            if self.desk.stopping.is_set():
                await self.desk.closed.wait()
                await self._wait_for_sends()
                await self.write_event("closed")
        finally:
            await self._cancel_tasks_and_close()

    async def write_event(self, event: str, **facts: Any) -> None:
        """Write a line."""
        await self._write_line(encode_line(event, **facts))

    # -- how ---------------------------------------------------------------------------------------

    def _start_task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def _cancel_tasks_and_close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.desk.consumer is self:
            self.desk.consumer = None
        self._writer.close()
        if self._unanswered_done is not None:  # the next application is not shown what this one dealt with
            with suppress(AntecedeError):
                await self.desk.acknowledge_settled_deliveries()

    async def _write_line(self, line: bytes) -> None:
        if self._is_gone:
            return
        try:
            self._writer.write(line)
            await self._writer.drain()
        except ConnectionError:
            self._is_gone = True

    async def _read_and_execute_commands(self) -> None:
        while True:
            line = b""
            try:
                line = await read_line_or_refuse_too_long(self._reader)
                if not line:
                    return
                if line.isspace():
                    continue
                command = read_command(line)
            except InputError as error:
                await self.write_event("error", id=find_command_id(line), reason=str(error))
                continue
            except ConnectionError:
                return
            try:
                if await self._execute_command_and_tell_if_last(command):
                    return
            except AntecedeError as error:
                await self.write_event("error", id=command.id, reason=str(error))

    async def _execute_command_and_tell_if_last(self, command: AnyCommand) -> bool:
        """Do what a command asks for, or put it on its way; returns whether it is the last one."""
        if isinstance(command, SendCommand):
            await self._sends.put(command)
        elif isinstance(command, DoneCommand):
            self._check_and_queue_acknowledgement(command)
        elif isinstance(command, StatusCommand):
            await self.write_event("status", id=command.id, **convert_status_to_dict(self.node.status()))
        elif isinstance(command, ReceiveCommand):
            self._start_consuming_deliveries()
            await self.write_event("receiving", id=command.id)
        elif isinstance(command, ExcludeCommand):
            await self.node.exclude(command.member)
            await self.write_event("excluded", id=command.id, member=command.member)
        else:
            await self._wait_for_sends()
            self.desk.stopping.set()
            return True
        return False

    async def _wait_until_stuck_behind_end_of_input(self) -> None:
        """Wait until nothing more will come, and no send has been answered for a while."""
        await self._input_ended.wait()
        answered = -1
        while answered < self._answered_sends:
            answered = self._answered_sends
            await asyncio.sleep(max(self.desk.settings.linger, LEAST_LINGER))

    async def _wait_for_sends(self) -> None:
        """Do what was asked for, even if nobody hears of it; a receiver that is gone is not waited for."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._sends.join(), self.desk.settings.linger)

    async def _keep_sending_queued_messages(self) -> None:
        """Give messages to the node one after the other; their answers may come later."""
        while True:
            command = await self._sends.get()
            how = {} if command.depends_on is None else {"depends_on": command.depends_on}
            try:
                sending = await self.node.begin_send(command.decode_payload(), command.to, **how)
            except AntecedeError as error:
                sending = asyncio.get_running_loop().create_future()
                sending.set_exception(error)
            await self._sendings.put((command, sending))

    async def _keep_answering_sends(self) -> None:
        while True:
            command, sending = await self._sendings.get()
            try:
                await self.write_event("sent", id=command.id, message=await sending)
            except AntecedeError as error:
                await self.write_event("error", id=command.id, reason=str(error))
            finally:
                self._answered_sends += 1
                self._sends.task_done()

    # -- deliveries --------------------------------------------------------------------------------

    def _start_consuming_deliveries(self) -> None:
        if self.desk.consumer is not None:
            raise CallerError("deliveries go to one connection, and there is one: close that first")
        self.desk.consumer = self
        self._start_task(self._keep_writing_deliveries())

    async def _keep_writing_deliveries(self) -> None:
        """What an application before this one was handed and has not dealt with comes again first."""
        for delivery in list(self.desk.handed):
            latest = self.desk.latest_settled
            if latest is None or delivery.number > latest.number:  # it may be dealt with meanwhile
                await self._write_line(encode_delivery(delivery))
        while not self._is_gone:
            try:
                delivery = await self.desk.take_and_remember_delivery()
            except AntecedeError:
                return  # the node has ended, and the service says why
            await self._write_line(encode_delivery(delivery))

    def _check_and_queue_acknowledgement(self, command: DoneCommand) -> None:
        if self.desk.consumer is not self:
            raise CallerError("deliveries do not go to this connection: ask for them with receive")
        if command.number > self.desk.last:
            raise CallerError(f"delivery {command.number} was not handed over; the last was {self.desk.last}")
        self.desk.settle_deliveries_up_to(command.number)
        self._unanswered_done = command
        self._has_settled.set()

    async def _keep_acknowledging_settled_deliveries(self) -> None:
        while True:
            await self._has_settled.wait()
            self._has_settled.clear()
            command = self._unanswered_done
            assert command is not None
            try:
                await self.desk.acknowledge_settled_deliveries()
            except AntecedeError as error:
                await self.write_event("error", id=command.id, reason=str(error))
                continue
            if command is self._unanswered_done:
                self._unanswered_done = None
            await self.write_event("done", id=command.id, number=command.number)
