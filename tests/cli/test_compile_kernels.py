"""Kernels compiled beforehand: afterwards no command compiles. The first use says that it does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "chat.jsonl"
ANNOUNCEMENT = "compiling for this machine: once, for about a minute\n"


@pytest.fixture
def run_python(tmp_path):
    """Runs Python with an empty folder for what is compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *words]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
        )

    return run


@pytest.mark.slow
def test_afterwards_no_command_compiles(run_python) -> None:
    done = run_python("antecede.cli.compile_kernels")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = ("--report", "page.html", "--shiviz", "shiviz.log")
    for command in (
        ("simulate", "--protocol", "matrix", "-n", "3", "-m", "50", "--crashes", "1", "--out", "run"),
        ("audit", str(EXAMPLE), *page),
        ("audit", "run/events.parquet"),
        ("order", "run/messages.parquet", "--out", "ordered-messages"),
        ("order", str(EXAMPLE), "--out", "ordered-events"),
    ):
        done = run_python("antecede", *command)
        assert done.returncode in (0, 1) and ANNOUNCEMENT not in done.stderr, command


@pytest.mark.slow
def test_the_first_use_says_that_it_compiles(run_python) -> None:
    assert run_python("antecede", "simulate", "-n", "2", "-m", "1").stderr.startswith(ANNOUNCEMENT)
