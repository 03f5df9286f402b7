"""Matrix events (PDUs): prev_events are the parents, a room is an execution, a homeserver a process.

Events stand one per line, in an array, or under pdus, chunk or events of an answer. prev_events are ids or,
in old rooms, pairs of id and hashes. The events of one server form a graph, not a line: they have no index.
auth_events are kept as a field: what they name lies in the past of prev_events already.
"""

from collections.abc import Iterator
from typing import Any

from antecede.formats import graphs, values
from antecede.formats.jsons import Record, iterate_objects_in_list, read_objects
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

CONTAINERS = ("pdus", "chunk", "events", "auth_chain")
USED = ("event_id", "room_id", "prev_events", "origin", "origin_server_ts", "type")


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    for record in read_objects(source.data, rows):
        for event in _iterate_events(record, rows):
            try:
                _add_event(rows, event.line, event.value)
            except Refused as reason:
                rows.add_to_quarantine(event.line, str(reason), event.raw)
    return rows


def _iterate_events(record: Record, quarantine: FileRows) -> Iterator[Record]:
    lists = [key for key in CONTAINERS if isinstance(record.value.get(key), list)]
    if not lists or "event_id" in record.value:
        yield record
        return
    for key in lists:
        yield from iterate_objects_in_list(record, key, quarantine)


def _add_event(rows: FileRows, line: int, event: dict[str, Any]) -> None:
    rows.add_event(
        line,
        execution=graphs.find_text(event, "room_id") or "",
        process=_find_server_name(event),
        event=graphs.require_name(event, "event_id"),
        parents=_read_parents(event),
        time=values.read_time_ms(event.get("origin_server_ts")),
        text=graphs.find_text(event, "type"),
        fields=graphs.find_other_fields(event, *USED),
    )


def _find_server_name(event: dict[str, Any]) -> str | None:
    """The origin, or the part of the sender's name behind the first colon."""
    sender = graphs.find_text(event, "sender") or ""
    return graphs.find_text(event, "origin") or sender.partition(":")[2] or None


def _read_parents(event: dict[str, Any]) -> list[str]:
    found = event.get("prev_events")
    if not isinstance(found, list):
        raise Refused("prev_events is no list")
    ids = [one[0] if isinstance(one, list) and one else one for one in found]
    return values.read_names(ids, "prev_events")
