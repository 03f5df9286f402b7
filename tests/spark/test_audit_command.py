"""`antecede audit` on Spark: what only Spark has to do with."""

import json
from pathlib import Path

import pytest
from pyspark.errors import PythonException

from antecede.core.errors import CallerError, SetupError
from antecede.spark.running import translate_error
from tests.commands import TRIANGLE, apart, here

pytestmark = pytest.mark.spark


def test_in_a_process_of_its_own_without_noise(tmp_path) -> None:
    (tmp_path / "log").write_text(TRIANGLE)
    done = apart("audit", tmp_path / "log", "--json", "--master", "local[1]")
    assert done.code == 1
    assert json.loads(done.out)["counts"] == {"late": 1}
    assert done.noise == []


def test_errors_of_tasks_are_ours() -> None:
    text = "Job aborted\n  File x, line 1\nantecede.core.errors.CallerError: stamps are odd; cast them\n"
    assert str(translate_error(PythonException(text))) == "stamps are odd; cast them"
    assert isinstance(translate_error(PythonException(text)), CallerError)
    other = translate_error(PythonException("\nout of memory\n at java.lang"))
    assert isinstance(other, SetupError) and "Spark failed: out of memory" in str(other)


def test_a_staging_folder_must_be_there(spark, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text(TRIANGLE)
    done = here(monkeypatch, capsys, "audit", "log", "--engine", "spark", "--staging", "nowhere")
    assert done.code == 2 and "name a folder that all machines share" in done.err
