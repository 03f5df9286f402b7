"""Tables of messages from other libraries: their types are taken as what they mean, and kept as they are."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import antecede
from antecede.core.errors import CallerError
from tests.commands import here


def test_dictionaries_of_pandas_are_stamps() -> None:
    clocks = [{"a": 1, "b": 1}, {"a": 1}, {"c": 2}]
    messages = pd.DataFrame({"sender": ["b", "a", "c"], "stamp": clocks, "text": ["second", "first", "held"]})
    ordered, held, quarantine = antecede.order(messages)
    assert ordered["text"].to_pylist() == ["first", "second"], "the rows are in causal order"
    assert held["missing"].to_pylist() == [["message 1 of c"]]
    assert quarantine.num_rows == 0


def test_dictionaries_of_floats_are_stamps() -> None:
    clocks = [{"a": 1.0, "b": 1}, {"a": 1.0}, {"b": 2.5}]
    ordered, _, quarantine = antecede.order(pd.DataFrame({"sender": ["b", "a", "b"], "stamp": clocks}))
    assert ordered["sender"].to_pylist() == ["a", "b"]
    assert quarantine["reason"].to_pylist() == ["the stamp has a count that is no whole number"]


def test_types_that_other_libraries_use_are_read_and_kept() -> None:
    stamps = pa.array([[1, 1], [1, 0]], pa.large_list(pa.uint16()))
    table = pa.table(
        {
            "room": pa.array(["r", "r"]).dictionary_encode(),
            "sender": pa.array(["b", "a"], pa.large_string()),
            "stamp": stamps,
            "seen": pa.array([2, 1], pa.timestamp("ns")),
        }
    )
    outcome = antecede.order(table, group="room", arrival="seen", members=["a", "b"])
    assert outcome.ordered["sender"].to_pylist() == ["a", "b"]
    assert outcome.ordered.schema.types[:4] == table.schema.types
    assert outcome.counts() == {"input": 2, "ordered": 2, "held": 0, "quarantined": 0}


def test_views_of_texts_as_polars_makes_them() -> None:
    views = pa.string_view()
    rooms = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.uint32()), pa.array(["r"], views))
    table = pa.table(
        {
            "room": rooms,
            "id": pa.array(["b", "a"], views),
            "stamp": pa.array([["a"], []], pa.large_list(views)),
            "more": pa.array([{"x": "y"}, None], pa.struct({"x": views})),
        }
    )
    ordered = antecede.order(table, group="room", id="id").ordered
    assert ordered.drop_columns(["position", "arrival"]).to_pylist() == table.to_pylist()[::-1]


def test_arrivals_are_told_apart_by_nanoseconds() -> None:
    seen = pa.array([2, 1], pa.timestamp("ns"))
    ordered = antecede.order(
        pa.table({"sender": ["a", "b"], "stamp": [1, 1], "seen": seen}), arrival="seen"
    ).ordered
    assert ordered["sender"].to_pylist() == ["b", "a"]


def test_stamps_in_fixed_size_lists_are_vectors() -> None:
    stamps = pa.array([[1, 1], [1, 0]], pa.list_(pa.int64(), 2))
    ordered = antecede.order(pa.table({"sender": [1, 0], "stamp": stamps})).ordered
    assert ordered["sender"].to_pylist() == [0, 1]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(CallerError, match="must be an Arrow table"):
        antecede.order([{"sender": "a"}])


def test_what_arrow_cannot_read_is_told_in_a_sentence() -> None:
    tuples = pd.DataFrame({"sender": ["a"], "stamp": [[("a", 1)]]})
    with pytest.raises(CallerError, match=r"column stamp.*give that column a type of Arrow"):
        antecede.order(tuples)
    rooms = pa.table({"room": [b"\xff"], "sender": ["a"], "stamp": [1]})
    with pytest.raises(CallerError, match="not all of it is UTF-8"):
        antecede.order(rooms, group="room")


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ("a,b", "give a list of names"),
        (b"ab", "give a list of names"),
        ({"a", "b"}, "is of type set, which has no order"),
        (5, "is of type int, which has no order"),
        ([], "names none"),
        (iter([]), "names none"),
        (["a", None], "has None among them"),
        (["a", True], "has True among them"),
        (["a", 1.0], "has 1.0 among them"),
        (["a", 1, "1"], "names '1' twice"),
    ],
)
def test_members_that_are_no_list_of_names_are_refused(members: Any, told: str) -> None:
    with pytest.raises(CallerError, match=f"members=.*{told}"):
        antecede.order(pa.table({"sender": ["a"], "stamp": [[1, 0]]}), members=members)


@pytest.mark.parametrize("make", [iter, tuple, pa.array, pd.Series, dict.fromkeys])
def test_members_are_taken_from_whatever_lists_them_once(make: Callable[[list[str]], Any]) -> None:
    stamps = [[2, 1], [1, 0], [2, 0]]
    table = pa.table({"sender": ["b", "a", "a"], "stamp": stamps})
    ordered = antecede.order(table, members=make(["a", "b"])).ordered
    assert ordered["stamp"].to_pylist() == [[1, 0], [2, 0], [2, 1]]


RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3]), pa.array(["x", "y"]))
UNION = pa.UnionArray.from_sparse(pa.array([0, 0, 1], pa.int8()), [pa.array([1, 1, 1]), pa.array(["a"] * 3)])
SELDOM = {
    "time32": pa.array([1, 1, 2], pa.time32("ms")),
    "interval": pa.array([(1, 2, 3), (1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval()),
    "list_view": pa.array([["a"], ["a"], [None, "b"]], pa.list_view(pa.string())),
    "large_list_view": pa.array([[1], [1], [2, 3]], pa.large_list_view(pa.int64())),
    "list of time32": pa.array([[1], [1], [2, None]], pa.list_(pa.time32("s"))),
    "bytes": pa.array([b"\xff", b"\xff", b"\xfe"], pa.binary(1)),
    "union": UNION,
    "runs": RUNS,
    "runs in structs": pa.StructArray.from_arrays([RUNS], names=["inside"]),
}


@pytest.mark.parametrize("name", SELDOM)
def test_columns_that_are_not_read_may_have_any_type(name: str) -> None:
    column = SELDOM[name]
    table = pa.table({"sender": ["a", "a", "a"], "stamp": [1, 1, 1], "more": column})
    ordered, _, quarantine = antecede.order(table)
    assert [*ordered["more"].to_pylist(), *quarantine["more"].to_pylist()].count(column[2].as_py()) == 1
    other = " came before, with other contents: that one counts"
    reasons = ["duplicate: message 1 of a came before", f"duplicate: message 1 of a{other}"]
    assert set(quarantine["reason"].to_pylist()) in ({reasons[1]}, set(reasons))
    events = pa.table({"process": ["a", "b", "c"], "kind": ["local"] * 3, "more": column})
    assert antecede.order_events(events).ordered["more"].to_pylist() == column.to_pylist()


def test_columns_that_are_read_may_be_views_and_runs() -> None:
    sender = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3]), pa.array(["b", "a"]))
    stamp = pa.array([[2, 1], [1, 0], [2, 0]], pa.large_list_view(pa.int64()))
    outcome = antecede.order(pa.table({"sender": sender, "stamp": stamp}), members=["a", "b"])
    assert outcome.ordered["stamp"].to_pylist() == [[1, 0], [2, 0], [2, 1]]


def test_times_of_day_in_parquet_pass_through_the_command(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    at = pa.array([1, 2], pa.time32("ms"))
    pq.write_table(pa.table({"sender": ["a", "a"], "stamp": [2, 1], "at": at}), "m.parquet")
    words = ("m.parquet", "--stamp", "stamp", "--out", "out", "--engine", "local")
    done = here(monkeypatch, capsys, "order", *words)
    assert (done.code, done.noise) == (0, [])
    assert pq.read_table("out/ordered")["at"].to_pylist() == at.to_pylist()[::-1]
