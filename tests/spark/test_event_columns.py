"""DataFrames of callers: columns that are absent, or of another type than ours."""

from datetime import datetime

import pytest
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError
from antecede.spark import order_events
from antecede.spark.auditing.event_audit import audit, summary

pytestmark = pytest.mark.spark
ROWS = [("a", 0, "send", "m"), ("b", 1, "deliver", "m"), ("b", 0, "send", "n"), ("a", 1, "deliver", "n")]


@pytest.fixture
def events(spark):
    return spark.createDataFrame(ROWS, "process string, index int, kind string, message string")


def test_few_columns_are_enough(events):
    found = summary(audit(events))
    assert (found.executions, found.totals["events"], found.counts) == (1, 4, {})
    rows = order_events(events).ordered.orderBy("position").collect()
    assert [row["kind"] for row in rows] == ["send", "send", "deliver", "deliver"]
    assert order_events(events).gaps.count() == 0


def test_timestamps_are_times(events):
    times = sf.when(sf.col("kind") == "send", sf.lit(datetime(2026, 1, 1, 0, 0, 1)))
    timed = events.withColumn("time", times.otherwise(sf.lit(datetime(2026, 1, 1))))
    found = summary(audit(timed))
    assert found.counts == {"timestamp": 4}
    assert "1,000 ms" in found.sample["sentence"][0].as_py() or "1 s" in found.sample["sentence"][0].as_py()


def test_a_column_of_no_use_is_refused(events):
    with pytest.raises(CallerError, match=r"'clock' is string and must be map<string,bigint>: cast it first"):
        audit(events.withColumn("clock", sf.lit("a:1")))
