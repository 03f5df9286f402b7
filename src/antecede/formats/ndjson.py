"""Records of sends and receives, with or without clocks, one JSON object each (EWD998 style).

Where records carry no message id, sends and receives are matched by what messages say and between whom, or,
where receives do not tell from whom, what they say is the id (see `matching`). Where a log is in several
files, all are matched once more together.
A first record without process, kind and clock is a header and no event.
"""

from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.formats.indexing import fill_missing_event_ids
from antecede.formats.jsons import has_record_per_line, split_records
from antecede.formats.mapped import Mapper, Names
from antecede.formats.mapped_events import MappedEvents, add_json_lines, add_json_records
from antecede.formats.matching import UNKNOWN, mark_events_to_be_matched, match_messages
from antecede.formats.rows import Parsed, Part, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

NAMES: Names = {
    "execution": ("execution", "trace", "run"),
    "process": ("node", "process", "host", "proc", "pid"),
    "index": ("index", "seq"),
    "event": ("event_id", "id"),
    "kind": ("event", "kind", "type", "op", "action"),
    "message": ("msg_id", "message_id", "pkt.id", "mid"),
    "sender": ("pkt.snd", "snd", "sender", "from", "src", "source"),
    "receivers": ("pkt.rcv", "rcv", "receivers", "receiver", "to", "dst", "dest"),
    "parents": ("parents",),
    "clock": ("pkt.vc", "vc", "clock", "vclock", "vector_clock", "vectorClock"),
    "time": ("time", "ts", "timestamp"),
    "text": ("text", "pkt.msg", "msg", "message", "payload"),
}

KINDS = {"d": "local"}
"""EWD998's word for a deactivation; `<` and `>` are usual."""

NEEDED = ("kind", "clock")
"""An event has one of these."""
MISSING = "a record of sends and receives has a process, and a kind or a clock; map other names"


def read(source: Source, settings: Settings) -> Parsed:
    """The events of one file."""
    mapped = _make_mapped_events(source.name, settings)
    check = _EventCheck(first_may_be_header=True)
    if has_record_per_line(source.data):
        add_json_lines(source.data, mapped, 1, check, NEEDED)
    else:
        add_json_records(split_records(source.data), mapped, check)
    events, owns, _ = mapped.build_indexed_events()
    events = fill_missing_event_ids(events, source.name)
    if _has_no_message_ids(events):
        own_entries = owns.fill_null(UNKNOWN).to_numpy()
        events = match_messages(events, own_entries, np.ones(len(events), np.bool_))
    return Parsed(events, mapped.make_quarantine_table(), "ndjson")


def read_part(data: bytes, name: str, settings: Settings, first_line: int) -> Part:
    """The events of some lines; what is to be matched is marked for `match_messages_across_files`."""
    mapped = _make_mapped_events(name, settings)
    add_json_lines(data, mapped, first_line, _EventCheck(first_may_be_header=first_line == 1), NEEDED)
    events, owns, basis = mapped.build_indexed_events()
    unmatched = _has_no_message_ids(events)
    if unmatched:
        events = mark_events_to_be_matched(events)
    # `match_messages_across_files` takes an own entry that is absent for 0, and `read` does not.
    is_uncounted = pc.and_(pc.is_null(owns), pc.is_valid(events["clock"]))
    alone = not (unmatched and pc.any(is_uncounted).as_py())
    return Part(events, mapped.make_quarantine_table(), basis, unmatched, alone)


def _make_mapped_events(name: str, settings: Settings) -> MappedEvents:
    return MappedEvents(NAMES, msgspec.structs.replace(settings, kinds=KINDS | settings.kinds), name)


def _has_no_message_ids(events: pa.Table) -> bool:
    return bool(events["message"].null_count == len(events))


class _EventCheck:
    """Whether a record is an event, and not a first one that is a header; refuses what is neither."""

    def __init__(self, first_may_be_header: bool) -> None:
        self.may_be_header = first_may_be_header

    def __call__(self, mapper: Mapper, record: dict[str, Any]) -> bool:
        may_be_header, self.may_be_header = self.may_be_header, False
        columns, _ = mapper.find_column_values_and_used_paths(record)
        if may_be_header and not columns.keys() & {"process", *NEEDED}:
            return False
        if "process" not in columns or not columns.keys() & {*NEEDED}:
            raise Refused(MISSING)
        return True
