"""Records of Kafka as rows: what headers and values say, and why a record is no row."""

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from antecede.core.errors import CallerError
from antecede.ordering.kafka_records import (
    KAFKA_COLUMNS,
    RECORDS,
    choose_stamp_kind_of_records,
    list_columns_to_read_from_records,
    list_possible_stamp_kinds,
    parse_records,
    plan_records,
)
from antecede.ordering.message_plan import MessageOptions
from antecede.ordering.text_tables import REASON

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def make_batch(*records: tuple[Any, dict[str, bytes]]) -> pa.RecordBatch:
    """Records with these values and headers."""
    rows = [
        {
            "kafka_topic": "t",
            "kafka_partition": 0,
            "kafka_offset": offset,
            "kafka_timestamp": NOW,
            "kafka_key": b"k\xff",
            "kafka_value": value if value is None or isinstance(value, bytes) else json.dumps(value).encode(),
            "kafka_headers": [{"key": key, "value": text} for key, text in headers.items()] or None,
        }
        for offset, (value, headers) in enumerate(records)
    ]
    return pa.RecordBatch.from_pylist(rows, RECORDS)


def parse(options: MessageOptions, *records: tuple[Any, dict[str, bytes]]) -> list[dict[str, Any]]:
    batch = make_batch(*records)
    kinds = list_possible_stamp_kinds(options)
    kind = kinds[0] if len(kinds) == 1 else choose_stamp_kind_of_records([batch], options)
    (rows,) = parse_records([batch], plan_records(options, kind))
    return list(rows.to_pylist())


def test_stamps_are_taken_from_headers_and_values() -> None:
    options = MessageOptions(group="room", sender="who", stamp="clock")
    whole = {"room": "r", "who": "a", "clock": {"a": 1}, "text": "hi"}
    in_headers = {"room": b"r", "who": b"b", "clock": b'{"a": 1, "b": 1}'}
    mixed = {"room": "r", "clock": {"c": 1}}
    first, second, third = parse(options, (whole, {}), (b"\xff\x00", in_headers), (mixed, {"who": b"c"}))
    assert (first["room"], first["who"], dict(first["clock"])) == ("r", "a", {"a": 1})
    assert (second["who"], dict(second["clock"])) == ("b", {"a": 1, "b": 1})
    assert (third["who"], dict(third["clock"])) == ("c", {"c": 1})
    assert [row[REASON] for row in (first, second, third)] == [None] * 3
    assert second["kafka_value"] == b"\xff\x00" and json.loads(first["kafka_value"]) == whole
    assert (first["kafka_key"], first["kafka_topic"], first["kafka_timestamp"]) == ("k\\xff", "t", NOW)
    assert [row["kafka_offset"] for row in (first, second, third)] == [0, 1, 2]
    assert second["kafka_headers"][0] == {"key": "room", "value": b"r"}
    assert set(first) == {"room", "who", "clock", *KAFKA_COLUMNS, REASON}


def test_what_is_no_row_has_the_reason() -> None:
    options = MessageOptions(sender="who", stamp="n", form="sequence", group="room")
    told = "the group is not a name but a list or an object, and each group needs a row of its own"
    cases: list[tuple[Any, dict[str, bytes], str]] = [
        (None, {}, "the value is null"),
        (b"[1]", {}, "the value is no JSON object"),
        (b"\xff", {}, "the value is no JSON object"),
        (b'{"who": "a", "n": 1, "n": 2}', {}, "has the key 'n' twice"),
        ({"who": "a", "n": 1}, {"n": b"2"}, "n is in a header and in the value, and not the same"),
        ({"who": "a", "n": "x"}, {}, "the stamp has a count that is no whole number: x"),
        ({"who": ["a"], "n": 1}, {}, 'the sender is not a name but a list or an object: ["a"]'),
        ({"who": "a", "n": 1, "room": ["r", "s"]}, {}, f'{told}: ["r","s"]'),
    ]
    for value, headers, reason in cases:
        (row,) = parse(options, (value, headers))
        assert row[REASON] == reason and row["n"] is None and row["kafka_offset"] == 0
    (same,) = parse(options, ({"who": "a", "n": 1}, {"n": b"1"}))
    assert same[REASON] is None and same["n"] == 1
    batch = make_batch((b"", {})).to_pylist()
    batch[0]["kafka_headers"] = [{"key": "who", "value": b"a"}, {"key": "who", "value": b"b"}]
    plan = plan_records(options, "number")
    (rows,) = parse_records([pa.RecordBatch.from_pylist(batch, RECORDS)], plan)
    assert rows[REASON].to_pylist() == ["there are two headers who, and not the same"]


def test_cloud_events_in_headers_name_one_cause() -> None:
    options = MessageOptions(
        group="ce_correlationid", id="ce_id", stamp="ce_causationid", form="parents", time="ce_weight"
    )
    root = {"ce_id": b"1", "ce_correlationid": b"o", "ce_weight": b"0.5"}
    effect = {"ce_id": b"2", "ce_correlationid": b"o", "ce_causationid": b"1", "ce_weight": b"heavy"}
    first, second = parse(options, (b"no JSON", root), (None, effect))
    assert (first["ce_id"], first["ce_causationid"], first["ce_weight"]) == ("1", None, 0.5)
    assert second[REASON] == "ce_weight is no number: heavy"
    several = {**root, "ce_causationid": b'["x", "y"]'}
    assert parse(options, (b"", several))[0]["ce_causationid"] == ["x", "y"]
    del effect["ce_weight"]
    assert parse(options, (b"", effect))[0]["ce_causationid"] == ["1"]


def test_traceparent_names_trace_and_span() -> None:
    options = MessageOptions(group="trace_id", id="span_id", stamp="causes", form="parents")
    header = {"traceparent": f"00-{TRACE}-{SPAN}-01".encode()}
    (row,) = parse(options, ({"causes": ["x"]}, header))
    assert (row["trace_id"], row["span_id"], row["causes"]) == (TRACE, SPAN, ["x"])
    (other,) = parse(options, ({"causes": ["x"], "trace_id": "t"}, {"traceparent": b"no such thing"}))
    assert (other["trace_id"], other["span_id"]) == ("t", None)


def test_columns_of_kafka_can_be_named_and_forms_are_told_by_most_records() -> None:
    options = MessageOptions(group="kafka_topic", sender="kafka_key", stamp="clock", time="kafka_timestamp")
    batch = make_batch(({"clock": [1, 0]}, {}), ({"clock": {"a": 1}}, {}), ({"clock": [2, 0]}, {}))
    assert choose_stamp_kind_of_records([batch], options) == "list"
    (row,) = parse(options, ({"clock": {"a": 1}}, {}))
    assert set(row) == {"clock", *KAFKA_COLUMNS, REASON} and row[REASON] is None
    assert list_possible_stamp_kinds(options._replace(form="vector", members=["a"])) == ["list"]
    with pytest.raises(CallerError, match="nothing tells its form"):
        choose_stamp_kind_of_records([make_batch(({"other": 1}, {}))], options)


def test_named_columns_are_made_of_records_whatever_the_form() -> None:
    options = MessageOptions(sender="who", stamp="x", number="n", id="i", form="sequence", receiver="to")
    assert set(list_columns_to_read_from_records(options)) == {"who", "x", "n", "i", "to"}
    assert set(list_columns_to_read_from_records(MessageOptions(id="i", form="parents"))) == {"i", "stamp"}
