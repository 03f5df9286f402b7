"""Our own events table as CSV: a header line, then one event per record.

Lists are JSON or separated by ";"; clocks and fields are JSON objects; an empty cell is unknown. The
separator is the one of , ; tab | that the header line has most of.
"""

import csv
import io
from collections.abc import Iterator
from typing import Any

from antecede.formats.jsons import decode
from antecede.formats.mapped import OWN, Mapper
from antecede.formats.rows import Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.source import Source

SEPARATORS = ",;\t|"
Line = tuple[int, list[str] | str, str]


def separator(header: str) -> str:
    """The separator of a table with this header line."""
    return max(SEPARATORS, key=header.count)


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    rows, mapper = Rows(source.name), None
    header: list[str] = []
    for line, cells, raw in _records(source.text()):
        if mapper is None:
            mapper, header = Mapper(OWN, settings, rows), [str(cell).strip() for cell in cells]
            continue
        try:
            mapper.add(line, _record(header, cells, mapper))
        except Refused as reason:
            rows.refuse(line, str(reason), raw)
    if mapper:
        mapper.settle()
    return rows


def _records(text: str) -> Iterator[Line]:
    """Line, cells (or what is wrong with them), and raw text of each record; blank lines are none."""
    stream = io.StringIO(text, newline="")
    kept: list[str] = []
    reader = csv.reader(_noted(stream, kept), delimiter=separator(text.lstrip().split("\n", 1)[0]))
    line = 1
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
