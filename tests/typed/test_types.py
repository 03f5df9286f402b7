"""A user's script is checked as a user checks it: in a folder of its own, by mypy and by (based)pyright."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

MISTAKES = """\
import antecede
import antecede.simulate
import antecede.spark

antecede.nothing
antecede.simulate.nothing
antecede.spark.nothing
antecede.read_logs(1)
antecede.read_logs("log").files[0].nothing
antecede.endpoint("optimal", process="a")
antecede.simulate.Plan(protocol="optimal", processes="many")
"""
"""Each line from the fifth on is wrong."""

MYPY = """\
[mypy]
strict = true
[mypy-numpy.*,numba.*,pandas.*,pyarrow.*,altair.*,rich.*,typer.*,cryptography.*,prometheus_client.*,aiokafka.*]
follow_imports = skip
"""
"""To follow libraries that the script does not use would take most of the time."""

Errors = set[tuple[str, int]]
"""The files and the lines that a checker complains of."""


def run_mypy(folder: Path) -> Errors:
    (folder / "mypy.ini").write_text(MYPY)
    command = [sys.executable, "-m", "mypy", "--cache-dir=cache", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = re.findall(r"^(\w+\.py):(\d+): error", done.stdout, re.MULTILINE)
    return {(file, int(line)) for file, line in lines}


def run_pyright(folder: Path) -> Errors:
    (folder / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    complaints = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in complaints if one["severity"] == "error"]
    return {(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in errors}


@pytest.mark.slow
@pytest.mark.parametrize("check", [run_mypy, run_pyright])
def test_a_users_script_is_typed_and_mistakes_are_found(check: Callable[[Path], Errors], tmp_path) -> None:
    program = "mypy" if check is run_mypy else "basedpyright"
    if find_spec(program) is None and not os.environ.get("CI"):
        pytest.skip(f"{program} is not installed: make setup")
    shutil.copy(Path(__file__).with_name("user_script.py"), tmp_path)
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    wrong_lines = range(5, len(MISTAKES.splitlines()) + 1)
    assert check(tmp_path) == {("mistakes.py", line) for line in wrong_lines}
