"""Stamps of SES, with what they leave out: no entry for the receiver, and causes that it delivered itself."""

from typing import Any

import pyarrow as pa
import pytest

from tests.engines.engines import rows_of
from tests.sql_tables import make_table

TYPE = "src int, dst int, m string, pairs struct<t:array<int>, l:array<struct<p:int, v:array<int>>>>"
FIRST: tuple[Any, ...] = (0, 2, "r1", ([1, 0, 0], []))
SECOND: tuple[Any, ...] = (0, 1, "r2", ([2, 0, 1], [(1, [0, 0, 1])]))
BAD: tuple[Any, ...] = (0, 0, "z", ([0, 0, 0], [(0, [0, 0, 0])]))


def by_pairs(engine, frame, **options):
    """The names of the messages in order, and what the others miss or why they are left out."""
    outcome = engine.order(frame, sender="src", stamp="pairs", receiver="dst", form="pairs", **options)
    line = [row["m"] for row in rows_of(outcome.ordered.sort_by("position"))]
    held = {row["m"]: row["missing"] for row in rows_of(outcome.held)}
    return line, held, {row["m"]: row["reason"] for row in rows_of(outcome.quarantine)}


def test_a_first_message_has_no_entry_for_its_receiver(engine):
    assert by_pairs(engine, make_table([FIRST], TYPE)) == (["r1"], {}, {})
    by_name = TYPE.replace("src int, dst int", "src string, dst string").replace("p:int", "p:string")
    frame = make_table([("a", "c", *FIRST[2:])], by_name)
    assert by_pairs(engine, frame, members=["a", "b", "c"]) == (["r1"], {}, {})


@pytest.mark.parametrize("others", [[], [FIRST], [FIRST, BAD]])
def test_a_row_of_another_group_changes_nothing(engine, others):
    for rows in ([SECOND, *others], [*others, SECOND]):
        line, held, bad = by_pairs(engine, make_table(rows, TYPE), group="dst")
        assert (line, held) == (["r1"] if others else [], {"r2": ["time 1 of 2"]})
        assert set(bad) == ({"z"} if BAD in others else set())


def test_a_cause_that_the_receiver_itself_passed_on_comes_first(engine):
    """c writes x to b; b delivers it and writes to a; a writes y to b, which needs nothing that b lacks."""
    rows: list[tuple[Any, ...]] = [
        (0, 1, "y", ([1, 1, 1], [])),
        (2, 1, "x", ([0, 0, 1], [])),
        (2, 1, "w", ([1, 1, 2], [])),
    ]
    frame = make_table(rows, TYPE)
    assert by_pairs(engine, frame, group="dst")[0] == ["x", "y", "w"]
    told = frame.append_column("at", pa.array([4, 9, 9]))
    assert by_pairs(engine, told, group="dst", arrival="at")[0] == ["y", "x", "w"]
    named = make_table(
        [(*row[:3], ({str(at): count for at, count in enumerate(row[3][0])}, {})) for row in rows],
        "src int, dst int, m string, pairs struct<t:map<string,int>, l:map<string,map<string,int>>>",
    )
    assert by_pairs(engine, named, group="dst")[0] == ["x", "y", "w"]


def test_a_log_tells_of_causes_that_are_not_for_the_receiver(engine):
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
    frame = make_table(rows, kind)
    frame = frame.append_column("receiver", pa.array(["r"] * len(rows)))
    frame = frame.append_column("at", pa.array([ord(row[2][0]) for row in rows]))
    outcome = engine.order(frame, receiver="receiver", number="number")
    line = [row["m"] for row in rows_of(outcome.ordered.sort_by("position"))]
    assert line == ["z3", "y1", "y2", "a1", "z5", "b1"]
    assert [row["m"] for row in rows_of(outcome.quarantine)] == ["c"]
    outcome = engine.order(frame, receiver="receiver", number="number", arrival="at")
    line = [row["m"] for row in rows_of(outcome.ordered.sort_by("position"))]
    assert line == ["a1", "b1", "y1", "y2", "z3", "z5"]
