"""What a checkpoint tells of its stream: counts, what waits and since when, and the root gaps by name."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from urllib.request import urlopen

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from antecede.cli.stream_line import describe_batch_progress
from antecede.core.errors import CallerError
from antecede.local.message_order import order
from antecede.streams.marks import read_newest_mark
from antecede.streams.metrics import StreamMetricsServer
from antecede.streams.running import hold_running_lock
from antecede.streams.status import (
    compute_mark_figures,
    read_and_explain_held_rows,
    read_batch_figures,
    read_status,
)
from tests.commands import here
from tests.message_rows import Row
from tests.streams.conversations import FORMS, converse, spoil
from tests.streams.driving import Driver, cut


@pytest.mark.parametrize("name", FORMS)
def test_what_waits_and_its_root_gaps_are_those_of_batch(tmp_path: Path, name: str) -> None:
    random, form = Random(4), FORMS[name]
    rows = spoil(random, form, converse(random, groups=3, count=30))
    driver = Driver(tmp_path, form.schema, group="group", **form.options)
    driver.run_all(cut(random, rows, 4))
    outcome = order(pa.Table.from_pylist(rows, form.schema), group="group", **form.options)
    status = read_status(tmp_path / "checkpoint")
    gaps = outcome.gaps.to_pylist()
    assert status["held"] == len(outcome.held) > 0
    assert status["gap_count"] == len(gaps)
    assert [gap["waiting"] for gap in status["gaps"]] == sorted(
        (gap["waiting"] for gap in gaps), reverse=True
    )
    assert {str(gap) for gap in status["gaps"]} <= {str(gap) for gap in gaps}
    assert len(status["gaps"]) == min(len(gaps), 10)
    mark = read_newest_mark(tmp_path / "checkpoint")
    assert mark is not None
    told: dict[str, list[str]] = {}
    for files in mark.buckets.values():
        bucket = read_and_explain_held_rows(tmp_path / "checkpoint", mark, files)
        ids = bucket.rows["id"].to_pylist() if len(bucket.missing) else []
        told |= dict(zip(ids, bucket.missing.to_pylist(), strict=True))
    assert told == {row["id"]: row["missing"] for row in outcome.held.to_pylist()}


def say(number: int) -> Row:
    return {"group": "g", "sender": "a", "id": "", "text": "", "stamp": number}


def test_the_command_tells_people_and_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "checkpoint"
    nothing = here(monkeypatch, capsys, "status", checkpoint)
    assert nothing.code == 2 and "there is no stream" in nothing.err
    driver = Driver(tmp_path, FORMS["sequence"].schema, group="group")
    driver.run_batch(0, [say(1), say(1), say(4)], 1_700_000_000_000)
    done = here(monkeypatch, capsys, "status", checkpoint)
    counts = "3 rows, 1 ordered (0 released), 0 late, 0 held for good, 1 quarantined (1 twice)"
    assert done.code == 1
    assert done.out.splitlines() == [
        "batch 0 at 2023-11-14 22:13:20 UTC",
        f"in all: {counts}",
        f"last batch: {counts}",
        "1 row held, about 42 bytes, the oldest since 2023-11-14 22:13:20 UTC",
        "missing 1",
        "  messages 2 to 3 of a in g: 1 row waits for it",
    ]
    driver.run_batch(1, [say(2), say(3)])
    done = here(monkeypatch, capsys, "status", checkpoint, "--json")
    facts = json.loads(done.out)
    assert done.code == 0
    assert (facts["batch"], facts["held"], facts["totals"]["input"], facts["gaps"]) == (1, 0, 5, [])
    driver.run_batch(2, [say(6)])
    shutil.rmtree(checkpoint / "state")
    broken = here(monkeypatch, capsys, "status", checkpoint)
    assert broken.code == 2 and "lacks a file that its newest mark names" in broken.err, broken


def test_a_stream_tells_whether_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "checkpoint"
    with hold_running_lock(checkpoint):
        starting = here(monkeypatch, capsys, "status", checkpoint)
        assert (starting.code, starting.out) == (0, "running\nno micro-batch is done yet\n")
        Driver(tmp_path, FORMS["sequence"].schema, group="group").run_batch(0, [say(1)])
        assert json.loads(here(monkeypatch, capsys, "status", checkpoint, "--json").out)["running"] is True
    assert here(monkeypatch, capsys, "status", checkpoint).out.startswith("stopped\n")


def test_what_is_watched_is_told_again_after_each_batch(tmp_path: Path) -> None:
    driver = Driver(tmp_path, FORMS["sequence"].schema, group="group")
    driver.run_batch(0, [say(1), say(3)])
    command = [sys.executable, "-m", "antecede", "status", str(tmp_path / "checkpoint"), "--json", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["held"] == 1
        driver.run_batch(1, [say(2), say(5)])
        assert json.loads(watching.stdout.readline())["totals"]["ordered"] == 3
        driver.ledger.put_aside_all_waiting_rows(9000)
        assert json.loads(watching.stdout.readline())["totals"]["diverted"] == 1
        watching.terminate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_stops_watching_is_told_nothing(tmp_path: Path, number: signal.Signals) -> None:
    Driver(tmp_path, FORMS["sequence"].schema, group="group").run_batch(0, [say(1), say(3)])
    command = [sys.executable, "-m", "antecede", "status", str(tmp_path / "checkpoint"), "--json", "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None and watching.stdout.readline()
        watching.send_signal(number)
        assert watching.communicate(timeout=30) == ("", "")
        assert watching.returncode == 128 + number


def test_a_batch_in_figures(tmp_path: Path) -> None:
    driver = Driver(tmp_path, FORMS["sequence"].schema, group="group")
    for number, rows in enumerate(([say(1), say(3)], [say(5)])):
        turn = driver.begin(number)
        assert turn is not None
        turn.commit_batch(driver.run_tasks(turn, rows), driver.schema, 500)
    mark = read_newest_mark(tmp_path / "checkpoint")
    assert mark is not None
    figures = compute_mark_figures(mark)
    assert (figures["held"], figures["oldest_wait"], figures["rows_per_second"]) == (2, 1000, 2)
    assert describe_batch_progress(figures) == (
        "batch 1: 1 row, 2 rows/s, 1 ordered in all, 2 held, the oldest for 1 s"
    )
    assert read_batch_figures(tmp_path / "checkpoint", 0)["last"]["input"] == 2
    told = read_batch_figures(tmp_path / "checkpoint", 1)
    assert [gap["missing"] for gap in told["gaps"]] == ["message 2 of a", "message 4 of a"]


def test_figures_for_prometheus(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    server = StreamMetricsServer(checkpoint, "127.0.0.1", 0)
    try:
        with pytest.raises(CallerError, match="choose another --metrics-port"):
            StreamMetricsServer(checkpoint, "127.0.0.1", server.port)
        assert not any(name.startswith("antecede") for name, _ in read_metrics(server.port))
        driver = Driver(tmp_path, FORMS["sequence"].schema, group="group")
        driver.run_batch(0, [say(1), say(1), say(4)])
        metrics = read_metrics(server.port)
        driver.run_batch(1, [say(2), say(3)])
        later = read_metrics(server.port)
    finally:
        server.close()
    gap = (
        "antecede_stream_gap_waiting",
        (("group", "g"), ("missing", "messages 2 to 3 of a"), ("receiver", "")),
    )
    assert metrics[gap] == metrics["antecede_stream_gaps", ()] == 1
    assert gap not in later and later["antecede_stream_gaps", ()] == 0
    for name, first, then in (
        ("input_rows_total", 3, 5),
        ("ordered_rows_total", 1, 4),
        ("duplicates_rows_total", 1, 1),
        ("released_rows_total", 0, 0),
        ("held_rows", 1, 0),
        ("batch", 0, 1),
    ):
        key = f"antecede_stream_{name}", ()
        assert (metrics[key], later[key]) == (first, then), name
    oldest = "antecede_stream_oldest_wait_seconds", ()
    assert metrics[oldest] > 0 == later[oldest]


def read_metrics(port: int) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode()
    families = text_string_to_metric_families(text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }
