"""`antecede audit` on Spark: what only Spark has to do with."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.errors import PythonException

from antecede.core.errors import CallerError, SetupError
from antecede.spark.running import translate_spark_error
from tests.commands import TRIANGLE, Done, apart, here, make_environment

pytestmark = pytest.mark.spark


def test_in_a_process_of_its_own_without_noise(tmp_path) -> None:
    (tmp_path / "log").write_text(TRIANGLE)
    done = apart("audit", tmp_path / "log", "--json", "--master", "local[1]")
    assert done.code == 1
    assert json.loads(done.out)["counts"] == {"late": 1}
    assert done.noise == []


def test_errors_of_tasks_are_ours() -> None:
    text = "Job aborted\n  File x, line 1\nantecede.core.errors.CallerError: stamps are odd; cast them\n"
    assert str(translate_spark_error(PythonException(text))) == "stamps are odd; cast them"
    assert isinstance(translate_spark_error(PythonException(text)), CallerError)
    other = translate_spark_error(PythonException("\nout of memory\n at java.lang"))
    assert isinstance(other, SetupError) and "Spark failed: out of memory" in str(other)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "Caused by: java.io.IOException: No space left on device",
            "no space left on a disk that Spark writes",
        ),
        ("OSError: [Errno 28] No space left on device", "make room where --out and --staging are and in"),
        ("SparkException: Python worker exited unexpectedly (crashed)", "most likely for lack of memory"),
        ("Caused by: java.lang.OutOfMemoryError: Java heap space", "give less at a time"),
    ],
)
def test_faults_of_the_machine_are_told_in_a_sentence(text, sentence) -> None:
    error = translate_spark_error(
        PythonException(f"An error occurred while calling o130.collectToPython\n{text}")
    )
    assert isinstance(error, SetupError) and sentence in str(error) and "o130" not in str(error)


def test_a_staging_folder_is_made_and_empty_afterwards(spark, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(TRIANGLE)
    done = here(monkeypatch, capsys, "audit", "log", "--engine", "spark", "--staging", "new/folder")
    assert done.code == 1 and list(Path("new/folder").iterdir()) == []


def test_ctrl_c_stops_spark_and_leaves_nothing(tmp_path) -> None:
    """A task of Spark sleeps while the command is stopped."""
    for folder in ("cache", "temporary"):
        (tmp_path / folder).mkdir()
    words = ["audit", "log", "--engine", "spark", "--master", "local[1]", "--out", "out"]
    (tmp_path / "log").write_text(TRIANGLE)
    program = (
        "import os, sys, antecede.cli.audit_runs as runs, antecede.spark.auditing.event_audit as audits\n"
        "def wait(events, number):\n"
        "    print('waiting', flush=True)\n"
        "    def sleep(batches):\n"
        "        import time; time.sleep(600); yield from batches\n"
        "    events.mapInArrow(sleep, events.schema).count()\n"
        "audits.audit = wait\n"
        "from antecede.cli.main import main; main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env=make_environment(XDG_CACHE_HOME=str(tmp_path / "cache"), TMPDIR=str(tmp_path / "temporary")),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "waiting\n"
    time.sleep(3)  # until the task runs
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: all processes hear it
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    noise = Done(130, out, err).noise
    assert noise == ["stopped by Ctrl-C: nothing half-written is left; run the same command again"]
    assert not (tmp_path / "out").exists()
    assert not list((tmp_path / "temporary").glob("antecede-*"))
