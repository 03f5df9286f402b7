"""Changes of several tables from topics of a real broker come out in commit order, each transaction whole."""

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError
from antecede.kafka_address import KafkaTopics
from antecede.spark.streams.change_stream import link_and_remember_transactions
from tests.change_log import OUTSIDE, TABLES, TRANSACTION_TOPIC, ChangeRecord, commit_transactions
from tests.commands import Done, here
from tests.kafka.topics import Record, make_topic, publish

pytestmark = pytest.mark.spark


def write_records(random: Random, prefix: str, records: list[ChangeRecord]) -> list[Record]:
    """Records for three partitions of each table's topic, and for the one of the transaction topic."""
    written = []
    for record in records:
        partition = 0 if record.topic == TRANSACTION_TOPIC else random.randrange(3)
        value = None if record.value is None else record.write(with_schema=random.random() < 0.5)
        written.append(Record(f"{prefix}.{record.topic}", partition, value, {}, b"key"))
    return written


def test_transactions_come_out_whole_across_restarts(
    spark, tmp_path: Path, source: KafkaTopics, monkeypatch, capsys
) -> None:
    random, prefix = Random(4), source.topics[0]
    names = [TRANSACTION_TOPIC, *(f"shop.{table}" for table in TABLES)]
    topics = KafkaTopics(source.brokers, tuple(f"{prefix}.{name}" for name in names))
    for topic, count in zip(topics.topics, (1, 3, 3, 3), strict=True):
        asyncio.run(make_topic(topics.brokers, topic, count))

    def follow(*words: object) -> Done:
        places = ("--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint")
        source = (topics, "--format", "debezium", "--follow", "--drain", "--json")
        return here(monkeypatch, capsys, "order", *source, *places, *words)

    def read_line() -> list[str]:
        rows = pq.read_table(tmp_path / "out" / "ordered").to_pylist()
        line = [row for row in rows if row["group"] == "transactions"]
        return [row["id"] for row in sorted(line, key=lambda row: row["position"])]

    transactions = commit_transactions(random, 8)
    log = [record for one in transactions for record in one]
    first = [*OUTSIDE, *(record for one in transactions[:4] for record in one)]
    # After a failure Debezium sends the last transactions again.
    again = [record for one in transactions[2:4] for record in one]
    rest = [record for one in transactions[4:] for record in one]
    lost = transactions[6][1]
    rest.remove(lost)
    asyncio.run(publish(topics.brokers, write_records(random, prefix, first)))
    done = follow()
    assert done.code == 0, done
    assert read_line() == [record.name for one in transactions[:4] for record in one]
    bad = [Record(f"{prefix}.shop.orders", 0, b"no JSON", {}), Record(topics.topics[0], 0, b"{}", {})]
    asyncio.run(publish(topics.brokers, write_records(random, prefix, [*again, *rest]) + bad))
    done = follow()
    facts = json.loads(done.out)
    assert read_line() == [record.name for one in transactions[:6] for record in one]
    assert facts["drained"]["gaps"][0]["missing"] == lost.name
    assert facts["totals"]["duplicates"] == len(again)
    assert facts["totals"]["input"] == len(OUTSIDE) + len(log) - 1 + len(again) + len(bad)
    refused = pq.read_table(tmp_path / "out" / "quarantine").to_pylist()
    assert {(row["kafka_value"], row["reason"]) for row in refused if row["kind"] is None} == {
        (b"no JSON", "no JSON object"),
        (b"{}", "neither a change, with op and source, nor the BEGIN or END of a transaction"),
    }
    kinds = [row["kind"] for row in pq.read_table(tmp_path / "out" / "ordered").to_pylist()]
    assert sorted(kind for kind in kinds if kind in ("outside", "tombstone")) == [
        "outside",
        "outside",
        "tombstone",
    ]
    missing = {row["id"]: row["missing"] for row in pq.read_table(tmp_path / "out" / "held").to_pylist()}
    assert missing[transactions[6][0].name] == [lost.name]


def test_transactions_of_several_partitions_have_no_order(spark, tmp_path: Path) -> None:
    batch = make_begins(spark, ("t", 0, 5, "x"), ("t", 1, 3, "y"))
    with pytest.raises(CallerError, match="begin or end in partition 0 of t and in partition 1 of t"):
        link_and_remember_transactions(batch, 0, tmp_path)
    link_and_remember_transactions(batch.where("kafka_partition = 0"), 0, tmp_path)
    with pytest.raises(CallerError, match="a transaction topic has one partition"):
        link_and_remember_transactions(batch.where("kafka_partition = 1"), 1, tmp_path)


def test_a_batch_that_is_tried_again_has_the_same_order_of_commits(spark, tmp_path: Path) -> None:
    first = make_begins(spark, ("t", 0, 1, "x"))
    second = make_begins(spark, ("t", 0, 7, "z"), ("t", 0, 3, "y"))
    for _ in range(2):
        assert find_behind(link_and_remember_transactions(first, 0, tmp_path)) == {"begin of x": []}
    for _ in range(2):
        linked = link_and_remember_transactions(second, 1, tmp_path)
        assert find_behind(linked) == {"begin of y": ["end of x"], "begin of z": ["end of y"]}
        assert linked.schema == second.schema


def test_an_end_whose_begin_is_lost_has_its_place(spark, tmp_path: Path) -> None:
    first = make_begins(spark, ("t", 0, 1, "x"))
    link_and_remember_transactions(first, 0, tmp_path)
    lost = make_begins(spark, ("t", 0, 3, "y")).withColumns({"id": sf.lit("end of y"), "kind": sf.lit("end")})
    linked = link_and_remember_transactions(lost.union(make_begins(spark, ("t", 0, 4, "z"))), 1, tmp_path)
    assert find_behind(linked) == {"end of y": [], "begin of z": ["end of y"]}


def make_begins(spark: Any, *begins: tuple[str, int, int, str]) -> Any:
    """Rows of begins by topic, partition, offset and transaction."""
    schema = (
        "kafka_topic string, kafka_partition int, kafka_offset bigint, transaction string, id string, "
        "kind string, stamp struct<behind: array<string>, with: array<string>>"
    )
    rows: list[Any] = [
        (*begin, f"begin of {begin[-1]}", "begin", ([], [f"end of {begin[-1]}"])) for begin in begins
    ]
    return spark.createDataFrame(rows, schema)


def find_behind(batch: Any) -> dict[str, list[str]]:
    return {row["id"]: row["stamp"]["behind"] for row in batch.collect()}
