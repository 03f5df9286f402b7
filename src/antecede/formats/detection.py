"""Which format a file has, told by its content. The name of the file plays no part."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import InputError
from antecede.events.kinds import USUAL_KINDS, find_kind_meant_by_word
from antecede.formats import jsons, kafka, ndjson
from antecede.formats.csv_table import find_separator
from antecede.formats.debezium import looks_like_change
from antecede.formats.mapped import OWN
from antecede.formats.otlp_proto import is_otlp_protobuf
from antecede.formats.parquet import PARQUET_ERRORS
from antecede.formats.rows import Refused
from antecede.formats.settings import DEFAULT, Settings
from antecede.formats.shiviz_forms import CLOCK_LINE, has_shiviz_header
from antecede.formats.source import Source
from antecede.formats.span_tables import is_span_table

SAMPLE = 50
HEAD = 64_000
SIGNS = (
    (("resourceSpans",), "otlp"),
    (("data",), "jaeger"),
    (("traceID", "spanID"), "jaeger"),
    (("traceID", "spans"), "jaeger"),
    (("txns",), "editing"),
    (("prev_events",), "matrix-events"),
    (("pdus",), "matrix-events"),
    (("specversion", "source"), "cloudevents"),
    (("causationid", "source"), "cloudevents"),
    (("EventID",), "xtrace"),
    (("reports",), "xtrace"),
    (("traceId", "id"), "zipkin"),
    (("processId", "VCString"), "govector"),
)
"""Keys of a record that only one format has, the surest first."""

CLOCKS = {"vc", "vclock", "vector_clock", "vectorClock", "pkt"}
ENDS = {"snd", "rcv", "from", "to", "src", "dst", "dest"}
CLOCK_LIKE = re.compile(r'\{\s*\\?"[^"{}]*"\s*:\s*\d+')


def guess_format(source: Source, settings: Settings = DEFAULT) -> str:
    """The name of the format; an InputError says what to do if no reader knows the content."""
    data = source.data
    if data.startswith(b"PAR1"):
        return "otel-table" if is_span_table(_list_parquet_columns(data)) else "parquet"
    if is_otlp_protobuf(data):
        return "otlp"
    if settings.regex:
        return "shiviz"
    if data.lstrip()[:1] in (b"{", b"[") and (found := _guess_json_format(data, settings)):
        return found
    head = Source(data[:HEAD], source.name).text()
    if kafka.LOOKS_LIKE_CONSOLE.match(head.lstrip()):
        return "kafka"
    if is_span_table(_list_header_cells(head)):
        return "otel-table"
    if has_shiviz_header(head) or CLOCK_LINE.search(head):
        return "shiviz"
    # A byte alone is found many times faster than two, and most files of cells have none.
    if b"{" in data and b" {" in data and CLOCK_LINE.search(source.text()):
        return "shiviz"
    if _has_csv_header_of_events(head if "\n" in head.lstrip() else source.text(), settings):
        return "csv"
    if looks_like_change(next(_sample_objects(data), None)):
        raise InputError(
            "these are change events of Debezium, which tell of commits and not of messages: antecede order "
            "--format debezium puts them in the order of commits"
        )
    if found := _find_stamp_key(data):
        raise InputError(
            f"{found!r} looks like clocks or stamps, but nothing tells the process; name it with --field "
            f"process=KEY --field clock={found}, or, if these are messages, give antecede order --sender KEY "
            f"--stamp {found}"
        )
    if CLOCK_LIKE.search(source.text()) and not _has_json_objects(data):
        raise InputError(
            "it has vector clocks, but in a layout of its own; give --regex with host, clock and event"
        )
    raise InputError("no reader knows this content")


def _list_parquet_columns(data: bytes) -> list[str]:
    """The columns of a Parquet file; none if it is broken, which its reader tells."""
    try:
        return list(pq.ParquetFile(pa.BufferReader(data)).schema_arrow.names)
    except PARQUET_ERRORS:
        return []


def _guess_json_format(data: bytes, settings: Settings) -> str | None:
    for raw in islice(jsons.split_records(data), SAMPLE):
        # What is in a record is decoded only if its keys tell nothing: it may be the whole file.
        members = jsons.list_object_keys(raw.data)
        for keys, name in SIGNS:
            if all(key in members for key in keys):
                return name
        if is_span_table(members):
            return "otel-table"
        if found := _guess_jsonl_or_ndjson(raw.data, settings):
            return found
        if members >= kafka.SIGN:
            return "kafka"
    return _guess_broken_json_format(data)


def _find_stamp_key(data: bytes) -> str | None:
    """The key of the first record that holds stamps, by its name, or because it has a count for each name."""
    first = next(_sample_objects(data), {})
    if "stamp" in first:
        return "stamp"
    return next((key for key, value in first.items() if _looks_like_clock(value)), None)


def _looks_like_clock(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(type(count) is int for count in value.values())


def _has_json_objects(data: bytes) -> bool:
    return next(_sample_objects(data), None) is not None


def _sample_objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The first records that are objects."""
    for raw in islice(jsons.split_records(data), SAMPLE):
        try:
            value = jsons.decode_value(raw.data)
        except Refused:
            continue
        if isinstance(value, dict):
            yield value


def _guess_jsonl_or_ndjson(raw: bytes, settings: Settings) -> str | None:
    """Our own table, or sends and receives under other names."""
    try:
        record = jsons.decode_value(raw)
    except Refused:
        return None
    if not isinstance(record, dict):
        return None
    keys = record.keys()
    word = str(record.get("event", record.get("type", record.get("op"))))
    named = any(name in keys for name in ndjson.NAMES["process"]) or "process" in settings.fields
    has_ends = keys & ENDS and not _has_event_id_beside_kind(record)
    if named and (keys & CLOCKS or has_ends or find_kind_meant_by_word(word)):
        return "ndjson"
    known = {name for names in OWN.values() for name in names} - {"file", "line", "fields"}
    if named and (len(keys & known) >= 2 or settings.fields):
        return "jsonl"
    return None


def _has_event_id_beside_kind(record: dict[str, Any]) -> bool:
    """Whether `kind` is the kind, as in our own table, so that `event` must be an id and no kind."""
    is_ours = not record.keys().isdisjoint(OWN["process"]) and "event" in record
    words = {**ndjson.KINDS, **USUAL_KINDS}
    return is_ours and str(record.get("kind")).lower() in words and str(record["event"]).lower() not in words


def _guess_broken_json_format(data: bytes) -> str | None:
    """A document that is no JSON as a whole may still show its keys."""
    head = data[:100_000]
    for keys, name in SIGNS:
        if keys != ("data",) and all(b'"%s"' % key.encode() in head for key in keys):
            return name
    return None


def _has_csv_header_of_events(text: str, settings: Settings) -> bool:
    cells = _list_header_cells(text)
    known = {name for names in OWN.values() for name in names}
    process = cells & {settings.fields.get("process", ""), *OWN["process"]}
    return bool(process) and (len(cells & known) >= 2 or bool(settings.fields))


def _list_header_cells(text: str) -> set[str]:
    header = text.lstrip().split("\n", 1)[0]
    return {cell.strip().strip('"') for cell in header.split(find_separator(header))}
