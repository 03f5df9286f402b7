"""ShiViz and GoVector text in all its forms: host, vector clock and one line of text per event.

Follows section "Reading" of ShiViz's own parser, with these differences: a record that cannot be read goes
to quarantine alone; a label used twice gets a number; line numbers are those of the file; nothing is
demanded of the clocks beyond being clocks with the host in them (holes, repeats, cycles are for the audit).
One pass over the text, all clocks decoded together.
"""

import re
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from antecede.core.errors import InputError
from antecede.formats import clocks, order
from antecede.formats.rows import Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.shiviz_forms import Form, Piece, forms
from antecede.formats.source import Source

INITIAL = {"Initialization Complete", "Initilization Complete"}
EXPECTED = 'expected a line of host and clock (a {"a": 1}) beside a line of text'
BLOCK = 1_024
Faults = tuple[int, int, int, int]


class Scan:
    """What one form finds in the text, by column."""

    def __init__(self, text: str, form: Form) -> None:
        self.text, self.form = text, form
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.pieces: list[Piece] = []
        self.gaps: list[tuple[int, int]] = []
        self.owns: list[int | None] = []
        self.blocks = [clocks.block([], [])[1]]
        self.reasons: list[str] = []
        """Why a clock cannot be read, for the rows without an own entry."""
        self.columns: dict[str, list[str]] = {name: [] for name in form.pattern.groupindex if name != "clock"}
        for piece in form.pieces(text):
            self._take(piece)
        self.hosts, self.events = self.columns.pop("host"), self.columns.pop("event")
        self.clocks = pa.concat_arrays(self.blocks)

    def _take(self, piece: Piece) -> None:
        end, before = piece.begin, len(self.starts)
        found: list[tuple[str, ...]] = []
        for match in self.form.pattern.finditer(self.text, piece.begin, piece.end):
            start = match.start()
            if start > end + 1:
                self._gap(end, start)
            end = match.end()
            if end > start:
                self.starts.append(start)
                self.ends.append(end)
                found.append(match.groups(""))
                if len(found) == BLOCK:
                    self._note(found)
        self._note(found)
        self._gap(end, piece.end)
        self.pieces += [piece] * (len(self.starts) - before)

    def _note(self, found: list[tuple[str, ...]]) -> None:
        """Groups of some matches into columns. Clocks are read block by block, and their texts forgotten."""
        if not found:
            return
        turned, places = list(zip(*found, strict=True)), self.form.pattern.groupindex
        for name, values in self.columns.items():
            values += turned[places[name] - 1]
        texts, hosts = turned[places["clock"] - 1], turned[places["host"] - 1]
        owns, array = clocks.block(texts, hosts)
        self.owns += owns
        self.blocks.append(array)
        self.reasons += [_reason(texts[row], hosts[row]) for row, own in enumerate(owns) if own is None]
        found.clear()

    def _gap(self, begin: int, end: int) -> None:
        if self.form.strict and (rest := self.text[begin:end]).strip():
            self.gaps.append((begin + len(rest) - len(rest.lstrip()), end))

    def groups(self) -> Sequence[str | tuple[str, str]]:
        """What tells the processes of all executions apart."""
        if len({piece.label for piece in self.pieces}) < 2:
            return self.hosts
        return [(piece.label, host) for piece, host in zip(self.pieces, self.hosts, strict=True)]

    def faults(self) -> Faults:
        """What speaks against this form: texts at the wrong clock, text left over, late starts, no text."""
        groups = self.groups()
        begun = {group for group, own in zip(groups, self.owns, strict=True) if own == 1}
        pairs = zip(self.events, self.owns, strict=True)
        wrong = sum(1 for event, own in pairs if event in INITIAL and (own or 0) > 1)
        return wrong, len(self.gaps), len(set(groups) - begun), self.events.count("")

    def keep(self, rows: Sequence[int]) -> None:
        """Only these rows stay."""
        self.columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        self.hosts = [self.hosts[row] for row in rows]
        self.events = [self.events[row] for row in rows]
        self.clocks = self.clocks.take(pa.array(rows, pa.int64()))
        self.owns = [self.owns[row] for row in rows]
        self.starts = [self.starts[row] for row in rows]
        self.pieces = [self.pieces[row] for row in rows]


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    text = source.text()
    scan = _best(text, forms(text, settings))
    rows = Rows(source.name)
    _quarantine(scan, rows)
    _fill(scan, rows)
    return rows


def _best(text: str, candidates: Sequence[Form]) -> Scan:
    """The first form that nothing speaks against, else the one with the least against it."""
    scans: list[tuple[bool, Faults, int, Scan]] = []
    for form in candidates:
        scan = Scan(text, form)
        if scan.starts and not form.strict:
            return scan
        faults = scan.faults()
        if scan.starts and not any(faults):
            return scan
        scans.append((not scan.starts, faults, len(scans), scan))
    best = min(scans)[-1]
    if not best.starts:
        raise InputError("no record found; give --regex with the groups host, clock and event, or --format")
    return best


def _quarantine(scan: Scan, rows: Rows) -> None:
    """Records without a clock that can be read, and text between records, leave the scan."""
    bad = [row for row, own in enumerate(scan.owns) if own is None]
    lines = _lines(scan.text, [scan.starts[row] for row in bad])
    for row, line, reason in zip(bad, lines, scan.reasons, strict=True):
        rows.refuse(line, reason, scan.text[scan.starts[row] : scan.ends[row]])
    for line, (begin, end) in zip(_lines(scan.text, [b for b, _ in scan.gaps]), scan.gaps, strict=True):
        rows.refuse(line, f"belongs to no record: {EXPECTED}", scan.text[begin:end].rstrip())
    if bad:
        scan.keep([row for row, own in enumerate(scan.owns) if own is not None])


def _reason(clock: str, host: str) -> str:
    try:
        clocks.own_entry(clocks.decode(clock), host)
    except Refused as reason:
        return str(reason)
    return "clock cannot be read"


def _fill(scan: Scan, rows: Rows) -> None:
    count = len(scan.hosts)
    owns = [own or 0 for own in scan.owns]
    ids = [f"{host}:{own}" for host, own in zip(scan.hosts, owns, strict=True)]
    labels = [piece.label for piece in scan.pieces]
    groups = scan.groups()
    rows.execution, rows.process, rows.text = list(labels), list(scan.hosts), list(scan.events)
    if groups is scan.hosts and len(set(ids)) == count:
        rows.event = list(ids)
    else:
        rows.event = list(order.unique(ids, labels))
    if rows.event == ids and _dense(groups, owns):
        rows.index = [own - 1 for own in owns]
    else:
        rows.index = list(order.positions(groups, order.restarts(groups, owns)))
    rows.clock = scan.clocks
    _name_fields(scan, rows)
    rows.origin = [rows.file] * count
    rows.line = list(_lines(scan.text, scan.starts))


def _dense(groups: Sequence[str | tuple[str, str]], owns: Sequence[int]) -> bool:
    """Whether own entries, all different, are 1 to n in each group: the smallest sum of n numbers tells."""
    least = sum(n * (n + 1) // 2 for n in Counter(groups).values())
    return sum(owns) == least and 0 not in owns


def _name_fields(scan: Scan, rows: Rows) -> None:
    """All other named groups are fields; a group `timestamp` is the time in nanoseconds."""
    others = {name: values for name, values in scan.columns.items() if any(values)}
    if any(piece.run for piece in scan.pieces):
        others["run"] = [piece.run or "" for piece in scan.pieces]
    if others:
        table = zip(*others.values(), strict=True)
        rows.fields = [{name: v for name, v in zip(others, row, strict=True) if v} or None for row in table]
    if "timestamp" in others:
        rows.time = [_milliseconds(stamp) for stamp in others["timestamp"]]


def _milliseconds(nanos: str) -> float | None:
    return int(nanos) / 1e6 if re.fullmatch(r"[0-9]{1,20}", nanos) else None


def _lines(text: str, starts: Sequence[int]) -> list[int]:
    """The line of each position, counted in one walk."""
    lines, line, last = [], 1, 0
    for start in starts:
        line += text.count("\n", last, start)
        last = start
        lines.append(line)
    return lines
