"""Tables of messages in causal order on Spark: every row once, however rows lie."""

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from antecede.core.errors import CallerError
from antecede.spark import order
from tests.message_rows import lines

pytestmark = pytest.mark.spark
SCHEMA = "room string, sender string, stamp map<string,int>, time double, text string"
NAMES = "abcd"


def chat(seed: int, rooms: int, size: int) -> list[tuple[Any, ...]]:
    """Broadcasts in rooms, with some lost, some twice, some broken."""
    random = Random(seed)
    rows = []
    for room in range(rooms):
        know = {name: Counter[str]() for name in NAMES}
        for step in range(size):
            me, other = random.choice(NAMES), random.choice(NAMES)
            know[me] |= know[other]
            know[me][me] += 1
            row = (f"room{room}", me, dict(know[me]), step + random.gauss(0, 10), f"{room}/{step}")
            kind = random.random()
            if kind < 0.03:
                rows.append((*row[:2], {**row[2], "a": -1}, *row[3:]))
            elif kind > 0.06:
                rows += [row] * (2 if kind > 0.95 else 1)
    return rows


def told(outcome) -> dict[str, list[Any]]:
    """Each of the tables as sorted rows."""
    parts = {"ordered": outcome.ordered, "held": outcome.held, "quarantine": outcome.quarantine}
    parts["gaps"] = outcome.gaps
    return {name: sorted(map(str, frame.collect())) for name, frame in parts.items()}


def test_every_row_is_in_one_table_and_none_comes_before_its_causes(spark):
    rows = chat(1, 5, 60)
    outcome = order(spark.createDataFrame(rows, SCHEMA), group="room", time="time").keep()
    ordered, held, quarantine = (frame.collect() for frame in outcome)
    assert outcome.counts() == {
        "input": len(rows),
        "ordered": len(ordered),
        "held": len(held),
        "quarantined": len(quarantine),
    }
    everywhere = Counter((row["room"], row["text"]) for row in (*ordered, *held, *quarantine))
    assert everywhere == Counter((row[0], row[4]) for row in rows)
    assert min(map(len, (ordered, held, quarantine))) > 0
    for line in lines([row.asDict() for row in ordered], "room", "stamp").values():
        for at, stamp in enumerate(line):
            later = [other for other in line[:at] if all(other.get(x, 0) >= c for x, c in stamp.items())]
            assert later == []
    assert all(row["missing"] and row["since"] >= 0 for row in held)
    outcome.done()


def test_the_result_depends_neither_on_row_order_nor_on_partitions_nor_on_batches(spark):
    rows = chat(2, 4, 40)
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    usual, found = spark.conf.get(name), []
    try:
        for seed, parts, batch in ((0, 1, "100000"), (1, 3, "7"), (2, 5, "1")):
            spark.conf.set(name, batch)
            shuffled = Random(seed).sample(rows, len(rows))
            frame = spark.createDataFrame(shuffled, SCHEMA).repartition(parts)
            found.append(told(order(frame, group="room", time="time", partitions=parts)))
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


def test_columns_of_ours_give_way_to_those_of_the_input(spark):
    row = spark.createDataFrame([("r", "a", {"a": 1}, 5.0, "x")], SCHEMA)
    frame = row.selectExpr("*", "text as position", "1.5 as Reason", "text as antecede", "text as arrival")
    outcome = order(frame.union(frame), group="room")
    own = ["room", "sender", "stamp", "time", "text", "position", "Reason", "antecede", "arrival"]
    assert outcome.ordered.columns == [*own, "antecede_position", "antecede_arrival"]
    assert outcome.held.columns == [*own, "missing", "since"]
    assert outcome.quarantine.columns == [*own, "antecede_reason"]
    (found,), (again,) = outcome.ordered.collect(), outcome.quarantine.collect()
    assert (found["position"], found["antecede_position"], found["arrival"]) == ("x", 0, "x")
    assert str(again["Reason"]) == "1.5" and "came before" in again["antecede_reason"]


def test_no_rows_give_three_empty_tables(spark):
    outcome = order(spark.createDataFrame([], SCHEMA), group="room")
    assert told(outcome) == {"ordered": [], "held": [], "quarantine": [], "gaps": []}
    assert outcome.counts() == {"input": 0, "ordered": 0, "held": 0, "quarantined": 0}
    assert outcome.ordered.columns == [*SCHEMA_NAMES, "position", "arrival"]
    assert outcome.held.columns == [*SCHEMA_NAMES, "missing", "since"]
    assert outcome.quarantine.columns == [*SCHEMA_NAMES, "reason"]


SCHEMA_NAMES = ["room", "sender", "stamp", "time", "text"]


def test_a_row_that_misses_something_says_what_and_since_when(spark):
    rows = [
        ("r", "a", {"a": 1}, 1.0, "first"),
        ("r", "b", {"a": 3, "b": 1}, 2.0, "second"),
        ("r", "c", {"b": 1, "c": 1}, 3.0, "third"),
    ]
    outcome = order(spark.createDataFrame(rows, SCHEMA), group="room", time="time")
    held = {row["text"]: (row["missing"], row["since"]) for row in outcome.held.collect()}
    assert held == {"second": (["messages 2 to 3 of a"], 1), "third": (["message 1 of b"], 2)}
    gaps = [tuple(row) for row in outcome.gaps.collect()]
    assert gaps == [("r", "messages 2 to 3 of a", 1)], "message 1 of b is here, and held"


def test_the_arrival_that_is_told_decides_among_concurrent_messages(spark):
    rows = [("r", name, {name: 1}, float(at), name) for name, at in (("a", 3), ("b", 1), ("c", 2))]
    frame = spark.createDataFrame(rows, SCHEMA)
    by_time = order(frame, group="room", time="time").ordered.collect()
    assert sorted((row["position"], row["text"]) for row in by_time) == [(0, "b"), (1, "c"), (2, "a")]
    moments = frame.selectExpr("room", "sender", "stamp", "text", "timestamp_seconds(-time) seen")
    by_arrival = order(moments, group="room", arrival="seen").ordered.collect()
    assert sorted((row["position"], row["text"]) for row in by_arrival) == [(0, "a"), (1, "c"), (2, "b")]
    assert all(row["arrival"] == row["seen"] for row in by_arrival)
    by_name = order(frame, group="room").ordered.collect()
    assert sorted((row["position"], row["text"]) for row in by_name) == [(0, "a"), (1, "b"), (2, "c")]


def test_without_a_group_all_rows_are_one(spark):
    rows = [("r", "a", {"a": 1}, 1.0, "x"), ("q", "b", {"a": 1, "b": 1}, 0.0, "y")]
    outcome = order(spark.createDataFrame(rows, SCHEMA).repartition(2), time="time")
    assert sorted((row["position"], row["text"]) for row in outcome.ordered.collect()) == [(0, "x"), (1, "y")]


BAD: list[tuple[str, str | None, dict[str, int | None] | None, str]] = [
    (" is null", "a", None, "null"),
    ("negative", "a", {"a": 1, "b": -1}, "negative"),
    ("no count", "a", {"a": 1, "b": None}, "an entry without a count"),
    ("own entry", "a", {"a": 0}, "the entry of the sender is 0"),
    ("unknown sender", "z", {"a": 1}, "no entry for its sender"),
    ("no sender", None, {"a": 1}, "no sender"),
]


def test_malformed_stamps_go_to_quarantine_with_the_reason(spark):
    rows = [("r", sender, stamp, 0.0, text) for text, sender, stamp, _ in BAD]
    good = ("r", "a", {"a": 1}, 0.0, "good")
    outcome = order(spark.createDataFrame([*rows, good, (None, *good[1:])], SCHEMA), group="room")
    assert [row["text"] for row in outcome.ordered.collect()] == ["good"]
    reasons = {row["text"]: row["reason"] for row in outcome.quarantine.collect()}
    assert len(reasons) == len(BAD) + 1 and "no group" in reasons["good"]
    for text, _, _, part in BAD:
        assert part in reasons[text], reasons[text]


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ("text as Text", {}, "'text' and 'Text' differ only in upper and lower case.*rename one"),
        ("text as time", {}, "'time' and 'time' are called the same.*rename one"),
        ("text", {"group": "nope"}, "no column 'nope'; there are: room, sender"),
        ("text", {"time": "text"}, "column 'text' is string.*cast it"),
        ("text", {"form": "nope"}, "'nope' is no form.*one of vector, matrix"),
        ("text", {"stamp": "text"}, "'string' is no form"),
        ("text", {"form": "matrix"}, "is map<string,int>; stamps of form 'matrix' are array<array<int>>"),
        ("array(1, 2) as v", {"stamp": "v"}, "'sender' has names: give members="),
        ("array(1, 2) as v", {"stamp": "v", "form": "shared"}, "needs keys="),
        ("array('x') as p", {"stamp": "p"}, "needs id="),
        ("array(named_struct('s', 'a', 'n', 1)) as l", {"stamp": "l"}, "needs number="),
        ("array(array(1)) as m", {"stamp": "m"}, "needs receiver="),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_remedy(spark, change, options, sentence):
    columns = ["room", "sender", "stamp", "time", *dict.fromkeys(("text", change))]
    frame = spark.createDataFrame([], SCHEMA).selectExpr(*columns)
    with pytest.raises(CallerError, match=f"(?s){sentence}"):
        order(frame, **{"group": "room", **options})
