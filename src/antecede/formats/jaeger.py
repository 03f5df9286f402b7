"""Jaeger's JSON: traces under `data`, each with spans and processes; or one trace or one span per line.

Times are microseconds. References CHILD_OF and FOLLOWS_FROM both say that the other span's start came first;
the first CHILD_OF of the same trace is the parent, the others are links.
"""

from collections.abc import Iterator
from typing import Any

from antecede.formats import graphs, spans, values
from antecede.formats.jsons import Record, iterate_objects_in_list, read_objects
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

KINDS = ("client", "server", "producer", "consumer", "internal")
USED = {"traceID", "spanID", "parentSpanID", "operationName", "references", "startTime", "duration", "tags"}
USED |= {"processID", "process", "startTimeMillis"}


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    found = []
    for record, processes in _iterate_spans_with_processes(source.data, rows):
        try:
            found.append(_make_span(record.line, record.value, processes))
        except Refused as reason:
            rows.add_to_quarantine(record.line, str(reason), record.raw)
    spans.set_event_columns(rows, found)
    return rows


def _iterate_spans_with_processes(
    data: bytes, quarantine: FileRows
) -> Iterator[tuple[Record, dict[str, Any]]]:
    """Every span with the processes of its trace."""
    for record in read_objects(data, quarantine):
        traces = [record]
        if isinstance(record.value.get("data"), list):
            traces = list(iterate_objects_in_list(record, "data", quarantine))
        for trace in traces:
            if isinstance(trace.value.get("spans"), list):
                processes = trace.value.get("processes")
                known = processes if isinstance(processes, dict) else {}
                for span in iterate_objects_in_list(trace, "spans", quarantine):
                    yield span, known
            else:
                yield trace, {}


def _make_span(line: int, value: dict[str, Any], processes: dict[str, Any]) -> spans.Span:
    tags = _read_tags(value.get("tags"))
    start = values.read_time_ms(value.get("startTime"))
    duration = values.read_time_ms(value.get("duration"))
    trace = graphs.require_name(value, "traceID")
    parent, links = _read_parent_and_links(value, trace)
    kind = tags.get("span.kind")
    return spans.Span(
        line=line,
        trace=trace,
        id=graphs.require_name(value, "spanID"),
        service=_find_service_name(value, processes),
        kind=kind if kind in KINDS else None,
        parent=parent,
        name=graphs.find_text(value, "operationName"),
        start=None if start is None else start / 1e3,
        end=None if start is None or duration is None else (start + duration) / 1e3,
        ended=duration is not None,
        links=links,
        fields=tags | values.collect_other_fields(value, USED),
    )


def _find_service_name(value: dict[str, Any], processes: dict[str, Any]) -> str | None:
    key = graphs.find_text(value, "processID") or ""
    process = value.get("process") or processes.get(key)
    named = graphs.find_text(process, "serviceName") if isinstance(process, dict) else None
    return named or key or None


def _read_tags(tags: Any) -> dict[str, str]:
    found = tags if isinstance(tags, list) else []
    pairs = [(tag["key"], tag.get("value")) for tag in found if isinstance(tag, dict) and "key" in tag]
    return {values.as_text(key): values.as_text(value) for key, value in pairs if value is not None}


def _read_parent_and_links(value: dict[str, Any], trace: str) -> tuple[str | None, list[tuple[str, str]]]:
    parent = graphs.find_text(value, "parentSpanID")
    parent = parent if parent and parent.strip("0") else None
    links = []
    references = value.get("references")
    for reference in references if isinstance(references, list) else []:
        if not isinstance(reference, dict):
            raise Refused("a reference is no object")
        target = graphs.require_name(reference, "spanID")
        other = graphs.find_text(reference, "traceID") or trace
        if parent is None and other == trace and reference.get("refType") == "CHILD_OF":
            parent = target
        elif (other, target) != (trace, parent):
            links.append((other, target))
    return parent, links
