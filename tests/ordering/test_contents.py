"""Rows of every type that Arrow has can be told apart: equal ones have one hash, others have others."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from antecede.ordering.contents import hash_rows

TEXT = pa.string()
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4]), pa.array(["x", "y", "x", None]))
UNIONS = {
    "sparse": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0, 0], pa.int8()), [pa.array([1, 1, 1, None]), pa.array([1, 1, 1, 1], pa.int8())]
    ),
    "dense": pa.UnionArray.from_dense(
        pa.array([0, 1, 0, 0], pa.int8()),
        pa.array([0, 0, 2, 1], pa.int32()),
        [pa.array([["a"], None, ["a"]], pa.list_view(pa.string())), pa.array(["a"], pa.string_view())],
    ),
}
VALUES: list[tuple[pa.DataType, Any, Any]] = [
    (pa.bool_(), True, False),
    (pa.uint64(), 2**64 - 1, 7),
    (pa.float16(), np.float16(1.0), np.float16(1.5)),
    (pa.time32("s"), 1, 2),
    (pa.time32("ms"), time(1, 2, 3), time(1, 2, 4)),
    (pa.time64("us"), time(1, 2, 3, 4), time(1, 2, 3, 5)),
    (pa.time64("ns"), 1, 2),
    (pa.timestamp("ns"), 1000, 2000),
    (pa.timestamp("s", "UTC"), datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)),
    (pa.date64(), date(2024, 1, 1), date(2024, 1, 2)),
    (pa.duration("s"), 1, 2),
    (pa.duration("ns"), timedelta(microseconds=1), timedelta(microseconds=2)),
    (pa.month_day_nano_interval(), (1, 2, 3), (1, 2, 4)),
    (pa.decimal32(5, 2), Decimal("1.50"), Decimal("1.51")),
    (pa.decimal256(40, 2), Decimal("1.50"), Decimal("1.51")),
    (pa.string_view(), "a", "b"),
    (pa.binary_view(), b"\xff", b"\xfe"),
    (pa.binary(2), b"\xff\xfe", b"\xff\xff"),
    (pa.list_(pa.time32("s")), [1, None], [1, 2]),
    (pa.list_(pa.int8(), 2), [1, 2], [2, 1]),
    (pa.large_list(pa.int64()), [1, 2], [1]),
    (pa.list_view(pa.list_view(pa.string())), [["a"], []], [["b"], []]),
    (pa.large_list_view(pa.month_day_nano_interval()), [(1, 2, 3)], [(1, 2, 3), (1, 2, 3)]),
    (pa.struct({"t": pa.time32("ms")}), {"t": 1}, {"t": 2}),
    (pa.struct({"m": pa.map_(TEXT, pa.month_day_nano_interval())}), {"m": [("a", (1, 2, 3))]}, {"m": []}),
    (pa.struct({"m": pa.map_(TEXT, pa.duration("ns"))}), {"m": [("a", 1001)]}, {"m": [("a", 2001)]}),
    (pa.map_(pa.string(), pa.list_view(pa.time32("s"))), [("a", [1])], [("a", [2])]),
    (pa.list_(pa.map_(pa.string(), pa.binary())), [[("a", b"\xff")]], [[("b", b"\xff")]]),
    (pa.dictionary(pa.int8(), pa.string()), "a", "b"),
]  # fmt: skip


def make_columns() -> list[pa.Array]:
    columns = [pa.array([one, other, one, None], kind) for kind, one, other in VALUES]
    uuids = pa.array([b"\xff" * 16, b"\xfe" * 16, b"\xff" * 16, None], pa.binary(16))
    lists = pa.array([[1], [2], [1], None], pa.list_view(pa.int8()))
    columns += [*UNIONS.values(), RUNS, pa.ExtensionArray.from_storage(pa.uuid(), uuids)]
    columns.append(pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 3]), lists))
    columns += [pa.StructArray.from_arrays([column], names=["inside"]) for column in columns]
    is_null = pa.array([False, False, False, True])
    columns += [pa.StructArray.from_arrays([column], names=["null"], mask=is_null) for column in columns]
    return columns


@pytest.mark.parametrize("column", make_columns(), ids=lambda column: str(column.type))
def test_only_equal_values_have_one_hash(column: pa.Array) -> None:
    table = pa.table({"column": column})
    one, other, same, nothing = hash_rows(table).to_pylist()
    assert one == same
    assert len({one, other, nothing}) == 3
    for first in range(1, 4):
        assert hash_rows(table.slice(first)).to_pylist() == [one, other, same, nothing][first:]
        assert hash_rows(table.slice(first, 1)).to_pylist() == [[one, other, same, nothing][first]]
