"""The events of a node, written as they happen: JSON lines with the columns of the events table.

`antecede audit` reads such files; those of all nodes together are one execution. A send is written when it is
durable and before it leaves the node, a delivery right before the application gets it. A line is written by
one call to the system, so it outlasts the process; a line that was cut short by a crash is removed when the
file is opened again, and a send that was durable and not written down is written then. A file that tells
more than the node remembers, or something else, is refused as it is.
"""

import os
import time
from pathlib import Path
from typing import Any

import msgspec

from antecede.core.errors import CallerError
from antecede.live.errors import NodeFailedError

_encode = msgspec.json.Encoder().encode
_CLOSED = -1


class _EventLine(msgspec.Struct):
    process: str
    event: str
    kind: str


_read_event = msgspec.json.Decoder(_EventLine).decode


class EventFile:
    """`sends` and `deliveries` are the numbers of the last ones that are in the file."""

    def __init__(self, path: str | Path, process: str) -> None:
        self.path = Path(path)
        self.process = process
        self.sends = 0
        self.deliveries = 0
        self._index = 0
        self._lines: list[bytes] = []
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._read_events_and_cut_incomplete_line()
        except BaseException:
            self.close()
            raise

    def _read_events_and_cut_incomplete_line(self) -> None:
        whole = 0
        with self.path.open("rb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    self._check_incomplete_last_line(line)
                    break
                whole += len(line)
                self._record_event_line(line)
                self._index += 1
        os.ftruncate(self._file, whole)

    def _record_event_line(self, line: bytes) -> None:
        """Refuse a line that is no event of this process; note the number of a send or a delivery."""
        try:
            event = _read_event(line)
            number = int(event.event.rpartition(":")[2])
        except (msgspec.DecodeError, ValueError):
            raise self._make_wrong_line_error() from None
        if event.process != self.process:
            raise self._make_wrong_line_error()
        if event.kind == "send":
            self.sends = number
        elif event.kind == "deliver":
            self.deliveries = number

    def _check_incomplete_last_line(self, line: bytes) -> None:
        """Refuse a last line that is not the beginning of an event: it would be removed."""
        beginning = _encode({"process": self.process})[:-1]
        if not (line.startswith(beginning) or beginning.startswith(line)):
            raise self._make_wrong_line_error()

    def _make_wrong_line_error(self) -> CallerError:
        return CallerError(
            f"events {self.path}: line {self._index + 1} is not an event of {self.process!r}; choose another "
            "file"
        )

    def check_node_remembers_events(self, sent: int, delivered: int) -> None:
        """Refuse a file with more sends or deliveries than the node remembers: it has lost its memory."""
        if self.sends > sent or self.deliveries > delivered:
            raise CallerError(
                f"events {self.path}: {self.process} sent {self.sends} and delivered {self.deliveries} "
                f"messages there, and remembers {sent} and {delivered}: move the file of the earlier run "
                "away, or give the node its journal back"
            )

    def buffer_send_if_new(self, message_number: int, receivers: list[str]) -> None:
        """A message of this process is durable."""
        if message_number > self.sends:
            self.sends = message_number
            self._buffer_event("send", message_number, self.process, message_number, receivers=receivers)

    def buffer_arrival(self, sender: str, message_number: int) -> None:
        """A packet with a message has come in."""
        self._buffer_event("receive", self._index, sender, message_number)

    def buffer_delivery_if_new(self, delivery_number: int, sender: str, message_number: int) -> None:
        """The application is about to get a message; `delivery_number` counts its deliveries."""
        if delivery_number > self.deliveries:
            self.deliveries = delivery_number
            self._buffer_event("deliver", delivery_number, sender, message_number)

    def _buffer_event(
        self, kind: str, own_number: int, sender: str, message_number: int, **more: Any
    ) -> None:
        event = {
            "process": self.process,
            "index": self._index,
            "event": f"{self.process}:{kind}:{own_number}",
            "kind": kind,
            "message": f"{sender}#{message_number}",
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
            data = b"".join(self._lines)
            self._lines.clear()
            try:
                while data:
                    data = data[os.write(self._file, data) :]
            except OSError as error:
                self._lines.append(data)
                raise NodeFailedError(f"events {self.path}: {error.strerror}") from None

    def close(self) -> None:
        """Let go of the file; what is not written stays so."""
        if self._file != _CLOSED:
            os.close(self._file)
            self._file = _CLOSED
