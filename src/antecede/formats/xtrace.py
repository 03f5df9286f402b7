"""X-Trace reports as JSON: EventID and ParentEventID (0000000000000000 is no parent), one task per execution.

Reports stand one per line, in an array, or under `reports` of a task. The parents are the whole order that
reports tell: a process (a thread, if there is a ThreadID) has no index.
"""

from typing import Any

from antecede.formats import graphs, values
from antecede.formats.jsons import iterate_objects_in_list, read_objects
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

USED = ("EventID", "ParentEventID", "TaskID", "TraceID", "Timestamp", "Label", "line")


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    for record in read_objects(source.data, rows):
        task, reports = None, [record]
        if isinstance(record.value.get("reports"), list):
            task = graphs.find_text(record.value, "id", "TaskID")
            reports = list(iterate_objects_in_list(record, "reports", rows))
        for report in reports:
            try:
                _add_report(rows, report.line, report.value, task)
            except Refused as reason:
                rows.add_to_quarantine(report.line, str(reason), report.raw)
    return rows


def _add_report(rows: FileRows, line: int, report: dict[str, Any], task: str | None) -> None:
    event = graphs.require_name(report, "EventID")
    parents = report.get("ParentEventID")
    found = [] if parents is None else values.read_names(parents, "ParentEventID")
    stamp = graphs.find_text(report, "Timestamp")
    rows.add_event(
        line,
        execution=graphs.find_text(report, "TaskID", "TraceID") or task or "",
        process=_make_process_name(report),
        event=event,
        parents=[parent for parent in found if parent.strip("0")],
        time=None if stamp is None else values.read_time_ms(stamp),
        text=graphs.find_text(report, "Label", "Operation"),
        fields=graphs.find_other_fields(report, *USED),
    )


def _make_process_name(report: dict[str, Any]) -> str | None:
    parts = [
        graphs.find_text(report, *keys)
        for keys in (("Host",), ("ProcessName", "Agent"), ("ProcessID",), ("ThreadID",))
    ]
    return "/".join(part for part in parts if part) or None
