"""OpenTelemetry traces as OTLP: resourceSpans, scopeSpans, spans; one JSON document, one per line (as the
collector's file exporter writes them), or its form of protobuf (`otlp_proto`).

Times are nanoseconds, written as strings; the exact ones stay in the fields. A service is called by the
resource's service.name, with service.instance.id behind it where there is one.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from antecede.formats import graphs, spans, values
from antecede.formats.jsons import (
    ERRORS,
    Record,
    are_all_lines_objects,
    iterate_objects_in_list,
    list_line_numbers_of_stripped_data,
    read_objects,
)
from antecede.formats.otlp_proto import is_otlp_protobuf, read_documents
from antecede.formats.rows import FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

KINDS = ("internal", "server", "client", "producer", "consumer")
USED = {"traceId", "spanId", "parentSpanId", "name", "kind", "links", "attributes"}
SCOPES = ("scopeSpans", "instrumentationLibrarySpans")


class _PlainScope(msgspec.Struct):
    spans: list[dict[str, Any]]


class _PlainResource(msgspec.Struct, rename="camel"):
    scope_spans: list[_PlainScope]
    resource: msgspec.Raw = msgspec.Raw(b"null")
    instrumentation_library_spans: None = None


class _PlainDocument(msgspec.Struct, rename="camel"):
    resource_spans: list[_PlainResource]


_plain_documents = msgspec.json.Decoder(_PlainDocument)


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    if is_otlp_protobuf(source.data):
        found = _read_protobuf_spans(source.data, rows)
    else:
        plain = _read_spans_if_all_plain(source.data)
        found = _read_spans(source.data, rows) if plain is None else plain
    spans.set_event_columns(rows, found)
    return rows


def _read_spans(data: bytes, quarantine: FileRows) -> list[spans.Span]:
    found = []
    for record, service in _iterate_spans_with_services(data, quarantine):
        try:
            found.append(_make_span(record.line, record.value, service))
        except Refused as reason:
            quarantine.add_to_quarantine(record.line, str(reason), record.raw)
    return found


def _read_protobuf_spans(data: bytes, quarantine: FileRows) -> list[spans.Span]:
    """The spans of a file of protobuf."""
    found = []
    for number, document in read_documents(data, quarantine):
        for resource in document.get("resourceSpans", []):
            service = _find_service_name(resource.get("resource"))
            for scope in resource.get("scopeSpans", []):
                for span in scope.get("spans", []):
                    try:
                        found.append(_make_span(number, span, service))
                    except Refused as reason:
                        quarantine.add_to_quarantine(number, str(reason), values.as_text(span))
    return found


def _read_spans_if_all_plain(data: bytes) -> list[spans.Span] | None:
    """The spans of a file with a document on each line and nothing odd in them; else None."""
    body, lines = data.strip(), list_line_numbers_of_stripped_data(data)
    if not are_all_lines_objects(body, len(lines)):
        return None
    services: dict[bytes, str | None] = {}
    found = []
    try:
        for line, document in zip(lines, _plain_documents.decode_lines(body), strict=True):
            for resource in document.resource_spans:
                service = _get_cached_service_name(resource.resource, services)
                for scope in resource.scope_spans:
                    found += [_make_span(line, span, service) for span in scope.spans]
    except (Refused, *ERRORS):
        return None
    return found


def _get_cached_service_name(resource: msgspec.Raw, services: dict[bytes, str | None]) -> str | None:
    """The name of a service; a resource that was seen before is not read again."""
    text = bytes(resource)
    if text not in services:
        services[text] = _find_service_name(msgspec.json.decode(text))
    return services[text]


def _iterate_spans_with_services(data: bytes, quarantine: FileRows) -> Iterator[tuple[Record, str | None]]:
    """Every span with the name of its service."""
    for document in read_objects(data, quarantine):
        if not isinstance(document.value.get("resourceSpans"), list):
            quarantine.add_to_quarantine(document.line, "no list of resourceSpans", document.raw)
            continue
        for resource in iterate_objects_in_list(document, "resourceSpans", quarantine):
            service = _find_service_name(resource.value.get("resource"))
            for key in SCOPES:
                for scope in iterate_objects_in_list(resource, key, quarantine):
                    for span in iterate_objects_in_list(scope, "spans", quarantine):
                        yield span, service


def _find_service_name(resource: Any) -> str | None:
    found = read_attributes(resource.get("attributes")) if isinstance(resource, dict) else {}
    parts = [found.get("service.name"), found.get("service.instance.id")]
    return "/".join(part for part in parts if part) or None


def read_attributes(attributes: Any) -> dict[str, str]:
    """Attributes as strings; a value is an object with one member that names its type."""
    result = {}
    for pair in attributes if isinstance(attributes, list) else []:
        if isinstance(pair, dict) and isinstance(pair.get("key"), str):
            value = pair.get("value")
            if isinstance(value, dict) and len(value) == 1:
                value = next(iter(value.values()))
            if value is not None:
                result[pair["key"]] = values.as_text(value)
    return result


def _make_span(line: int, value: dict[str, Any], service: str | None) -> spans.Span:
    start, end = (_read_nanos_as_ms(value.get(f"{edge}TimeUnixNano")) for edge in ("start", "end"))
    trace = graphs.require_name(value, "traceId")
    return spans.Span(
        line=line,
        trace=trace,
        id=graphs.require_name(value, "spanId"),
        service=service,
        kind=parse_span_kind(value.get("kind")),
        parent=graphs.find_text(value, "parentSpanId"),
        name=graphs.find_text(value, "name"),
        start=start,
        end=end,
        ended=end is not None,
        links=_read_links(value.get("links"), trace),
        fields=read_attributes(value.get("attributes")) | values.collect_other_fields(value, USED),
    )


def _read_nanos_as_ms(nanos: Any) -> float | None:
    time = values.read_time_ms(nanos)
    return time / 1e6 if time else None


def parse_span_kind(kind: Any) -> str | None:
    """The kind of a span, by its number or by one of its names."""
    if isinstance(kind, int) and 1 <= kind <= len(KINDS):
        return KINDS[kind - 1]
    text = str(kind).removeprefix("SPAN_KIND_").lower()
    return text if text in KINDS else None


def _read_links(links: Any, trace: str) -> list[tuple[str, str]]:
    result = []
    for link in links if isinstance(links, list) else []:
        if not isinstance(link, dict):
            raise Refused("a link is no object")
        result.append((graphs.find_text(link, "traceId") or trace, graphs.require_name(link, "spanId")))
    return result
