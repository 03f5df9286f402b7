"""Our own events table as JSON lines (or a JSON array), with its own column names or mapped ones."""

from antecede.formats.jsons import has_lines, split_records
from antecede.formats.mapped import OWN
from antecede.formats.mapped_events import MappedEvents, map_lines, map_records
from antecede.formats.rows import Parsed, Part
from antecede.formats.settings import Settings
from antecede.formats.source import Source


def read(source: Source, settings: Settings) -> Parsed:
    """The events of one file."""
    events = MappedEvents(OWN, settings, source.name)
    if has_lines(source.data):
        map_lines(source.data, events)
    else:
        map_records(split_records(source.data), events)
    return events.finish_file("jsonl")


def read_part(data: bytes, name: str, settings: Settings, first_line: int) -> Part:
    """The events of some lines of a file."""
    events = MappedEvents(OWN, settings, name)
    map_lines(data, events, first_line)
    return events.finish_part()
