"""What commands write never takes the place of an input, nor of files that no run wrote."""

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands import TRIANGLE, here


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs a command in a folder with a log."""
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(TRIANGLE)
    return lambda *words: here(monkeypatch, capsys, *words)


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize("given", ["out/ordered", "out/ordered/*.parquet", "link"])
def test_order_does_not_replace_its_input(run, given, engine) -> None:
    assert run("order", "log", "--out", "out").code == 0
    Path("link").symlink_to("out/ordered")
    done = run("order", given, "--out", "out", "--overwrite", "--engine", engine)
    assert done.code == 2 and "would replace the input" in done.err, done
    assert pq.read_table("out/ordered").num_rows == 6


def test_an_address_of_a_local_folder_is_looked_at_as_well(run, tmp_path) -> None:
    assert run("order", "log", "--out", "out").code == 0
    address = f"file://{tmp_path}/out"
    done = run("order", "out/ordered", "--out", address, "--overwrite")
    assert done.code == 2 and "would replace the input" in done.err.replace("\n", " "), done
    done = run("order", "log", "--out", address)
    assert done.code == 2 and "is not empty" in done.err.replace("\n", " "), done
    assert pq.read_table("out/ordered").num_rows == 6


def test_an_input_behind_a_link_of_the_output_is_kept(run) -> None:
    assert run("order", "log", "--out", "out").code == 0
    Path("alias").symlink_to("out")
    done = run("order", "out/ordered", "--out", "alias", "--overwrite")
    assert done.code == 2 and "name another folder" in done.err
    assert pq.read_table("out/ordered").num_rows == 6


def test_audit_does_not_replace_its_input(run) -> None:
    Path("out/findings").mkdir(parents=True)
    shutil.move("log", "out/findings/log")
    done = run("audit", "out/findings/log", "--out", "out", "--overwrite")
    assert done.code == 2 and "would replace the input out/findings/log" in done.err.replace("\n", " ")
    assert Path("out/findings/log").read_text() == TRIANGLE


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("order", "held/notes.txt"),
        ("order", "quarantine/mine/part.parquet"),
        ("order", "ordered"),
        ("audit", "totals/.notes"),
        ("audit", "quarantine/_notes"),
    ],
)
def test_files_that_no_run_wrote_are_kept(run, command, place, engine) -> None:
    mine = Path("out", place)
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    done = run(command, "log", "--out", "out", "--overwrite", "--engine", engine)
    assert done.code == 2 and "was not written by an earlier run; move it" in done.err.replace("\n", " "), (
        done
    )
    assert mine.read_text() == "mine"


def test_tables_of_an_earlier_run_are_replaced(run) -> None:
    assert run("order", "log", "--out", "out").code == 0
    # What Spark leaves beside the rows, also when it was stopped.
    for name in ("_SUCCESS", "._SUCCESS.crc", ".part-0.snappy.parquet.crc", "part-0.snappy.parquet"):
        Path("out/held", name).write_text("")
    Path("out/held/_temporary/0").mkdir(parents=True)
    done = run("order", "log", "--out", "out", "--overwrite")
    assert done.code == 0, done
    assert [file.name for file in Path("out/held").iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("option", ["--report", "--shiviz", "--dot"])
@pytest.mark.parametrize("file", ["log", "./log", "link"])
def test_audit_does_not_write_over_a_log(run, option, file) -> None:
    Path("link").symlink_to("log")
    done = run("audit", "log", option, file)
    assert done.code == 2 and f"{option} " in done.err and "is an input" in done.err, done
    assert Path("log").read_text() == TRIANGLE
