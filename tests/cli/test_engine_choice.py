"""Which engine a command takes, and why."""

import gzip
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from antecede.cli import engine
from antecede.cli.engine import choose_engine, estimate_text_bytes, format_bytes
from antecede.core.errors import CallerError, SetupError
from antecede.local.logs import read_logs
from tests.commands import TRIANGLE


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log"
    path.write_text(TRIANGLE)
    return str(path)


def test_small_input_stays_in_this_process(log) -> None:
    size = os.path.getsize(log)
    assert choose_engine("auto", [log], None) == ("local", f"input of {size} bytes")


def test_large_input_goes_to_spark(log, monkeypatch) -> None:
    monkeypatch.setattr(engine, "LOCAL_BYTES", 100)
    chosen = choose_engine("auto", [log], None)
    assert chosen.name == "spark" and "more than 100 bytes" in chosen.reason


def test_the_limit_is_lower_where_memory_is_short(log, monkeypatch) -> None:
    monkeypatch.setattr("antecede.machine.read_memory_gigabytes", lambda: 100 * 16 / 2**30)
    assert choose_engine("auto", [log], None).name == "spark"


def test_large_input_without_spark_says_what_to_do(log, monkeypatch) -> None:
    monkeypatch.setattr(engine, "LOCAL_BYTES", 100)
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match="pip install 'antecede\\[spark\\]', or add --engine local"):
        choose_engine("auto", [log], None)


def test_a_master_or_an_address_is_for_spark(log) -> None:
    assert choose_engine("auto", [log], "local[2]").name == "spark"
    assert choose_engine("auto", [log], None, "s3a://bucket/out").name == "spark"
    with pytest.raises(CallerError, match="is for Spark; leave it out"):
        choose_engine("local", [log], "local[2]")
    with pytest.raises(CallerError, match="is an address, which only Spark writes to"):
        choose_engine("local", [log], None, "s3a://bucket/out")
    with pytest.raises(CallerError, match="choose auto, local or spark"):
        choose_engine("flink", [log], None)


def test_packed_files_count_as_the_text_that_is_in_them(tmp_path) -> None:
    plain = "".join(
        f'{{"process": "node-{number % 7}", "index": {number // 7}, "kind": "send", "message": "m{number}", '
        f'"receivers": ["node-{number * number % 11}"], "time": {number * 7919 % 10007}}}\n'
        for number in range(5_000)
    )
    (tmp_path / "plain").write_text(plain)
    (tmp_path / "gzip").write_bytes(gzip.compress(plain.encode()))
    pq.write_table(read_logs(tmp_path / "plain").events, tmp_path / "parquet", compression="zstd")
    assert estimate_text_bytes([str(tmp_path / "plain")]) == len(plain)
    for name in ("gzip", "parquet"):
        assert (tmp_path / name).stat().st_size < len(plain) / 5
        assert len(plain) / 2 < estimate_text_bytes([str(tmp_path / name)]) < len(plain) * 2


def test_files_that_cannot_be_read_are_left_to_the_reader(tmp_path) -> None:
    (tmp_path / "torn").write_bytes(b"PAR1 and no end")
    assert estimate_text_bytes([str(tmp_path / "torn"), str(tmp_path / "gone")]) == 0


def test_the_files_of_an_input_are_added_up(log, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(engine, "LOCAL_BYTES", os.path.getsize(log) + 10)
    assert choose_engine("auto", [str(tmp_path)], None).name == "local"
    (tmp_path / "more").write_text(TRIANGLE)
    assert choose_engine("auto", [str(tmp_path)], None).name == "spark"


@pytest.mark.parametrize(
    ("size", "text"), [(12, "12 bytes"), (3_400, "3.4 kB"), (56_000_000, "56 MB"), (2**41, "2,199 GB")]
)
def test_sizes_in_words(size, text) -> None:
    assert format_bytes(size) == text
