"""Tables of messages in causal order: every row once, however rows lie."""

from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.core.errors import CallerError
from tests.engines.engines import rows_of
from tests.message_rows import lines
from tests.sql_tables import make_table

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


def test_every_row_is_in_one_table_and_none_comes_before_its_causes(engine):
    rows = chat(1, 5, 60)
    outcome = engine.order(make_table(rows, SCHEMA), group="room", time="time")
    ordered, held, quarantine = map(rows_of, (outcome.ordered, outcome.held, outcome.quarantine))
    assert outcome.counts == {
        "input": len(rows),
        "ordered": len(ordered),
        "held": len(held),
        "quarantined": len(quarantine),
    }
    everywhere = Counter((row["room"], row["text"]) for row in (*ordered, *held, *quarantine))
    assert everywhere == Counter((row[0], row[4]) for row in rows)
    assert min(map(len, (ordered, held, quarantine))) > 0
    for line in lines(ordered, "room", "stamp").values():
        for at, stamp in enumerate(line):
            later = [other for other in line[:at] if all(other.get(x, 0) >= c for x, c in stamp.items())]
            assert later == []
    assert all(row["missing"] and row["since"] >= 0 for row in held)


def test_the_result_does_not_depend_on_the_order_of_rows(engine):
    rows = chat(2, 4, 40)
    results = []
    for seed in range(2):
        shuffled = Random(seed).sample(rows, len(rows))
        results.append(engine.order(make_table(shuffled, SCHEMA), group="room", time="time").rows())
    assert results[0] == results[1]
    assert all(results[0].values())


def test_of_two_messages_that_differ_the_same_one_counts_on_both_engines(engine):
    """Spark's tables are compared with those of this process: contents decide, whatever their types are."""
    contents = (
        "x",
        1,
        2.5,
        True,
        ["u", None],
        [(1, "v")],
        {"k": 1},
        ({"k": 1},),
        datetime(2024, 2, 29, tzinfo=UTC),
    )
    other: tuple[Any, ...] = (
        "y" * 40,
        2,
        -0.0,
        False,
        [],
        [(None, "w")],
        {"k": 2},
        ({"k": 2},),
        datetime(1969, 1, 1, tzinfo=UTC),
    )
    schema = (
        "sender string, stamp int, a string, b bigint, c double, d boolean, e array<string>, "
        "f array<struct<x:int,y:string>>, g map<string,int>, h struct<m:map<string,int>>, i timestamp"
    )
    rows: list[tuple[Any, ...]] = [("s", 1, *contents)]
    for place in range(len(contents)):
        changed = (*contents[:place], other[place], *contents[place + 1 :])
        rows += [(f"s{place}", 1, *contents), (f"s{place}", 1, *changed)]
    rows += [("n", 1, *contents), ("n", 1, *[None] * len(contents))]
    outcome = engine.order(make_table(rows, schema))
    assert outcome.counts["ordered"] == len(contents) + 2
    reasons = {row["reason"] for row in rows_of(outcome.quarantine)}
    assert all(reason.endswith("with other contents: that one counts") for reason in reasons)


def test_a_copy_of_a_message_is_told_from_another_one(engine):
    rows = [("r", "a", {"a": 1}, 1.0, "x"), ("r", "a", {"a": 1}, 2.0, "x"), ("r", "a", {"a": 1}, 3.0, "y")]
    outcome = engine.order(make_table(rows, SCHEMA), group="room", time="time")
    reasons = {row["time"]: row["reason"] for row in rows_of(outcome.quarantine)}
    assert reasons == {
        2.0: "duplicate: message 1 of a came before",
        3.0: "duplicate: message 1 of a came before, with other contents: that one counts",
    }


def test_a_record_that_was_sent_twice_says_the_same_wherever_it_lies_in_its_topic(engine):
    schema = "sender string, stamp int, text string, kafka_partition int, kafka_offset bigint"
    rows = [
        ("a", 1, "x", 0, 5),
        ("a", 1, "x", 0, 6),
        ("a", 1, "x", 1, 5),
        ("b", 1, "x", 0, 7),
        ("b", 1, "y", 0, 8),
    ]
    first = engine.order(make_table(rows, schema))
    reasons = {(row["sender"], row["reason"]) for row in rows_of(first.quarantine)}
    assert reasons == {
        ("a", "duplicate: message 1 of a came before"),
        ("b", "duplicate: message 1 of b came before, with other contents: that one counts"),
    }
    again = engine.order(make_table(rows[::-1], schema))
    kept = [sorted(map(str, rows_of(outcome.ordered))) for outcome in (first, again)]
    assert len(kept[0]) == 2 and kept[0] == kept[1]


def test_columns_of_ours_give_way_to_those_of_the_input(engine):
    schema = f"{SCHEMA}, position string, Reason double, antecede string, arrival string"
    row = ("r", "a", {"a": 1}, 5.0, "x", "x", 1.5, "x", "x")
    outcome = engine.order(make_table([row, row], schema), group="room")
    own = [*SCHEMA_NAMES, "position", "Reason", "antecede", "arrival"]
    assert outcome.ordered.column_names == [*own, "antecede_position", "antecede_arrival"]
    assert outcome.held.column_names == [*own, "missing", "since"]
    assert outcome.quarantine.column_names == [*own, "antecede_reason"]
    (good,), (again,) = rows_of(outcome.ordered), rows_of(outcome.quarantine)
    assert (good["position"], good["antecede_position"], good["arrival"]) == ("x", 0, "x")
    assert again["Reason"] == 1.5 and "came before" in again["antecede_reason"]


def test_no_rows_give_three_empty_tables(engine):
    outcome = engine.order(make_table([], SCHEMA), group="room")
    assert outcome.rows() == {"ordered": [], "held": [], "quarantine": [], "gaps": []}
    assert outcome.counts == {"input": 0, "ordered": 0, "held": 0, "quarantined": 0}
    assert outcome.ordered.column_names == [*SCHEMA_NAMES, "position", "arrival"]
    assert outcome.held.column_names == [*SCHEMA_NAMES, "missing", "since"]
    assert outcome.quarantine.column_names == [*SCHEMA_NAMES, "reason"]


SCHEMA_NAMES = ["room", "sender", "stamp", "time", "text"]


def test_a_row_that_misses_something_says_what_and_since_when(engine):
    rows = [
        ("r", "a", {"a": 1}, 1.0, "first"),
        ("r", "b", {"a": 3, "b": 1}, 2.0, "second"),
        ("r", "c", {"b": 1, "c": 1}, 3.0, "third"),
    ]
    outcome = engine.order(make_table(rows, SCHEMA), group="room", time="time")
    held = {row["text"]: (row["missing"], row["since"]) for row in rows_of(outcome.held)}
    assert held == {"second": (["messages 2 to 3 of a"], 1), "third": (["message 1 of b"], 2)}
    gaps = [tuple(row.values()) for row in rows_of(outcome.gaps)]
    assert gaps == [("r", None, "messages 2 to 3 of a", 2)], "message 1 of b is here, and held"


def test_the_arrival_that_is_told_decides_among_concurrent_messages(engine):
    rows = [("r", name, {name: 1}, float(at), name) for name, at in (("a", 3), ("b", 1), ("c", 2))]
    table = make_table(rows, SCHEMA)
    assert list_texts(engine.order(table, group="room", time="time")) == ["b", "c", "a"]
    moments = pa.array([datetime.fromtimestamp(-row[3], UTC) for row in rows], pa.timestamp("us", "UTC"))
    outcome = engine.order(table.append_column("seen", moments), group="room", arrival="seen")
    assert list_texts(outcome) == ["a", "c", "b"]
    assert all(row["arrival"] == row["seen"] for row in rows_of(outcome.ordered))
    assert list_texts(engine.order(table, group="room")) == ["a", "b", "c"]


def list_texts(outcome) -> list[str]:
    return list(outcome.ordered.sort_by("position")["text"].to_pylist())


def test_without_a_group_all_rows_are_one(engine):
    rows = [("r", "a", {"a": 1}, 1.0, "x"), ("q", "b", {"a": 1, "b": 1}, 0.0, "y")]
    outcome = engine.order(make_table(rows, SCHEMA), time="time")
    assert sorted((row["position"], row["text"]) for row in rows_of(outcome.ordered)) == [(0, "x"), (1, "y")]


BAD: list[tuple[str, str | None, dict[str, int | None] | None, str]] = [
    (" is null", "a", None, "null"),
    ("negative", "a", {"a": 1, "b": -1}, "negative"),
    ("no count", "a", {"a": 1, "b": None}, "an entry without a count"),
    ("own entry", "a", {"a": 0}, "the entry of the sender is 0"),
    ("unknown sender", "z", {"a": 1}, "no entry for its sender"),
    ("no sender", None, {"a": 1}, "no sender"),
]


def test_malformed_stamps_go_to_quarantine_with_the_reason(engine):
    rows = [("r", sender, stamp, 0.0, text) for text, sender, stamp, _ in BAD]
    good = ("r", "a", {"a": 1}, 0.0, "good")
    outcome = engine.order(make_table([*rows, good, (None, *good[1:])], SCHEMA), group="room")
    assert [row["text"] for row in rows_of(outcome.ordered)] == ["good"]
    reasons = {row["text"]: row["reason"] for row in rows_of(outcome.quarantine)}
    assert len(reasons) == len(BAD) + 1 and "no group" in reasons["good"]
    for text, _, _, part in BAD:
        assert part in reasons[text], reasons[text]


@pytest.mark.parametrize(
    ("column", "options", "sentence"),
    [
        ("Text string", {}, "'text' and 'Text' differ only in upper and lower case.*rename one"),
        ("x string", {"group": "nope"}, "no column 'nope'; there are: room, sender"),
        ("x string", {"time": "text"}, "column 'text' is string.*cast it"),
        ("x string", {"form": "nope"}, "'nope' is no form.*one of vector, clock"),
        ("x string", {"stamp": "text"}, "'string' is no form"),
        ("x string", {"form": "matrix"}, "is map<string,int>; stamps of form 'matrix' are array<array<int>>"),
        ("x string", {"form": "packets"}, "stamp as binary"),
        ("v array<int>", {"stamp": "v"}, "'sender' has names: give members="),
        ("v array<int>", {"stamp": "v", "members": ["a", "b", "a"]}, "members=, .*, names 'a' twice"),
        ("v array<int>", {"stamp": "v", "form": "shared"}, "needs keys="),
        ("v array<int>", {"stamp": "v", "keys": "text"}, "column 'text' is string; keys are array<int>"),
        ("p array<string>", {"stamp": "p"}, "needs id="),
        ("l array<struct<s:string,n:int>>", {"stamp": "l"}, "needs number="),
        ("l array<struct<s:string,n:int>>", {"stamp": "l", "number": "text"}, "is string, and the number of"),
        ("m array<array<int>>", {"stamp": "m"}, "needs receiver="),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_remedy(engine, column, options, sentence):
    table = make_table([], f"{SCHEMA}, {column}")
    with pytest.raises(CallerError, match=f"(?s){sentence}"):
        engine.order(table, **{"group": "room", **options})


def test_senders_that_are_written_as_places(engine):
    rows = [("1", [1, 1]), (" 0", [1, 0])]
    outcome = engine.order(make_table(rows, "sender string, stamp array<int>"))
    assert {row["sender"]: row["position"] for row in rows_of(outcome.ordered)} == {" 0": 0, "1": 1}
    with pytest.raises(CallerError, match="has names, such as 'b'"):
        engine.order(make_table([*rows, ("b", [1, 1])], "sender string, stamp array<int>"))


def test_keys_of_maps_that_are_integers_are_the_same_however_senders_write_them(engine):
    rows = [("01", {1: 1}), ("2", {1: 1, 2: 1}), ("1", {1: 2, 2: 1})]
    outcome = engine.order(make_table(rows, "sender string, stamp map<int,int>"))
    assert {row["sender"]: row["position"] for row in rows_of(outcome.ordered)} == {"01": 0, "2": 1, "1": 2}
