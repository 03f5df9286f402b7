"""Where nobody has chosen a number of partitions, the size of the data does."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.spark.auditing.event_audit import FEW, SMALL, audit
from antecede.spark.ordering.event_order import order_events
from antecede.spark.ordering.message_order import order
from antecede.spark.partition_kernel import read_chosen_partition_count
from antecede.spark.reading.tasks import MANY, TASK_BYTES, choose_reading_task_count

pytestmark = pytest.mark.spark

GROUPS = 60
"""With 200 partitions they would be in some 50 of them."""
SETTING = "spark.sql.shuffle.partitions"


@pytest.fixture
def untouched(spark) -> Iterator[SparkSession]:
    """A session with Spark's own number of partitions, which is still so behind the test."""
    chosen = spark.conf.get(SETTING)
    spark.conf.unset(SETTING)
    before = dict(spark.conf.getAll)
    yield spark
    assert (spark.conf.get(SETTING), dict(spark.conf.getAll)) == ("200", before)
    spark.conf.set(SETTING, chosen)


def count_used(rows: DataFrame) -> int:
    return rows.select(sf.spark_partition_id().alias("partition")).distinct().count()


def test_a_small_table_is_not_spread_over_200_tasks(untouched) -> None:
    rows = untouched.range(10 * GROUPS).selectExpr(f"id % {GROUPS} as g", "'a' as sender", "id as stamp")
    rows = rows.withColumn("stamp", sf.expr(f"array(div(stamp, {GROUPS}) + 1)"))
    outcome = order(rows, group="g", members=["a"])
    assert outcome.counts()["ordered"] == 10 * GROUPS
    assert count_used(outcome.ordered) <= 2
    assert count_used(order(rows, group="g", members=["a"], partitions=50).ordered) > 20


def test_events_neither(untouched) -> None:
    events = untouched.range(SMALL + FEW).selectExpr(
        f"string(id % {GROUPS}) as execution", "'a' as process", f"div(id, {GROUPS}) as index"
    )
    assert count_used(order_events(events).ordered) <= 2
    judged = audit(events)
    assert judged.summary().executions == GROUPS
    assert count_used(judged.totals) <= 2
    judged.done()


def test_many_small_files_are_few_tasks(untouched) -> None:
    assert choose_reading_task_count(untouched, 5, 10 * TASK_BYTES) == 5
    assert choose_reading_task_count(untouched, 10_000, TASK_BYTES) == MANY
    assert choose_reading_task_count(untouched, 10_000, 100 * TASK_BYTES) == 100


def test_what_is_chosen_counts(spark) -> None:
    assert read_chosen_partition_count(spark) == 3
    rows = spark.createDataFrame(
        pa.table({"g": list("abcdefghij"), "sender": ["a"] * 10, "stamp": [[1]] * 10})
    )
    assert 1 < count_used(order(rows, group="g", members=["a"]).ordered) <= 3
