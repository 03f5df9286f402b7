"""What `antecede order --follow` finds out before it starts Spark."""

from pathlib import Path

import pytest

from antecede.cli import follow as follow_module
from antecede.streams.running import hold_running_lock
from tests.commands import Done, here

LINE = '{"sender": "a", "stamp": 1}\n'


def follow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> Done:
    """The command without Spark: it ends where Spark would begin."""
    monkeypatch.setattr(
        follow_module, "_run_stream_until_drained_or_stopped", lambda request, settings, checkpoint: None
    )
    places = ("--out", "out", "--checkpoint", "state")
    return here(monkeypatch, capsys, "order", "in", "--follow", "--stamp", "stamp", *places, *words)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that can be followed as `in`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def test_a_folder_may_be_empty_at_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("time.sleep", lambda _: (folder / "a.jsonl").write_text(LINE))
        done = follow(monkeypatch, capsys)
    assert done.code == 0 and "waiting for a first file, which tells the columns" in done.err
    assert follow(monkeypatch, capsys).err == ""


def test_what_has_no_file_cannot_be_drained(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = follow(monkeypatch, capsys, "--drain")
    assert done.code == 2 and "the folder has no files" in done.err


def test_a_second_run_of_a_stream_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.jsonl").write_text(LINE)
    with hold_running_lock(Path("state")):
        done = follow(monkeypatch, capsys)
    assert done.code == 2 and "its stream is running; stop that first" in done.err
    assert follow(monkeypatch, capsys).code == 0


def test_a_form_that_cannot_stream_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.jsonl").write_text(LINE)
    done = follow(monkeypatch, capsys, "--form", "clock")
    assert done.code == 2 and "name the form 'vector'" in done.err
