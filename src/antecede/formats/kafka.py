"""Records of Kafka topics as the common tools dump them.

`kcat -J` (and what other tools write with the same names: topic, partition, offset) has a JSON object for
each record. kafka-console-consumer with print.timestamp, print.partition and print.offset has a line of text,
in which the topic is not named: it is called by the file then.

A partition is a process, which takes records in by their offsets. Where a record tells its producer, that is
a process, too: it sends what the partition delivers. Its sends are in the order of their sequence numbers or,
if one has none, of their times, which are readings of its own clock; two records under one id are one
message. A time that the producer has set (CreateTime) is that of the send, one that the broker has set
(LogAppendTime) that of the delivery. Where no producer is told, a record is an event of its partition with
whatever time it has.

Who produced a record, its id, number and time are looked for in headers of the usual names; `fields` of the
settings names others, in headers or in a payload of JSON: sender=headers.app, index=payload.number.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.core.errors import CallerError
from antecede.core.wire import LARGEST
from antecede.formats import order, values
from antecede.formats.jsons import (
    ERRORS,
    Record,
    are_all_lines_objects,
    list_line_numbers_of_stripped_data,
    read_objects,
)
from antecede.formats.rows import Fields, FileRows, Refused, build_map_column
from antecede.formats.settings import Settings
from antecede.formats.source import Source
from antecede.tables import EVENTS

NAMES = {
    "sender": ("producer", "sender", "client.id", "client_id", "clientId", "source", "ce_source"),
    "message": ("message_id", "message-id", "messageId", "ce_id", "cap-msg-id"),
    "index": ("sequence", "seq", "ce_sequence"),
    "time": ("ce_time", "cap-senttime"),
}
"""Headers in which a record may tell its producer, its id, its number and the time at which it was made."""

SIGN = {"topic", "partition", "offset"}
"""Keys that every record has as JSON."""
CONSOLE_LINE = (
    r"^(?:(?P<clock>CreateTime|LogAppendTime|NoTimestampType):(?P<time>-?\d+)\t)?"
    r"Partition:(?P<partition>\d{1,18})\tOffset:(?P<offset>\d{1,18})"
    r"(?:\tDelivery:\d+)?(?:\tEpoch:\d*)?\t(?P<rest>(?s:.*))$"
)
"""A line of kafka-console-consumer, with numbers that an integer can hold."""
LOOKS_LIKE_CONSOLE = re.compile(
    r"^(?:(?:CreateTime|LogAppendTime|NoTimestampType):-?\d+\t)?Partition:\d+\tOffset:\d+\t"
)
NO_HEADERS = "NO_HEADERS"
HEADERS = re.compile(r"[^:,\t]+:[^,\t]*(?:,[^:,\t]+:[^,\t]*)*")
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class TopicRecord(msgspec.Struct, gc=False):
    """One record, whatever tool wrote it."""

    topic: str
    partition: int
    offset: int
    tstype: str | None = None
    ts: Any = None
    timestamp: Any = None
    headers: Any = None
    key: Any = None
    payload: Any = None
    value: Any = None

    line: int = 0

    @property
    def time_ms(self) -> float | None:
        """Milliseconds; what is below 0 says that there is none."""
        time = values.read_time_ms(self.timestamp if self.ts is None else self.ts)
        return None if time is None or time < 0 else time

    @property
    def payload_or_value(self) -> Any:
        return self.value if self.payload is None else self.payload


_by_line = msgspec.json.Decoder(TopicRecord)


def read(source: Source, settings: Settings) -> FileRows:
    """The events of one file."""
    rows = FileRows(source.name)
    if LOOKS_LIKE_CONSOLE.match(source.data[:1000].decode(errors="replace").lstrip()):
        records = _read_console_lines(source, rows)
    else:
        plain = _read_one_record_per_line_if_possible(source.data)
        records = _read_records_one_by_one(source.data, rows) if plain is None else plain
    _set_event_columns(rows, records, _FieldFinder(settings))
    return rows


def _read_one_record_per_line_if_possible(data: bytes) -> list[TopicRecord] | None:
    """The records of a file with one on each line and nothing odd in them; else None."""
    body, lines = data.strip(), list_line_numbers_of_stripped_data(data)
    if not are_all_lines_objects(body, len(lines)):
        return None
    try:
        records = _by_line.decode_lines(body)
    except ERRORS:
        return None
    for line, record in zip(lines, records, strict=True):
        record.line = line
    counts = [count for record in records for count in (record.partition, record.offset)]
    is_odd = min(counts, default=0) < 0 or max(counts, default=0) > LARGEST
    return None if is_odd else records


def _read_records_one_by_one(data: bytes, quarantine: FileRows) -> list[TopicRecord]:
    records = []
    for record in read_objects(data, quarantine):
        try:
            records.append(_make_record(record))
        except Refused as reason:
            quarantine.add_to_quarantine(record.line, str(reason), record.raw)
    return records


def _make_record(record: Record) -> TopicRecord:
    value = record.value
    for key in sorted(SIGN):
        if key not in value:
            raise Refused(f"no {key}")
    return TopicRecord(
        topic=values.read_name(value["topic"], "topic"),
        partition=values.read_count(value["partition"], "partition"),
        offset=values.read_count(value["offset"], "offset"),
        tstype=values.as_text(value.get("tstype", value.get("timestampType"))),
        ts=value.get("ts"),
        timestamp=value.get("timestamp"),
        headers=value.get("headers"),
        key=value.get("key"),
        payload=value.get("payload"),
        value=value.get("value"),
        line=record.line,
    )


def _read_console_lines(source: Source, quarantine: FileRows) -> list[TopicRecord]:
    """The lines of kafka-console-consumer; others go to quarantine."""
    lines = source.text().split("\n")
    parts = pc.extract_regex(pa.array(lines, pa.string()), CONSOLE_LINE)
    is_record = parts.is_valid().to_numpy(zero_copy_only=False)
    for at in np.flatnonzero(~is_record).tolist():
        if lines[at].strip():
            reason = "no record: lines begin with CreateTime:, Partition: and Offset:, each with a number"
            quarantine.add_to_quarantine(at + 1, reason, lines[at])
    columns = {field.name: parts.field(field.name).filter(pa.array(is_record)) for field in parts.type}
    rests = columns["rest"].to_pylist()
    headers, keys, contents = _split_headers_keys_values(rests)
    topic = os.path.splitext(os.path.basename(source.name))[0]
    numbers = zip(
        columns["partition"].cast(pa.int64()).to_pylist(),
        columns["offset"].cast(pa.int64()).to_pylist(),
        columns["clock"].to_pylist(),
        pc.if_else(pc.equal(columns["time"], ""), None, columns["time"]).cast(pa.float64()).to_pylist(),
        headers,
        keys,
        contents,
        (np.flatnonzero(is_record) + 1).tolist(),
        strict=True,
    )
    return [
        TopicRecord(topic, partition, offset, clock, time, None, header, key, content, None, line)
        for partition, offset, clock, time, header, key, content, line in numbers
    ]


def _split_headers_keys_values(line_rests: list[str]) -> tuple[list[Any], list[Any], list[Any]]:
    """Headers, key and value, of which only the value is always printed, by what all lines have in common."""
    columns = min((rest.count("\t") for rest in line_rests), default=0)
    cells = [rest.split("\t", min(columns, 2)) for rest in line_rests]
    has_headers = columns > 0 and all(_looks_like_headers(row[0]) for row in cells)
    headers = [_parse_printed_headers(row[0]) if has_headers else None for row in cells]
    if has_headers:
        cells = [row[1:] for row in cells]
    keys = [row[0] if len(row) > 1 else None for row in cells]
    contents = ["\t".join(row[1:]) if len(row) > 1 else row[0] for row in cells]
    return headers, [None if key == "null" else key for key in keys], contents


def _looks_like_headers(cell: str) -> bool:
    return cell == NO_HEADERS or HEADERS.fullmatch(cell) is not None


def _parse_printed_headers(cell: str) -> Fields | None:
    if cell == NO_HEADERS:
        return None
    return dict(pair.split(":", 1) for pair in cell.split(","))


def _parse_headers(headers: Any) -> Fields:
    """Headers as strings: names and values in turn (kcat), objects with key and value, or one object."""
    if not headers:
        return {}
    if isinstance(headers, dict):
        pairs: Iterable[Any] = headers.items()
    elif isinstance(headers, list) and all(isinstance(one, dict) for one in headers):
        pairs = [(one.get("key"), one.get("value")) for one in headers]
    elif isinstance(headers, list) and len(headers) % 2 == 0:
        pairs = zip(headers[::2], headers[1::2], strict=True)
    else:
        return {"headers": values.as_text(headers)}
    return {values.as_text(key): values.as_text(value) for key, value in pairs if value is not None}


class _FieldFinder:
    """Finds what a record tells in its headers or in its payload, by setting or by usual name."""

    def __init__(self, settings: Settings) -> None:
        unknown = sorted(set(settings.fields) - set(NAMES))
        if unknown:
            raise CallerError(
                f"no field {', '.join(unknown)} of Kafka's records; there are {', '.join(NAMES)}"
            )
        self.paths = {name: settings.fields.get(name) for name in NAMES}
        self.uses_payload = any((path or "").startswith("payload.") for path in self.paths.values())

    def parse_payload_if_needed(self, record: TopicRecord) -> Any:
        if not self.uses_payload:
            return None
        content = record.payload_or_value
        if not isinstance(content, str):
            return content
        try:
            return msgspec.json.decode(content)
        except ERRORS:
            return None

    def find_value(self, name: str, headers: Fields, payload: Any) -> Any:
        """What a record tells under a name of ours; None if it does not."""
        path = self.paths[name]
        if path is None:
            return next((headers[usual] for usual in NAMES[name] if usual in headers), None)
        place, _, rest = path.partition(".")
        if place != "payload":
            return headers.get(rest if place == "headers" else path)
        for key in rest.split("."):
            payload = payload.get(key) if isinstance(payload, dict) else None
        return payload


class _RecordColumns(NamedTuple):
    """What some records tell, by column: a value for each record."""

    headers: list[Fields]
    partitions: list[str]
    names: list[str]
    """What the events of partitions are called."""
    senders: list[str | None]
    messages: list[str]
    send_numbers: list[int | None]
    send_times: list[float | None]
    times: list[float | None]
    is_broker_time: list[bool]
    """Whether the broker has set the time."""
    has_sender: Bools


def _collect_record_columns(records: Sequence[TopicRecord], finder: _FieldFinder) -> _RecordColumns:
    headers = [_parse_headers(record.headers) for record in records]
    payloads = [finder.parse_payload_if_needed(record) for record in records]

    def find_values(name: str, convert: Callable[[Any], Any]) -> list[Any]:
        found = [finder.find_value(name, *places) for places in zip(headers, payloads, strict=True)]
        return [None if value is None or value == "" else convert(value) for value in found]

    partitions = [f"{record.topic}/{record.partition}" for record in records]
    names = [f"{name}@{record.offset}" for name, record in zip(partitions, records, strict=True)]
    senders = find_values("sender", values.as_text)
    ids = find_values("message", values.as_text)
    given_times = find_values("time", values.read_time_ms)
    times = [record.time_ms for record in records]
    is_broker_time = [_is_broker_time(record.tstype) for record in records]
    return _RecordColumns(
        headers=headers,
        partitions=partitions,
        names=names,
        senders=senders,
        messages=[name if id is None else id for name, id in zip(names, ids, strict=True)],
        send_numbers=find_values("index", _read_count_or_none),
        send_times=list(map(_choose_send_time, given_times, times, is_broker_time)),
        times=times,
        is_broker_time=is_broker_time,
        has_sender=np.fromiter((sender is not None for sender in senders), np.bool_, len(senders)),
    )


def _choose_send_time(
    given_time: float | None, record_time: float | None, is_broker_time: bool
) -> float | None:
    """The time that the record tells for its send, else its own time, unless the broker has set that."""
    if given_time is not None:
        return given_time
    return None if is_broker_time else record_time


def _choose_partition_time(record_time: float | None, is_broker_time: bool, has_sender: bool) -> float | None:
    """The time of a record's event at its partition; None if the record's time is that of its send."""
    is_time_of_send = has_sender and not is_broker_time
    return None if is_time_of_send else record_time


def _set_event_columns(rows: FileRows, records: Sequence[TopicRecord], finder: _FieldFinder) -> None:
    """The events of all records: sends first, then what the partitions have, by line."""
    if not records:
        return
    columns = _collect_record_columns(records, finder)
    sends = _Sends(columns)
    count = len(sends.first)

    def concat_sends_and_records(
        of_sends: Sequence[Any], of_records: Sequence[Any], arrow_type: pa.DataType
    ) -> pa.Array:
        return pa.concat_arrays([pa.array(of_sends, arrow_type), pa.array(of_records, arrow_type)])

    def take_values_of_sends(record_values: Sequence[Any]) -> list[Any]:
        return [record_values[at] for at in sends.first]

    text, number = pa.string(), pa.int64()
    has_sender = columns.has_sender.tolist()
    rows.execution = pa.repeat(pa.scalar(""), count + len(records))
    rows.process = concat_sends_and_records(take_values_of_sends(columns.senders), columns.partitions, text)
    rows.index = concat_sends_and_records(sends.index, [record.offset for record in records], number)
    names_of_sends = [f"send of {name}" for name in take_values_of_sends(columns.names)]
    rows.event = concat_sends_and_records(names_of_sends, columns.names, text)
    kinds = ["deliver" if has else "local" for has in has_sender]
    rows.kind = concat_sends_and_records(["send"] * count, kinds, text)
    delivered = [message if has else None for message, has in zip(columns.messages, has_sender, strict=True)]
    rows.message = concat_sends_and_records(take_values_of_sends(columns.messages), delivered, text)
    rows.sender = concat_sends_and_records(take_values_of_sends(columns.senders), columns.senders, text)
    rows.receivers = concat_sends_and_records(
        sends.receivers, [None] * len(records), EVENTS.field("receivers").type
    )
    partition_times = list(map(_choose_partition_time, columns.times, columns.is_broker_time, has_sender))
    rows.time = concat_sends_and_records(
        take_values_of_sends(columns.send_times), partition_times, pa.float64()
    )
    contents = [
        None if record.payload_or_value is None else values.as_text(record.payload_or_value)
        for record in records
    ]
    rows.text = concat_sends_and_records([None] * count, contents, text)
    kind = EVENTS.field("fields").type
    fields = list(map(_add_key_to_headers, columns.headers, records))
    rows.fields = pa.concat_arrays([pa.nulls(count, kind), build_map_column(fields, kind)])
    lines = [record.line for record in records]
    rows.line = concat_sends_and_records(take_values_of_sends(lines), lines, number)
    rows.origin = pa.repeat(pa.scalar(rows.file), count + len(records))


def _add_key_to_headers(headers: Fields, record: TopicRecord) -> Fields | None:
    """The fields of a record: its headers, and its key; None if it has neither."""
    fields = headers if record.key is None else headers | {"key": values.as_text(record.key)}
    return fields or None


def _is_broker_time(timestamp_type: str | None) -> bool:
    """Whether the broker has set the time: kcat says logappend, others LogAppendTime or 1."""
    return timestamp_type is not None and timestamp_type.lower() in (
        "logappend",
        "logappendtime",
        "log_append_time",
        "1",
    )


def _read_count_or_none(value: Any) -> int | None:
    try:
        return values.read_count(value, "number")
    except Refused:
        return None


class _Sends:
    """What producers sent: for each message of each its first record, its receivers, and its place."""

    def __init__(self, records: _RecordColumns) -> None:
        first: dict[tuple[str | None, str], int] = {}
        receivers: dict[int, list[str]] = {}
        for at in np.flatnonzero(records.has_sender).tolist():
            send = first.setdefault((records.senders[at], records.messages[at]), at)
            known = receivers.setdefault(send, [])
            if records.partitions[at] not in known:
                known.append(records.partitions[at])
        self.first = list(receivers)
        self.receivers = list(receivers.values())
        self.index = self._rank_sends_of_each_producer(records)

    def _rank_sends_of_each_producer(self, records: _RecordColumns) -> list[int | None]:
        """The place of each send among those of its producer; None where neither numbers nor times tell."""
        groups = order.encode_values(records.senders[at] for at in self.first)
        places = np.full(len(self.first), -1, np.int64)
        is_open = np.ones(len(self.first), np.bool_)
        columns: tuple[tuple[Sequence[float | None], Any], ...] = (
            (records.send_numbers, np.int64),  # these may be larger than those that a float can tell apart
            (records.send_times, np.float64),
        )
        for column, kind in columns:
            keys = [column[at] for at in self.first]
            is_absent = np.fromiter((key is None for key in keys), np.bool_, len(keys))
            can_rank = is_open & ~np.isin(groups, groups[is_absent])
            chosen = np.flatnonzero(can_rank)
            places[chosen] = order.rank_rows_in_groups(
                groups[chosen], np.array([keys[at] for at in chosen], kind)
            )
            is_open &= ~can_rank
        return [None if place < 0 else place for place in places.tolist()]
