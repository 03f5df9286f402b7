"""`antecede order --follow`: a folder that files come into, stopped by a signal, started again, drained."""

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from antecede.streams.marks import list_marked_batches
from tests.commands import Done, here
from tests.spark.test_order_stream import make_batches, read, write_files
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
        ((source, "--follow", *out, *checkpoint, *group, "--give-up", "release"), "needs a limit"),
        ((tmp_path / "lines", "--follow", *out, *checkpoint, "--stamp", "stamp"), "and not CSV"),
        ((source, source, "--follow", *out, *checkpoint, *group), "reads one folder"),
        ((source, *out, *group, "--drain"), "need --follow"),
    ):
        done = here(monkeypatch, capsys, "order", *words)
        assert done.code == 2 and told in done.err, (words, done)
