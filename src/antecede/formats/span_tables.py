"""Tables of OpenTelemetry spans, a row for each: as the collector's ClickHouse exporter fills them
(otel_traces), and as tables of Iceberg and DuckDB hold them.

Read as Parquet, as JSON lines (JSONEachRow) and as CSV with a header (CSVWithNames). Columns are known by
their names without regard to capitals and underscores: TraceId is trace_id. Durations are nanoseconds, and so
are times that are numbers, unless they are too small for that.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from antecede.core.errors import InputError
from antecede.formats import spans, values
from antecede.formats.jsons import (
    ERRORS,
    are_all_lines_objects,
    list_line_numbers_of_stripped_data,
    read_objects,
)
from antecede.formats.otlp import parse_span_kind, read_attributes
from antecede.formats.parquet import read_table
from antecede.formats.rows import Fields, FileRows, Refused
from antecede.formats.settings import Settings
from antecede.formats.source import Source

COLUMNS = {
    "trace": ("traceid",),
    "span": ("spanid",),
    "parent": ("parentspanid",),
    "name": ("spanname", "name"),
    "kind": ("spankind", "kind"),
    "service": ("servicename",),
    "start": ("timestamp", "starttimeunixnano", "starttime"),
    "end": ("endtimeunixnano", "endtime", "endtimestamp"),
    "duration": ("duration", "durationnano", "durationns"),
    "links": ("links",),
    "link_traces": ("links.traceid", "linkstraceid"),
    "link_spans": ("links.spanid", "linksspanid"),
    "attributes": ("spanattributes", "attributes"),
    "resource": ("resourceattributes",),
}
"""What is read, and what the columns of it are called in lower case without underscores."""
NEEDED = ("trace", "span", "start")
"""Columns that every span has."""
SMALLEST_UNITS = ((1e17, 1e6), (1e14, 1e3), (1e11, 1.0))
"""Numbers from the first on are times since 1970, of which the second make a millisecond; others seconds."""
MOST_DIGITS = 30
"""Digits of a number in a text that may be a time."""
QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
"""A text in an array or a map as ClickHouse writes it into a cell of CSV."""
_lines = msgspec.json.Decoder(dict[str, Any])
Row = dict[str, Any]


def is_span_table(names: Collection[str]) -> bool:
    """Whether a table with these columns is one of spans: one of span ids alone may be a log of anything."""
    columns = find_span_columns(names)
    return columns is not None and "parent" in columns


def find_span_columns(names: Collection[str]) -> dict[str, str] | None:
    """The columns of a span, by what is read from them; None if those are not there that every span has."""
    plain = {name.replace("_", "").lower(): name for name in reversed(list(names))}
    found = {}
    for span_field, usual in COLUMNS.items():
        if name := next((plain[one] for one in usual if one in plain), None):
            found[span_field] = name
    return found if all(span_field in found for span_field in NEEDED) else None


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    found = []
    maker = _SpanMaker()
    for line, row, raw in _iterate_rows(source, rows):
        try:
            found.append(maker.make_span(line, row))
        except Refused as reason:
            if raw is None:
                raw = values.as_text(row)
            rows.add_to_quarantine(line, str(reason), raw)
    spans.set_event_columns(rows, found)
    return rows


def _iterate_rows(source: Source, quarantine: FileRows) -> Iterator[tuple[int, Row, bytes | str | None]]:
    """Each row with its line and, if there is one, its text."""
    if source.data.startswith(b"PAR1"):
        return _iterate_parquet_rows(source)
    if source.data.lstrip().startswith((b"{", b"[")):
        return _iterate_json_rows(source.data, quarantine)
    return _iterate_csv_rows(source, quarantine)


def _iterate_parquet_rows(source: Source) -> Iterator[tuple[int, Row, None]]:
    """The rows, with moments as numbers of nanoseconds, and bytes as texts."""
    table = read_table(pa.BufferReader(source.data), source.name)
    if not is_span_table(table.column_names):
        raise InputError(
            f"{source.name}: no columns of spans, which are TraceId, SpanId, ParentSpanId, Timestamp"
        )
    columns = {}
    for name in table.column_names:
        columns[name] = _times_to_nanoseconds(table[name]).to_pylist()
    names = list(columns)
    for number, row in enumerate(zip(*columns.values(), strict=True), start=1):
        yield number, dict(zip(names, row, strict=True)), None


def _times_to_nanoseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("ns", kind.tz)).cast(pa.int64())
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("ns")).cast(pa.int64())
    if pa.types.is_dictionary(kind):
        return _times_to_nanoseconds(column.cast(kind.value_type))
    return column


def _iterate_json_rows(data: bytes, quarantine: FileRows) -> Iterator[tuple[int, Row, bytes | None]]:
    body, lines = data.strip(), list_line_numbers_of_stripped_data(data)
    if are_all_lines_objects(body, len(lines)):
        try:
            decoded = _lines.decode_lines(body)
        except ERRORS:
            decoded = []
        if len(decoded) == len(lines):
            return ((line, row, None) for line, row in zip(lines, decoded, strict=True))
    return ((record.line, record.value, record.raw) for record in read_objects(data, quarantine))


def _iterate_csv_rows(source: Source, quarantine: FileRows) -> Iterator[tuple[int, Row, str]]:
    reader = csv.reader(io.StringIO(source.text()))
    header = next(reader, [])
    line = reader.line_num + 1
    for cells in reader:
        if len(cells) == len(header):
            yield line, dict(zip(header, cells, strict=True)), ",".join(cells)
        elif cells:
            quarantine.add_to_quarantine(
                line, f"{len(cells)} cells, but the header has {len(header)}", ",".join(cells)
            )
        line = reader.line_num + 1


class _SpanMaker:
    """Turns rows into spans; the columns of rows are looked up once for each set of them."""

    def __init__(self) -> None:
        self.columns: dict[tuple[str, ...], dict[str, str]] = {}

    def make_span(self, line: int, row: Row) -> spans.Span:
        columns = self._require_span_columns(row)

        def get_cell(span_field: str) -> Any:
            return row.get(columns[span_field]) if span_field in columns else None

        trace = _require_id(get_cell("trace"), "trace id")
        start = _read_time_ms_guessing_unit(get_cell("start"))
        end = _read_time_ms_guessing_unit(get_cell("end"))
        duration = _read_duration_nanos_as_ms(get_cell("duration"))
        if end is None and start is not None and duration is not None:
            end = start + duration
        resource = _parse_attributes(get_cell("resource"))
        attributes = _parse_attributes(get_cell("attributes"))
        service = [get_cell("service") or resource.get("service.name"), resource.get("service.instance.id")]
        used = set(columns.values())
        others = {key: value for key, value in row.items() if key not in used and not _is_empty(value)}
        name = get_cell("name")
        return spans.Span(
            line=line,
            trace=trace,
            id=_require_id(get_cell("span"), "span id"),
            service="/".join(_decode_to_text(part) for part in service if part) or None,
            kind=parse_span_kind(get_cell("kind")),
            parent=_parse_id_or_none(get_cell("parent")),
            name=_decode_to_text(name) if name else None,
            start=start,
            end=end,
            ended=end is not None,
            links=_read_links(get_cell("links"), get_cell("link_traces"), get_cell("link_spans"), trace),
            fields=attributes | {key: _decode_to_text(value) for key, value in others.items()},
        )

    def _require_span_columns(self, row: Row) -> dict[str, str]:
        names = tuple(row)
        known = self.columns.get(names)
        if known is None:
            found = find_span_columns(names)
            if found is None:
                raise Refused("no span: it lacks a trace id, a span id or a time")
            known = self.columns[names] = found
        return known


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", "[]", "{}") or value == [] or value == {}


def _decode_to_text(value: Any) -> str:
    return _decode_id_or_text_bytes(value) if isinstance(value, bytes) else values.as_text(value)


def _decode_id_or_text_bytes(value: bytes) -> str:
    """Ids are 16 or 8 bytes, if they are no texts already."""
    return value.hex() if len(value) in (8, 16) else value.decode(errors="replace")


def _parse_id_or_none(value: Any) -> str | None:
    """An id; None if there is none, which is also written as nothing but zeros."""
    text = _decode_to_text(value) if value is not None else ""
    return text if text.strip("0") else None


def _require_id(value: Any, what: str) -> str:
    found = _parse_id_or_none(value)
    if found is None:
        raise Refused(f"no {what}")
    return found


def _read_time_ms_guessing_unit(value: Any) -> float | None:
    """Milliseconds since 1970, of a moment or of a number in one of the usual units."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= MOST_DIGITS:
        value = int(value)
    time = values.read_time_ms(value)
    if not time:
        return None
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        return time
    unit = next((unit for least, unit in SMALLEST_UNITS if time >= least), None)
    if unit is None:
        return time * 1e3
    if not isinstance(value, int):
        return time / unit
    # Nanoseconds since 1970 are more than a float can tell apart.
    whole, rest = divmod(value, int(unit))
    return whole + rest / unit


def _read_duration_nanos_as_ms(value: Any) -> float | None:
    duration = values.read_time_ms(value)
    return None if duration is None else duration / 1e6


def _parse_attributes(value: Any) -> Fields:
    """Attributes as strings: an object, a list of pairs, or the text that ClickHouse writes."""
    if isinstance(value, str):
        if value.lstrip().startswith('{"'):
            value = _decode_json_or_empty(value)
        else:
            texts = [_remove_backslashes(text) for text in QUOTED.findall(value)]
            return dict(zip(texts[::2], texts[1::2], strict=False))
    if isinstance(value, list) and all(isinstance(pair, dict) for pair in value):
        return read_attributes(value)
    pairs = value.items() if isinstance(value, dict) else value or []
    return {_decode_to_text(key): _decode_to_text(item) for key, item in pairs if item is not None}


def _decode_json_or_empty(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except ERRORS:
        return {}


def _remove_backslashes(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _read_links(links: Any, link_traces: Any, link_spans: Any, own_trace: str) -> list[tuple[str, str]]:
    """The trace and the span of each link: from a list of objects, or from two lists side by side."""
    if isinstance(links, list) and links:
        normalized = [_normalize_link_keys(link) for link in links]
        traces = [link.get("traceid") for link in normalized]
        spans_of_links = [link.get("spanid") for link in normalized]
    else:
        traces, spans_of_links = _parse_list(link_traces), _parse_list(link_spans)
        if len(traces) != len(spans_of_links):
            raise Refused("its links have not as many trace ids as span ids")
    pairs = zip(traces, spans_of_links, strict=True)
    return [(_parse_id_or_none(trace) or own_trace, _require_id(span, "span id")) for trace, span in pairs]


def _normalize_link_keys(link: Any) -> Row:
    if not isinstance(link, dict):
        raise Refused("a link is no object")
    return {str(key).replace("_", "").lower(): value for key, value in link.items()}


def _parse_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return QUOTED.findall(value)
    return list(value) if isinstance(value, list | tuple) else []
