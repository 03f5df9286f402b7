"""A cluster whose workers lack the package, one of which is killed: the tables are those of one process.

`make cluster` runs it: with six Java processes it takes minutes, too long for every check.
"""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands import TRIANGLE, Done, apart, make_environment
from tests.spark.cluster import run_cluster, write_workers_python

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def logs(tmp_path) -> Path:
    folder = Path(tmp_path) / "logs"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.jsonl").write_text(TRIANGLE)
    return folder


def run(*words: object, **environment: str) -> Done:
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, check=False, env=make_environment(**environment)
    )
    return Done(done.returncode, done.stdout, done.stderr)


def rows(place: Path) -> list[str]:
    return sorted(map(str, pq.read_table(place).to_pylist()))


NEEDED = f"Python 3.{sys.version_info.minor} with numpy, numba, pyarrow, pandas and msgspec"

PROGRAM = """
import json, sys
from antecede.cli.logs import open_spark
from antecede.cli.main import main

master, *commands = sys.argv[1:]
with open_spark(master):  # one for both: to start it takes longer than all else
    for command in map(json.loads, commands):
        sys.argv = ["antecede", *command, "--master", master]
        try:
            main()
        except SystemExit as ended:
            print("exit code:", ended.code)
"""


def test_a_cluster_gets_the_package_and_survives_the_loss_of_an_executor(logs, tmp_path) -> None:
    python = write_workers_python(tmp_path)
    order = ["order", str(logs), "--out", str(tmp_path / "far")]
    audit = ["audit", str(logs), "--json"]
    with run_cluster(tmp_path / "cluster", workers=2) as master:
        done = run("-c", PROGRAM, master, json.dumps(order), json.dumps(audit), PYSPARK_PYTHON=str(python))
    assert done.code == 0, done
    assert (tmp_path / "executor-killed").is_dir()
    # An editable install leaves a folder of this name in the packages, with a text in it.
    bare = subprocess.run([python, "-c", "import antecede.core"], capture_output=True, text=True, env={})
    assert "No module named 'antecede.core'" in bare.stderr
    assert done.noise[0] == f"{master}: its workers get antecede from here; they need {NEEDED}"
    ordered, audited, _ = done.out.split("exit code: ")
    near = apart("order", logs, "--out", tmp_path / "near", "--engine", "local")
    assert "exit code: 0" in done.out and near.code == 0 and ordered
    for table in ("ordered", "held", "quarantine"):
        assert rows(tmp_path / "far" / table) == rows(tmp_path / "near" / table)
    found = json.loads(audited.partition("\n")[2])
    expected = json.loads(apart("audit", logs, "--json", "--engine", "local").out)
    assert done.out.endswith("exit code: 1\n")
    assert {**found, "engine": None} == {**expected, "engine": None}


def test_a_worker_whose_python_lacks_a_package_is_told_in_a_sentence(logs, tmp_path) -> None:
    python = tmp_path / "bare-python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    words = (
        "-m",
        "antecede",
        "order",
        logs,
        "--out",
        tmp_path / "out",
        "--engine",
        "spark",
        "--master",
        "local[1]",
    )
    done = run(*words, PYSPARK_PYTHON=str(python))
    assert done.code == 2
    (line,) = done.noise
    assert line.startswith("error: the Python of a worker has no ")
    assert line.endswith(f"set PYSPARK_PYTHON to the path that {NEEDED} has on all of them")
