"""Records of sends and receives, with or without clocks, one JSON object each (EWD998 style).

Where records carry no message id, sends and receives are matched: a receive belongs to a send of the same
sender, receiver and payload whose own clock entry the receiver knows; first to the one whose entry it knows
exactly, then to the oldest that was not received yet, else it is a repeat of the last one received. The
message is then called by its sender and the sender's own entry ("0:5"), and the field `match` of a receive
says how it was found: first, repeat, clock (the sender's log is not there; the entry tells), or none. That of
a send says sent. Where a log is in several files, all are matched once more together (`match_again`).
A first record without process, kind and clock is a header and no event.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from antecede.formats.jsons import Raw, checked, raw_lines, raws
from antecede.formats.mapped import Mapper, Names
from antecede.formats.rows import Part, Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.source import Source

NAMES: Names = {
    "execution": ("execution", "trace", "run"),
    "process": ("node", "process", "host", "proc", "pid"),
    "index": ("index", "seq"),
    "event": ("event_id", "id"),
    "kind": ("event", "kind", "type", "op", "action"),
    "message": ("msg_id", "message_id", "pkt.id", "mid"),
    "sender": ("pkt.snd", "snd", "sender", "from", "src", "source"),
    "receivers": ("pkt.rcv", "rcv", "receivers", "receiver", "to", "dst", "dest"),
    "parents": ("parents",),
    "clock": ("pkt.vc", "vc", "clock", "vclock", "vector_clock", "vectorClock"),
    "time": ("time", "ts", "timestamp"),
    "text": ("text", "pkt.msg", "msg", "message", "payload"),
}

KINDS = {"d": "local"}
"""EWD998's word for a deactivation; `<` and `>` are usual."""

COME = ("receive", "deliver")

Key = tuple[str | None, ...]


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    mapper = _map_records(raws(source.data), source.name, settings, may_open=True)
    mapper.settle()
    rows = mapper.rows
    if all(message is None for message in rows.message):
        _match(rows, mapper.owns, range(len(rows)))
    return rows


def read_part(data: bytes, name: str, settings: Settings, first_line: int) -> Part:
    """The events of some lines of a file. What is to be matched is marked for `match_again`."""
    mapper = _map_records(raw_lines(data, first_line), name, settings, may_open=first_line == 1)
    basis = mapper.settle_index()
    rows = mapper.rows
    unmatched = all(message is None for message in rows.message)
    if unmatched:
        for row in range(len(rows)):
            if _is_sent(rows, row) or _is_received(rows, row):
                rows.fields[row] = {**(rows.fields[row] or {}), "match": "none"}
    # `match_again` takes an own entry that is absent for 0, and `read` does not.
    uncounted = any(
        own is None and clock is not None for own, clock in zip(mapper.owns, rows.clock, strict=True)
    )
    return rows.part(basis, unmatched, alone=not (unmatched and uncounted))


def _map_records(records: Iterable[Raw], name: str, settings: Settings, may_open: bool) -> Mapper:
    """Records as rows; `may_open` if the first one may be a header."""
    rows = Rows(name)
    mapper = Mapper(NAMES, msgspec.structs.replace(settings, kinds=KINDS | settings.kinds), rows)
    for record in checked(records, rows):
        try:
            found, _ = mapper.pick(record.value)
            if not may_open or found.keys() & {"process", "kind", "clock"}:
                _check(found)
                mapper.add(record.line, record.value)
        except Refused as reason:
            rows.refuse(record.line, str(reason), record.raw)
        may_open = False
    return mapper


def match_again(rows: Rows) -> None:
    """Match what readers of single files have matched, now that all files are there."""
    made = [row for row, fields in enumerate(rows.fields) if fields and fields.pop("match", "")]
    for row in made:
        rows.message[row], rows.fields[row] = None, rows.fields[row] or None
    clocks = zip(rows.clock, rows.process, strict=True)
    _match(rows, [None if clock is None else clock.get(process or "", 0) for clock, process in clocks], made)


def _check(found: dict[str, Any]) -> None:
    if "process" not in found or not found.keys() & {"kind", "clock"}:
        raise Refused("a record of sends and receives has a process, and a kind or a clock; map other names")


def _match(rows: Rows, owns: list[int | None], among: Sequence[int]) -> None:
    """Give sends and receives the names of their messages."""
    order = sorted(among, key=lambda row: rows.index[row] or 0)
    sends = _Sends(rows, owns, order)
    for row in order:
        if _is_sent(rows, row):
            rows.fields[row] = {**(rows.fields[row] or {}), "match": "sent"}
        elif _is_received(rows, row):
            rows.message[row], how = sends.of_receive(row)
            rows.fields[row] = {**(rows.fields[row] or {}), "match": how}


def _is_sent(rows: Rows, row: int) -> bool:
    return rows.kind[row] == "send"


def _is_received(rows: Rows, row: int) -> bool:
    return rows.kind[row] in COME and rows.sender[row] is not None


class _Sends:
    """Sends by sender, receiver and payload, and which of them were received."""

    def __init__(self, rows: Rows, owns: list[int | None], order: list[int]) -> None:
        self.rows, self.clocks = rows, list(rows.clock)
        self.lists: dict[Key, list[tuple[int, str]]] = {}
        self.received: dict[Key, dict[str, None]] = {}
        self.oldest: dict[Key, int] = {}
        self.names: set[tuple[Key, str]] = set()
        self.senders = set(zip(rows.execution, rows.process, strict=True))
        for row in order:
            if _is_sent(rows, row):
                self._note(row, owns[row])

    def _note(self, row: int, own: int | None) -> None:
        rows = self.rows
        number = own if own is not None else rows.index[row] or 0
        rows.message[row] = message = f"{rows.process[row]}:{number}"
        for receiver in rows.receivers[row] or []:
            key = (rows.execution[row], rows.process[row], receiver, rows.text[row])
            self.lists.setdefault(key, []).append((own or 0, message))
            self.names.add((key, message))

    def of_receive(self, row: int) -> tuple[str, str]:
        """The message of a receive, and how it was found."""
        rows = self.rows
        sender, receiver, clock = rows.sender[row], rows.process[row], self.clocks[row]
        known = None if clock is None else clock.get(sender or "", 0)
        key = (rows.execution[row], sender, receiver, rows.text[row])
        if (message := self._unreceived(key, known)) is not None:
            self.received.setdefault(key, {})[message] = None
            return message, "first"
        if key in self.received:
            return next(reversed(self.received[key])), "repeat"
        if known and (rows.execution[row], sender) not in self.senders:
            return f"{sender}:{known}", "clock"
        return f"{sender}>{receiver}@{rows.index[row]}", "none"

    def _unreceived(self, key: Key, known: int | None) -> str | None:
        sends, done = self.lists.get(key, []), self.received.get(key, {})
        exact = f"{key[1]}:{known}"
        if known and exact not in done and (key, exact) in self.names:
            return exact
        place = self.oldest.get(key, 0)
        while place < len(sends) and sends[place][1] in done:
            place += 1
        self.oldest[key] = place
        if place < len(sends) and (known is None or sends[place][0] <= known):
            return sends[place][1]
        return None
