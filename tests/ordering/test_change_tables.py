"""Files with change events of Debezium, read and put in order in this process."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from antecede.formats.debezium import COLUMNS, TRANSACTIONS, has_change_log
from antecede.local.message_files import LocalMessageFiles, read_message_files
from antecede.local.message_order import order
from antecede.ordering.change_tables import parse_change_records
from antecede.ordering.kafka_records import KAFKA_COLUMNS
from antecede.ordering.text_tables import REASON
from tests.change_log import make_change


def write_mark(mark: str, count: int = 1) -> dict[str, Any]:
    """`B7` is the begin of transaction 7, `E7` its end, with so many changes."""
    is_begin = mark[0] == "B"
    event_count = None if is_begin else count
    return {"status": "BEGIN" if is_begin else "END", "id": mark[1:], "event_count": event_count}


def write_one_change(transaction: str, number: int = 1) -> dict[str, Any]:
    return make_change("orders", "u", {"id": transaction, "total_order": number})


def read_log(folder: Path, *records: Any) -> LocalMessageFiles:
    folder.joinpath("log").write_text("\n".join(map(json.dumps, records)))
    return read_message_files([str(folder)], "debezium")


def list_begun(log: LocalMessageFiles) -> list[str]:
    """The transactions that come out, in order."""
    ordered = order(log.rows, **COLUMNS).ordered.to_pylist()
    return [row["transaction"] for row in ordered if row["kind"] == "begin"]


@pytest.mark.parametrize(
    ("marks", "begun"),
    [
        ("B1 E1 B2 E2 B3 E3 B4 E4", ["1", "2", "3", "4"]),
        ("B1 E1 B2 E2 B3 B2 B4 E4", ["1", "2"]),  # 3 has no end, and 2 is sent again
        ("B1 E1 E2 B3 E3", ["1"]),  # the begin of 2 is lost
        ("E1 B2 E2 B3 E3 E1 B4 E4", ["2", "3", "4"]),  # the log begins in the middle of 1
        ("E1 E2 B3 E3", []),
    ],
)
def test_what_is_not_whole_holds_all_behind_it(tmp_path: Path, marks: str, begun: list[str]) -> None:
    names = dict.fromkeys(mark[1:] for mark in marks.split())
    changes = [write_one_change(name) for name in names]
    log = read_log(tmp_path, *changes, *map(write_mark, marks.split()))
    assert list_begun(log) == begun


def test_a_number_that_is_a_text_is_shown_as_one(tmp_path: Path) -> None:
    log = read_log(tmp_path, make_change("orders", "u", {"id": "1", "total_order": "1"}))
    assert log.unreadable[REASON].to_pylist() == ['total_order is no number from 1 on: "1"']


def test_a_table_called_transactions_is_in_a_group_of_its_own(tmp_path: Path) -> None:
    outside = make_change("orders", "r", None) | {"source": {"table": TRANSACTIONS}}
    log = read_log(tmp_path, write_mark("B1"), outside, write_one_change("1"), write_mark("E1"))
    groups = {row["id"]: row["group"] for row in log.rows.to_pylist()}
    assert groups.pop("line 2 of file 0") == "table transactions"
    assert set(groups.values()) == {TRANSACTIONS}


def test_a_topic_called_transactions_is_in_a_group_of_its_own() -> None:
    tombstone = {"kafka_topic": TRANSACTIONS, "kafka_partition": 0, "kafka_offset": 7}
    records = pa.RecordBatch.from_pylist([tombstone], pa.schema(KAFKA_COLUMNS))
    (batch,) = parse_change_records([records])
    assert batch["group"].to_pylist() == ["topic transactions"]


@pytest.mark.parametrize(
    "start", [b"", b"\n null\n", b'{"schema": null, "payload": null}\n', b"\xef\xbb\xbfnull\n"]
)
def test_a_dump_is_found_behind_tombstones(tmp_path: Path, start: bytes) -> None:
    tmp_path.joinpath("a").write_bytes(start)
    assert not has_change_log([str(tmp_path)])
    tmp_path.joinpath("b").write_bytes(start + json.dumps(write_mark("B1")).encode())
    assert has_change_log([str(tmp_path)])
    tmp_path.joinpath("b").write_bytes(start + b"no JSON\n" + json.dumps(write_mark("B1")).encode())
    assert not has_change_log([str(tmp_path)])
