"""A disk that is really full: a small one of the test's own, and the device that is always full.

Where no disk can be mounted, files must not grow, which commands tell in the same words.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Done, apart

SENTENCE = "no space left on the disk; make room, or name a folder on another disk"


@pytest.fixture(scope="module")
def events(tmp_path_factory) -> Path:
    """More than the small disk can hold."""
    folder: Path = tmp_path_factory.mktemp("run")
    assert (
        apart("simulate", "--protocol", "unordered", "--rate", "1000", "-m", "10000", "--out", folder).code
        == 0
    )
    return folder / "events.parquet"


@pytest.fixture
def run_on_small_disk(tmp_path):
    """Runs a command in a folder on a disk of 100 kB; its exit code, its errors, and the files it left."""
    folder = tmp_path / "small"
    folder.mkdir()
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    enter = ["unshare", *user, "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=100k small {folder} && cd {folder}"
    if subprocess.run([*enter, mount], capture_output=True, check=False).returncode:
        enter, mount = ["sh", "-c"], f"ulimit -f 100 && cd {folder}"

    def run(*words: object) -> tuple[int, str, list[str]]:
        command = shlex.join([sys.executable, "-m", "antecede", *map(str, words)])
        script = f"{mount} && {{ {command} >/dev/null; code=$?; find . -type f; exit $code; }}"
        done = subprocess.run([*enter, script], capture_output=True, text=True, timeout=120, check=False)
        said = " ".join(Done(done.returncode, "", done.stderr).noise)
        return done.returncode, " ".join(said.split()), done.stdout.split()

    return run


@pytest.mark.parametrize(
    ("command", "option", "place"),
    [("order", "--out", "out"), ("audit", "--out", "out"), ("audit", "--report", "page.html")],
)
def test_nothing_half_written_is_left_on_a_full_disk(
    run_on_small_disk, events, command, option, place
) -> None:
    code, err, files = run_on_small_disk(command, events, option, place)
    assert (code, files, err) == (2, [], f"error: {option} {place}: {SENTENCE}")


def test_the_small_disk_can_be_written_to(run_on_small_disk) -> None:
    code, err, files = run_on_small_disk("simulate", "-m", 5, "--out", "out")
    assert (code, err) == (0, "")
    assert sorted(files) == ["./out/events.parquet", "./out/messages.parquet", "./out/run.json"]


def test_a_simulation_on_a_full_disk(run_on_small_disk) -> None:
    code, err, files = run_on_small_disk("simulate", "-m", 20000, "--out", "out")
    assert (code, files, err) == (2, [], f"error: --out out: {SENTENCE}")


@pytest.mark.parametrize("words", [("protocols",), ("protocols", "--json"), ("--help",)])
def test_an_output_that_is_full(words) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "antecede", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert " ".join(done.stderr.split()) == f"error: {SENTENCE}"
