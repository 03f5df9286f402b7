"""`antecede order --follow`: a folder that files come into, stopped by a signal, started again, drained."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

from antecede.cli import follow as follow_module
from antecede.spark.streams import source_files
from antecede.streams.marks import list_marked_batches
from tests.commands import Done, here
from tests.spark.test_order_stream import make_batches, read, write_files
from tests.spark_session import NOT_THROUGH_CONNECT
from tests.streams.test_status import read_metrics

pytestmark = pytest.mark.spark


@pytest.fixture
def follow(spark, tmp_path, monkeypatch, capsys):
    """Run the command on the folder `in`."""

    def run(*words: object) -> Done:
        places = ("--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint", "--group", "group")
        return here(monkeypatch, capsys, "order", tmp_path / "in", "--follow", *places, *words)

    return run


@contextmanager
def stop_when_done(
    checkpoint: Path, batches: int, look: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Ask this process to stop once so many micro-batches are done, unless the block ends before."""
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.05):
            if len(list_marked_batches(checkpoint)) >= batches:
                look()
                os.kill(os.getpid(), signal.SIGTERM)
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def test_a_folder_is_followed_stopped_and_drained(tmp_path: Path, follow: Any) -> None:
    batches = make_batches()
    checkpoint = tmp_path / "checkpoint"
    write_files(tmp_path / "in", batches[:2])
    port, seen = find_free_port(), []
    with stop_when_done(checkpoint, 1, lambda: seen.append(read_metrics(port))):
        stopped = follow("--metrics-port", port)
    assert stopped.code == 1, stopped
    assert seen[0]["antecede_stream_input_rows_total", ()] > 0
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", port), 10)
    assert "rows held" in stopped.out and "missing " in stopped.out
    before = read(tmp_path)
    assert before.waiting and len(before.every_row()) == len(batches[0]) + len(batches[1])

    write_files(tmp_path / "in", batches)
    drained = follow("--drain", "--json")
    facts = json.loads(drained.out)
    tables = read(tmp_path)
    assert drained.code == 1 and facts["held"] == 0 and not tables.waiting
    assert facts["drained"]["held"] == len(tables.held) and facts["drained"]["gaps"]
    assert facts["totals"]["diverted"] == len(tables.held) > 0
    assert facts["totals"]["input"] == len(tables.every_row()) == sum(map(len, batches))
    assert all(row["missing"] for row in tables.held)


def test_a_folder_of_json_lines(spark, tmp_path, monkeypatch, capsys) -> None:
    source = tmp_path / "lines"
    source.mkdir()
    good = [
        {"room": "r", "who": "b", "clock": {"a": 1, "b": 1}},
        {"room": "r", "who": "a", "clock": {"a": 1}},
    ]
    lines = [*map(json.dumps, good), "no object", '{"room": "r", "who": "a", "clock": {"a": -1}}', ""]
    (source / "one.jsonl").write_text("\n".join(lines))
    places = ("--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint")
    columns = ("--group", "room", "--sender", "who", "--stamp", "clock")
    done = here(monkeypatch, capsys, "order", source, "--follow", "--drain", *places, *columns)
    assert done.code == 1, done
    ordered = sorted(pq.read_table(tmp_path / "out" / "ordered").to_pylist(), key=lambda row: row["position"])
    assert [(row["who"], dict(row["clock"])) for row in ordered] == [("a", {"a": 1}), ("b", {"a": 1, "b": 1})]
    assert set(ordered[0]) == {"room", "who", "clock", "position", "arrival", "missed", "batch"}
    refused = pq.read_table(tmp_path / "out" / "quarantine").to_pylist()
    assert {(row["raw"], row["reason"]) for row in refused} == {
        ("no object", "is no JSON object"),
        (None, "the stamp has a negative count"),
    }


def test_wrong_usage_is_told_with_the_remedy(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path / "in", make_batches()[:1])
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.csv").write_text("sender,stamp\na,1\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").write_text("")
    out, checkpoint = ("--out", tmp_path / "out"), ("--checkpoint", tmp_path / "checkpoint")
    source, group = tmp_path / "in", ("--group", "group")
    for words, told in (
        ((source, "--follow", *out, *group), "--follow needs --checkpoint"),
        ((source, "--follow", *out, *checkpoint), "name their columns"),
        ((source, "--follow", *out, *checkpoint, *group, "--overwrite"), "leave out --overwrite"),
        ((source, "--follow", "--out", tmp_path / "full", *checkpoint, *group), "name a new folder"),
        ((source, "--follow", *out, *checkpoint, *group, "--give-up", "release"), "needs a limit: --after-"),
        ((source, "--follow", *out, *checkpoint, *group, "--give-up", "x"), "--give-up 'x': choose one of"),
        ((source, "--follow", "--out", source / "out", *checkpoint, *group), "would be read as input"),
        ((source, "--follow", *out, "--checkpoint", source / "state", *group), "would be read as input"),
        ((source, "--follow", "--out", tmp_path / "full" / "something", *checkpoint, *group), "is a file"),
        ((tmp_path / "lines", "--follow", *out, *checkpoint, "--stamp", "stamp"), "and not CSV"),
        ((source, source, "--follow", *out, *checkpoint, *group), "reads one folder"),
        ((source, *out, *group, "--drain"), "need --follow"),
    ):
        done = here(monkeypatch, capsys, "order", *words)
        assert done.code == 2 and told in done.err, (words, done)


@pytest.fixture
def follow_lines(spark, tmp_path, monkeypatch, capsys):
    """Run the command on JSON lines in the folder `lines`."""
    monkeypatch.chdir(tmp_path)
    Path("lines").mkdir()

    def run(*words: object, source: str = "lines") -> Done:
        places = ("--out", "out", "--checkpoint", "checkpoint", "--sender", "who", "--stamp", "clock")
        return here(monkeypatch, capsys, "order", source, "--follow", *places, *words)

    return run


def write_line(name: str, number: int, **more: object) -> None:
    Path("lines", name).write_text(json.dumps({"who": "a", "clock": {"a": number}, **more}))


def test_columns_and_types_that_come_later_are_kept(follow_lines) -> None:
    checkpoint = Path("checkpoint").absolute()
    write_line("1.json", 1, size=1, more={"x": 1})

    is_over = threading.Event()

    def write_another() -> None:
        while not is_over.wait(0.05) and not list_marked_batches(checkpoint):
            pass
        write_line("2.json", 2, size="large", colour="red", more={"x": 1, "y": 2})

    writer = threading.Thread(target=write_another)
    writer.start()
    with stop_when_done(checkpoint, 2):
        done = follow_lines()
    is_over.set()
    writer.join()
    assert done.code == 0, done
    first, second = (pq.read_table(f"out/ordered/batch={number}").to_pylist()[0] for number in range(2))
    assert first["size"] == 1 and first["more"] == {"x": 1}
    assert (second["size"], second["colour"], second["more"]) == ("large", "red", {"x": 1, "y": 2})


def test_a_type_that_would_change_what_is_remembered_or_what_waits_is_refused(follow_lines) -> None:
    write_line("1.json", 2, room=1, more={"x": 1})
    with stop_when_done(Path("checkpoint").absolute(), 1):
        assert "1 row held" in follow_lines("--group", "room").out
    write_line("2.json", 1, room=1.5)
    changed = follow_lines("--group", "room", "--drain")
    told = "was 'text or integer' and is 'double'; set them back, or start with a new checkpoint"
    assert changed.code == 2 and told in changed.err, changed
    write_line("2.json", 1, room=1, more="text")
    changed = follow_lines("--group", "room", "--drain")
    told = "error: column 'more' is string now, and was struct<x:bigint> in rows that wait: neither holds"
    assert changed.code == 2 and told in changed.err and "Traceback" not in changed.err, changed
    write_line("2.json", 1, room=1, more={"x": 2, "y": 3})
    assert follow_lines("--group", "room", "--drain").code == 0
    rows = pq.read_table("out/ordered/batch=1", partitioning=None).to_pylist()
    assert [row["more"] for row in rows] == [{"x": 2, "y": 3}, {"x": 1, "y": None}]


@NOT_THROUGH_CONNECT  # there another process reads the file
def test_a_file_that_is_gone_before_it_is_read_stops_the_stream(follow_lines, monkeypatch) -> None:
    for number in (1, 2):
        write_line(f"{number}.json", number)
        os.utime(f"lines/{number}.json", (number, number))
    check = source_files.check_files_of_batch

    def delete_and_check(batch: DataFrame, number: int, checkpoint: Path) -> DataFrame:
        if number == 1:
            Path("lines/2.json").unlink()
        return check(batch, number, checkpoint)

    with monkeypatch.context() as patch:
        patch.setattr(source_files, "check_files_of_batch", delete_and_check)
        done = follow_lines("--drain", "--files-per-batch", 1)
    assert done.code == 2 and "lines/2.json: was there a moment ago" in done.err, done
    write_line("2.json", 2)
    again = follow_lines("--drain")
    assert again.code == 0 and "2 rows, 2 ordered" in again.out, again


def test_a_run_that_was_killed_in_its_first_micro_batch_goes_on(follow_lines) -> None:
    write_line("1.json", 1)
    assert follow_lines("--drain").code == 0
    for folder in ("checkpoint/commits", "checkpoint/spark/commits"):
        shutil.rmtree(folder)
    done = follow_lines("--drain")
    assert done.code == 0 and "1 row, 1 ordered" in done.out, done
    Path("lines").rename("elsewhere")
    moved = follow_lines("--drain", source="elsewhere")
    assert moved.code == 2 and "began with" in moved.err and "lines, not with" in moved.err, moved


@NOT_THROUGH_CONNECT  # there it stops behind the batch
@pytest.mark.parametrize("json_word", [(), ("--json",)])
def test_who_stops_a_stream_before_its_first_micro_batch_is_told_so(
    follow_lines, monkeypatch, json_word
) -> None:
    write_line("1.jsonl", 1)
    open_stream = follow_module._record_source_and_open_stream

    def stop_and_open(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return open_stream(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(follow_module, "_record_source_and_open_stream", stop_and_open)
        stopped = follow_lines(*json_word)
    assert stopped.code == 0 and stopped.err.startswith("following "), stopped
    assert stopped.err.count("\n") == 1, stopped
    if json_word:
        facts = json.loads(stopped.out)
        assert (facts["batch"], facts["held"], facts["totals"]["input"]) == (None, 0, 0)
    else:
        assert stopped.out.startswith("no micro-batch was done")
    assert follow_lines("--drain").code == 0
    assert len(pq.read_table("out/ordered")) == 1


@NOT_THROUGH_CONNECT  # there it is a server's
@pytest.mark.parametrize("is_group", [True, False])
def test_a_spark_that_is_ended_from_outside_is_told_in_a_sentence(tmp_path: Path, is_group: bool) -> None:
    """A signal to the whole group, as `timeout` and service managers send it; or to Java alone."""
    write_files(tmp_path / "in", make_batches()[:1])
    places = ("--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint", "--group", "group")
    words = [sys.executable, "-m", "antecede", "order", tmp_path / "in", "--follow", *places]
    process = subprocess.Popen(
        list(map(str, words)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_until(lambda: list_marked_batches(tmp_path / "checkpoint") or process.poll() is not None)
        if is_group:
            os.killpg(process.pid, signal.SIGTERM)
        else:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            java = [int(child) for child in children if is_java(int(child))]
            os.kill(java[0], signal.SIGKILL)
        out, err = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    told = [line for line in Done(0, out, err).noise if not line.startswith(("following ", "batch "))]
    if is_group:
        assert process.returncode in (0, 1) and not told, err
        assert out.startswith("batch 0 at ")
    else:
        assert process.returncode == 2 and len(told) == 1, err
        assert told[0].startswith("error: Spark has ended: ")


def is_java(process: int) -> bool:
    return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].endswith(b"java")


def wait_until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)
