"""Parquet files that Spark does not open are left out with the reason, and the rest is read."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands import here

pytestmark = pytest.mark.spark


def test_parquet_files_that_spark_can_open(spark, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    messages: list[dict[str, Any]] = [{"room": "r", "sender": "a", "stamp": stamp} for stamp in (0, 1)]
    names = ["a [1]*.x", "b+ ü%20.x", "a:b.x", "_c.x"]
    for name in names:
        pq.write_table(pa.Table.from_pylist(messages), str(Path(name).absolute()))
    words = (*names, "--group", "room", "--out", "out", "--engine", "spark")
    done = here(monkeypatch, capsys, "order", *words)
    assert "6 rows = 1 ordered + 0 held + 5 quarantined" in done.out, done
    rows = pq.read_table("out/quarantine").to_pylist()
    told = {(row["file"], row["line"]): row["reason"] for row in rows}
    assert {(name, 1) for name in names[:2]} | {("a:b.x", None), ("_c.x", None)} <= set(told)
    assert "rename it" in told["a:b.x", None]


def test_rows_in_quarantine_name_their_file(spark, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    bad: list[dict[str, Any]] = [{"room": "r", "sender": "a", "stamp": 0}]
    for names in (["a.parquet", "b.parquet"], ["x/same.parquet", "y/same.parquet"]):
        for name in names:
            Path(name).parent.mkdir(exist_ok=True)
            pq.write_table(pa.Table.from_pylist(bad), name)
        words = (*names, "--group", "room", "--out", "out", "--overwrite", "--engine", "spark")
        assert "2 rows = 0 ordered" in here(monkeypatch, capsys, "order", *words).out
        rows = pq.read_table("out/quarantine").to_pylist()
        assert sorted((row["file"], row["line"]) for row in rows) == [(name, 1) for name in names]
