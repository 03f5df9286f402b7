"""Stamps of SES, with what they leave out: no entry for the receiver, and causes that it delivered itself."""

import pytest

from antecede.spark import order

pytestmark = pytest.mark.spark
TYPE = "src int, dst int, m string, pairs struct<t:array<int>, l:array<struct<p:int, v:array<int>>>>"
FIRST = (0, 2, "r1", ([1, 0, 0], []))
SECOND = (0, 1, "r2", ([2, 0, 1], [(1, [0, 0, 1])]))
BAD = (0, 0, "z", ([0, 0, 0], [(0, [0, 0, 0])]))


def by_pairs(frame, **options):
    """The names of the messages in order, and what the others miss or why they are left out."""
    outcome = order(frame, sender="src", stamp="pairs", receiver="dst", form="pairs", **options)
    line = [row["m"] for row in outcome.ordered.orderBy("position").collect()]
    held = {row["m"]: row["missing"] for row in outcome.held.collect()}
    return line, held, {row["m"]: row["reason"] for row in outcome.quarantine.collect()}


def test_a_first_message_has_no_entry_for_its_receiver(spark):
    assert by_pairs(spark.createDataFrame([FIRST], TYPE)) == (["r1"], {}, {})
    frame = spark.createDataFrame([FIRST], TYPE).selectExpr(
        "substr('abc', src + 1, 1) src", "substr('abc', dst + 1, 1) dst", "m", "pairs"
    )
    frame = frame.withColumn(
        "pairs", frame.pairs.cast("struct<t:array<int>, l:array<struct<p:string, v:array<int>>>>")
    )
    assert by_pairs(frame, members=["a", "b", "c"]) == (["r1"], {}, {})


@pytest.mark.parametrize("others", [[], [FIRST], [FIRST, BAD]])
def test_a_row_of_another_group_changes_nothing(spark, others):
    for rows in ([SECOND, *others], [*others, SECOND]):
        line, held, bad = by_pairs(spark.createDataFrame(rows, TYPE), group="dst", partitions=1)
        assert (line, held) == (["r1"] if others else [], {"r2": ["time 1 of 2"]})
        assert set(bad) == ({"z"} if BAD in others else set())
