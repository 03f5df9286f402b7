"""Tables of messages from other libraries: their types are taken as what they mean, and kept as they are."""

import pandas as pd
import pyarrow as pa
import pytest

import antecede
from antecede.core.errors import CallerError


def test_dictionaries_of_pandas_are_stamps() -> None:
    clocks = [{"a": 1, "b": 1}, {"a": 1}, {"c": 2}]
    messages = pd.DataFrame({"sender": ["b", "a", "c"], "stamp": clocks, "text": ["second", "first", "held"]})
    ordered, held, quarantine = antecede.order(messages)
    assert ordered["text"].to_pylist() == ["first", "second"], "the rows are in causal order"
    assert held["missing"].to_pylist() == [["message 1 of c"]]
    assert quarantine.num_rows == 0


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


def test_members_in_one_text_are_refused() -> None:
    with pytest.raises(CallerError, match="give a list of names"):
        antecede.order(pa.table({"sender": ["a"], "stamp": [[1, 0]]}), members="a,b")
