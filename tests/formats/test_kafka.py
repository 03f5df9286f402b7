"""Records of Kafka topics, as kcat, kafka-console-consumer and Kafka Connect write them."""

import json
from pathlib import Path

import pytest

from antecede.core.errors import CallerError, InputError
from antecede.formats import read
from tests.formats.samples import events_as_rows, lines, parse, rows

EXAMPLES = Path(__file__).parent / "examples"


def record(offset, time=None, producer=None, partition=0, **headers):
    """A line of kcat -J."""
    if producer is not None:
        headers["producer"] = producer
    flat = [text for pair in headers.items() for text in pair]
    found = {"topic": "orders", "partition": partition, "offset": offset, "key": "k", "payload": f"v{offset}"}
    found |= {} if time is None else {"tstype": "create", "ts": time}
    return found | ({"headers": flat} if flat else {})


def events(found, *columns):
    return [tuple(row[column] for column in columns) for row in found]


def test_a_record_without_a_producer_is_an_event_of_its_partition():
    (found,) = rows(lines(record(7, 5)))
    assert (found["process"], found["index"], found["event"], found["kind"]) == (
        "orders/0",
        7,
        "orders/0@7",
        "local",
    )
    assert (found["time"], found["text"], found["fields"], found["line"]) == (5.0, "v7", {"key": "k"}, 1)


def test_a_producer_sends_what_the_partition_delivers():
    found = rows(lines(record(0, 20, "p"), record(1, 10, "p"), record(0, 30, "q", partition=1)))
    assert events(found, "process", "index", "kind", "message", "time") == [
        ("p", 1, "send", "orders/0@0", 20.0),
        ("p", 0, "send", "orders/0@1", 10.0),
        ("q", 0, "send", "orders/1@0", 30.0),
        ("orders/0", 0, "deliver", "orders/0@0", None),
        ("orders/0", 1, "deliver", "orders/0@1", None),
        ("orders/1", 0, "deliver", "orders/1@0", None),
    ]
    assert found[0]["receivers"] == ["orders/0"] and found[3]["sender"] == "p"


def test_numbers_come_before_times_and_two_records_of_one_id_are_one_message():
    first = record(0, 5, "p", seq="2", message_id="m")
    again = record(1, 6, "p", seq="2", message_id="m", partition=1)
    other = record(2, 7, "p", seq="1", message_id="n")
    found = rows(lines(first, again, other))
    assert events(found, "kind", "message", "index", "receivers")[:2] == [
        ("send", "m", 1, ["orders/0", "orders/1"]),
        ("send", "n", 0, ["orders/0"]),
    ]
    assert events(found[2:], "kind", "message") == [("deliver", "m"), ("deliver", "m"), ("deliver", "n")]


def test_a_time_of_the_broker_is_that_of_the_delivery():
    found = rows(lines(record(0, 5, "p") | {"tstype": "logappend"}))
    assert events(found, "kind", "time", "index") == [("send", None, None), ("deliver", 5.0, 0)]


def test_the_time_at_which_a_message_was_made_comes_before_that_of_the_record():
    made = {"cap-msg-id": "1", "cap-senttime": "1970-01-01T00:00:00.003+00:00"}
    found = rows(lines(record(0, 5, "p", **made)))
    assert events(found, "kind", "message", "time") == [("send", "1", 3.0), ("deliver", "1", None)]


def test_other_places_can_be_named():
    one = record(0, 5, app="p") | {"payload": '{"n": {"number": 3}}'}
    two = record(1, 4, app="p") | {"payload": '{"n": {"number": 2}}'}
    fields = {"sender": "headers.app", "index": "payload.n.number"}
    assert events(rows(lines(one, two), fields=fields), "kind", "index")[:2] == [("send", 1), ("send", 0)]
    with pytest.raises(CallerError, match="no field clock of Kafka's records; there are sender"):
        parse(lines(one), fields={"clock": "headers.x"})


def test_names_of_other_tools():
    plain = {"topic": "t", "partition": 1, "offset": 4, "timestamp": "1970-01-01T00:00:00.007Z", "value": "x"}
    found = rows(json.dumps(plain | {"headers": [{"key": "producer", "value": "p"}]}, indent=1))
    assert events(found, "process", "time", "text") == [("p", 7.0, None), ("t/1", None, "x")]
    (row,) = rows(lines(plain | {"timestampType": 1, "headers": {"a": 1}}))
    assert (row["time"], row["fields"]) == (7.0, {"a": "1"})


def test_what_is_no_record_goes_to_quarantine():
    parsed = parse(lines(record(0), {"topic": "t", "partition": 0}, record(-1), record("x")) + "{\n")
    assert [row["event"] for row in events_as_rows(parsed)] == ["orders/0@0"]
    reasons = parsed.quarantine["reason"].to_pylist()
    assert reasons[:3] == ["no offset", "offset is no count: -1", "offset is no count: x"]
    assert reasons[3].startswith("not a JSON object") and parsed.quarantine["line"].to_pylist() == [
        2,
        3,
        4,
        5,
    ]


def test_records_read_at_once_are_those_read_one_by_one():
    plain = [record(0, 5, "p", seq="1"), record(1, 4, "q"), record(0, None, partition=2), record(2, 9)]
    at_once = parse(lines(*plain))
    one_by_one = parse(lines(*plain) + "\n{\n")
    assert at_once.events.equals(one_by_one.events) and len(one_by_one.quarantine) == 1


def test_what_the_console_consumer_prints():
    text = (
        "CreateTime:5\tPartition:0\tOffset:3\tproducer:p,n:1\tk\ta\tb\n"
        "CreateTime:4\tPartition:0\tOffset:4\tNO_HEADERS\tnull\tc\n"
        "and a second line\n"
    )
    parsed = read(text.encode(), "dumps/orders.txt")
    assert parsed.format == "kafka"
    assert events(events_as_rows(parsed), "process", "index", "kind", "time", "text", "line") == [
        ("p", 0, "send", 5.0, None, 1),
        ("orders/0", 3, "deliver", None, "a\tb", 1),
        ("orders/0", 4, "local", 4.0, "c", 2),
    ]
    assert parsed.quarantine["line"].to_pylist() == [3]
    (found,) = rows("Partition:1\tOffset:0\tvalue: with {}\n")
    assert (found["time"], found["text"], found["fields"]) == (None, "value: with {}", None)


@pytest.mark.parametrize("numbers", [("0", "9" * 20), ("9" * 20, "0")])
def test_a_line_of_the_console_consumer_with_a_number_that_is_too_long_is_refused(numbers):
    partition, offset = numbers
    long = f"CreateTime:5\tPartition:{partition}\tOffset:{offset}\tb\n"
    parsed = read(("CreateTime:5\tPartition:0\tOffset:0\ta\n" + long).encode(), "orders.txt")
    assert len(parsed.events) == 1 and parsed.quarantine["line"].to_pylist() == [2]
    assert read(long.encode(), "orders.txt").quarantine["raw"].to_pylist() == [long.strip("\n")]


@pytest.mark.parametrize("field", ["partition", "offset"])
def test_a_record_with_a_number_that_is_too_large_is_refused(field):
    parsed = parse(lines(record(0, 5), record(1, 6) | {field: 2**63}))
    assert len(parsed.events) == 1
    assert parsed.quarantine["reason"].to_pylist() == [f"{field} is no count: {2**63}"]


def test_sequence_numbers_are_compared_to_their_last_digit():
    first = 1_700_000_000_000_000_001
    sends = [record(0, None, "p", seq=str(first + 1)), record(1, None, "p", seq=str(first))]
    assert events(rows(lines(*sends)), "event", "index")[:2] == [
        ("send of orders/0@0", 1),
        ("send of orders/0@1", 0),
    ]


def test_envelopes_of_connect_are_opened():
    inner = [{"process": "a", "event": "e1", "kind": "send"}, {"process": "a", "event": "e2"}]
    plain = rows(lines(*inner))
    assert rows(lines(*({"schema": None, "payload": one} for one in inner))) == plain
    parsed = parse(
        "\n" + lines({"payload": inner[0], "schema": None}) + "{\n" + lines({"schema": 1, "payload": 7})
    )
    assert events(events_as_rows(parsed), "event", "line") == [("e1", 2)]
    assert parsed.quarantine["line"].to_pylist() == [3, 4]


def test_values_that_connect_wrote_as_text_are_refused_with_the_remedy():
    with pytest.raises(InputError, match="StringConverter"):
        parse("Struct{process=a}\nStruct{process=b}\n")
