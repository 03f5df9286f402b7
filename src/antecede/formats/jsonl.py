"""Our own events table as JSON lines (or a JSON array), with its own column names or mapped ones."""

from antecede.formats.jsons import objects
from antecede.formats.mapped import OWN, Mapper
from antecede.formats.rows import Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.source import Source


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    rows = Rows(source.name)
    mapper = Mapper(OWN, settings, rows)
    for record in objects(source.data, rows):
        try:
            mapper.add(record.line, record.value)
        except Refused as reason:
            rows.refuse(record.line, str(reason), record.raw)
    mapper.settle()
    return rows
