"""Zipkin v2 spans: a JSON array of spans (or of traces, which are arrays of spans), or one span per line.

Times are microseconds. Both halves of a call may share one id (`shared`, or a client and a server of one id).
"""

from typing import Any

from antecede.formats import graphs, spans, values
from antecede.formats.jsons import read_objects
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

KINDS = {"CLIENT": "client", "SERVER": "server", "PRODUCER": "producer", "CONSUMER": "consumer"}
USED = {"traceId", "id", "parentId", "kind", "name", "timestamp", "duration", "localEndpoint.serviceName"}


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    found = []
    for record in read_objects(source.data, rows):
        try:
            found.append(_make_span(record.line, record.value))
        except Refused as reason:
            rows.refuse(record.line, str(reason), record.raw)
    spans.fill_rows(rows, found)
    return rows


def _make_span(line: int, value: dict[str, Any]) -> spans.Span:
    endpoint = value.get("localEndpoint")
    start = values.read_milliseconds(value.get("timestamp"))
    duration = values.read_milliseconds(value.get("duration"))
    return spans.Span(
        line=line,
        trace=graphs.require_name(value, "traceId"),
        id=graphs.require_name(value, "id"),
        service=graphs.find_text(endpoint, "serviceName") if isinstance(endpoint, dict) else None,
        kind=KINDS.get(str(value.get("kind")).upper()),
        parent=graphs.find_text(value, "parentId"),
        shared=value.get("shared") is True,
        name=graphs.find_text(value, "name"),
        start=None if start is None else start / 1e3,
        end=(start + duration) / 1e3 if start is not None and duration is not None else None,
        ended=duration is not None,
        fields=values.collect_others(value, USED),
    )
