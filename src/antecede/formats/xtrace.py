"""X-Trace reports as JSON: EventID and ParentEventID (0000000000000000 is no parent), one task per execution.

Reports stand one per line, in an array, or under `reports` of a task. The parents are the whole order that
reports tell: a process (a thread, if there is a ThreadID) has no index.
"""

from typing import Any

from antecede.formats import graphs, values
from antecede.formats.jsons import objects, open_list
from antecede.formats.rows import Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.source import Source

USED = ("EventID", "ParentEventID", "TaskID", "TraceID", "Timestamp", "Label", "line")


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    rows = Rows(source.name)
    for record in objects(source.data, rows):
        task, reports = None, [record]
        if isinstance(record.value.get("reports"), list):
            task = graphs.optional(record.value, "id", "TaskID")
            reports = list(open_list(record, "reports", rows))
        for report in reports:
            try:
                _add(rows, report.line, report.value, task)
            except Refused as reason:
                rows.refuse(report.line, str(reason), report.raw)
    return rows


def _add(rows: Rows, line: int, report: dict[str, Any], task: str | None) -> None:
    event = graphs.required(report, "EventID")
    parents = report.get("ParentEventID")
    found = [] if parents is None else values.names(parents, "ParentEventID")
    stamp = graphs.optional(report, "Timestamp")
    rows.add(
        line,
        execution=graphs.optional(report, "TaskID", "TraceID") or task or "",
        process=_process(report),
        event=event,
        parents=[parent for parent in found if parent.strip("0")],
        time=None if stamp is None else values.milliseconds(stamp),
        text=graphs.optional(report, "Label", "Operation"),
        fields=graphs.rest(report, *USED),
    )


def _process(report: dict[str, Any]) -> str | None:
    parts = [
        graphs.optional(report, *keys)
        for keys in (("Host",), ("ProcessName", "Agent"), ("ProcessID",), ("ThreadID",))
    ]
    return "/".join(part for part in parts if part) or None
