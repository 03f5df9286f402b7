"""OTLP lines that are decoded all at once give the rows and the quarantine of reading span by span."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.formats import Parsed, otlp, read
from tests.formats.samples import in_plain_form

ODD_VALUES: list[Any] = [None, "", "x", 0, 7, 1.5, 2**64, True, [], ["x"], [None], {}, {"a": {"b": 1}}]
SPAN_KEYS = ["traceId", "spanId", "parentSpanId", "name", "kind", "attributes", "links", "endTimeUnixNano"]
ODD_LINES = ["", "{", "[]", "7", "{}", '{"resourceSpans":[]} x', '{"resourceSpans":[]}{"resourceSpans":[]}']


def make_span(number: int) -> dict[str, Any]:
    return {
        "traceId": "t",
        "spanId": str(number),
        "parentSpanId": str(number // 2),
        "name": "get",
        "kind": 2 + number % 3,
        "startTimeUnixNano": str(10**18 + number),
        "endTimeUnixNano": str(10**18 + number + 5),
        "attributes": [
            {"key": "a", "value": {"intValue": "1"}},
            {"key": "b.c", "value": {"boolValue": True}},
        ],
        "status": {"code": number},
    }


@st.composite
def documents(draw) -> dict[str, Any]:
    """A document of some spans, with at most one odd value at any depth."""
    spans = [make_span(number) for number in draw(st.lists(st.integers(1, 9), max_size=3))]
    name = {"key": "service.name", "value": {"stringValue": draw(st.sampled_from("ab"))}}
    scope: dict[str, Any] = {"scope": {"name": "x"}, "spans": spans}
    resource: dict[str, Any] = {"resource": {"attributes": [name]}, "scopeSpans": [scope]}
    document: dict[str, Any] = {"resourceSpans": [resource]}
    places: list[tuple[dict[str, Any], str]] = [
        (document, "resourceSpans"),
        (document, "other"),
        (resource, "resource"),
        (resource, "scopeSpans"),
        (resource, "instrumentationLibrarySpans"),
        (scope, "spans"),
        *((span, key) for span in spans for key in SPAN_KEYS),
    ]
    if draw(st.booleans()):
        holder, key = draw(st.sampled_from(places))
        holder[key] = draw(st.sampled_from(ODD_VALUES))
    return document


@st.composite
def files(draw) -> bytes:
    lines = [json.dumps(document) for document in draw(st.lists(documents(), min_size=1, max_size=4))]
    if draw(st.integers(0, 3)) == 0:
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(ODD_LINES)))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    body = draw(st.sampled_from(["", end])) + end.join(lines) + draw(st.sampled_from(["", end]))
    data: bytes = body.encode()
    return data.replace(b'"get"', b'"\xff"', 1) if draw(st.integers(0, 5)) == 0 else data


def read_span_by_span(data: bytes) -> Parsed:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(otlp, "_read_spans_if_all_plain", lambda data: None)
        return read(data, "log", "otlp")


@given(files())
def test_plain_lines_are_what_they_are_span_by_span(data):
    at_once = in_plain_form(read(data, "log", "otlp"))
    assert at_once == in_plain_form(read_span_by_span(data))


def test_plain_lines_are_decoded_at_once(monkeypatch):
    def refuse(*_: Any) -> Any:
        raise AssertionError("read span by span")

    monkeypatch.setattr(otlp, "_read_spans", refuse)
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [make_span(1), make_span(2)]}]}]}
    line = json.dumps(document).encode()
    parsed = read(line + b"\n" + line, "log", "otlp")
    assert sorted({row["line"] for row in parsed.events.to_pylist()}) == [1, 2]
