"""Tables of spans: those of the collector's ClickHouse exporter, and others with the same columns."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.core.errors import InputError
from antecede.formats import detect
from tests.formats.samples import events_as_rows, lines, otlp, parse, rows

TRACE, OTHER = "0af7651916cd43dd8448eb211c80319c", "1bf7651916cd43dd8448eb211c80319d"
PARENT, CHILD, LINKED = "b7ad6b7169203331", "00f067aa0ba902b7", "53995c3f42cd8ad8"
START = 1_700_000_000_000_000_000
NANOS_PER_MS = 1_000_000

OTLP = otlp(
    [
        {
            "traceId": TRACE,
            "spanId": CHILD,
            "parentSpanId": PARENT,
            "name": "pay",
            "kind": 5,
            "startTimeUnixNano": str(START),
            "endTimeUnixNano": str(START + 7 * NANOS_PER_MS),
            "links": [{"traceId": OTHER, "spanId": LINKED}],
            "attributes": [{"key": "messaging.system", "value": {"stringValue": "kafka"}}],
        }
    ]
)
CLICKHOUSE: dict[str, Any] = {
    "Timestamp": "2023-11-14 22:13:20.000000000",
    "TraceId": TRACE,
    "SpanId": CHILD,
    "ParentSpanId": PARENT,
    "TraceState": "",
    "SpanName": "pay",
    "SpanKind": "Consumer",
    "ServiceName": "shop",
    "ResourceAttributes": {"service.name": "shop"},
    "SpanAttributes": {"messaging.system": "kafka"},
    "Duration": 7 * NANOS_PER_MS,
    "Links.TraceId": [OTHER],
    "Links.SpanId": [LINKED],
}
MOMENT = datetime.fromtimestamp(START // 10**9, UTC)
ICEBERG = {
    "trace_id": bytes.fromhex(TRACE),
    "span_id": bytes.fromhex(CHILD),
    "parent_span_id": bytes.fromhex(PARENT),
    "name": "pay",
    "kind": 5,
    "service_name": "shop",
    "start_time_unix_nano": START,
    "end_time_unix_nano": START + 7 * NANOS_PER_MS,
    "attributes": [("messaging.system", "kafka")],
    "links": [{"trace_id": bytes.fromhex(OTHER), "span_id": bytes.fromhex(LINKED)}],
}


def save(rows, schema=None):
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
    return sink.getvalue()


def describe(found):
    """What does not depend on where a span stands, and in which form its times do."""
    for row in found:
        for name in ("startTimeUnixNano", "endTimeUnixNano"):
            (row["fields"] or {}).pop(name, None)
    return [{name: value for name, value in row.items() if name not in ("file", "line")} for row in found]


def test_a_table_has_the_events_of_otlp():
    wanted = describe(rows(lines(OTLP)))
    assert wanted[0]["parents"] == [f"start of span {PARENT}", f"start of span {LINKED} of trace {OTHER}"]
    assert describe(rows(lines(CLICKHOUSE))) == wanted
    as_map = pa.map_(pa.string(), pa.string())
    schema = pa.schema(
        [
            ("Timestamp", pa.timestamp("ns")),
            *((name, pa.string()) for name in ("TraceId", "SpanId", "ParentSpanId", "SpanName", "SpanKind")),
            ("ServiceName", pa.dictionary(pa.int8(), pa.string())),
            ("SpanAttributes", as_map),
            ("Duration", pa.uint64()),
            ("Links.TraceId", pa.list_(pa.binary())),
            ("Links.SpanId", pa.list_(pa.string())),
        ]
    )
    row = {name: CLICKHOUSE[name] for name in schema.names} | {"Timestamp": MOMENT}
    row |= {"SpanAttributes": list(CLICKHOUSE["SpanAttributes"].items()), "Links.TraceId": [OTHER.encode()]}
    assert describe(rows(save([row], schema))) == wanted
    iceberg = pa.schema(
        [
            ("trace_id", pa.binary(16)),
            ("span_id", pa.binary(8)),
            ("parent_span_id", pa.binary(8)),
            ("name", pa.string()),
            ("kind", pa.int32()),
            ("service_name", pa.string()),
            ("start_time_unix_nano", pa.int64()),
            ("end_time_unix_nano", pa.int64()),
            ("attributes", as_map),
            ("links", pa.list_(pa.struct({"trace_id": pa.binary(16), "span_id": pa.binary(8)}))),
        ]
    )
    assert describe(rows(save([ICEBERG], iceberg))) == wanted


def test_csv_with_names():
    table = {name: value for name, value in CLICKHOUSE.items() if name != "ResourceAttributes"}
    table |= {"SpanAttributes": "{'messaging.system':'kafka'}"}
    table |= {"Links.TraceId": f"['{OTHER}']", "Links.SpanId": f"['{LINKED}']"}
    text = (
        ",".join(f'"{name}"' for name in table)
        + "\n"
        + ",".join(f'"{cell}"' for cell in table.values())
        + "\n"
    )
    assert detect(text.encode(), "x") == "otel-table"
    assert describe(rows(text)) == describe(rows(lines(OTLP)))
    parsed = parse(text + "1,2\n")
    assert parsed.quarantine.to_pylist()[0]["reason"] == f"2 cells, but the header has {len(table)}"


@pytest.mark.parametrize(
    ("time", "duration"),
    [
        (START, 2 * NANOS_PER_MS),
        (str(START), str(2 * NANOS_PER_MS)),
        (START // 1000, 2 * NANOS_PER_MS),
        (START // 10**6, 2 * NANOS_PER_MS),
        (f"{START / 1e9:.3f}", 2 * NANOS_PER_MS),
        ("2023-11-14T22:13:20Z", 2 * NANOS_PER_MS),
    ],
)
def test_times_in_the_usual_units(time, duration):
    found = rows(lines(CLICKHOUSE | {"Timestamp": time, "Duration": duration}))
    assert [row["time"] for row in found] == [START / 1e6, START / 1e6 + 2]


def test_a_time_of_thousands_of_digits_is_none():
    (start, *_) = rows(lines({**CLICKHOUSE, "Timestamp": "1" * 5_000}))
    assert start["time"] is None


def test_moments_and_durations_of_arrow():
    row = {"trace_id": TRACE, "span_id": CHILD, "parent_span_id": "0" * 16, "start_time": MOMENT}
    (start, end) = rows(save([row | {"duration": timedelta(milliseconds=3)}]))
    assert (start["parents"], start["time"], end["time"]) == ([], START / 1e6, START / 1e6 + 3)


def test_rows_that_are_no_spans_go_to_quarantine():
    parsed = parse(
        lines(CLICKHOUSE, CLICKHOUSE | {"SpanId": ""}, {"a": 1}, CLICKHOUSE | {"Links.SpanId": []})
    )
    assert len(events_as_rows(parsed)) == 2
    assert [(row["line"], row["reason"]) for row in parsed.quarantine.to_pylist()] == [
        (2, "no span id"),
        (3, "no span: it lacks a trace id, a span id or a time"),
        (4, "its links have not as many trace ids as span ids"),
    ]
    with pytest.raises(InputError, match="no columns of spans"):
        parse(save([{"process": "a"}]), "otel-table")


def test_bare_spans_of_otlp_are_a_table_too():
    (span,) = OTLP["resourceSpans"][0]["scopeSpans"][0]["spans"]
    found = rows(lines(span))
    assert found[0]["parents"] == describe(rows(lines(OTLP)))[0]["parents"]
    assert found[0]["fields"] == {"messaging.system": "kafka", "span.kind": "consumer"}
