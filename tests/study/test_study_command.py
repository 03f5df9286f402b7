"""`antecede study`, as its users run it: what it says, writes and returns, and what it refuses."""

import json

import pyarrow.parquet as pq
import pytest

from antecede.core.errors import CallerError
from tests.commands import here
from tests.study.small_study import count_cells, make_study, measure_line


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs the command in this process, in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: here(monkeypatch, capsys, "study", *words, "--engine", "local")


def offer(monkeypatch, **parts) -> None:
    """The small study is all that there is."""
    monkeypatch.setattr("antecede.study.registry.list_studies", lambda name: [make_study(**parts)])


def fail_for_double(cell):
    if cell.protocol == "double":
        raise CallerError("double cannot multicast")
    return measure_line(cell)


def test_a_study_says_what_it_found_and_where_it_is(run, monkeypatch, tmp_path):
    offer(monkeypatch)
    done = run("small", "--out", "out")
    assert done.code == 0
    assert "12 cells at scale quick" in done.out
    assert "At x = 2 y is 5 ± 2.5." in done.out
    for name in ("costs", "result.md", "page.html"):
        assert (tmp_path / "out" / name).exists()
        assert f"out/{name}" in done.out
    again = run("small", "--out", "out")
    assert again.code == 0
    assert "12 cells at scale quick (12 of them earlier)" in again.out


def test_cells_that_fail_are_rows_with_their_reason_and_the_exit_code_says_so(run, monkeypatch, tmp_path):
    offer(monkeypatch, measure=fail_for_double)
    done = run("small", "--out", "out")
    assert done.code == 1
    assert "6 cells failed" in done.out
    assert "6: CallerError: double cannot multicast" in done.out
    costs = pq.read_table(tmp_path / "out" / "costs").to_pylist()
    reasons = {(row["protocol"], row["reason"]) for row in costs}
    assert reasons == {("plain", None), ("double", "CallerError: double cannot multicast")}
    facts = json.loads(run("small", "--out", "out", "--json").out)[0]
    assert (facts["cells"], facts["run_now"], facts["failed"]) == (12, 6, 6)
    offer(monkeypatch)
    repaired = json.loads(run("small", "--out", "out", "--json").out)[0]
    assert (repaired["run_now"], repaired["failed"]) == (6, 0)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("sanches", "--out", "new"), "unknown study 'sanches'; choose one of sanchez"),
        (("sanchez", "--out", "out"), "holds the study 'small', not 'sanchez'"),
        (("sanchez", "--out", "new", "--scale", "huge"), "--scale huge: choose quick or paper"),
        (
            ("sanchez", "--out", "new", "--master", "local[2]"),
            "--engine local: --master local[2] is for Spark",
        ),
    ],
)
def test_wrong_usage_is_one_error_and_changes_nothing(run, monkeypatch, tmp_path, words, reason):
    with monkeypatch.context() as patched:
        offer(patched)
        assert run("small", "--out", "out").code == 0
    done = run(*words)
    assert (done.code, done.out) == (2, "")
    assert reason in done.err
    assert count_cells(tmp_path / "out") == 12
    assert not (tmp_path / "new").exists()


def test_all_studies_are_looked_at_before_the_first_is_run(run, monkeypatch, tmp_path):
    """The last folder holds something else, so nothing is run in the first."""
    studies = [make_study(name="first"), make_study(name="last")]
    monkeypatch.setattr("antecede.study.registry.list_studies", lambda name: studies)
    (tmp_path / "out" / "last").mkdir(parents=True)
    (tmp_path / "out" / "last" / "thesis.txt").write_text("mine")
    done = run("all", "--out", "out")
    assert done.code == 2
    assert "out/last: is not empty and holds no study" in done.err
    assert count_cells(tmp_path / "out" / "first") == 0
