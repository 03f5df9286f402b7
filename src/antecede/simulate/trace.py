"""The trace of a run: the events and messages tables, filled as the run goes on.

Only sends and deliveries are events of happened-before, so only they count in clocks; the arrival of a
message is in the events too (kind "receive"), without a clock. Rows leave in blocks: to a list in memory
or to Parquet files, whose size does not depend on what fits into memory.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.packet import Packet
from antecede.simulate.queue import Queue
from antecede.tables import EVENTS, MESSAGES

BLOCK = 50_000
Sink = Callable[[pa.Table], None]


class Rows:
    """Rows of one table on their way out."""

    def __init__(self, schema: pa.Schema, sink: Sink) -> None:
        self.schema, self.sink = schema, sink
        self.rows: list[dict[str, Any]] = []

    def add(self, **row: Any) -> None:
        """One more row; columns that are not named are null."""
        self.rows.append(row)
        if len(self.rows) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Hand over what there is."""
        if self.rows:
            self.sink(pa.Table.from_pylist(self.rows, schema=self.schema))
            self.rows = []


class Trace:
    """Processes are numbered; message m is called "m" and its number."""

    def __init__(self, queue: Queue, execution: str, names: list[str], events: Sink, messages: Sink) -> None:
        self.queue, self.execution, self.names = queue, execution, names
        self.events, self.messages = Rows(EVENTS, events), Rows(MESSAGES, messages)
        self.counts = [0] * len(names)
        self.arrivals = [0] * len(names)
        self.clocks: list[dict[str, int]] = [{} for _ in names]
        self.stamps: dict[int, tuple[int, float, dict[str, int]]] = {}
        """What is under way: copies to be delivered, time and clock of the send."""

    def send(self, i: int, message: int, targets: list[int]) -> None:
        """A process sends."""
        clock = self._tick(i)
        self.stamps[message] = (len(targets), self.queue.now, clock)
        receivers = [self.names[t] for t in targets]
        text = f"send m{message} to {', '.join(receivers) or 'itself'}"
        self._event(i, "send", message, self.names[i], text, clock=list(clock.items()), receivers=receivers)

    def receive(self, i: int, packet: Packet, message: int | None) -> None:
        """A packet arrives."""
        name = None if message is None else f"m{message}"
        sent = None if message is None else self.stamps.get(message)
        self.messages.add(
            group=self.names[i],
            sender=packet.source,
            protocol=packet.protocol,
            kind=packet.kind,
            number=packet.number,
            stamp=packet.stamp,
            message=name,
            sent=None if sent is None else sent[1],
            arrived=self.queue.now,
            arrival=self.arrivals[i],
        )
        self.arrivals[i] += 1
        if message is not None:
            self._event(i, "receive", message, packet.source, f"m{message} arrives from {packet.source}")

    def deliver(self, i: int, source: int, message: int, order: str | None) -> None:
        """A message is delivered; `order` says if it was "early" or "late"."""
        left, time, sent = self.stamps[message]
        if left > 1:
            self.stamps[message] = (left - 1, time, sent)
        else:
            del self.stamps[message]
        mine = self.clocks[i]
        for name, count in sent.items():
            if count > mine.get(name, 0):
                mine[name] = count
        clock = self._tick(i)
        text = f"deliver m{message} from {self.names[source]}"
        fields = None if order is None else [("order", order)]
        sender = self.names[source]
        self._event(i, "deliver", message, sender, text, clock=list(clock.items()), fields=fields)

    def close(self) -> None:
        """Hand over the last rows."""
        self.events.flush()
        self.messages.flush()

    def _tick(self, i: int) -> dict[str, int]:
        clock, name = self.clocks[i], self.names[i]
        clock[name] = clock.get(name, 0) + 1
        return dict(clock)

    def _event(self, i: int, kind: str, message: int, sender: str, text: str, **more: Any) -> None:
        index = self.counts[i]
        self.counts[i] = index + 1
        self.events.add(
            execution=self.execution,
            process=self.names[i],
            index=index,
            event=f"{self.names[i]}#{index}",
            kind=kind,
            message=f"m{message}",
            sender=sender,
            time=self.queue.now,
            text=text,
            **more,
        )


class Collected:
    """A sink that keeps blocks in memory."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.blocks: list[pa.Table] = []

    def __call__(self, block: pa.Table) -> None:
        self.blocks.append(block)

    def table(self) -> pa.Table:
        """All blocks as one table."""
        return pa.concat_tables(self.blocks) if self.blocks else self.schema.empty_table()


class Stored:
    """A sink that writes a Parquet file, also if there is no row."""

    def __init__(self, schema: pa.Schema, path: Path) -> None:
        self.writer = pq.ParquetWriter(path, schema)

    def __call__(self, block: pa.Table) -> None:
        self.writer.write_table(block)

    def close(self) -> None:
        """Finish the file."""
        self.writer.close()
