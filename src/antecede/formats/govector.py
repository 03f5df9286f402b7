"""GoVector's newer logs: a JSON object for each event, with the process, its vector clock and a message.

Sends and receives are not told apart: clocks tell what came before what. All other keys stay in the fields.
"""

from antecede.formats.jsons import has_record_per_line, split_records
from antecede.formats.mapped import OWN, Names
from antecede.formats.mapped_events import MappedEvents, add_json_lines, add_json_records
from antecede.formats.rows import Parsed
from antecede.formats.settings import Settings
from antecede.formats.source import Source

NAMES: Names = dict.fromkeys(OWN, ()) | {
    "process": ("processId",),
    "clock": ("VCString",),
    "time": ("time", "timestamp"),
    "text": ("message",),
}
"""Any other key is the user's own, whatever it is called."""


def read(source: Source, settings: Settings) -> Parsed:
    """The events of one file."""
    events = MappedEvents(NAMES, settings, source.name)
    if has_record_per_line(source.data):
        add_json_lines(source.data, events)
    else:
        add_json_records(split_records(source.data), events)
    return events.finish_file("govector")
