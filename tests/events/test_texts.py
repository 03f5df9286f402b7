"""Columns of more text than Arrow's 32-bit offsets can count, and values taken out of columns."""

import pyarrow as pa
import pytest

from antecede.auditing.judge import judge
from antecede.events import columns
from antecede.events.columns import to_python_list, widen_offsets_of_huge_text_columns
from antecede.events.graph import build_event_graph
from antecede.tables import EVENTS
from tests.event_rows import table, talk

LONG = 4_500
"""Characters of a path so long that half a million of them are more than 2^31 bytes."""


def test_names_beyond_two_gigabytes_need_not_be_put_into_one_piece():
    rows = 50_000
    some = {
        "process": pa.array(["a"] * rows),
        "index": pa.array(range(rows)),
        "file": pa.array(["/" * LONG]).take(pa.array([0] * rows)),
    }
    # The same batch again and again, so that this takes little memory.
    events = pa.Table.from_batches([pa.RecordBatch.from_pydict(some)] * 10)
    assert events["file"].nbytes > columns.MOST_BYTES
    graph = build_event_graph(events)
    assert len(graph.events.table) == 10 * rows
    files = graph.events.table["file"].combine_chunks()
    assert files.dictionary.to_pylist() == ["/" * LONG]


def test_an_audit_does_not_depend_on_the_width_of_offsets(monkeypatch):
    events = table(*talk(7, 4, 200, "x", 0.2))
    events = events.set_column(
        EVENTS.get_field_index("parents"),
        "parents",
        pa.array(
            [[f"nobody-{at}"] if at % 7 == 0 else [] for at in range(len(events))], pa.list_(pa.string())
        ),
    )
    narrow = judge(build_event_graph(events))
    assert {"late", "missing"} <= set(narrow.findings["kind"].to_pylist())
    monkeypatch.setattr(columns, "MOST_BYTES", 100)
    widened = widen_offsets_of_huge_text_columns(events).schema
    assert widened.field("event").type == pa.large_string()
    assert widened.field("parents").type == pa.list_(pa.large_string())
    assert widened.field("clock").type == pa.map_(pa.large_string(), pa.int64())
    wide = judge(build_event_graph(events))
    assert wide.findings == narrow.findings
    assert wide.totals == narrow.totals


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["a", None, "ü"]),
        pa.array(["a", None], pa.large_string()),
        pa.array([1, None, 2**62]),
        pa.array([0.5, None, float("inf")]),
        pa.array([None, None], pa.string()),
        pa.array([None, None], pa.float64()),
        pa.array([], pa.int64()),
        pa.array([["a"], None]),
        pa.nulls(2),
    ],
)
def test_values_are_those_of_arrow(array):
    assert to_python_list(array) == array.to_pylist()
    assert [type(value) for value in to_python_list(array)] == [type(value) for value in array.to_pylist()]
