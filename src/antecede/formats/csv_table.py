"""Our own events table as CSV: a header line, then one event per record.

Lists are JSON or separated by ";"; clocks and fields are JSON objects; an empty cell is unknown. The
separator is the one of , ; tab | that the header line has most of.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from antecede.formats.jsons import decode
from antecede.formats.mapped import OWN, Mapper
from antecede.formats.mapped_events import MappedEvents
from antecede.formats.rows import Parsed, Part, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

SEPARATORS = ",;\t|"
Line = tuple[int, list[str] | str, str]


def separator(header: str) -> str:
    """The separator of a table with this header line."""
    return max(SEPARATORS, key=header.count)


def read(source: Source, settings: Settings) -> Parsed:
    """The events of one file."""
    text = source.text()
    events = MappedEvents(OWN, settings, source.name)
    records = _records(text, separator(text.lstrip().split("\n", 1)[0]))
    first = next(records, None)
    if first is not None:
        _map_records(records, _column_names(first), events)
    return events.finish_file("csv")


def read_part(data: bytes, name: str, settings: Settings, first_line: int, header: str) -> Part:
    """The events of some lines of a file behind its header.

    A cell in quotes may go on over a line's end. If every record of this part is one line, the last one
    ended, too: then the next part begins with a record.
    """
    events = MappedEvents(OWN, settings, name)
    text = Source(data, name).text()
    sign = separator(header.lstrip())
    names = _column_names(next(_records(header, sign)))
    records = _map_records(_records(text, sign, first_line), names, events)
    is_by_line = records == sum(bool(line.strip()) for line in text.split("\n"))
    return events.finish_part(is_by_line and not _is_open(text, sign))


def find_header(head: bytes) -> str | None:
    """The header line, with what is blank before it; None if it is not all of the first record."""
    text = Source(head, "").text()
    blank = len(text) - len(text.lstrip())
    line, end, _ = text[blank:].partition("\n")
    header = text[:blank] + line + end
    is_plain = end and "\r" not in header and not text[:blank].strip(" \t\n")
    return header if is_plain and not _is_open(header, separator(line)) else None


def _is_open(text: str, sign: str) -> bool:
    """Whether the last line has a cell in quotes that is not closed, or ends its record by other means."""
    last = text.rstrip().rpartition("\n")[2]
    try:
        list(csv.reader([last + "\n"], delimiter=sign, strict=True))
    except csv.Error:
        return True
    return "\r" in text


def _column_names(first: Line) -> list[str]:
    return [str(cell).strip() for cell in first[1]]


def _map_records(records: Iterable[Line], names: list[str], events: MappedEvents) -> int:
    """Records as rows, and how many there are."""
    count = 0
    for line, cells, raw in records:
        count += 1
        try:
            events.mapper.add(line, _record(names, cells, events.mapper))
        except Refused as reason:
            events.refuse(line, str(reason), raw)
    return count


def _records(text: str, sign: str, line: int = 1) -> Iterator[Line]:
    """Line, cells (or what is wrong with them), and raw text of each record; blank lines are none."""
    stream = io.StringIO(text, newline="")
    kept: list[str] = []
    reader = csv.reader(_noted(stream, kept), delimiter=sign)
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


def _noted(stream: io.StringIO, kept: list[str]) -> Iterator[str]:
    for line in stream:
        kept.append(line)
        yield line


def _record(header: list[str], cells: list[str] | str, mapper: Mapper) -> dict[str, Any]:
    if isinstance(cells, str):
        raise Refused(cells)
    if len(cells) != len(header):
        raise Refused(f"{len(cells)} cells, but the header has {len(header)}")
    record: dict[str, Any] = {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
    found, _ = mapper.pick(record)
    for own in ("clock", "fields", "receivers", "parents"):
        if own in found:
            name = next(".".join(path) for path in mapper.paths[own] if ".".join(path) in record)
            record[name] = _opened(own, found[own])
    return record


def _opened(own: str, cell: str) -> Any:
    if cell.lstrip()[:1] in ("{", "["):
        return decode(cell.encode())
    if own in ("receivers", "parents"):
        return [part.strip() for part in cell.split(";") if part.strip()]
    raise Refused(f"{own} is no JSON object: {cell[:80]}")
