"""Our own events table as JSON lines (or a JSON array), with its own column names or mapped ones."""

from antecede.formats.jsons import has_record_per_line, split_records
from antecede.formats.mapped import OWN
from antecede.formats.mapped_events import MappedEvents, add_json_lines, add_json_records
from antecede.formats.rows import Parsed, Part
from antecede.formats.settings import Settings
from antecede.formats.source import Source


def read(source: Source, settings: Settings) -> Parsed:
    """The events of one file."""
    events = MappedEvents(OWN, settings, source.name)
    if has_record_per_line(source.data):
        add_json_lines(source.data, events)
    else:
        add_json_records(split_records(source.data), events)
    return events.finish_file("jsonl")


def read_part(data: bytes, name: str, settings: Settings, first_line: int) -> Part:
    """The events of some lines of a file."""
    events = MappedEvents(OWN, settings, name)
    add_json_lines(data, events, first_line)
    return events.finish_part()
