"""The audit on Spark: the same findings however executions are spread, in numbers that fit a screen."""

import pytest

from antecede.spark.audit import audit, summary
from antecede.tables import EVENTS
from tests.spark.event_rows import table

pytestmark = pytest.mark.spark


def rows(execution):
    """p2 gets the answer before the question."""
    p = {"execution": execution}
    return [
        {
            **p,
            "process": "a",
            "index": 0,
            "event": "a0",
            "kind": "send",
            "message": "m",
            "receivers": ["b", "c"],
        },
        {**p, "process": "b", "index": 0, "event": "b0", "kind": "deliver", "message": "m"},
        {**p, "process": "b", "index": 1, "event": "b1", "kind": "send", "message": "n", "receivers": ["c"]},
        {**p, "process": "c", "index": 0, "event": "c0", "kind": "deliver", "message": "n"},
        {**p, "process": "c", "index": 1, "event": "c1", "kind": "deliver", "message": "m"},
    ]


def test_summary(spark):
    made = [row for number in range(30) for row in rows(f"x{number:02}")] + rows(None)
    found = audit(spark.createDataFrame(table(*made)))
    brief = summary(found, 3)
    assert brief.executions == 31 and brief.counts == {"late": 31} and brief.findings == 31
    assert brief.totals["pairs"] == 31 and brief.totals["events"] == 155 and brief.uncounted == 0
    assert brief.sample["execution"].to_pylist() == ["", "x00", "x01"]
    assert brief.sample["events"].to_pylist()[0] == ["a0", "b0", "b1", "c0", "c1"]
    found.done()


def test_an_empty_log(spark):
    found = summary(audit(spark.createDataFrame(EVENTS.empty_table())))
    assert (found.executions, found.counts, len(found.sample)) == (0, {}, 0)
