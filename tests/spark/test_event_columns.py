"""DataFrames of callers with few columns; of other types than ours: tests/engines."""

import pytest

from antecede.spark import order_events

pytestmark = pytest.mark.spark
ROWS = [("a", 0, "send", "m"), ("b", 1, "deliver", "m"), ("b", 0, "send", "n"), ("a", 1, "deliver", "n")]


@pytest.fixture
def events(spark):
    return spark.createDataFrame(ROWS, "process string, index int, kind string, message string")


def test_few_columns_are_enough(events):
    rows = order_events(events).ordered.orderBy("position").collect()
    assert [row["kind"] for row in rows] == ["send", "send", "deliver", "deliver"]
    assert order_events(events).gaps.count() == 0
