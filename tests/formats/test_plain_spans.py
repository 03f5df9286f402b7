"""Spans that are decoded all at once give the rows and the quarantine of reading span by span."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.formats import Parsed, read, zipkin
from tests.formats.samples import in_plain_form

PLAIN: list[dict[str, Any]] = [
    {"traceId": "t", "id": "1", "kind": "CLIENT", "name": "get", "timestamp": 1000, "duration": 5},
    {"traceId": "t", "id": "1", "kind": "SERVER", "shared": True, "timestamp": 1001, "duration": 2},
    {"traceId": "t", "id": "2", "parentId": "1", "tags": {"a": "1", "b.c": "x"}, "timestamp": 1002},
    {"traceId": "u", "id": "3", "localEndpoint": {"serviceName": "s", "ipv4": "1.2.3.4", "port": 80}},
    {"traceId": "u", "id": "4", "remoteEndpoint": {"serviceName": "r"}, "debug": False, "tags": {}},
    {"traceId": "u", "id": "5", "annotations": [{"timestamp": 3, "value": "x"}], "localEndpoint": {}},
]
ODD_VALUES: list[Any] = [
    None,
    "",
    "x",
    0,
    -1,
    7,
    1.5,
    2**64,
    True,
    [],
    ["x"],
    {},
    {"a": None},
    {"a": {"b": 1}},
]
KEYS = ["traceId", "id", "parentId", "kind", "name", "timestamp", "duration", "debug", "shared", "tags"]
KEYS += ["localEndpoint", "remoteEndpoint", "annotations", "other", "localEndpoint.serviceName"]
ODD_LINES = [
    "",
    "{",
    "[]",
    "7",
    '{"traceId":"t","id":"1"} x',
    '{"traceId":"t","id":"1"}{"traceId":"t","id":"2"}',
]


@st.composite
def span_records(draw) -> dict[str, Any]:
    record = dict(draw(st.sampled_from(PLAIN)))
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=1)):
        record[key] = draw(st.sampled_from(ODD_VALUES))
    return record


@st.composite
def span_files(draw) -> bytes:
    """One span per line, or an array of spans and of traces, on one line or on many."""
    records = draw(st.lists(st.sampled_from(PLAIN) | span_records(), min_size=1, max_size=6))
    if draw(st.booleans()):
        text = [json.dumps(record) for record in records]
        if draw(st.integers(0, 3)) == 0:
            text.insert(draw(st.integers(0, len(text))), draw(st.sampled_from(ODD_LINES)))
        end = draw(st.sampled_from(["\n", "\r\n"]))
        body = end.join(text) + draw(st.sampled_from(["", end]))
    else:
        traces: list[Any] = list(records)
        if draw(st.booleans()):
            traces.append(records[:2])
        body = json.dumps(traces, indent=draw(st.sampled_from([None, 1])))
    data: bytes = (draw(st.sampled_from(["", "\n"])) + body).encode()
    return data.replace(b"1.2.3.4", b"\xff") if draw(st.integers(0, 3)) == 0 else data


def read_span_by_span(data: bytes) -> Parsed:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipkin, "_read_spans_if_all_plain", lambda data: None)
        return read(data, "log", "zipkin")


@given(span_files())
def test_plain_spans_are_what_they_are_one_by_one(data):
    at_once = in_plain_form(read(data, "log", "zipkin"))
    one_by_one = in_plain_form(read_span_by_span(data))
    assert at_once == one_by_one


@pytest.mark.parametrize("indent", [None, 1])
def test_plain_spans_are_decoded_at_once(monkeypatch, indent):
    monkeypatch.setattr(zipkin, "read_objects", None)
    assert len(read(json.dumps([PLAIN]).encode(), "log", "zipkin").events) == 8
    assert len(read(json.dumps(PLAIN, indent=indent).encode(), "log", "zipkin").events) == 8
    by_line = "\n".join(map(json.dumps, PLAIN)).encode()
    assert read(by_line, "log", "zipkin").events["line"].to_pylist() == [1, 1, 2, 2, 3, 4, 5, 6]


REFUSED = [7, {"name": "without ids"}]
JAEGER = {"data": [{"traceID": "t", "spans": [{"traceID": "t", "spanID": "1"}, *REFUSED]}]}
OTLP = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "spanId": "1"}, *REFUSED]}]}]}


@pytest.mark.parametrize(("format", "document"), [("jaeger", JAEGER), ("otlp", OTLP)])
def test_spans_inside_a_document_are_refused_as_they_stand_there(format, document):
    on_one_line = read(json.dumps(document).encode(), "log", format).quarantine.to_pylist()
    on_many_lines = read(json.dumps(document, indent=1).encode(), "log", format).quarantine.to_pylist()
    for quarantine in (on_one_line, on_many_lines):
        assert [json.loads(row["raw"]) for row in quarantine] == REFUSED
    assert [row["reason"] for row in on_one_line] == [row["reason"] for row in on_many_lines]
    assert [row["line"] for row in on_one_line] == [1, 1]
    assert on_many_lines[0]["line"] < on_many_lines[1]["line"]
