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


def test_stamps_in_fixed_size_lists_are_vectors() -> None:
    stamps = pa.array([[1, 1], [1, 0]], pa.list_(pa.int64(), 2))
    ordered = antecede.order(pa.table({"sender": [1, 0], "stamp": stamps})).ordered
    assert ordered["sender"].to_pylist() == [0, 1]


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(CallerError, match="must be an Arrow table"):
        antecede.order([{"sender": "a"}])
