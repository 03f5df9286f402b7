"""One small sample of every format, and helpers that the tests of readers share."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.formats import Parsed, Settings, read

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the real logs are not here ({DATA.name} is absent)"
)


def rows(data: bytes | str, format: str | None = None, **settings: Any) -> list[dict[str, Any]]:
    """Events as dictionaries, with maps as dictionaries; demands that nothing is quarantined."""
    parsed = parse(data, format, **settings)
    assert parsed.quarantine.to_pylist() == []
    return events_as_rows(parsed)


def parse(data: bytes | str, format: str | None = None, **settings: Any) -> Parsed:
    """What `read` says of a file called log."""
    return read(data.encode() if isinstance(data, str) else data, "log", format, Settings(**settings))


def events_as_rows(parsed: Parsed) -> list[dict[str, Any]]:
    """Events as dictionaries, with maps as dictionaries."""
    found: list[dict[str, Any]] = parsed.events.to_pylist()
    for row in found:
        for column in ("clock", "fields"):
            row[column] = None if row[column] is None else dict(row[column])
    return found


def in_plain_form(parsed: Parsed) -> tuple[list[Any], list[Any]]:
    """Rows with maps as dictionaries: the order of their entries tells nothing."""
    events = parsed.events.to_pylist()
    for row in events:
        for name in ("clock", "fields"):
            row[name] = None if row[name] is None else dict(row[name])
    return events, parsed.quarantine.to_pylist()


def lines(*records: Any) -> str:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


def parquet(records: list[dict[str, Any]], schema: pa.Schema | None = None) -> bytes:
    """A Parquet file of these rows."""
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records, schema=schema), sink)
    return sink.getvalue()


GO = 'a {"a":1}\nInitialization Complete\nb {"b":1}\nInitialization Complete\na {"a":2}\nINFO ping\n'
GO += 'b {"a":2, "b":2}\nINFO pong\n'
OTLP_SPANS: list[dict[str, Any]] = [
    {
        "traceId": "t",
        "spanId": "c",
        "name": "call",
        "kind": 3,
        "startTimeUnixNano": "1700000000000000001",
        "endTimeUnixNano": "1700000000009000000",
    },
    {
        "traceId": "t",
        "spanId": "s",
        "parentSpanId": "c",
        "name": "serve",
        "kind": "SPAN_KIND_SERVER",
        "startTimeUnixNano": "1699999999000000000",
        "endTimeUnixNano": "1699999999500000000",
        "links": [{"traceId": "t", "spanId": "x"}, {"traceId": "u", "spanId": "y"}],
        "attributes": [{"key": "http.method", "value": {"stringValue": "GET"}}],
    },
]


def otlp(spans: list[dict[str, Any]]) -> dict[str, Any]:
    """An OTLP document of one resource."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}


JAEGER = {
    "data": [
        {
            "traceID": "t",
            "spans": [
                {
                    "traceID": "t",
                    "spanID": "c",
                    "operationName": "call",
                    "references": [],
                    "startTime": 1_000_000,
                    "duration": 5_000,
                    "tags": [{"key": "span.kind", "type": "string", "value": "client"}],
                    "processID": "p1",
                },
                {
                    "traceID": "t",
                    "spanID": "s",
                    "operationName": "serve",
                    "references": [
                        {"refType": "CHILD_OF", "traceID": "t", "spanID": "c"},
                        {"refType": "FOLLOWS_FROM", "traceID": "t", "spanID": "x"},
                    ],
                    "startTime": 900_000,
                    "duration": 1_000,
                    "tags": [{"key": "span.kind", "type": "string", "value": "server"}],
                    "processID": "p2",
                },
            ],
            "processes": {"p1": {"serviceName": "web"}, "p2": {"serviceName": "db"}},
        }
    ]
}

SAMPLES: dict[str, bytes] = {
    "parquet": parquet([{"process": "a", "event": "e1", "kind": "send", "message": "m"}]),
    "jsonl": lines(
        {"process": "a", "event": "e1", "kind": "send", "message": "m", "clock": {"a": 1}}
    ).encode(),
    "csv": b"process,event,kind,message,parents\na,e1,send,m,\nb,e2,receive,m,e1\n",
    "shiviz": GO.encode(),
    "govector": lines(
        {"level": "INFO", "message": "ping", "size": 1, "processId": "a", "VCString": {"a": 1}},
        {"level": "INFO", "message": "pong", "processId": "b", "VCString": {"a": 1, "b": 1}},
    ).encode(),
    "ndjson": lines(
        {"N": 2},
        {"event": ">", "node": 0, "pkt": {"snd": 0, "rcv": 1, "msg": {"t": 1}, "vc": {"0": 1, "1": 0}}},
        {"event": "<", "node": 1, "pkt": {"snd": 0, "rcv": 1, "msg": {"t": 1}, "vc": {"0": 1, "1": 1}}},
    ).encode(),
    "xtrace": lines(
        {"TaskID": "T", "EventID": "aa", "ParentEventID": ["0000000000000000"], "Label": "start"},
        {"TaskID": "T", "EventID": "bb", "ParentEventID": ["aa"], "Label": "next"},
    ).encode(),
    "cloudevents": lines(
        {"specversion": "1.0", "id": "1", "source": "/shop", "type": "ordered", "correlationid": "k"},
        {
            "specversion": "1.0",
            "id": "2",
            "source": "/bank",
            "type": "paid",
            "correlationid": "k",
            "causationid": "1",
        },
    ).encode(),
    "matrix-events": lines(
        {"event_id": "$1", "room_id": "!r", "sender": "@a:x.org", "type": "m.create", "prev_events": []},
        {
            "event_id": "$2",
            "room_id": "!r",
            "sender": "@b:y.org:8448",
            "type": "m.text",
            "prev_events": ["$1"],
        },
    ).encode(),
    "otlp": json.dumps(otlp(OTLP_SPANS), indent=1).encode(),
    "otel-table": lines(
        {
            "Timestamp": "2024-05-01 10:00:00.000000001",
            "TraceId": "t",
            "SpanId": "c",
            "ParentSpanId": "",
            "SpanName": "call",
            "SpanKind": "Client",
            "ServiceName": "shop",
            "Duration": 5_000_000,
        }
    ).encode(),
    "jaeger": json.dumps(JAEGER).encode(),
    "zipkin": json.dumps(
        [{"traceId": "t", "id": "1", "kind": "CLIENT", "timestamp": 5, "duration": 2}]
    ).encode(),
    "kafka": lines(
        {"topic": "t", "partition": 0, "offset": 7, "tstype": "create", "ts": 5, "key": None, "payload": "x"}
    ).encode(),
    "editing": json.dumps({"kind": "concurrent", "txns": [{"parents": [], "agent": 0}]}).encode(),
}
