"""Our own events table as JSON lines (or a JSON array), with its own column names or mapped ones."""

from collections.abc import Iterable

from antecede.formats.jsons import Raw, checked, raw_lines, raws
from antecede.formats.mapped import OWN, Mapper
from antecede.formats.rows import Part, Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.source import Source


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    mapper = _map_records(raws(source.data), source.name, settings)
    mapper.settle()
    return mapper.rows


def read_part(data: bytes, name: str, settings: Settings, first_line: int) -> Part:
    """The events of some lines of a file."""
    mapper = _map_records(raw_lines(data, first_line), name, settings)
    basis = mapper.settle_index()
    return mapper.rows.part(basis)


def _map_records(records: Iterable[Raw], name: str, settings: Settings) -> Mapper:
    rows = Rows(name)
    mapper = Mapper(OWN, settings, rows)
    for record in checked(records, rows):
        try:
            mapper.add(record.line, record.value)
        except Refused as reason:
            rows.refuse(record.line, str(reason), record.raw)
    return mapper
