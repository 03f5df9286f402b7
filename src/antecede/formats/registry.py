"""The formats by name, and the one way to read a file in any of them."""

import re
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa

from antecede.core.errors import CallerError, InputError
from antecede.formats import (
    cloudevents,
    csv_table,
    editing,
    govector,
    jaeger,
    jsonl,
    kafka,
    matrix_events,
    ndjson,
    otlp,
    parquet,
    shiviz,
    span_tables,
    xtrace,
    zipkin,
)
from antecede.formats.collection import pause_garbage_collection
from antecede.formats.connect import unwrap_connect_envelopes
from antecede.formats.detection import guess_format
from antecede.formats.rows import FileRows, Parsed
from antecede.formats.settings import DEFAULT, Settings
from antecede.formats.source import Source, unpack_source


class Format(NamedTuple):
    """One format, for people and for `read`."""

    title: str
    example: str
    read: Callable[[Source, Settings], FileRows | Parsed]


FORMATS: dict[str, Format] = {
    "parquet": Format(
        "our events table as Parquet", "columns process, event, kind, clock, ...", parquet.read
    ),
    "jsonl": Format(
        "our events table as JSON lines",
        '{"process": "a", "event": "e1", "kind": "send", "message": "m1", "clock": {"a": 1}}',
        jsonl.read,
    ),
    "csv": Format("our events table as CSV", "process,event,kind,message,parents", csv_table.read),
    "shiviz": Format("ShiViz and GoVector text", 'a {"a": 1, "b": 2}', shiviz.read),
    "govector": Format(
        "GoVector's newer logs, JSON lines",
        '{"processId": "a", "VCString": {"a": 1}, "message": "ping"}',
        govector.read,
    ),
    "ndjson": Format(
        "sends and receives with clocks, as JSON lines",
        '{"event": ">", "node": 0, "pkt": {"snd": 0, "rcv": 1, "vc": {"0": 2}}}',
        ndjson.read,
    ),
    "xtrace": Format(
        "X-Trace reports", '{"EventID": "4f", "ParentEventID": ["3e"], "TaskID": "t"}', xtrace.read
    ),
    "cloudevents": Format(
        "CloudEvents with causationid",
        '{"specversion": "1.0", "id": "2", "source": "/shop", "type": "paid", "causationid": "1"}',
        cloudevents.read,
    ),
    "matrix-events": Format(
        "Matrix room events", '{"event_id": "$2", "room_id": "!r", "prev_events": ["$1"]}', matrix_events.read
    ),
    "otlp": Format(
        "OpenTelemetry spans, OTLP as JSON or protobuf",
        '{"resourceSpans": [{"scopeSpans": [...]}]}',
        otlp.read,
    ),
    "otel-table": Format(
        "OpenTelemetry spans as a table: ClickHouse, Iceberg",
        "columns TraceId, SpanId, ParentSpanId, Timestamp, Duration, ...",
        span_tables.read,
    ),
    "jaeger": Format("Jaeger spans", '{"data": [{"traceID": "1", "spans": [...]}]}', jaeger.read),
    "zipkin": Format("Zipkin v2 spans", '[{"traceId": "1", "id": "2", "kind": "CLIENT"}]', zipkin.read),
    "kafka": Format(
        "records of Kafka topics: kcat -J, kafka-console-consumer",
        '{"topic": "orders", "partition": 0, "offset": 7, "ts": 1700000000000, "payload": "..."}',
        kafka.read,
    ),
    "editing": Format("editing traces", '{"txns": [{"parents": [0], "agent": 1}]}', editing.read),
}


EMPTY = re.compile(rb"\s*(\[\s*\]\s*)?")
"""A file without a record: nothing, or an empty array of JSON."""


def join_format_names() -> str:
    """The formats by name, in words; change events are in no log, and only an order of commits reads them."""
    return f"{', '.join(FORMATS)}, and for antecede order debezium"


def read(data: bytes, name: str, format: str | None = None, settings: Settings = DEFAULT) -> Parsed:
    """The events of one file, and the records that could not be read. An empty one has neither."""
    if format is not None and format not in FORMATS:
        raise CallerError(f"no format {format!r}; choose one of {join_format_names()}")
    source = unpack_source(data, name)
    if EMPTY.fullmatch(source.data):
        return FileRows(name).make_tables(format or "empty")
    try:
        source = unwrap_connect_envelopes(source)
        chosen = format or guess_format(source, settings)
        with pause_garbage_collection():
            found = FORMATS[chosen].read(source, settings)
    except InputError as error:
        text = str(error).removeprefix(f"{name}: ")
        raise _add_formats_to_error(
            InputError(f"{source.torn}; {text}" if source.torn else text), name
        ) from None
    parsed = found if isinstance(found, Parsed) else found.make_tables(chosen)
    if source.torn:
        torn = FileRows(name)
        torn.add_to_quarantine(source.data.count(b"\n") + 1, source.torn, "")
        return parsed._replace(quarantine=pa.concat_tables([parsed.quarantine, torn.make_quarantine_table()]))
    return parsed


def detect(data: bytes, name: str) -> str:
    """The format of a file, by its content."""
    try:
        return guess_format(unwrap_connect_envelopes(unpack_source(data, name)))
    except InputError as error:
        raise _add_formats_to_error(error, name) from None


def _add_formats_to_error(error: InputError, name: str) -> InputError:
    text = str(error).removeprefix(f"{name}: ")
    return InputError(f"{name}: {text}. Formats: {join_format_names()}; say which with --format")
