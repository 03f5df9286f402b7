"""Both engines give rows the same hash: it decides which of two messages that differ counts."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from antecede.ordering.contents import hash_rows
from antecede.spark.ordering.fingerprint import hash_columns

pytestmark = pytest.mark.spark
COLUMNS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    (pa.int8(), [-1, 7]),
    (pa.int16(), [-300, 7]),
    (pa.int32(), [-1, 2**31 - 1]),
    (pa.int64(), [-1, 2**63 - 1]),
    (pa.float32(), [-0.0, float("nan")]),
    (pa.float64(), [-0.0, 1e300]),
    (pa.string(), ["", "a text that is longer than the thirty-two bytes of a stripe: é"]),
    (pa.string(), ["abc", "abcd1234efg"]),
    (pa.binary(), [b"\0\xff", b"x" * 33]),
    (pa.date32(), [date(1969, 1, 1), date(2024, 2, 29)]),
    (pa.timestamp("us", "UTC"), [datetime(1969, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 1, 2, 3, 4, UTC)]),
    (pa.time64("us"), [time(23, 59, 59, 999_999), time(0)]),
    (pa.duration("us"), [timedelta(microseconds=-1), timedelta(days=400, seconds=5)]),
    (pa.decimal128(10, 2), [Decimal("-1.50"), Decimal("12345678.90")]),
    (pa.decimal128(30, 2), [Decimal("-1.50"), Decimal("1234567890123456789012.90")]),
    (pa.list_(pa.int64()), [[1, None, 2], []]),
    (pa.list_(pa.list_(pa.string())), [[["a"], None, ["b", "c"]], [[]]]),
    (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": 1, "b": None}, {"a": 2, "b": "x"}]),
    (pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])), [[{"a": 1, "b": "y"}, None], []]),
    (pa.map_(pa.string(), pa.int64()), [[("a", 1), ("b", 2)], []]),
    (pa.struct([("t", pa.map_(pa.string(), pa.int64()))]), [{"t": [("a", 1)]}, {"t": []}]),
]


def test_a_row_has_the_hash_that_spark_gives_it(spark) -> None:
    names = [f"c{place}" for place in range(len(COLUMNS))]
    columns = [pa.array([*values, None], kind) for kind, values in COLUMNS]
    table = pa.table(columns, names)
    frame = spark.createDataFrame(table)
    for name in names:
        (field,) = frame.select(name).schema.fields
        theirs = [row[0] for row in frame.select(hash_columns([field])).collect()]
        assert hash_rows(table.select([name])).to_pylist() == theirs, field
    theirs = [row[0] for row in frame.select(hash_columns(frame.schema.fields)).collect()]
    assert hash_rows(table).to_pylist() == theirs
    assert hash_rows(table.slice(1)).to_pylist() == theirs[1:]
