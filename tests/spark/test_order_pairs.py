"""Stamps of SES, with what they leave out: no entry for the receiver, and causes that it delivered itself."""

from typing import Any

import pytest

from antecede.spark import order

pytestmark = pytest.mark.spark
TYPE = "src int, dst int, m string, pairs struct<t:array<int>, l:array<struct<p:int, v:array<int>>>>"
FIRST: tuple[Any, ...] = (0, 2, "r1", ([1, 0, 0], []))
SECOND: tuple[Any, ...] = (0, 1, "r2", ([2, 0, 1], [(1, [0, 0, 1])]))
BAD: tuple[Any, ...] = (0, 0, "z", ([0, 0, 0], [(0, [0, 0, 0])]))


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


def test_a_cause_that_the_receiver_itself_passed_on_comes_first(spark):
    """c writes x to b; b delivers it and writes to a; a writes y to b, which needs nothing that b lacks."""
    rows: list[tuple[Any, ...]] = [
        (0, 1, "y", ([1, 1, 1], [])),
        (2, 1, "x", ([0, 0, 1], [])),
        (2, 1, "w", ([1, 1, 2], [])),
    ]
    frame = spark.createDataFrame(rows, TYPE)
    assert by_pairs(frame, group="dst")[0] == ["x", "y", "w"]
    told = frame.selectExpr("*", "10 - length(m) - if(m = 'y', 5, 0) as at")
    assert by_pairs(told, group="dst", arrival="at")[0] == ["y", "x", "w"]
    named = frame.selectExpr(
        "src", "dst", "m", "struct(map('0', pairs.t[0], '1', pairs.t[1], '2', pairs.t[2]) as t, "
        "cast(map() as map<string, map<string, int>>) as l) as pairs",
    )  # fmt: skip
    assert by_pairs(named, group="dst")[0] == ["x", "y", "w"]


def test_a_log_tells_of_causes_that_are_not_for_the_receiver(spark):
    """What z wrote to q came before y, so what z wrote to the receiver before that did too, as y2 did."""
    rows: list[tuple[Any, ...]] = [
        ("y", 2, "y2", []),
        ("y", 1, "y1", [("z", 4, ["q"])]),
        ("z", 3, "z3", []),
        ("z", 5, "z5", []),
    ]
    rows += [
        ("a", 1, "a1", [("y", 2, [])]),
        ("b", 1, "b1", [("b", 1, []), ("z", 9, ["q"])]),
        ("c", None, "c", []),
    ]
    kind = "sender string, number int, m string, stamp array<struct<s:string, n:int, d:array<string>>>"
    frame = spark.createDataFrame(rows, kind).selectExpr("*", "'r' as receiver", "ascii(m) as at")
    outcome = order(frame, receiver="receiver", number="number")
    line = [row["m"] for row in outcome.ordered.orderBy("position").collect()]
    assert line == ["z3", "y1", "y2", "a1", "z5", "b1"]
    assert [row["m"] for row in outcome.quarantine.collect()] == ["c"]
    outcome = order(frame, receiver="receiver", number="number", arrival="at")
    line = [row["m"] for row in outcome.ordered.orderBy("position").collect()]
    assert line == ["a1", "b1", "y1", "y2", "z3", "z5"]
