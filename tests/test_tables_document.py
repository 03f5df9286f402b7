"""docs/tables.md has every column of every table, as the program writes them."""

import re
from pathlib import Path
from typing import get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import antecede
from antecede import tables
from antecede.auditing.judge import TOTALS
from antecede.formats.debezium import CHANGES
from antecede.formats.logs import FileRead
from antecede.ordering.kafka_records import KAFKA_COLUMNS
from antecede.ordering.stamp_types import describe_type
from antecede.streams.marks import TABLES as STREAM_TABLES
from tests.commands import here
from tests.streams.driving import Driver

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "tables.md").read_text()
OWN = "*your columns*"
SQL_TYPES = {str: "string", int: "bigint", str | None: "string", tuple[str, ...]: "array<string>"}

INSIDE_PAGES = {"MARKS", "LINKS"}
"""Tables that no user sees: what a page is made of."""

Columns = dict[str, str]


def read_documented(heading: str) -> Columns:
    """The columns under a heading, with their types."""
    (section,) = re.findall(rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
    columns = {}
    for names, kind in re.findall(r"^\| (.+?) \| (.*?) ?\| .*\|$", section, re.MULTILINE)[1:]:
        for name in names.split(", "):
            columns[name.strip("`")] = kind.strip("`")
    return columns


def describe_columns(schema: pa.Schema) -> Columns:
    return {field.name: describe_type(field.type) for field in schema}


def with_own(schema: pa.Schema, own: list[str]) -> Columns:
    """The columns of a written table, those of the input in one."""
    assert schema.names[: len(own)] == own
    return {OWN: ""} | {name: kind for name, kind in describe_columns(schema).items() if name not in own}


def write_tables(tmp_path: Path, monkeypatch, capsys, *words: object) -> dict[str, pa.Schema]:
    """The tables that a command writes."""
    done = here(monkeypatch, capsys, *words, "--out", tmp_path / "out")
    assert done.code in (0, 1), done.err
    return {folder.name: pq.read_table(folder).schema for folder in (tmp_path / "out").iterdir()}


FIXED = {
    "events": tables.EVENTS,
    "quarantine": tables.QUARANTINE,
    "findings": tables.FINDINGS,
    "totals": TOTALS,
    "messages": tables.MESSAGES,
    "costs of a study": tables.COSTS,
    "costs of a comparison": tables.COMPARISON,
    "Kafka records": pa.schema(KAFKA_COLUMNS),
    "Debezium changes": CHANGES,
}
WRITTEN = (
    "files",
    "ordered events",
    "held events",
    "events in quarantine",
    "ordered messages",
    "held messages",
    "messages in quarantine",
    "gaps",
    "ordered and late",
    "put aside (held)",
    "quarantine of a stream",
)


@pytest.mark.parametrize("heading", FIXED)
def test_tables_with_a_schema(heading: str) -> None:
    assert list(read_documented(heading).items()) == list(describe_columns(FIXED[heading]).items())


def test_every_table_is_on_the_page_and_looked_at_here() -> None:
    schemas = {name: value for name, value in vars(tables).items() if isinstance(value, pa.Schema)}
    documented = {
        name for name, schema in schemas.items() if any(schema is known for known in FIXED.values())
    }
    assert schemas.keys() - documented == INSIDE_PAGES
    headings = re.findall(r"^### (.+)$", PAGE, re.MULTILINE)
    assert sorted(headings) == sorted([*FIXED, *WRITTEN])


def test_files() -> None:
    hints = get_type_hints(FileRead)
    assert read_documented("files") == {name: SQL_TYPES[hints[name]] for name in FileRead._fields}


def test_audit(tmp_path: Path, monkeypatch, capsys) -> None:
    written = write_tables(tmp_path, monkeypatch, capsys, "audit", ROOT / "examples" / "chat.jsonl")
    assert {name: describe_columns(schema) for name, schema in written.items()} == {
        name: read_documented(name) for name in ("findings", "totals", "quarantine")
    }


def test_order_of_a_log(tmp_path: Path, monkeypatch, capsys) -> None:
    written = write_tables(tmp_path, monkeypatch, capsys, "order", ROOT / "examples" / "chat.jsonl")
    assert set(written) == {"ordered", "held", "quarantine"}
    for table, heading in (
        ("ordered", "ordered events"),
        ("held", "held events"),
        ("quarantine", "events in quarantine"),
    ):
        assert with_own(written[table], tables.EVENTS.names) == read_documented(heading)


def test_order_of_messages(tmp_path: Path, monkeypatch, capsys) -> None:
    room = ROOT / "examples" / "room.jsonl"
    options = ("--group", "room", "--sender", "who", "--stamp", "clock")
    written = write_tables(tmp_path, monkeypatch, capsys, "order", room, *options)
    own = ["clock", "room", "text", "who"]
    assert set(written) == {"ordered", "held", "quarantine"}
    for table, heading in (
        ("ordered", "ordered messages"),
        ("held", "held messages"),
        ("quarantine", "messages in quarantine"),
    ):
        assert with_own(written[table], own) == read_documented(heading)


def test_gaps() -> None:
    schema = pa.schema({"sender": pa.string(), "stamp": pa.int64()})
    messages = pa.Table.from_pylist([{"sender": "a", "stamp": 2}], schema)
    gaps = antecede.order(messages).gaps
    assert gaps.num_rows == 1
    assert describe_columns(gaps.schema) == read_documented("gaps")
    log = pa.Table.from_pylist([{"process": "a", "event": "e", "parents": ["gone"]}])
    gaps = antecede.order_events(log).gaps
    assert gaps.to_pylist() == [{"execution": "", "missing": "gone", "waiting": 1}]


def test_stream(tmp_path: Path) -> None:
    schema = pa.schema({"sender": pa.string(), "stamp": pa.int64()})
    driver = Driver(tmp_path, schema)
    driver.run_batch(0, [{"sender": "a", "stamp": 1}])
    out = tmp_path / "out"
    written = {
        name: pq.ParquetFile(next((out / name).rglob("*.parquet"))).schema_arrow for name in STREAM_TABLES
    }
    for table, heading in (
        ("ordered", "ordered and late"),
        ("late", "ordered and late"),
        ("held", "put aside (held)"),
        ("quarantine", "quarantine of a stream"),
    ):
        assert with_own(written.pop(table), schema.names) == read_documented(heading)
    assert not written
