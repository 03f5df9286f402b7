"""Topics of a real broker in causal order: several topics and partitions, so that order is truly lost."""

import asyncio
import json
import os
import socket
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.kafka_address import KafkaTopics
from antecede.ordering.kafka_records import plan_records
from antecede.ordering.message_plan import MessageOptions
from antecede.ordering.stream.give_up import GiveUp
from antecede.spark.streams import kafka
from antecede.spark.streams.batch import StreamSettings
from antecede.spark.streams.stream import start_stream
from tests.commands import Done, here
from tests.kafka.topics import Record, add_partitions, make_topic, publish
from tests.spark.test_order_stream import AT_ONCE
from tests.streams.conversations import Message, converse
from tests.streams.driving import Driver, Tables, check_positions

pytestmark = pytest.mark.spark
COLUMNS: dict[str, Any] = {"group": "room", "sender": "who", "stamp": "clock"}


@pytest.fixture
def source(spark, broker_address: str, request: pytest.FixtureRequest) -> KafkaTopics:
    """Two topics with three partitions each, of this test."""
    if not spark.conf.get("spark.jars", ""):
        assert not os.environ.get("CI"), "the session has no Kafka connector"
        pytest.skip("no Kafka connector here")
    topics = tuple(f"{request.node.name[:100]}.{name}" for name in ("one", "two"))
    for topic in topics:
        asyncio.run(make_topic(broker_address, topic, 3))
    return KafkaTopics(broker_address, topics)


def write_message(random: Random, message: Message, topics: tuple[str, ...]) -> Record:
    """A message to any partition of any topic, its stamp in headers or in the value."""
    stamps = {"room": message.group, "who": message.sender}
    clock = {name: count for name, count in message.past.items() if count}
    place = (random.choice(topics), random.randrange(3))
    if random.random() < 0.5:
        value = {**stamps, "clock": clock, "id": message.id}
        return Record(*place, json.dumps(value).encode(), {})
    headers = {**stamps, "clock": json.dumps(clock), "id": message.id}
    return Record(*place, b"\xff no JSON", {name: text.encode() for name, text in headers.items()})


def read_id(row: dict[str, Any]) -> str:
    """The id of a message, wherever it was written."""
    headers = {header["key"]: header["value"] for header in row["kafka_headers"] or ()}
    return str(headers["id"].decode() if headers else json.loads(row["kafka_value"])["id"])


def run_at_once(spark: Any, folder: Path, topics: KafkaTopics) -> None:
    """Take what is there; what waits goes on waiting."""
    options = MessageOptions(**COLUMNS)
    settings = StreamSettings(
        folder / "out", folder / "checkpoint", options, GiveUp(), None, buckets=None, partitions=None
    )
    stream = kafka.follow_topics(spark, topics, options, settings.checkpoint)
    assert start_stream(stream, settings, trigger=AT_ONCE).awaitTermination(120)


def read(folder: Path) -> Tables:
    """All that came out, and what waits."""
    *fields, _ = plan_records(MessageOptions(**COLUMNS), "object").schema
    return Driver(folder, pa.schema(fields), **COLUMNS).read()


def follow(monkeypatch: Any, capsys: Any, folder: Path, address: object, *words: object) -> Done:
    places = ("--out", folder / "out", "--checkpoint", folder / "checkpoint")
    columns = ("--group", "room", "--sender", "who", "--stamp", "clock")
    return here(monkeypatch, capsys, "order", address, "--follow", "--drain", *places, *columns, *words)


def test_topics_are_put_in_order_and_another_one_is_added(
    spark, tmp_path: Path, source: KafkaTopics, monkeypatch, capsys
) -> None:
    random = Random(5)
    messages = converse(random, groups=4, count=30)
    shuffled = random.sample(messages, len(messages))
    third = len(messages) // 3
    records = [write_message(random, message, source.topics) for message in shuffled[:third]]
    bad = [Record(source.topics[0], 1, b"no row", {}), Record(source.topics[1], 2, None, {}, b"key")]
    asyncio.run(publish(source.brokers, records + bad))
    run_at_once(spark, tmp_path, source)
    tables = read(tmp_path)
    assert tables.waiting and tables.ordered and len(tables.every_row()) == third + 2
    assert sorted(row["reason"] for row in tables.quarantine) == [
        "the value is no JSON object",
        "the value is null",
    ]
    assert {row["kafka_value"] for row in tables.quarantine} == {b"no row", None}

    # What those wait for is partly in a topic, or a partition, that is new: nothing is forgotten or lost.
    more = KafkaTopics(source.brokers, (*source.topics, f"{source.topics[0]}.new"))
    asyncio.run(make_topic(more.brokers, more.topics[-1], 3))
    asyncio.run(add_partitions(more.brokers, more.topics[0], 4))
    records = [write_message(random, message, more.topics) for message in shuffled[third : 2 * third]]
    records += [write_message(random, message, more.topics[-1:]) for message in shuffled[2 * third : -3]]
    asyncio.run(
        publish(source.brokers, [records[0]._replace(topic=more.topics[0], partition=3), *records[1:]])
    )
    done = follow(monkeypatch, capsys, tmp_path, more, "--json")
    facts = json.loads(done.out)
    tables = read(tmp_path)
    assert facts["totals"]["input"] == len(tables.every_row()) == len(messages) - 3 + 2
    assert facts["totals"]["diverted"] == len(tables.held) and not tables.late
    assert {row["batch"] for row in tables.ordered} == {0, 1}
    assert {row["kafka_topic"] for row in tables.ordered} == set(more.topics)
    causes = {message.id: message.causes for message in messages}
    for line in check_positions(tables, "room").values():
        place = {read_id(row): row["position"] for row in line}
        assert all(place[cause] < row["position"] for row in line for cause in causes[read_id(row)])
    places = [(row["kafka_topic"], row["kafka_partition"], row["kafka_offset"]) for row in tables.every_row()]
    assert len(set(places)) == len(places)

    # One that is no longer asked for cannot be left out in silence.
    refused = follow(monkeypatch, capsys, tmp_path, source)
    assert refused.code == 2 and "name all topics that the stream had" in refused.err


def test_what_cannot_be_read_is_told_at_once(
    spark, tmp_path: Path, source: KafkaTopics, monkeypatch, capsys
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"kafka://127.0.0.1:{closed.getsockname()[1]}/topic"
        done = follow(monkeypatch, capsys, tmp_path, nobody)
        assert done.code == 2 and "no broker answers within 10 seconds" in done.err
        with monkeypatch.context() as patch:
            patch.setattr(kafka, "ANSWER_TIME", 1)
            closed.listen()
            done = follow(patch, capsys, tmp_path, nobody)
        assert done.code == 2 and "does not answer as Kafka does" in done.err
    unknown = KafkaTopics(source.brokers, ("nowhere", *source.topics))
    done = follow(monkeypatch, capsys, tmp_path, unknown)
    assert done.code == 2 and "a topic is not there" in done.err
    done = follow(monkeypatch, capsys, tmp_path, source)
    assert done.code == 2 and "nothing tells its form" in done.err
    done = here(monkeypatch, capsys, "order", source, "--out", tmp_path / "out", "--stamp", "clock")
    assert done.code == 2 and "topics have no end: give --follow" in done.err
    done = follow(monkeypatch, capsys, tmp_path, source, source)
    assert done.code == 2 and "name all topics in one address" in done.err
