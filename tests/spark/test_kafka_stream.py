"""Topics of a real broker in causal order: several topics and partitions, so that order is truly lost."""

import asyncio
import json
import shutil
import socket
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from antecede.core.errors import CallerError
from antecede.kafka_address import KafkaTopics
from antecede.ordering.kafka_records import plan_records
from antecede.ordering.message_plan import MessageOptions
from antecede.ordering.stream.give_up import GiveUp
from antecede.spark.streams import kafka
from antecede.spark.streams.batch import StreamSettings
from antecede.spark.streams.stream import start_stream
from antecede.streams import ledger as ledger_module
from antecede.streams.marks import Mark, write_commit_mark
from tests.commands import Done, here
from tests.kafka.topics import Record, add_partitions, delete_records, make_topic, publish, read_records
from tests.spark.test_order_stream import AT_ONCE, make_batches, run, write_files
from tests.spark.test_order_stream import read as read_table
from tests.streams.conversations import Message, converse
from tests.streams.driving import Driver, Tables, check_positions

pytestmark = pytest.mark.spark
COLUMNS: dict[str, Any] = {"group": "room", "sender": "who", "stamp": "clock"}


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
    stream = kafka.open_message_stream(spark, topics, options, settings.checkpoint)
    assert start_stream(stream, settings, trigger=AT_ONCE).awaitTermination(120)


def read(folder: Path) -> Tables:
    """All that came out, and what waits."""
    *fields, _ = plan_records(MessageOptions(**COLUMNS), "object").schema
    return Driver(folder, pa.schema(fields), **COLUMNS).read()


def follow(monkeypatch: Any, capsys: Any, folder: Path, address: object, *words: object) -> Done:
    places = ("--out", folder / "out", "--checkpoint", folder / "checkpoint")
    columns = ("--group", "room", "--sender", "who", "--stamp", "clock")
    return here(monkeypatch, capsys, "order", address, "--follow", "--drain", *places, *columns, *words)


def read_published(topic: KafkaTopics) -> list[tuple[str, int, bytes]]:
    """The group, the position and the value of all records in a topic of two partitions."""
    records = [
        record
        for partition in range(2)
        for record in asyncio.run(read_records(topic.brokers, topic.topics[0], partition))
    ]
    return [
        (record.key.decode(), int(dict(record.headers)["antecede_position"]), record.value)
        for record in records
    ]


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
    copy = source._replace(topics=(f"{source.topics[0]}.copy",))
    asyncio.run(make_topic(copy.brokers, copy.topics[0], 2))
    most = ("--records-per-batch", len(records) - 5)
    done = follow(monkeypatch, capsys, tmp_path, more, "--json", "--to", copy, *most)
    assert done.out, done.err
    facts = json.loads(done.out)
    tables = read(tmp_path)
    assert facts["totals"]["input"] == len(tables.every_row()) == len(messages) - 3 + 2
    assert facts["totals"]["diverted"] == len(tables.held) and not tables.late
    assert {row["batch"] for row in tables.ordered} == {0, 1, 2}
    assert {row["kafka_topic"] for row in tables.ordered} == set(more.topics)
    causes = {message.id: message.causes for message in messages}
    for line in check_positions(tables, "room").values():
        place = {read_id(row): row["position"] for row in line}
        assert all(place[cause] < row["position"] for row in line for cause in causes[read_id(row)])
    places = [(row["kafka_topic"], row["kafka_partition"], row["kafka_offset"]) for row in tables.every_row()]
    assert len(set(places)) == len(places)

    # What came out was written to a topic as it came, the rows of a group by position.
    published = read_published(copy)
    assert sorted(published) == sorted(
        (row["room"], row["position"], row["kafka_value"]) for row in tables.ordered if row["batch"]
    )
    for room in {room for room, _, _ in published}:
        positions = [position for group, position, _ in published if group == room]
        assert positions == sorted(positions)

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


def test_what_comes_out_is_written_to_a_topic_at_least_once(
    spark, tmp_path: Path, source: KafkaTopics, monkeypatch
) -> None:
    """A step that is tried again writes its rows again; who passes over positions has each row once."""
    topic = KafkaTopics(source.brokers, (f"{source.topics[0]}.out",))
    asyncio.run(make_topic(topic.brokers, topic.topics[0], 2))
    write_files(tmp_path / "in", make_batches())

    def crash(checkpoint: Path, mark: Mark) -> None:
        if mark.batch == 1:
            raise RuntimeError("crash before the mark")
        write_commit_mark(checkpoint, mark)

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "write_commit_mark", crash)
        with pytest.raises(StreamingQueryException, match="crash"):
            run(spark, tmp_path, files=2, to=str(topic))
    run(spark, tmp_path, files=2, to=str(topic))
    rows = read_table(tmp_path).ordered
    published = read_published(topic)
    assert len(published) > len(rows)
    last: dict[str, int] = {}
    once = []
    for group, position, value in published:
        if position > last.get(group, -1):
            assert position == last.get(group, -1) + 1
            last[group] = position
            once.append((group, position, json.loads(value)["id"]))
    assert sorted(once) == sorted((row["group"], row["position"], row["id"]) for row in rows)
    with pytest.raises(CallerError, match="rows are written to one topic"):
        run(spark, tmp_path, to=f"{topic},other")
    with pytest.raises(CallerError, match="a topic is not there"):
        run(spark, tmp_path, to=f"kafka://{topic.brokers}/nowhere")


def test_history_comes_first_without_gap_or_overlap(
    spark, tmp_path: Path, source: KafkaTopics, monkeypatch, capsys
) -> None:
    random = Random(8)
    messages = converse(random, groups=3, count=30)
    records = [write_message(random, message, source.topics) for message in messages]
    half = len(records) // 2
    for at in (0, half, half + 1):  # whatever the others do, something comes to this partition
        records[at] = records[at]._replace(topic=source.topics[0], partition=0)
    asyncio.run(publish(source.brokers, records[:half]))
    archive = tmp_path / "archive"
    options = {"kafka.bootstrap.servers": source.brokers, "subscribe": ",".join(source.topics)}
    kept = spark.read.format("kafka").options(**options, includeHeaders="true").load()
    kept.repartition(3).write.parquet(str(archive))
    # Some of what is kept is gone from the topic; the topic goes on; and what comes is kept again.
    end = kept.where(f"topic = '{source.topics[0]}' and partition = 0").count()
    asyncio.run(delete_records(source.brokers, source.topics[0], 0, end - 1))
    asyncio.run(publish(source.brokers, records[half:-5]))
    follow_archive(monkeypatch, capsys, tmp_path, source, archive)
    old = spark.read.parquet(str(archive))
    newer = kept.join(
        old.select("topic", "partition", "offset"), ["topic", "partition", "offset"], "left_anti"
    )
    assert newer.count() == len(records) - 5 - half
    newer.write.parquet(str(archive / "newer"))
    asyncio.run(publish(source.brokers, records[-5:]))
    facts = follow_archive(monkeypatch, capsys, tmp_path, source, archive)
    tables = read(tmp_path)
    assert not tables.held and not tables.quarantine and not tables.late
    assert sorted(map(read_id, tables.ordered)) == sorted(message.id for message in messages)
    assert facts["totals"]["input"] == len(messages)
    causes = {message.id: message.causes for message in messages}
    for line in check_positions(tables, "room").values():
        place = {read_id(row): row["position"] for row in line}
        assert all(place[cause] < row["position"] for row in line for cause in causes[read_id(row)])

    done = follow(monkeypatch, capsys, tmp_path, source)
    assert done.code == 2 and "began with the history in" in done.err
    shutil.rmtree(archive / "newer")
    asyncio.run(delete_records(source.brokers, source.topics[0], 0, end + 1))
    done = follow(monkeypatch, capsys, tmp_path / "new", source, archive)
    assert done.code == 2 and "something may be missing between" in done.err
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    done = follow(monkeypatch, capsys, tmp_path / "new", source, tmp_path / "other.parquet")
    assert done.code == 2 and "these are no records of topics" in done.err


def follow_archive(
    monkeypatch: Any, capsys: Any, folder: Path, source: KafkaTopics, archive: Path
) -> dict[str, Any]:
    done = follow(monkeypatch, capsys, folder, source, archive, "--json")
    assert done.code in (0, 1), done
    return dict(json.loads(done.out))
