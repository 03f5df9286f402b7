"""The trace of a run: the events and messages tables, filled as the run goes on.

Only sends and deliveries are events of happened-before, so only they count in clocks; the arrival of a
message is in the events too (kind "receive"), without a clock. Rows leave in blocks: to a list in memory
or to Parquet files, whose size does not depend on what fits into memory.
"""

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.packet import Packet
from antecede.simulate.queue import Queue
from antecede.tables import EVENTS, MESSAGES

BLOCK = 50_000
"""Most rows in memory."""
CELLS = 1_000_000
"""Most entries of the clocks of the rows in memory."""
Sink = Callable[[pa.Table], None]


class Recorder:
    """The base of whoever is told what happens in a run, as it happens: by itself it does nothing.

    Processes and messages are numbers.
    """

    def on_send(
        self,
        process: int,
        message: int,
        targets: list[int],
        depends_on: int | None,
    ) -> None:
        """A process sends."""

    def on_receive(
        self,
        process: int,
        packet: Packet,
        message: int | None,
    ) -> None:
        """A packet arrives."""

    def on_deliver(self, process: int, source: int, message: int) -> None:
        """A message is delivered; `on_verdicts` will say whether that was in order."""

    def on_verdicts(self, early_or_late: list[str | None]) -> None:
        """For each delivery since the last call: whether it was "early" or "late"."""

    def on_end(self) -> None:
        """The run is over."""


class RowBuffer:
    """Rows of one table on their way out."""

    def __init__(
        self,
        schema: pa.Schema,
        sink: Sink,
        block_rows: int,
        before_flush: Callable[[], None],
    ) -> None:
        self.schema = schema
        self.sink = sink
        self.block_rows = block_rows
        self.before_flush = before_flush
        self.rows: list[dict[str, Any]] = []

    def add_row(self, row: dict[str, Any]) -> None:
        """Add a row; columns that are not named are null. `before_flush` may still change it."""
        self.rows.append(row)
        if len(self.rows) >= self.block_rows:
            self.flush_rows()

    def flush_rows(self) -> None:
        """Hand the rows to the sink."""
        if self.rows:
            self.before_flush()
            self.sink(pa.Table.from_pylist(self.rows, schema=self.schema))
            self.rows = []


class MessageUnderWay:
    """A message under way: time and clock of its send, copies that have not arrived or not been delivered."""

    __slots__ = ("clock", "time", "unarrived", "undelivered")

    def __init__(
        self,
        time_ms: float,
        clock: dict[str, int],
        copies: int,
    ) -> None:
        self.time = time_ms
        self.clock = clock
        self.unarrived = self.undelivered = copies


class RunTrace(Recorder):
    """Processes are numbered; message m is called "m" and its number."""

    def __init__(
        self,
        queue: Queue,
        execution: str,
        names: list[str],
        events: Sink,
        messages: Sink,
    ) -> None:
        self.queue = queue
        self.execution = execution
        self.names = names
        block = max(1, min(BLOCK, CELLS // len(names)))
        self.ask_for_verdicts: Callable[[], None] = _do_nothing
        """Called before rows leave: it calls `on_verdicts` with every delivery so far."""
        self.unjudged: list[dict[str, Any]] = []
        self.events = RowBuffer(EVENTS, events, block, lambda: self.ask_for_verdicts())
        self.messages = RowBuffer(MESSAGES, messages, block, _do_nothing)
        self.counts = [0] * len(names)
        self.arrivals = [0] * len(names)
        self.clocks: list[dict[str, int]] = [{} for _ in names]
        self.sends: dict[int, MessageUnderWay] = {}
        self.own = [array("q") for _ in names]
        """For each process, where in its events its sends and deliveries stand."""

    def on_send(
        self,
        process: int,
        message: int,
        targets: list[int],
        depends_on: int | None,
    ) -> None:
        """A process sends; what the send is declared to depend on is its parent."""
        clock = self._tick_clock_and_note_own_event(process)
        parents = None if depends_on is None else self._list_parent_event_id(process, depends_on)
        self.sends[message] = MessageUnderWay(self.queue.now, clock, len(targets))
        receivers = [self.names[target] for target in targets]
        text = f"send m{message} to {', '.join(receivers)}"
        more = {"clock": list(clock.items()), "receivers": receivers, "parents": parents}
        self._add_event(process, "send", message, self.names[process], text, **more)

    def on_receive(
        self,
        process: int,
        packet: Packet,
        message: int | None,
    ) -> None:
        """A packet arrives."""
        name = None if message is None else f"m{message}"
        sent = None if message is None else self.sends.get(message)
        row = {
            "group": self.names[process],
            "sender": packet.source,
            "protocol": packet.protocol,
            "kind": packet.kind,
            "number": packet.number,
            "stamp": packet.stamp,
            "message": name,
            "sent": None if sent is None else sent.time,
            "arrived": self.queue.now,
            "arrival": self.arrivals[process],
        }
        self.messages.add_row(row)
        self.arrivals[process] += 1
        if message is not None:
            if sent is not None:
                sent.unarrived -= 1
                self._forget_send_if_complete(message, sent)
            text = f"m{message} arrives from {packet.source}"
            self._add_event(process, "receive", message, packet.source, text)

    def on_deliver(self, process: int, source: int, message: int) -> None:
        """A message is delivered; `on_verdicts` will say whether that was in order."""
        own_clock = self.clocks[process]
        sent = self.sends[message]
        for name, count in sent.clock.items():
            if count > own_clock.get(name, 0):
                own_clock[name] = count
        sent.undelivered -= 1
        self._forget_send_if_complete(message, sent)
        clock = self._tick_clock_and_note_own_event(process)
        sender = self.names[source]
        text = f"deliver m{message} from {sender}"
        self._add_event(process, "deliver", message, sender, text, clock=list(clock.items()))

    def on_verdicts(self, early_or_late: list[str | None]) -> None:
        """Note which of the deliveries since the last call were "early" or "late"."""
        for row, order in zip(self.unjudged, early_or_late, strict=True):
            if order is not None:
                row["fields"] = [("order", order)]
        self.unjudged = []

    def on_end(self) -> None:
        """Hand over the last rows."""
        self.events.flush_rows()
        self.messages.flush_rows()

    def _list_parent_event_id(self, process: int, own_event_number: int) -> list[str]:
        """The id of an own event by its number from 1; 0 is none."""
        if own_event_number == 0:
            return []
        return [f"{self.names[process]}#{self.own[process][own_event_number - 1]}"]

    def _forget_send_if_complete(self, message: int, sent: MessageUnderWay) -> None:
        """Forget a message whose copies have all arrived and been delivered."""
        if sent.unarrived <= 0 and sent.undelivered <= 0:
            del self.sends[message]

    def _tick_clock_and_note_own_event(self, process: int) -> dict[str, int]:
        clock = self.clocks[process]
        name = self.names[process]
        self.own[process].append(self.counts[process])
        clock[name] = clock.get(name, 0) + 1
        return dict(clock)

    def _add_event(
        self,
        process: int,
        kind: str,
        message: int,
        sender: str,
        text: str,
        **more: Any,
    ) -> None:
        index = self.counts[process]
        self.counts[process] = index + 1
        row = {
            "execution": self.execution,
            "process": self.names[process],
            "index": index,
            "event": f"{self.names[process]}#{index}",
            "kind": kind,
            "message": f"m{message}",
            "sender": sender,
            "time": self.queue.now,
            "text": text,
            **more,
        }
        if kind == "deliver":
            self.unjudged.append(row)
        self.events.add_row(row)


def _do_nothing() -> None:
    """Where nobody asks for more."""


class TableCollector:
    """A sink that keeps blocks in memory."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.blocks: list[pa.Table] = []

    def __call__(self, block: pa.Table) -> None:
        self.blocks.append(block)

    def build_table(self) -> pa.Table:
        """All blocks as one table."""
        return pa.concat_tables(self.blocks) if self.blocks else self.schema.empty_table()


class ParquetSink:
    """A sink that writes a Parquet file, also if there is no row."""

    def __init__(self, schema: pa.Schema, path: Path) -> None:
        self.writer = pq.ParquetWriter(path, schema)

    def __call__(self, block: pa.Table) -> None:
        self.writer.write_table(block)

    def close(self) -> None:
        """Finish the file."""
        self.writer.close()
