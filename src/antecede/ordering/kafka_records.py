"""Records of Kafka as rows of messages: columns that the user names, from headers and from the JSON inside.

A column is looked for among the headers and among the members of the value, if that is a JSON object. Where
headers have something that is asked for, the value may be anything. Beside these, each row has the columns
below, so nothing of a record is lost; what cannot be a row has the reason.

`traceparent` (W3C) names a trace and a span, as in 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01:
these can be asked for as `trace_id` and `span_id`. It does not name what caused the span.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from antecede.core.errors import CallerError
from antecede.ordering.message_plan import MessageOptions
from antecede.ordering.strict_json import RepeatedKeyError, decode_json
from antecede.ordering.text_stamps import (
    choose_stamp_kind,
    decode_if_json,
    list_stamp_kinds,
    match_stamp_kinds,
    write_as_json_unless_text,
)
from antecede.ordering.text_tables import (
    REASON,
    TextPlan,
    TextQuestion,
    convert_record,
    list_roles_and_name_columns,
    make_record_column,
)

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
KAFKA_COLUMNS = {
    "kafka_topic": pa.string(),
    "kafka_partition": pa.int32(),
    "kafka_offset": pa.int64(),
    "kafka_timestamp": pa.timestamp("us", "UTC"),
    "kafka_key": pa.string(),
    "kafka_value": pa.binary(),
    "kafka_headers": HEADERS,
}
"""What a record is, beside what it says; bytes of a key that are no UTF-8 are written as \\xff."""
RECORDS = pa.schema({**KAFKA_COLUMNS, "kafka_key": pa.binary()})
"""Records as they come."""

_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}.*")
_TRACE_NAMES = ("trace_id", "span_id")


class RecordPlan(NamedTuple):
    """Which columns are made of records, and how."""

    text: TextPlan
    moments: tuple[str, ...]
    """Columns that rows are put in order by, which are numbers."""

    @property
    def schema(self) -> pa.Schema:
        """The columns that are asked for, those of every record, and the reason of those that are no rows."""
        named = {name: self.text.find_column_type(name) for name in self.text.columns}
        return pa.schema({**named, **KAFKA_COLUMNS, REASON: pa.string()})


def list_columns_to_read_from_records(options: MessageOptions) -> list[str]:
    """The columns to be made of headers and values: those that options name, or that a form needs."""
    names = [options.group, options.id, options.number, options.receiver, options.arrival, options.time]
    unnamed = MessageOptions()
    if options.id is None or options.sender != unnamed.sender:
        names.append(options.sender)
    if options.number is None or options.form != "sequence" or options.stamp != unnamed.stamp:
        names.append(options.stamp)
    asked = (name for name in names if name is not None and name not in KAFKA_COLUMNS)
    return list(dict.fromkeys(asked))


def list_possible_stamp_kinds(options: MessageOptions) -> list[str]:
    """The kinds that stamps may have in text."""
    kinds = list_stamp_kinds(options.form, has_id=options.id is not None)
    if options.form == "vector" and options.members is not None:
        kinds = ["list"]
    return kinds


def choose_stamp_kind_of_records(batches: Iterable[pa.RecordBatch], options: MessageOptions) -> str:
    """The kind that most stamps have among some records."""
    kinds = list_possible_stamp_kinds(options)
    counts: dict[str, int] = {}
    for batch in batches:
        values, headers = batch["kafka_value"].to_pylist(), batch["kafka_headers"].to_pylist()
        for value, listed in zip(values, headers, strict=True):
            record, _ = _read_asked_columns_of_record(value, listed, [options.stamp])
            for kind in _find_stamp_kinds(record.get(options.stamp), kinds):
                counts[kind] = counts.get(kind, 0) + 1
    if not counts:
        raise CallerError(
            f"no record of the topics has a stamp in a header {options.stamp!r}, or in such a member of its "
            "value, so nothing tells its form: name another with --stamp, or the form with --form"
        )
    return choose_stamp_kind(kinds, counts)


def _find_stamp_kinds(stamp: Any, possible_kinds: list[str]) -> list[str]:
    try:
        return [] if stamp is None else match_stamp_kinds(decode_if_json(stamp), possible_kinds)
    except RepeatedKeyError:
        return []


def plan_records(options: MessageOptions, stamp_kind: str) -> RecordPlan:
    """How records become rows whose stamps are of this kind."""
    moments = tuple(
        name for name in (options.arrival, options.time) if name is not None and name not in KAFKA_COLUMNS
    )
    columns: dict[str, Any] = {}
    for name in list_columns_to_read_from_records(options):
        columns[name] = "double" if name in moments else "string"
    kinds = list_possible_stamp_kinds(options)
    names = list_roles_and_name_columns(id=options.id, group=options.group, receiver=options.receiver)
    question = TextQuestion(options.sender, options.stamp, options.number, kinds, None, names)
    return RecordPlan(TextPlan(question, columns, stamp_kind), moments)


def parse_records(batches: Iterable[pa.RecordBatch], plan: RecordPlan) -> Iterator[pa.RecordBatch]:
    """Rows with the columns of the plan; of those with a reason, the columns that are asked for are null."""
    asked = list(plan.text.columns)
    schema = plan.schema
    for batch in batches:
        records, reasons = [], []
        values, headers = batch["kafka_value"].to_pylist(), batch["kafka_headers"].to_pylist()
        for value, listed in zip(values, headers, strict=True):
            record, reason = _make_message_row(value, listed, asked, plan)
            records.append(record if reason is None else {})
            reasons.append(reason)
        columns = [make_record_column(records, name, plan.text) for name in asked]
        columns += [convert_kafka_column(batch, name) for name in KAFKA_COLUMNS]
        columns.append(pa.array(reasons, pa.string()))
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def convert_kafka_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column that every record has."""
    if name == "kafka_key":
        keys = batch[name].to_pylist()
        return pa.array([None if key is None else key.decode(errors="backslashreplace") for key in keys])
    return batch[name].cast(KAFKA_COLUMNS[name])


def _make_message_row(
    value: bytes | None, headers: list[dict[str, Any]] | None, asked_columns: list[str], plan: RecordPlan
) -> tuple[dict[str, Any], str | None]:
    record, reason = _read_asked_columns_of_record(value, headers, asked_columns)
    if reason is None:
        record, reason = convert_record(record, plan.text)
    for name in plan.moments if reason is None else ():
        record[name], reason = _convert_to_float(record.get(name), name)
    return record, reason


def _read_asked_columns_of_record(
    value: bytes | None, headers: list[dict[str, Any]] | None, asked_columns: list[str]
) -> tuple[dict[str, Any], str | None]:
    """What is asked for, from headers and value; and the reason if that cannot be told."""
    try:
        texts = _read_asked_headers(headers or [], asked_columns)
        if all(name in texts for name in asked_columns):
            return texts, None
        members = _read_json_members_of_value(value, is_needed=not texts)
    except _RecordError as error:
        return {}, str(error)
    for name in asked_columns:
        if name in texts and name in members and _differ_as_json(texts[name], members[name]):
            return {}, f"{name} is in a header and in the value, and not the same"
    return {name: members.get(name, texts.get(name)) for name in asked_columns}, None


def _differ_as_json(text: str | None, member: Any) -> bool:
    text_as_json = write_as_json_unless_text(decode_if_json(text))
    member_as_json = write_as_json_unless_text(decode_if_json(member))
    return text_as_json != member_as_json


class _RecordError(Exception):
    """A record is no row; the text is the reason."""


def _read_asked_headers(headers: list[dict[str, Any]], asked_columns: list[str]) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    for header in headers:
        name, value = header["key"], header["value"]
        text = None if value is None else value.decode(errors="backslashreplace")
        if name in asked_columns and texts.setdefault(name, text) != text:
            raise _RecordError(f"there are two headers {name}, and not the same")
        if name == "traceparent" and (match := _TRACE_PARENT.fullmatch(text or "")):
            for part, found in zip(_TRACE_NAMES, match.groups(), strict=True):
                if part in asked_columns:
                    texts.setdefault(part, found)
    return texts


def _read_json_members_of_value(value: bytes | None, *, is_needed: bool) -> dict[str, Any]:
    """The members of the value; none, if they are not needed and it is something else."""
    try:
        members = None if value is None else decode_json(value.decode())
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        members = None
    except RepeatedKeyError as error:
        raise _RecordError(str(error)) from None
    if isinstance(members, dict):
        return members
    if is_needed:
        raise _RecordError("the value is null" if value is None else "the value is no JSON object")
    return {}


def _convert_to_float(value: Any, column: str) -> tuple[float | None, str | None]:
    if value is None:
        return None, None
    try:
        return float(value), None
    except (TypeError, ValueError):
        return None, f"{column} is no number: {str(value)[:80]}"
