"""Views and runs, written out, have the values that they had: also inside of others, and in slices."""

import pyarrow as pa
import pytest

from antecede.ordering.written_out import choose_written_out_type, write_out_views_and_runs

TEXT = pa.string_view()
TEXTS = pa.list_view(TEXT)
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5]), pa.array(["a", None, "b"]))
COLUMNS = {
    "texts": pa.array(["a", None, "b", "a", "c"], TEXT),
    "bytes": pa.array([b"\xff", None, b"b", b"", b"c"], pa.binary_view()),
    "codes": pa.array(["a", None, "b", "a", "c"]).dictionary_encode().cast(pa.dictionary(pa.int32(), TEXT)),
    "lists": pa.array([["a"], None, [None, "b"], [], ["c"]], TEXTS),
    "large lists": pa.array([[1], None, [None, 2], [], [3]], pa.large_list_view(pa.int64())),
    "nested": pa.array([[["a"]], None, [None, ["b", None]], [], [[]]], pa.large_list_view(TEXTS)),
    "items": pa.array([["a"], None, [None, "b"], [], ["c"]], pa.list_(TEXT)),
    "large items": pa.array([["a"], None, [None, "b"], [], ["c"]], pa.large_list(TEXT)),
    "pairs": pa.array([["a", "b"], None, [None, "b"], ["c", "d"], ["e", "f"]], pa.list_(TEXT, 2)),
    "maps": pa.array([[("a", ["x"])], None, [("b", None)], [], []], pa.map_(TEXT, TEXTS)),
    "structs": pa.array([{"a": ["x"]}, None, {"a": None}, {"a": []}, {}], pa.struct({"a": TEXTS})),
    "runs": RUNS,
    "runs of lists": pa.RunEndEncodedArray.from_arrays(pa.array([2, 5]), pa.array([["a"], []], TEXTS)),
    "struct of runs": pa.StructArray.from_arrays([RUNS], names=["a"]),
    "sparse union": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0, 1, 0], pa.int8()), [RUNS, pa.array([1, 2, None, 4, 5])]
    ),
    "dense union": pa.UnionArray.from_dense(
        pa.array([0, 1, 0, 1, 0], pa.int8()),
        pa.array([0, 0, 1, 1, 4], pa.int32()),
        [RUNS, pa.array(["x", None], TEXT)],
    ),
}  # fmt: skip
COLUMNS |= {
    f"struct of {name}": pa.StructArray.from_arrays(
        [COLUMNS[name]], names=["inside"], mask=pa.array([False, False, True, False, True])
    )
    for name in ("sparse union", "dense union", "maps", "codes")
}


@pytest.mark.parametrize("name", COLUMNS)
def test_values_stay_the_same(name: str) -> None:
    column = COLUMNS[name]
    plain = choose_written_out_type(column.type)
    values = column.to_pylist()
    for first in range(len(column)):
        for rows in (slice(first, None), slice(first), slice(first, first + 2)):
            part = column[rows]
            written = write_out_views_and_runs(part)
            assert written.type == plain and choose_written_out_type(plain) == plain
            assert written.to_pylist() == values[rows]
            written.validate(full=True)
            backwards = pa.array(range(len(part)), pa.int64())[::-1]
            assert written.take(backwards).to_pylist() == values[rows][::-1]


@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.list_(pa.string()), pa.map_(pa.string(), pa.int64()), pa.uuid()]
)
def test_plain_columns_are_not_copied(kind: pa.DataType) -> None:
    column = pa.array([None, None], kind)
    assert write_out_views_and_runs(column) is column
