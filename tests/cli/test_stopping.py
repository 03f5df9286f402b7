"""Commands that are stopped, killed, or started twice: a sentence, an exit code, and nothing half-written."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands import TRIANGLE, Done

LONG = ("simulate", "-n", "4", "-m", "20000000", "--out", "out")
"""A command that runs longer than any test waits."""
STOPPED = "stopped by Ctrl-C: nothing half-written is left; run the same command again"

INTERRUPTED_AT = """
import os, signal, sys

module = sys.argv.pop(1)

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(Finder)
            os.kill(os.getpid(), signal.SIGINT)

from antecede.cli.main import main
sys.meta_path.insert(0, Finder)
main()
"""
"""A command that gets Ctrl-C when it imports the module that is named first."""

MANY_WORKERS = """
import sys
from antecede.study import compare

if __name__ == "__main__":
    compare.SMALL = 0
    from antecede.cli.main import main
    main()
"""
"""Compares on all cores, however little there is to replay."""


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts Python in the folder of the test, in a process group of its own, as a terminal does."""
    (tmp_path / "log").write_text(TRIANGLE)
    started = []

    def start_process(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start_process
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def wait_for(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def find_part(folder: Path) -> Path | None:
    """Where a run writes before it is done, once something is written there."""
    return next((file.parent for file in folder.glob("out/.antecede-part-*/*.parquet")), None)


@pytest.mark.parametrize(
    "module", ["typer", "pyarrow", "antecede.cli.audit", "antecede.local.logs", "antecede.local.audit"]
)
def test_ctrl_c_at_any_moment_is_a_sentence(start, module) -> None:
    process = start("-c", INTERRUPTED_AT, module, "audit", "log", "--out", "out")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert Done(130, out, err).noise == [STOPPED]


@pytest.mark.parametrize(
    ("number", "code", "name"), [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")]
)
def test_what_a_run_was_writing_is_gone(start, tmp_path, number, code, name) -> None:
    process = start("-m", "antecede", *LONG)
    wait_for(lambda: find_part(tmp_path))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code and out == ""
    assert Done(code, out, err).noise == [STOPPED.replace("Ctrl-C", name)]
    assert not (tmp_path / "out").exists() and not list((tmp_path / "cache").rglob("antecede-part*"))


def test_who_presses_ctrl_c_twice_does_not_wait(start) -> None:
    slow_exit = """
import os, signal, time
from antecede.cli.signals import handle_stop_signals
with handle_stop_signals():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        print("cleaning", flush=True)
        time.sleep(100)
"""
    process = start("-c", slow_exit)
    assert process.stdout.readline() == "cleaning\n"
    process.send_signal(signal.SIGINT)
    assert "antecede doctor names what is left" in process.communicate(timeout=10)[1]
    assert process.returncode == 130


def test_a_comparison_on_all_cores_ends_with_its_processes(start, tmp_path) -> None:
    (tmp_path / "many.py").write_text(MANY_WORKERS)
    assert start("-m", "antecede", "simulate", "-m", "5000", "--out", "run").wait(timeout=120) == 0
    process = start("many.py", "compare", "run/events.parquet")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: len(children.read_text().split()) > 2)  # one of them keeps account of resources
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert Done(130, out, err).noise == [STOPPED]


def test_the_second_of_two_runs_into_one_folder_is_refused_at_once(start, tmp_path) -> None:
    first = start("-m", "antecede", *LONG)
    wait_for(lambda: find_part(tmp_path))
    for words in (LONG, ("order", "log", "--out", "out"), ("audit", "log", "--out", "out", "--overwrite")):
        second = start("-m", "antecede", *words)
        _, err = second.communicate(timeout=60)
        assert second.returncode == 2
        assert " ".join(err.split()).endswith(
            "--out out: another run is writing there; wait until it ends, or name another folder"
        )
    assert first.poll() is None


def test_of_runs_that_start_together_one_wins_and_its_tables_are_whole(start, tmp_path) -> None:
    runs = [start("-m", "antecede", "order", "log", "--out", "out") for _ in range(4)]
    errors = [run.communicate(timeout=120)[1] for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 2, 2, 2], errors
    refusals = ("another run is writing there", "is not empty")
    assert all(not error or any(refusal in error for refusal in refusals) for error in errors)
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == ["held", "ordered", "quarantine"]
    assert pq.read_table(tmp_path / "out" / "ordered").num_rows == 6


def test_what_a_killed_run_left_is_named_by_doctor_and_does_not_matter(start, tmp_path) -> None:
    process = start("-m", "antecede", *LONG)
    wait_for(lambda: find_part(tmp_path))
    process.kill()
    process.communicate()
    part = find_part(tmp_path)
    assert part is not None

    def ask_doctor(*words: str) -> str:
        checks = json.loads(start("-m", "antecede", "doctor", "--json", *words).communicate(timeout=60)[0])
        return str(next(check["found"] for check in checks if check["what"] == "leftovers"))

    found = ask_doctor()
    assert str(part) in found and "antecede doctor --clean removes" in found
    assert ask_doctor("--clean") == "none" and not part.exists()
    # The folder is free again, also where nobody cleaned up.
    part.mkdir()
    run = start("-m", "antecede", "order", "log", "--out", "out")
    assert run.communicate(timeout=60)[1] == "" and run.returncode == 0
    assert sorted(entry.name for entry in (tmp_path / "out").iterdir()) == ["held", "ordered", "quarantine"]


def test_a_folder_of_a_run_that_lives_is_no_leftover(start, tmp_path) -> None:
    process = start("-m", "antecede", *LONG)
    wait_for(lambda: find_part(tmp_path))
    done = start("-m", "antecede", "doctor", "--clean", "--json").communicate(timeout=60)[0]
    assert '"leftovers","found":"none"' in done
    assert find_part(tmp_path) and process.poll() is None
