"""CloudEvents as JSON (one per line, or a batch), ordered by the extensions causationid and sequence.

A correlationid is an execution, a source a process. Ids are unique only with their source: an event is
called by its id alone, unless two sources of one correlation use it; then both are called source#id. A
causationid is looked up inside its correlation. If several events have that id, all of them but the event
itself become parents, since an effect then never comes out before its cause, and the field `ambiguous`
names them (`causationid` and `id` have what stood there). Where a log is in several files, causes are looked
up once more in all of them (`resolve_causes_across_files`). The index is the rank by `sequence` (as integers
if sequencetype says so, else as strings) where all events of a source have one.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antecede.formats import graphs, order, values
from antecede.formats.jsons import read_objects
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

USED = ("id", "source", "causationid", "correlationid", "time", "type", "specversion")


class _CloudEvent(NamedTuple):
    line: int
    value: dict[str, Any]
    id: str
    source: str
    execution: str
    cause: str | None


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    events = []
    for record in read_objects(source.data, rows):
        try:
            events.append(_make_event(record.line, record.value))
        except Refused as reason:
            rows.add_to_quarantine(record.line, str(reason), record.raw)
    for event in events:
        _add_event(rows, event)
    _set_event_ids_and_parents(rows, [event.id for event in events], [event.cause for event in events])
    rows.index = _rank_by_sequence(events)
    return rows


def resolve_causes_across_files(events: pa.Table) -> pa.Table:
    """Look up causes in all files of a log; readers had one file each."""
    rows = FileRows.from_table(events)
    ids: list[str] = []
    causes: list[str | None] = []
    for row, parents in enumerate(rows.parents):
        fields = rows.fields[row] or {}
        fields.pop("ambiguous", None)
        ids.append(fields.pop("id", rows.event[row] or ""))
        causes.append(fields.pop("causationid", parents[0] if parents else None))
        rows.fields[row] = fields or None
    _set_event_ids_and_parents(rows, ids, causes)
    return rows.make_events_table()


def _set_event_ids_and_parents(rows: FileRows, ids: list[str], causes: list[str | None]) -> None:
    """Names and parents of events. What cannot be told from these stays in the fields id and causationid."""
    holders: dict[tuple[str | None, str], set[str]] = {}
    for execution, name, source in zip(rows.execution, ids, rows.process, strict=True):
        holders.setdefault((execution, name), set()).add(source or "")
    for row, (name, cause) in enumerate(zip(ids, causes, strict=True)):
        execution = rows.execution[row]
        mine = _qualify_event_id_if_ambiguous(rows.process[row] or "", name, holders[execution, name])
        found = holders.get((execution, cause or ""), set())
        known = [_qualify_event_id_if_ambiguous(source, cause or "", found) for source in sorted(found)]
        parents = [parent for parent in known if parent != mine] or known or [cause or ""]
        rows.event[row], rows.parents[row] = mine, [] if cause is None else parents
        more = {} if mine == name else {"id": name}
        if cause is not None and parents != [cause]:
            more["causationid"] = cause
        if len(parents) > 1:
            more["ambiguous"] = f"causationid {cause} names {', '.join(parents)}"
        rows.fields[row] = {**(rows.fields[row] or {}), **more} or None


def _qualify_event_id_if_ambiguous(source: str, id: str, sources_with_id: set[str]) -> str:
    return id if len(sources_with_id) == 1 else f"{source}#{id}"


def _make_event(line: int, value: dict[str, Any]) -> _CloudEvent:
    return _CloudEvent(
        line,
        value,
        graphs.require_name(value, "id"),
        graphs.require_name(value, "source"),
        graphs.find_text(value, "correlationid") or "",
        graphs.find_text(value, "causationid"),
    )


def _add_event(rows: FileRows, event: _CloudEvent) -> None:
    rows.add_event(
        event.line,
        execution=event.execution,
        process=event.source,
        time=values.read_time_ms(event.value.get("time")),
        text=graphs.find_text(event.value, "type"),
        fields=graphs.find_other_fields(event.value, *USED),
    )


def _rank_by_sequence(events: list[_CloudEvent]) -> list[int | None]:
    """The rank by sequence within execution and source, for sources that number all their events."""
    groups = [(event.execution, event.source) for event in events]
    keys = [_read_sequence(event.value) for event in events]
    unnumbered = {group for group, key in zip(groups, keys, strict=True) if key is None}
    kinds: dict[tuple[str, str], set[type]] = {}
    for group, key in zip(groups, keys, strict=True):
        kinds.setdefault(group, set()).add(type(key))
    good = [row for row, group in enumerate(groups) if group not in unnumbered and len(kinds[group]) == 1]
    ranks: dict[Any, int] = {
        key: rank for rank, key in enumerate(sorted({keys[row] for row in good}, key=_make_sequence_sort_key))
    }
    numbers = np.array([ranks[keys[row]] for row in good], np.int64)
    found = order.rank_rows_in_groups(order.encode_values(groups[row] for row in good), numbers)
    result: list[int | None] = [None] * len(events)
    for row, position in zip(good, found.tolist(), strict=True):
        result[row] = position
    return result


def _make_sequence_sort_key(sequence: int | str | None) -> tuple[bool, int, str]:
    return (True, 0, sequence) if isinstance(sequence, str) else (False, sequence or 0, "")


def _read_sequence(value: dict[str, Any]) -> int | str | None:
    sequence = value.get("sequence")
    if value.get("sequencetype") == "Integer" or isinstance(sequence, int):
        try:
            return int(sequence)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
    return sequence if isinstance(sequence, str) and sequence else None
