"""From a record with names of its own to a row: which field holds what, by setting or by usual name."""

from collections.abc import Mapping, Sequence
from typing import Any

from antecede.core.errors import CallerError
from antecede.formats import clocks, values
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings

Names = Mapping[str, Sequence[str]]

OWN: Names = {
    "execution": ("execution",),
    "process": ("process", "host", "node"),
    "index": ("index", "seq"),
    "event": ("event", "event_id", "id"),
    "kind": ("kind",),
    "message": ("message", "msg_id", "message_id"),
    "sender": ("sender",),
    "receivers": ("receivers", "receiver"),
    "parents": ("parents",),
    "clock": ("clock",),
    "time": ("time", "ts", "timestamp"),
    "text": ("text",),
    "fields": ("fields",),
    "file": ("file",),
    "line": ("line",),
}
"""Our own table: the names of its columns, and other names for them."""


class Mapper:
    """Reads records into rows, one by one."""

    def __init__(self, names: Names, settings: Settings, rows: FileRows) -> None:
        unknown = sorted(set(settings.fields) - set(names))
        if unknown:
            raise CallerError(f"no field {', '.join(unknown)}; fields are {', '.join(names)}")
        chosen = {own: [path] for own, path in settings.fields.items()}
        self.paths = {
            own: [tuple(p.split(".")) for p in chosen.get(own, usual)] for own, usual in names.items()
        }
        self.settings, self.rows = settings, rows
        self.owns: list[int | None] = []

    def find_column_values_and_used_paths(self, record: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
        """The values of our fields that the record has, and the paths where they stand."""
        found: dict[str, Any] = {}
        used: set[str] = set()
        for own, paths in self.paths.items():
            for path in paths:
                value = record.get(".".join(path)) if len(path) > 1 else record.get(path[0])
                if value is None and len(path) > 1:
                    value = _get_nested_value(record, path)
                if value is not None:
                    found[own] = value
                    used.add(".".join(path))
                    break
        return found, used

    def add_record(self, line: int, record: dict[str, Any]) -> None:
        """One record; raises Refused with the reason if it cannot be a row."""
        found, used = self.find_column_values_and_used_paths(record)
        row = self.make_event_row(found)
        fields = values.collect_other_fields(record, used)
        fields |= _read_fields_of_record(found.get("fields"))
        for name in ("kind", "time"):
            if name in found and row.get(name) is None:
                fields[name] = values.as_text(found[name])
        self.owns.append((row.get("clock") or {}).get(row["process"]))
        if row.get("clock"):
            row["clock"] = clocks.drop_zero_entries(row["clock"])
        self.rows.add_event(row.pop("line", line), **row, fields=fields or None)

    def make_event_row(self, column_values: dict[str, Any]) -> dict[str, Any]:
        """The columns that the record fills."""
        if "process" not in column_values:
            raise Refused(
                f"no process; it may stand in {_join_paths(self.paths['process'])}; for another field give "
                "--field process=NAME"
            )
        row: dict[str, Any] = {}
        for own in ("execution", "process", "event", "message", "sender", "file"):
            if own in column_values and (column_values[own] != "" or own == "process"):
                row[own] = values.read_name(column_values[own], own)
        for own in ("receivers", "parents"):
            if own in column_values:
                row[own] = values.read_names(column_values[own], own)
        for own in ("index", "line"):
            if own in column_values:
                row[own] = values.read_count(column_values[own], own)
        if "clock" in column_values:
            row["clock"] = clocks.parse_clock_value(column_values["clock"])
        if "kind" in column_values:
            row["kind"] = values.read_kind(column_values["kind"], self.settings.kinds)
        if "time" in column_values:
            row["time"] = values.read_time_ms(column_values["time"])
        if "text" in column_values:
            row["text"] = values.as_text(column_values["text"])
        return row


def _read_fields_of_record(given: Any) -> dict[str, str]:
    """Fields that the record gives as such: an object, or a list of pairs."""
    if isinstance(given, list):
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in given):
            raise Refused(f"fields are no object: {values.as_text(given)[:80]}")
        given = {values.as_text(key): value for key, value in given}
    if not isinstance(given, dict):
        return {}
    return {key: values.as_text(value) for key, value in given.items() if value is not None}


def _get_nested_value(record: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record


def _join_paths(paths: list[tuple[str, ...]]) -> str:
    return " or ".join(".".join(path) for path in paths)
