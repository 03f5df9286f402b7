"""Our own events table as CSV: a header line, then one event per record.

Lists are JSON, or separated by ";", or by "," in a cell without ";"; clocks and fields are JSON objects; an
empty cell is unknown. The separator of cells is the one of , ; tab | that the header line has most of.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from antecede.core.errors import InputError
from antecede.formats.columns import Odd
from antecede.formats.csv_blocks import CsvBlockReader, ends_inside_record, split_list_cell
from antecede.formats.jsons import decode_value
from antecede.formats.mapped import OWN, Mapper
from antecede.formats.mapped_events import LineBlock, MappedEvents, split_block, split_into_blocks
from antecede.formats.rows import Parsed, Part, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

SEPARATORS = ",;\t|"
BLOCK_BYTES = 4_000_000
HEADER_BYTES = 1_000_000
"""In how much of a file its header ends."""
Line = tuple[int, list[str] | str, str]


def find_separator(header: str) -> str:
    """The separator of a table with this header line."""
    return max(SEPARATORS, key=header.count)


def read(source: Source, settings: Settings) -> Parsed:
    """The events of one file."""
    events = MappedEvents(OWN, settings, source.name)
    header = find_header(source.data)
    if header is None:
        text = source.text()
        records = _read_records(text, find_separator(text.lstrip().split("\n", 1)[0]))
        first = next(records, None)
        if first is not None:
            _add_csv_records(records, _require_unique_column_names(first, source.name), events)
        return events.finish_file("csv")
    body = _skip_lines(source.data, header.count("\n"))
    _add_csv_and_tell_if_record_per_line(body, header, header.count("\n") + 1, events)
    return events.finish_file("csv")


def read_part(data: bytes, name: str, settings: Settings, first_line: int, header: str) -> Part:
    """The events of some lines of a file behind its header.

    A cell in quotes may go on over a line's end. If every record of this part is one line, the last one
    ended, too: then the next part begins with a record.
    """
    events = MappedEvents(OWN, settings, name)
    is_by_line = _add_csv_and_tell_if_record_per_line(data, header, first_line, events)
    return events.finish_part(is_by_line)


def _skip_lines(data: bytes, count: int) -> bytes:
    begin = 0
    for _ in range(count):
        begin = data.index(b"\n", begin) + 1
    return data[begin:]


def _add_csv_and_tell_if_record_per_line(
    data: bytes, header: str, first_line: int, events: MappedEvents
) -> bool:
    """Read lines behind a header in blocks. Whether every line is surely one record."""
    sign = find_separator(header.lstrip())
    names = _require_unique_column_names(next(_read_records(header, sign)), events.file)
    reader = CsvBlockReader(names, sign, events.mapper, events.file)
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    begin = 0
    has_other_ends = b"\r" in data
    for block in split_into_blocks(data, first_line, BLOCK_BYTES, BLOCK_BYTES):
        if has_other_ends or not _try_add_csv_block(block, reader, sign, events):
            # A record may go on behind this block: all that follows is read as one text.
            rest = Source(data[begin:], "").text()
            _add_csv_records(_read_records(rest, sign, block.first_line), names, events)
            return False
        begin += len(block.data)
    return True


def _try_add_csv_block(
    block: LineBlock, reader: CsvBlockReader, separator: str, events: MappedEvents
) -> bool:
    """Read a block, if each of its lines is surely a record. Whether that is so; if not, nothing is read."""
    try:
        events.add_block(*reader.decode_events_and_own_entries(*block))
        return True
    except Odd:
        text = Source(block.data, "").text()
    records = sum(1 for _ in _read_records(text, separator))
    lines = sum(bool(line.strip()) for line in text.split("\n"))
    if records != lines or ends_inside_record(text, separator):
        return False
    _add_irregular_block(block, reader, separator, events)
    return True


def _add_irregular_block(
    block: LineBlock, reader: CsvBlockReader, separator: str, events: MappedEvents
) -> None:
    """Read a block whose lines are records, in smaller blocks as far as these are plain."""
    parts = split_block(block)
    if len(parts) == 1:
        text = Source(block.data, "").text()
        _add_csv_records(_read_records(text, separator, block.first_line), reader.names, events)
        return
    for part in parts:
        try:
            events.add_block(*reader.decode_events_and_own_entries(*part))
        except Odd:
            _add_irregular_block(part, reader, separator, events)


def find_header(head: bytes) -> str | None:
    """The header line, with what is blank before it; None if it is not all of the first record."""
    text = Source(head[:HEADER_BYTES], "").text()
    blank = len(text) - len(text.lstrip())
    line, end, _ = text[blank:].partition("\n")
    header = text[:blank] + line + end
    is_plain = end and "\r" not in header and not text[:blank].strip(" \t\n")
    return header if is_plain and not ends_inside_record(header, find_separator(line)) else None


def _require_unique_column_names(header: Line, file: str) -> list[str]:
    names = [str(cell).strip() for cell in header[1]]
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise InputError(f"{file}: two columns are called {twice[0]!r}; rename one of them")
    return names


def _add_csv_records(records: Iterable[Line], column_names: list[str], events: MappedEvents) -> None:
    """Read records one by one."""
    for line, cells, raw in records:
        try:
            events.mapper.add_record(line, _make_record(column_names, cells, events.mapper))
        except Refused as reason:
            events.add_to_quarantine(line, str(reason), raw)


def _read_records(text: str, separator: str, first_line: int = 1) -> Iterator[Line]:
    """Line, cells (or what is wrong with them), and raw text of each record; blank lines are none."""
    line = first_line
    stream = io.StringIO(text, newline="")
    kept: list[str] = []
    reader = csv.reader(_copy_lines_while_reading(stream, kept), delimiter=separator)
    while True:
        try:
            cells: list[str] | str = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = f"not CSV: {error}"
        raw = "".join(kept).rstrip("\n")
        if raw.strip():
            yield line, cells, raw
        line += len(kept)
        kept.clear()


def _copy_lines_while_reading(stream: io.StringIO, copies: list[str]) -> Iterator[str]:
    for line in stream:
        copies.append(line)
        yield line


def _make_record(column_names: list[str], cells_or_fault: list[str] | str, mapper: Mapper) -> dict[str, Any]:
    if isinstance(cells_or_fault, str):
        raise Refused(cells_or_fault)
    cells = cells_or_fault
    if len(cells) != len(column_names):
        raise Refused(f"{len(cells)} cells, but the header has {len(column_names)}")
    named = zip(column_names, cells, strict=True)
    record: dict[str, Any] = {name: cell for name, cell in named if cell != ""}
    found, _ = mapper.find_column_values_and_used_paths(record)
    for own in ("clock", "fields", "receivers", "parents"):
        if own in found:
            name = next(".".join(path) for path in mapper.paths[own] if ".".join(path) in record)
            record[name] = _parse_list_or_object_cell(own, found[own])
    return record


def _parse_list_or_object_cell(event_column: str, cell: str) -> Any:
    if cell.lstrip()[:1] in ("{", "["):
        return decode_value(cell.encode())
    if event_column in ("receivers", "parents"):
        return split_list_cell(cell)
    raise Refused(f"{event_column} is no JSON object: {cell[:80]}")
