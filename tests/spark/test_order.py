"""What order keeps on Spark alone: partitions, batches, filters behind it and types that only Spark has."""

from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from antecede.core.errors import CallerError
from antecede.spark import order
from tests.engines.test_order import chat

pytestmark = pytest.mark.spark
SCHEMA = "room string, sender string, stamp map<string,int>, time double, text string"


def collect_tables(outcome) -> dict[str, list[Any]]:
    """Each of the tables as sorted rows."""
    parts = {"ordered": outcome.ordered, "held": outcome.held, "quarantine": outcome.quarantine}
    parts["gaps"] = outcome.gaps
    return {name: sorted(map(str, frame.collect())) for name, frame in parts.items()}


def test_the_result_depends_neither_on_row_order_nor_on_partitions_nor_on_batches(spark):
    rows = chat(2, 4, 40)
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    usual, found = spark.conf.get(name), []
    try:
        for seed, parts, batch in ((0, 1, "100000"), (1, 3, "7"), (2, 5, "1")):
            spark.conf.set(name, batch)
            shuffled = Random(seed).sample(rows, len(rows))
            frame = spark.createDataFrame(shuffled, SCHEMA).repartition(parts)
            found.append(collect_tables(order(frame, group="room", time="time", partitions=parts)))
    finally:
        spark.conf.set(name, usual)
    assert found[0] == found[1] == found[2]
    assert all(found[0].values())


def test_a_filter_behind_does_not_change_what_came_before(spark):
    rows = [("r", "a", {"a": 1}, 1.0, "x"), ("r", "b", {"a": 1, "b": 1}, 2.0, "y")]
    outcome = order(spark.createDataFrame(rows, SCHEMA), group="room")
    assert [row["position"] for row in outcome.ordered.where("text = 'y'").collect()] == [1]
    assert outcome.ordered.where("time > 1.5").count() == 1


def test_user_columns_of_any_type_pass_through_unchanged(spark):
    nested = {"k": [{"m": {1: [None, 2.5]}}]}
    moment = datetime(2024, 2, 29, 12, 30, 1, 123456, tzinfo=UTC).replace(tzinfo=None)
    row = (
        "g",
        "a",
        1,
        Decimal("12.340"),
        moment,
        date(1969, 1, 1),
        bytearray(b"\0\xff"),
        [None, "é"],
        nested,
        None,
    )
    schema = (
        "`the group` string, sender string, n int, d decimal(20,3), t timestamp, day date, b binary, "
        "`l.i.st` array<string>, deep map<string,array<struct<m:map<int,array<double>>>>>, nothing void"
    )
    frame = spark.createDataFrame([row], schema).selectExpr(
        "*", "parse_json('[1, null]') v", "interval '3' hour i"
    )
    options: Any = {"group": "the group", "stamp": "n", "partitions": 2}
    ordered = order(frame, **options).ordered
    assert ordered.drop("position", "arrival").schema == frame.schema
    assert str(ordered.drop("position", "arrival").collect()) == str(frame.collect())
    both = order(frame.union(frame), **options).quarantine.collect()
    assert [found["reason"] for found in both] == ["duplicate: message 1 of a came before"]


def test_columns_of_one_name_are_refused(spark):
    frame = spark.createDataFrame([], SCHEMA).selectExpr("*", "text as time")
    with pytest.raises(CallerError, match="'time' and 'time' are called the same"):
        order(frame, group="room")
