"""The events of a node, written as they happen: JSON lines with the columns of the events table.

`antecede audit` reads such files; those of all nodes together are one execution. A send is written when it is
durable and before it leaves the node, a delivery right before the application gets it. A line is written by
one call to the system, so it outlasts the process; a line that was cut short by a crash is removed when the
file is opened again, and a send that was durable and not written down is written then.
"""

import os
import time
from pathlib import Path
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode
_CLOSED = -1


class EventFile:
    """`sends` and `deliveries` are the numbers of the last ones that are in the file."""

    def __init__(self, path: str | Path, process: str) -> None:
        self.process = process
        self.sends = 0
        self.deliveries = 0
        self._index = 0
        self._lines: list[bytes] = []
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._read_existing_events(Path(path))

    def _read_existing_events(self, path: Path) -> None:
        whole = 0
        with path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                self._index += 1
                self._update_last_numbers(msgspec.json.decode(line))
        os.ftruncate(self._file, whole)

    def _update_last_numbers(self, event: dict[str, Any]) -> None:
        number = int(event["event"].rpartition(":")[2])
        if event["kind"] == "send":
            self.sends = number
        elif event["kind"] == "deliver":
            self.deliveries = number

    def add_send(self, number: int, receivers: list[str]) -> None:
        """A message of this process is durable."""
        if number > self.sends:
            self.sends = number
            self._add_event("send", number, self.process, number, receivers=receivers)

    def add_arrival(self, sender: str, number: int) -> None:
        """A packet with a message has come in."""
        self._add_event("receive", self._index, sender, number)

    def add_delivery(self, delivery: int, sender: str, number: int) -> None:
        """The application is about to get a message; `delivery` counts its deliveries."""
        if delivery > self.deliveries:
            self.deliveries = delivery
            self._add_event("deliver", delivery, sender, number)

    def _add_event(self, kind: str, own_number: int, sender: str, number: int, **more: Any) -> None:
        event = {
            "process": self.process,
            "index": self._index,
            "event": f"{self.process}:{kind}:{own_number}",
            "kind": kind,
            "message": f"{sender}#{number}",
            "sender": sender,
            "time": round(time.time() * 1000, 3),
            **more,
        }
        self._index += 1
        self._lines.append(_encode(event) + b"\n")

    def flush(self) -> None:
        """Hand all lines to the system; none behind the end."""
        if self._file == _CLOSED:
            self._lines.clear()
        elif self._lines:
            data = memoryview(b"".join(self._lines))
            self._lines.clear()
            while data:
                data = data[os.write(self._file, data) :]

    def close(self) -> None:
        """Write what is left."""
        self.flush()
        self.close_unflushed()

    def close_unflushed(self) -> None:
        """Let go of the file as a crash does: what is not written stays so."""
        if self._file != _CLOSED:
            os.close(self._file)
            self._file = _CLOSED
