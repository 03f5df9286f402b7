"""Zipkin v2 spans: a JSON array of spans (or of traces, which are arrays of spans), or one span per line.

Times are microseconds. Both halves of a call may share one id (`shared`, or a client and a server of one id).
"""

from typing import Any

from antecede.formats import graphs, spans, values
from antecede.formats.jsons import objects
from antecede.formats.rows import Refused, Rows
from antecede.formats.settings import Settings
from antecede.formats.source import Source

KINDS = {"CLIENT": "client", "SERVER": "server", "PRODUCER": "producer", "CONSUMER": "consumer"}
USED = {"traceId", "id", "parentId", "kind", "name", "timestamp", "duration", "localEndpoint.serviceName"}


def read(source: Source, settings: Settings) -> Rows:
    """The events of one file."""
    rows = Rows(source.name)
    found = []
    for record in objects(source.data, rows):
        try:
            found.append(_span(record.line, record.value))
        except Refused as reason:
            rows.refuse(record.line, str(reason), record.raw)
    spans.fill(rows, found)
    return rows


def _span(line: int, value: dict[str, Any]) -> spans.Span:
    endpoint = value.get("localEndpoint")
    start = values.milliseconds(value.get("timestamp"))
    duration = values.milliseconds(value.get("duration"))
    return spans.Span(
        line=line,
        trace=graphs.required(value, "traceId"),
        id=graphs.required(value, "id"),
        service=graphs.optional(endpoint, "serviceName") if isinstance(endpoint, dict) else None,
        kind=KINDS.get(str(value.get("kind")).upper()),
        parent=graphs.optional(value, "parentId"),
        shared=value.get("shared") is True,
        name=graphs.optional(value, "name"),
        start=None if start is None else start / 1e3,
        end=(start + duration) / 1e3 if start is not None and duration is not None else None,
        ended=duration is not None,
        fields=values.others(value, USED),
    )
