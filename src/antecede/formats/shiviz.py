"""ShiViz and GoVector text in all its forms: host, vector clock and one line of text per event.

Follows section "Reading" of ShiViz's own parser, with these differences: a record that cannot be read goes
to quarantine alone; a label used twice gets a number; line numbers are those of the file; nothing is
demanded of the clocks beyond being clocks with the host in them (holes, repeats, cycles are for the audit).
One pass over the text, all clocks decoded together.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.core.errors import InputError
from antecede.formats import clocks, order
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.shiviz_forms import Form, Piece, list_candidate_forms
from antecede.formats.shiviz_gaps import TextGap, select_damaged_gaps, trim_gap
from antecede.formats.shiviz_pairs import Pairs, read_line_pairs
from antecede.formats.source import Source

INITIAL = pa.array(["Initialization Complete", "Initilization Complete"])
EXPECTED = 'expected a line of host and clock (a {"a": 1}) beside a line of text'
NO_MATCH = "the expression does not match it"
BLOCK_CHARS = 400_000
"""Text that is looked at together."""
Faults = tuple[int, int, int, int]
Ints = order.Ints


class Scan:
    """What one form finds in the text, by column. Blocks of records become arrays once they are found."""

    def __init__(self, text: str, form: Form) -> None:
        self.text, self.form = text, form
        self.records = 0
        self.starts: list[Ints] = []
        self.ends: list[Ints] = []
        self.lines: list[Ints] = []
        """Where records begin and end, and on which lines: an array for each block."""
        self.pieces: list[Piece] = []
        self.counts: list[int] = []
        """How many records each piece has."""
        self.gaps: list[TextGap] = []
        self.owns: list[Ints] = []
        """The own entry of each record; NO_ENTRY if its clock cannot be read."""
        self.reasons: list[str] = []
        """Why not, for each of those."""
        self.counted = (0, 1)
        """A position, and its line."""
        self.rest = 0
        """Where the last record ends."""
        self.tally = FormTally()
        self.clocks: list[pa.Array] = []
        names = [name for name in form.pattern.groupindex if name != "clock"]
        self.columns: dict[str, list[pa.Array]] = {name: [] for name in names}
        for piece in form.split_into_pieces(text):
            self._scan_piece(piece)

    def _scan_piece(self, piece: Piece) -> None:
        """The records of a piece: whole blocks where lines alternate, match by match elsewhere."""
        before = self.records
        self.rest = position = piece.begin
        while position < piece.end:
            end = self._find_block_end(position, piece.end)
            block = read_line_pairs(self.text, position, end, self.form) if end > position else None
            if block is not None:
                self._add_line_pairs(block, piece, position, before)
                position = min(self.rest + 1, piece.end)
            else:
                position = self._scan_matches(position, max(end, position + BLOCK_CHARS), piece, before)
        self._add_gap_unless_blank(self.rest, piece.end, self.records - before, is_last=True)
        self.pieces.append(piece)
        self.counts.append(self.records - before)

    def _find_block_end(self, begin: int, limit: int) -> int:
        """Where a block of whole lines that begins here ends; `begin` if it would not begin a line."""
        if begin > 0 and self.text[begin - 1] != "\n":
            return begin
        end = self.text.find("\n", begin + BLOCK_CHARS, limit) + 1
        return end if end else limit

    def _add_line_pairs(self, block: Pairs, piece: Piece, position: int, records_before: int) -> None:
        if position > self.rest + 1:
            self._add_gap_unless_blank(self.rest, position, self.records - records_before, is_last=False)
        size = len(block.hosts)
        first_line = self._advance_line_count_to(position)
        self._add_record_positions(
            block.starts + position,
            block.ends + position,
            np.arange(first_line, first_line + 2 * size, 2),
        )
        self.rest = int(self.ends[-1][-1])
        self.counted = self.rest, first_line + 2 * size - 1
        absent = pa.repeat(pa.scalar(""), size)
        columns = {"host": block.hosts, "clock": block.clocks, "event": block.events, "timestamp": absent}
        self._add_record_columns(columns, piece)

    def _scan_matches(self, position: int, end: int, piece: Piece, records_before: int) -> int:
        """The records that begin before `end`; returns where to go on."""
        found: list[re.Match[str]] = []
        lines: list[int] = []
        for match in self.form.pattern.finditer(self.text, position, piece.end):
            if match.end() == match.start():
                continue
            start = match.start()
            if start >= end:
                self._add_matches(found, lines, piece)
                return start
            if start > self.rest + 1:
                records_of_piece = self.records + len(found) - records_before
                self._add_gap_unless_blank(
                    self.rest, self._find_line_start(start), records_of_piece, is_last=False
                )
            self.rest = match.end()
            lines.append(self._advance_line_count_to(start))
            found.append(match)
        self._add_matches(found, lines, piece)
        return piece.end

    def _add_matches(self, found: list[re.Match[str]], lines: list[int], piece: Piece) -> None:
        if not found:
            return
        starts = np.array([match.start() for match in found])
        ends = np.array([match.end() for match in found])
        self._add_record_positions(starts, ends, np.array(lines))
        turned = zip(*[match.groups("") for match in found], strict=True)
        groups = [pa.array(group, pa.string()) for group in turned]
        places = self.form.pattern.groupindex
        self._add_record_columns({name: groups[place - 1] for name, place in places.items()}, piece)

    def _add_record_positions(self, starts: Ints, ends: Ints, lines: Ints) -> None:
        self.records += len(starts)
        self.starts.append(starts)
        self.ends.append(ends)
        self.lines.append(lines)

    def _add_record_columns(self, columns: Mapping[str, pa.Array], piece: Piece) -> None:
        """What the named groups of some matches have."""
        for name, arrays in self.columns.items():
            arrays.append(columns[name])
        texts, hosts = columns["clock"], columns["host"]
        column = clocks.decode_clocks_or_empty(texts, hosts)
        self.owns.append(column.own_entries)
        self.clocks.append(column.clocks)
        for row in np.flatnonzero(column.own_entries == clocks.NO_ENTRY).tolist():
            self.reasons.append(_explain_unreadable_clock(texts[row].as_py(), hosts[row].as_py()))
        self.tally.add_records(piece.label, hosts, column.own_entries, columns["event"])

    def _add_gap_unless_blank(self, begin: int, end: int, records_of_piece: int, is_last: bool) -> None:
        """Lines that are in no record, unless they are blank; so many records of the piece are before them.

        An expression of a user's may leave out the ends of a line: what stands there is part of the record.
        """
        is_behind_record = records_of_piece > 0
        if is_behind_record:
            begin = self._find_line_end(begin)
        if self.text[begin:end].strip():
            self.gaps.append(TextGap(begin, end, is_behind_record, is_last))

    def _advance_line_count_to(self, position: int) -> int:
        """The number of the line of a position, which must not lie before the one asked for last."""
        last, line = self.counted
        line += self.text.count("\n", last, position)
        self.counted = position, line
        return line

    def _find_line_start(self, position: int) -> int:
        return self.text.rfind("\n", 0, position) + 1

    def _find_line_end(self, position: int) -> int:
        """Where the line of a record that ends here ends; a record may have taken the line's end with it."""
        if self.text[position - 1] == "\n":
            return position
        end = self.text.find("\n", position)
        return end if end >= 0 else len(self.text)

    def find_damaged_gaps(self) -> list[TextGap]:
        """The gaps that are quarantined."""
        gaps = self.gaps
        if not self.form.is_usual:
            gaps = list(select_damaged_gaps(self.text, gaps, self.records))
        return [trim_gap(self.text, gap) for gap in gaps]

    def count_faults(self) -> Faults:
        """What speaks against this form: texts at the wrong clock, text left over, late starts, no text."""
        tally = self.tally
        return tally.wrong, len(self.gaps), len(tally.hosts - tally.begun), tally.empty


class FormTally:
    """What is counted to tell a form that fits from one that does not."""

    def __init__(self) -> None:
        self.hosts: set[tuple[str, str]] = set()
        self.begun: set[tuple[str, str]] = set()
        self.wrong = self.empty = 0

    def add_records(self, label: str, hosts: pa.Array, own_entries: Ints, events: pa.Array) -> None:
        """Some records of one execution."""
        first = hosts.filter(pa.array(own_entries == 1))
        self.hosts |= {(label, host) for host in hosts.unique().to_pylist()}
        self.begun |= {(label, host) for host in first.unique().to_pylist()}
        is_initial = pc.is_in(events, INITIAL).to_numpy(zero_copy_only=False)
        self.wrong += int(np.count_nonzero(is_initial & (own_entries > 1)))
        self.empty += pc.sum(pc.equal(events, "")).as_py()


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    text = source.text()
    scan = _choose_scan(text, list_candidate_forms(text, settings))
    rows = FileRows(source.name)
    _quarantine_damaged_records_and_gaps(scan, rows)
    _set_event_columns(scan, rows)
    return rows


def _choose_scan(text: str, candidates: Sequence[Form]) -> Scan:
    """The first form that nothing speaks against, else the one with the least against it."""
    scans: list[tuple[bool, Faults, int, Scan]] = []
    for form in candidates:
        scan = Scan(text, form)
        if scan.records and not form.is_usual:
            return scan
        faults = scan.count_faults()
        if scan.records and not any(faults):
            return scan
        scans.append((not scan.records, faults, len(scans), scan))
    best = min(scans)[-1]
    if not best.records:
        raise InputError("no record found; give --regex with the groups host, clock and event, or --format")
    return best


def _quarantine_damaged_records_and_gaps(scan: Scan, rows: FileRows) -> None:
    """Records whose clocks cannot be read, and text between records."""
    bad = np.flatnonzero(np.concatenate(scan.owns) == clocks.NO_ENTRY)
    places = [np.concatenate(blocks)[bad].tolist() for blocks in (scan.lines, scan.starts, scan.ends)]
    for line, start, end, reason in zip(*places, scan.reasons, strict=True):
        rows.add_to_quarantine(line, reason, scan.text[start:end])
    reason = f"belongs to no record: {EXPECTED if scan.form.is_usual else NO_MATCH}"
    gaps = scan.find_damaged_gaps()
    for gap, line in zip(gaps, _find_line_numbers(scan.text, [gap.begin for gap in gaps]), strict=True):
        rows.add_to_quarantine(line, reason, scan.text[gap.begin : gap.end])


def _explain_unreadable_clock(clock: str, host: str) -> str:
    try:
        clocks.require_own_entry(clocks.decode_clock(clock), host)
    except Refused as reason:
        return str(reason)
    return "clock cannot be read"


def _set_event_columns(scan: Scan, rows: FileRows) -> None:
    """The columns of all records that can be read."""
    owns = np.concatenate(scan.owns)
    good = np.flatnonzero(owns != clocks.NO_ENTRY)
    owns = owns[good]

    def take_readable(blocks: list[pa.Array]) -> pa.ChunkedArray:
        whole = pa.chunked_array(blocks)
        return whole if len(good) == len(whole) else whole.take(pa.array(good))

    hosts = take_readable(scan.columns.pop("host")).combine_chunks()
    pieces = np.repeat(np.arange(len(scan.pieces)), scan.counts)[good]
    labels = pa.array([piece.label for piece in scan.pieces], pa.string()).take(pa.array(pieces))
    groups = _encode_processes(labels, hosts)
    rows.execution, rows.process, rows.text = labels, hosts, take_readable(scan.columns.pop("event"))
    rows.index = pa.array(order.rank_events_by_clock(groups, owns))
    rows.event = _make_event_ids(hosts, owns, order.count_earlier_copies(groups, owns))
    rows.clock = take_readable(scan.clocks)
    others = {name: take_readable(blocks) for name, blocks in scan.columns.items()}
    runs = pa.array([piece.run for piece in scan.pieces], pa.string()).take(pa.array(pieces))
    _set_fields_and_time(others | {"run": runs}, rows)
    rows.origin = pa.repeat(pa.scalar(rows.file), len(good))
    rows.line = pa.array(np.concatenate(scan.lines)[good])


def _encode_processes(labels: pa.Array, hosts: pa.Array) -> order.Ints:
    """A number for every process of every execution."""
    execution, host = labels.dictionary_encode(), hosts.dictionary_encode()
    numbers = execution.indices.to_numpy().astype(np.int64) * max(len(host.dictionary), 1)
    return np.asarray(numbers + host.indices.to_numpy(), np.int64)


def _make_event_ids(hosts: pa.Array, own_entries: order.Ints, copies: order.Ints) -> pa.Array:
    """host:own, with ~2, ~3, ... behind those that come again."""
    ids = pc.binary_join_element_wise(hosts, pa.array(own_entries).cast(pa.string()), ":")
    if not copies.any():
        return ids
    again = pc.binary_join_element_wise(ids, pa.array(copies + 1).cast(pa.string()), "~")
    return pc.if_else(pa.array(copies > 0), again, ids)


def _set_fields_and_time(other_groups: dict[str, pa.Array], rows: FileRows) -> None:
    """All other named groups are fields; a group `timestamp` is the time in nanoseconds."""
    found: dict[str, list[str]] = {}
    for name, texts in other_groups.items():
        if pc.any(pc.not_equal(texts, "")).as_py():
            found[name] = texts.to_pylist()
    if found:
        for row in zip(*found.values(), strict=True):
            fields = {name: text for name, text in zip(found, row, strict=True) if text}
            rows.fields.append(fields or None)
    if "timestamp" in found:
        rows.time = [_nanoseconds_to_ms(stamp) for stamp in found["timestamp"]]


def _nanoseconds_to_ms(nanos: str) -> float | None:
    return int(nanos) / 1e6 if re.fullmatch(r"[0-9]{1,20}", nanos) else None


def _find_line_numbers(text: str, positions: Sequence[int]) -> list[int]:
    """The line of each position, counted in one walk."""
    lines, line, last = [], 1, 0
    for start in positions:
        line += text.count("\n", last, start)
        last = start
        lines.append(line)
    return lines
