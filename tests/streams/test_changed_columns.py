"""Columns whose types change while rows wait: no value is lost, or the caller is told what to do."""

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.core.errors import CallerError
from antecede.ordering.stream.give_up import GiveUp
from antecede.ordering.text_tables import RAW, REASON
from antecede.streams.bucket import order_and_write_bucket
from antecede.streams.joining import join_older_and_newer_rows
from tests.message_rows import Row
from tests.streams.driving import Driver

NOON = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
DAY = datetime.date(2026, 3, 2)
TIMES = pa.timestamp("us", "UTC")
X, XY, XZ = (pa.struct([(name, pa.int64()) for name in names]) for names in ("x", "xy", "xz"))
CLOCK = pa.map_(pa.string(), pa.int64())


def start(folder: Path, kind: pa.DataType | None, name: str = "t", **options: Any) -> Driver:
    """A stream whose rows have a column of this type."""
    fields = {"group": pa.string(), "sender": pa.string(), "stamp": CLOCK}
    schema = pa.schema(fields if kind is None else {**fields, name: kind})
    return Driver(folder, schema, **{"group": "group", **options})


def say(number: int, value: Any = None, group: Any = "g", name: str = "t") -> Row:
    return {"group": group, "sender": "a", "stamp": [("a", number)], name: value}


def run_first_two(folder: Path, before: pa.DataType, old: Any, now: pa.DataType, new: Any) -> pa.Table:
    """What comes out when a row has waited with a value of one type, and its cause has one of another."""
    start(folder, before).run_batch(0, [say(2, old)])
    start(folder, now).run_batch(1, [say(1, new)])
    return pq.read_table(folder / "out" / "ordered" / "batch=1", partitioning=None)


KEPT: list[tuple[pa.DataType, Any, pa.DataType, Any, pa.DataType, list[Any]]] = [
    (pa.int64(), 7, pa.string(), "x", pa.string(), ["x", "7"]),
    (pa.string(), "x", pa.int64(), 7, pa.string(), ["7", "x"]),
    (pa.int32(), 7, pa.int64(), 2**40, pa.int64(), [2**40, 7]),
    (pa.int64(), 2**40, pa.int32(), 7, pa.int64(), [7, 2**40]),
    (pa.int64(), 7, pa.float64(), 1.5, pa.float64(), [1.5, 7.0]),
    (TIMES, NOON, pa.date32(), DAY, TIMES, [NOON.replace(day=2, hour=0), NOON]),
    (pa.date32(), DAY, TIMES, NOON, TIMES, [NOON, NOON.replace(day=2, hour=0)]),
    (X, {"x": 1}, XY, {"x": 2, "y": 3}, XY, [{"x": 2, "y": 3}, {"x": 1, "y": None}]),
    (XY, {"x": 1, "y": 2}, X, {"x": 3}, XY, [{"x": 3, "y": None}, {"x": 1, "y": 2}]),
    (pa.string(), None, X, {"x": 3}, X, [{"x": 3}, None]),
    (X, {"x": 3}, pa.string(), None, X, [None, {"x": 3}]),
]


@pytest.mark.parametrize(("before", "old", "now", "new", "kind", "values"), KEPT)
def test_values_of_both_types_are_kept(
    tmp_path: Path,
    before: pa.DataType,
    old: Any,
    now: pa.DataType,
    new: Any,
    kind: pa.DataType,
    values: list[Any],
) -> None:
    table = run_first_two(tmp_path, before, old, now, new)
    assert table["t"].type == kind and table["t"].to_pylist() == values
    assert table["position"].to_pylist() == [0, 1]


REFUSED: list[tuple[pa.DataType, Any, pa.DataType, Any, str]] = [
    (X, {"x": 1}, pa.string(), "x", "'t' is string now, and was struct<x:bigint> in rows that wait: neither"),
    (XY, {"x": 1, "y": 2}, XZ, {"x": 1, "z": 2}, r"and was struct<x:bigint,y:bigint> in rows that wait"),
    (
        pa.int64(),
        2**60 + 1,
        pa.float64(),
        1.5,
        "'t' is double now, and was bigint .*; cast it to bigint,",
    ),
    (TIMES, NOON, pa.int64(), 5, "'t' is bigint now, and was timestamp in rows that wait"),
    (pa.bool_(), True, pa.int64(), 1, "'t' is bigint now, and was boolean in rows that wait"),
]


@pytest.mark.parametrize(("before", "old", "now", "new", "words"), REFUSED)
def test_types_that_cannot_hold_the_values_of_both_are_refused_and_the_old_one_goes_on(
    tmp_path: Path, before: pa.DataType, old: Any, now: pa.DataType, new: Any, words: str
) -> None:
    with pytest.raises(CallerError, match=f"{words}.* or start with a new checkpoint and a new output"):
        run_first_two(tmp_path, before, old, now, new)
    start(tmp_path, before).run_batch(1, [say(1)])
    assert [row["t"] for row in start(tmp_path, before).read().ordered if row["position"]] == [old]


def test_rows_that_can_never_be_one_table_are_refused_before_both_wait(tmp_path: Path) -> None:
    """The group that waits is not loaded: the batch of another one tells, and not the one that wakes it."""
    start(tmp_path, X).run_batch(0, [say(2, {"x": 1})])
    other = [row for name in map(str, range(20)) for row in [say(2, "text", name)]]
    with pytest.raises(CallerError, match="column 't' is string now, and was struct<x:bigint> in rows"):
        start(tmp_path, pa.string()).run_batch(1, other)
    assert len(start(tmp_path, X).read_waiting()) == 1


def test_groups_that_wait_with_columns_of_several_types_come_out(tmp_path: Path) -> None:
    groups = [str(number) for number in range(8)]
    start(tmp_path, pa.int64()).run_batch(0, [say(2, 7, group) for group in groups[:4]])
    start(tmp_path, pa.string()).run_batch(1, [say(2, "x", group) for group in groups[4:]])
    start(tmp_path, pa.int64()).run_batch(2, [say(3, 8, group) for group in groups])
    start(tmp_path, pa.string()).run_batch(3, [say(1, "y", group) for group in groups])
    found = pq.read_table(tmp_path / "out" / "ordered" / "batch=3", partitioning=None).to_pylist()
    values = {(row["group"], row["position"]): row["t"] for row in found}
    for group in groups:
        waited = "7" if group in groups[:4] else "x"
        assert [values[group, place] for place in range(3)] == ["y", waited, "8"]


@pytest.mark.parametrize("sink", ["parquet", "delta"])
def test_time_gives_up_what_waits_with_columns_of_several_types(tmp_path: Path, sink: str) -> None:
    options: dict[str, Any] = {"give_up": GiveUp("release", seconds=1), "sink": sink, "query": "q"}
    groups = [str(number) for number in range(8)]
    kinds = [(X, {"x": 1})] * 2 if sink == "delta" else [(X, {"x": 1}), (pa.string(), "x")]
    for batch, (kind, value) in enumerate(kinds):
        driver = start(tmp_path, kind, **options)
        turn = driver.begin(batch, 0)
        assert turn is not None
        rows = pa.Table.from_pylist([say(2, value, group) for group in groups], driver.schema)
        turn.commit_batch([order_and_write_bucket(turn.make_task(batch), rows)], driver.schema)
    assert start(tmp_path, X, **options).ledger.give_up_expired_rows(9000) is not None
    files = (tmp_path / "out" / "ordered" / "batch=1").glob("*.parquet")
    found = [str(row["t"]) for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted(found) == sorted(str(value) for _, value in kinds for _ in groups)


def test_a_drain_keeps_the_values_of_waiting_rows_of_several_types(tmp_path: Path) -> None:
    start(tmp_path, TIMES).run_batch(0, [say(2, NOON)])
    driver = start(tmp_path, pa.date32())
    driver.run_batch(1, [say(4, DAY)])
    assert driver.ledger.put_aside_all_waiting_rows(0) is not None
    files = (tmp_path / "out" / "held" / "batch=1").glob("*.tick1.parquet")
    found = [row["t"] for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert set(found) == {NOON, NOON.replace(day=2, hour=0)}


def test_columns_that_tell_of_lines_which_are_no_rows_may_be_in_new_rows_alone() -> None:
    older = pa.table({"t": pa.array([1]), "gone": ["x"]})
    newer = pa.table({RAW: pa.array([None, "{"]), "t": ["a", None], REASON: pa.array([None, "no object"])})
    table = join_older_and_newer_rows(older, newer, exact_names=False)
    assert table.column_names == [RAW, "t", REASON, "gone"]
    assert [row["t"] for row in table.to_pylist()] == ["1", "a", None]
    assert table[REASON].to_pylist() == [None, None, "no object"]


def test_no_number_is_a_value_that_is_kept() -> None:
    older = pa.table({"t": pa.array([float("nan"), 1.5], pa.float32())})
    table = join_older_and_newer_rows(older, pa.table({"t": [0.1]}), exact_names=False)
    assert table["t"].type == pa.float64() and str(table["t"].to_pylist()) == "[nan, 1.5, 0.1]"


@pytest.mark.parametrize("exact", [False, True])
def test_a_column_that_is_spelled_otherwise_is_the_same_unless_names_are_exact(
    tmp_path: Path, exact: bool
) -> None:
    def begin(name: str) -> Driver:
        driver = start(tmp_path, pa.int64(), name)
        driver.ledger = driver.ledger._replace(plan=driver.ledger.plan._replace(exact_names=exact))
        return driver

    begin("T").run_batch(0, [say(3, 3, name="T")])
    begin("t").run_batch(1, [say(2, 2)])
    begin("t").run_batch(2, [say(1, 1)])
    rows = pq.read_table(tmp_path / "out" / "ordered" / "batch=2", partitioning=None).to_pylist()
    assert [(row["t"], row.get("T")) for row in rows] == (
        [(1, None), (2, None), (None, 3)] if exact else [(1, None), (2, None), (3, None)]
    )
    assert ("T" in rows[0]) == exact


# -- groups --------------------------------------------------------------------------------------------


def start_with_groups(folder: Path, kind: pa.DataType) -> Driver:
    schema = pa.schema({"group": kind, "sender": pa.string(), "stamp": CLOCK})
    return Driver(folder, schema, group="group")


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (pa.int64(), pa.float64(), "type of the group was 'text or integer' and is 'double'"),
        (pa.date32(), TIMES, r"type of the group was 'date32\[day\]' and is 'timestamp\[us, tz=UTC\]'"),
        (pa.decimal128(9, 1), pa.decimal128(9, 2), r"was 'decimal128\(9, 1\)' and is 'decimal128\(9, 2\)'"),
        (pa.string(), pa.bool_(), "type of the group was 'text or integer' and is 'bool'"),
    ],
)
def test_groups_of_another_type_are_refused(
    tmp_path: Path, before: pa.DataType, now: pa.DataType, words: str
) -> None:
    start_with_groups(tmp_path, before).run_batch(0, [])
    with pytest.raises(CallerError, match=f"{words}; set them back, or start with a new checkpoint and a"):
        start_with_groups(tmp_path, now).begin(1)


@pytest.mark.parametrize(
    ("before", "now", "old", "new"),
    [
        (pa.int32(), pa.int64(), 1, 1),
        (pa.int64(), pa.int16(), 1, 1),
        (pa.string(), pa.large_string(), "g", "g"),
        (pa.int64(), pa.string(), 1, "1"),
    ],
)
def test_groups_of_a_type_with_the_same_texts_go_on(
    tmp_path: Path, before: pa.DataType, now: pa.DataType, old: Any, new: Any
) -> None:
    start_with_groups(tmp_path, before).run_batch(0, [say(1, group=old), say(3, group=old)])
    start_with_groups(tmp_path, now).run_batch(1, [say(2, group=new), say(1, group=new)])
    rows = start_with_groups(tmp_path, before).read()
    assert sorted(row["position"] for row in rows.ordered) == [0, 1, 2] and len(rows.quarantine) == 1


def test_a_mark_that_was_written_before_types_of_groups_were_remembered_is_gone_on_from(
    tmp_path: Path,
) -> None:
    start_with_groups(tmp_path, pa.int64()).run_batch(0, [])
    file = tmp_path / "checkpoint" / "commits" / "0.json"
    mark = json.loads(file.read_text())
    for name in ("arrival", "type of the group"):
        del mark["fingerprint"][name]
    file.write_text(json.dumps(mark))
    driver = start_with_groups(tmp_path, pa.int64())
    driver.run_batch(1, [])
    with pytest.raises(CallerError, match="type of the group"):
        start_with_groups(tmp_path, pa.float64()).begin(2)
