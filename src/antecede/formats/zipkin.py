"""Zipkin v2 spans: a JSON array of spans (or of traces, which are arrays of spans), or one span per line.

Times are microseconds. Both halves of a call may share one id (`shared`, or a client and a server of one id).
A file in which every span is plain, by the format's own schema, is decoded at once; any other span by span.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from antecede.formats import graphs, spans, values
from antecede.formats.jsons import (
    ERRORS,
    are_all_lines_objects,
    list_line_numbers_of_stripped_data,
    read_objects,
    split_array_elements,
)
from antecede.formats.rows import Fields, FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

KINDS = {"CLIENT": "client", "SERVER": "server", "PRODUCER": "producer", "CONSUMER": "consumer"}
USED = {"traceId", "id", "parentId", "kind", "name", "timestamp", "duration", "localEndpoint.serviceName"}

Name = Annotated[str, msgspec.Meta(min_length=1)]
Micros = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class PlainSpan(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """A span as Zipkin itself writes it."""

    trace_id: Name
    id: Name
    parent_id: str | None = None
    kind: str | None = None
    name: str | None = None
    timestamp: Micros | None = None
    duration: Micros | None = None
    debug: bool | None = None
    shared: bool | None = None
    local_endpoint: msgspec.Raw = msgspec.Raw(b"null")
    remote_endpoint: msgspec.Raw = msgspec.Raw(b"null")
    annotations: Any = None
    tags: dict[str, str] | None = None


_by_line = msgspec.json.Decoder(PlainSpan)
_in_array = msgspec.json.Decoder(list[PlainSpan | list[PlainSpan]])


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    found = _read_spans_if_all_plain(source.data)
    if found is None:
        found = _read_spans(source.data, rows)
    spans.set_event_columns(rows, found)
    return rows


def _read_spans(data: bytes, quarantine: FileRows) -> list[spans.Span]:
    found = []
    for record in read_objects(data, quarantine):
        try:
            found.append(_make_span(record.line, record.value))
        except Refused as reason:
            quarantine.add_to_quarantine(record.line, str(reason), record.raw)
    return found


def _make_span(line: int, value: dict[str, Any]) -> spans.Span:
    endpoint = value.get("localEndpoint")
    start = values.read_time_ms(value.get("timestamp"))
    duration = values.read_time_ms(value.get("duration"))
    return spans.Span(
        line=line,
        trace=graphs.require_name(value, "traceId"),
        id=graphs.require_name(value, "id"),
        service=_find_service_name(endpoint),
        kind=KINDS.get(str(value.get("kind")).upper()),
        parent=graphs.find_text(value, "parentId"),
        shared=value.get("shared") is True,
        name=graphs.find_text(value, "name"),
        start=None if start is None else start / 1e3,
        end=(start + duration) / 1e3 if start is not None and duration is not None else None,
        ended=duration is not None,
        fields=values.collect_other_fields(value, USED),
    )


def _find_service_name(endpoint: Any) -> str | None:
    return graphs.find_text(endpoint, "serviceName") if isinstance(endpoint, dict) else None


def _read_spans_if_all_plain(data: bytes) -> list[spans.Span] | None:
    """The spans of a file in which all are plain; None if one is not."""
    body = data.strip()
    try:
        if body.startswith(b"["):
            plain = _flatten_traces_into_spans(_in_array.decode(body))
            lines = _find_element_lines(data, len(plain))
        else:
            lines = list_line_numbers_of_stripped_data(data)
            plain = _by_line.decode_lines(body) if are_all_lines_objects(body, len(lines)) else []
        if len(plain) != len(lines):
            return None
        convert = _PlainSpanConverter()
        return [convert.make_span(line, span) for line, span in zip(lines, plain, strict=True)]
    except ERRORS:
        return None


def _flatten_traces_into_spans(spans_and_traces: list[PlainSpan | list[PlainSpan]]) -> list[PlainSpan]:
    opened = []
    for one in spans_and_traces:
        opened += one if isinstance(one, list) else [one]
    return opened


def _find_element_lines(data: bytes, element_count: int) -> Sequence[int]:
    """The lines of the elements of an array."""
    if b"\n" in data.strip():
        return [element.line for element in split_array_elements(data)]
    return [list_line_numbers_of_stripped_data(data).start] * element_count


class _PlainSpanConverter:
    """Turns plain spans into spans. What many of them have in common is looked at once."""

    def __init__(self) -> None:
        self.names_of_tags: dict[str, str] = {}
        self.endpoints: dict[tuple[bytes, bytes], tuple[str | None, Fields]] = {}

    def make_span(self, line: int, plain: PlainSpan) -> spans.Span:
        """What `_make_span` makes of the same span."""
        start = end = None
        if plain.timestamp is not None:
            start = float(plain.timestamp) / 1e3
            if plain.duration is not None:
                end = (float(plain.timestamp) + float(plain.duration)) / 1e3
        service, fields = self._read_service_and_endpoint_fields(plain.local_endpoint, plain.remote_endpoint)
        if plain.tags is not None:
            self._add_tags(fields, plain.tags)
        if not (plain.debug is plain.shared is plain.annotations is None):
            _add_rare_fields(fields, plain)
        return spans.Span(
            line=line,
            trace=plain.trace_id,
            id=plain.id,
            service=service,
            kind=KINDS.get(plain.kind.upper()) if plain.kind else None,
            parent=plain.parent_id or None,
            shared=plain.shared is True,
            name=plain.name or None,
            start=start,
            end=end,
            ended=plain.duration is not None,
            fields=fields,
        )

    def _read_service_and_endpoint_fields(
        self, local: msgspec.Raw, remote: msgspec.Raw
    ) -> tuple[str | None, Fields]:
        """The service of the local endpoint, and what else both say, in fields of the caller's own."""
        key = bytes(local), bytes(remote)
        known = self.endpoints.get(key)
        if known is None:
            endpoint = msgspec.json.decode(local)
            both = {"localEndpoint": endpoint, "remoteEndpoint": msgspec.json.decode(remote)}
            known = _find_service_name(endpoint), values.collect_other_fields(both, USED)
            self.endpoints[key] = known
        service, fields = known
        return service, fields.copy()

    def _add_tags(self, fields: Fields, tags: Fields) -> None:
        names = self.names_of_tags
        for key, value in tags.items():
            name = names.get(key)
            if name is None:
                name = names[key] = f"tags.{key}"
            fields[name] = value
        if not tags:
            fields["tags"] = "{}"


def _add_rare_fields(fields: Fields, plain: PlainSpan) -> None:
    for name in ("debug", "shared", "annotations"):
        value = getattr(plain, name)
        if value is not None:
            fields |= values.collect_other_fields({name: value}, USED)
