"""`antecede order --follow`: a folder that files come into, stopped by a signal, started again, drained."""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from antecede.streams.marks import list_marked_batches
from tests.commands import Done, here
from tests.spark.test_order_stream import make_batches, read, write_files

pytestmark = pytest.mark.spark


@pytest.fixture
def follow(spark, tmp_path, monkeypatch, capsys):
    """Run the command on the folder `in`."""

    def run(*words: object) -> Done:
        places = ("--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint", "--group", "group")
        return here(monkeypatch, capsys, "order", tmp_path / "in", "--follow", *places, *words)

    return run


def stop_when_done(checkpoint: Path, batches: int) -> None:
    """Ask this process to stop once so many micro-batches are done."""
    while len(list_marked_batches(checkpoint)) < batches:
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_folder_is_followed_stopped_and_drained(tmp_path: Path, follow: Any) -> None:
    batches = make_batches()
    checkpoint = tmp_path / "checkpoint"
    write_files(tmp_path / "in", batches[:2])
    stopper = threading.Thread(target=stop_when_done, args=(checkpoint, 1))
    stopper.start()
    stopped = follow()
    stopper.join()
    assert stopped.code == 1, stopped
    assert "rows held" in stopped.out and "missing " in stopped.out
    before = read(tmp_path)
    assert before.waiting and len(before.every_row()) == len(batches[0]) + len(batches[1])

    write_files(tmp_path / "in", batches)
    drained = follow("--drain", "--json")
    facts = json.loads(drained.out)
    tables = read(tmp_path)
    assert drained.code == 1 and facts["held"] == 0 and not tables.waiting
    assert facts["totals"]["diverted"] == len(tables.held) > 0
    assert facts["totals"]["input"] == len(tables.every_row()) == sum(map(len, batches))
    assert all(row["missing"] for row in tables.held)


def test_wrong_usage_is_told_with_the_remedy(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(tmp_path / "in", make_batches()[:1])
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.jsonl").write_text('{"sender": "a", "stamp": {"a": 1}}\n')
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
        ((tmp_path / "lines", "--follow", *out, *checkpoint, "--stamp", "stamp"), "is jsonl: write Parquet"),
        ((source, source, "--follow", *out, *checkpoint, *group), "reads one folder"),
        ((source, *out, *group, "--drain"), "need --follow"),
    ):
        done = here(monkeypatch, capsys, "order", *words)
        assert done.code == 2 and told in done.err, (words, done)
