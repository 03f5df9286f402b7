"""ShiViz and GoVector text in all its forms: host, vector clock and one line of text per event.

Follows section "Reading" of ShiViz's own parser, with these differences: a record that cannot be read goes
to quarantine alone; a label used twice gets a number; line numbers are those of the file; nothing is
demanded of the clocks beyond being clocks with the host in them (holes, repeats, cycles are for the audit).
One pass over the text, all clocks decoded together.
"""

import re
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from antecede.core.errors import InputError
from antecede.formats import clocks, order
from antecede.formats.rows import Clock, Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.shiviz_forms import Form, Piece, forms
from antecede.formats.source import Source

INITIAL = ("Initialization Complete", "Initilization Complete")


class Scan:
    """What one form finds in the text."""

    def __init__(self, text: str, form: Form) -> None:
        self.text, self.form = text, form
        self.spans: list[tuple[int, int]] = []
        self.groups: list[tuple[str | None, ...]] = []
        self.pieces: list[Piece] = []
        self.gaps: list[tuple[int, int]] = []
        for piece in form.pieces(text):
            self._take(piece)
        self.clocks = clocks.decode_all([clock or "" for clock in self.column("clock")])

    def _take(self, piece: Piece) -> None:
        text, end, before = self.text, piece.begin, len(self.spans)
        for match in self.form.pattern.finditer(text, piece.begin, piece.end):
            start = match.start()
            if start > end:
                self._gap(end, start)
            end = match.end()
            if end > start:
                self.spans.append((start, end))
                self.groups.append(match.groups())
        self._gap(end, piece.end)
        self.pieces += repeat(piece, len(self.spans) - before)

    def _gap(self, begin: int, end: int) -> None:
        if self.form.strict and begin < end and (rest := self.text[begin:end]).strip():
            self.gaps.append((begin + len(rest) - len(rest.lstrip()), end))

    def column(self, name: str) -> list[str | None]:
        """What a named group matched, row by row."""
        position = self.form.pattern.groupindex[name] - 1
        return [groups[position] for groups in self.groups]

    def faults(self) -> tuple[int, int, int, int]:
        """What speaks against this form: texts at the wrong clock, text left over, late starts, no text."""
        first: dict[tuple[str, str], int] = {}
        wrong = empty = 0
        rows = zip(self.pieces, self.column("host"), self.clocks, self.column("event"), strict=True)
        for piece, host, clock, event in rows:
            own = (clock or {}).get(host or "", 0)
            key = (piece.label, host or "")
            first[key] = min(first.get(key, own), own)
            wrong += event in INITIAL and own > 1
            empty += not event
        return wrong, len(self.gaps), sum(own != 1 for own in first.values()), empty


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    text = source.text()
    scan = _best(text, forms(text, settings))
    rows = Rows(source.name)
    _Filler(scan, rows).fill()
    return rows


def _best(text: str, candidates: Sequence[Form]) -> Scan:
    """The first form that nothing speaks against, else the one with the least against it."""
    scans: list[tuple[bool, tuple[int, int, int, int], int, Scan]] = []
    for form in candidates:
        scan = Scan(text, form)
        if scan.spans and not form.strict:
            return scan
        faults = scan.faults()
        if scan.spans and not any(faults):
            return scan
        scans.append((not scan.spans, faults, len(scans), scan))
    best = min(scans)[-1]
    if not best.spans:
        raise InputError("no record found; give --regex with the groups host, clock and event, or --format")
    return best


class _Good(NamedTuple):
    """A record that was understood."""

    row: int
    host: str
    clock: Clock
    own: int
    line: int


class _Filler:
    """From what was found to columns."""

    def __init__(self, scan: Scan, rows: Rows) -> None:
        self.scan, self.rows = scan, rows

    def fill(self) -> None:
        good = self._sorted_out()
        rows, pieces = self.rows, self.scan.pieces
        rows.execution = [pieces[one.row].label for one in good]
        rows.process = [one.host for one in good]
        groups = list(zip(rows.execution, rows.process, strict=True))
        rows.index = list(order.positions(groups, order.restarts(groups, [one.own for one in good])))
        rows.event = list(order.unique([f"{one.host}:{one.own}" for one in good], rows.execution))
        rows.clock = [clocks.without_zeros(one.clock) for one in good]
        events = self.scan.column("event")
        rows.text = [events[one.row] for one in good]
        rows.fields, rows.time = self._fields(good)
        rows.origin = [rows.file] * len(good)
        rows.line = [one.line for one in good]

    def _sorted_out(self) -> list[_Good]:
        """The good records; the others, and the text between records, go to quarantine."""
        good, lines = [], _lines(self.scan.text, self.scan.spans)
        hosts, texts = self.scan.column("host"), self.scan.column("clock")
        for row, (clock, line) in enumerate(zip(self.scan.clocks, lines, strict=True)):
            host = hosts[row] or ""
            try:
                clock = clocks.decode(texts[row] or "") if clock is None else clock
                good.append(_Good(row, host, clock, clocks.own_entry(clock, host), line))
            except Refused as reason:
                begin, end = self.scan.spans[row]
                self.rows.refuse(line, str(reason), self.scan.text[begin:end])
        expected = 'expected a line of host and clock (a {"a": 1}) beside a line of text'
        for line, (begin, end) in zip(_lines(self.scan.text, self.scan.gaps), self.scan.gaps, strict=True):
            self.rows.refuse(line, f"belongs to no record: {expected}", self.scan.text[begin:end].rstrip())
        return good

    def _fields(self, good: list[_Good]) -> tuple[list[dict[str, str] | None], list[float | None]]:
        """All other named groups; a group `timestamp` is the time in nanoseconds."""
        others = {
            name: self.scan.column(name)
            for name in self.scan.form.pattern.groupindex
            if name not in ("host", "clock", "event")
        }
        others = {
            name: values for name, values in others.items() if any(value is not None for value in values)
        }
        others["run"] = [piece.run for piece in self.scan.pieces]
        fields: list[dict[str, str] | None] = []
        for one in good:
            found = {name: value for name, values in others.items() if (value := values[one.row]) is not None}
            fields.append(found or None)
        stamps = others.get("timestamp")
        times = [None if stamps is None else _milliseconds(stamps[one.row]) for one in good]
        return fields, times


def _milliseconds(nanos: str | None) -> float | None:
    return int(nanos) / 1e6 if nanos and re.fullmatch(r"[0-9]{1,20}", nanos) else None


def _lines(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The line on which each stretch starts, counted in one walk."""
    lines, line, last = [], 1, 0
    for begin, _ in spans:
        line += text.count("\n", last, begin)
        last = begin
        lines.append(line)
    return lines
