"""The examples, run as they are: each prints what it promises."""

import json
import runpy
import sys
from pathlib import Path

import pytest

from scripts.run_notebook import run_notebook

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def run_example(monkeypatch, capsys):
    """Runs an example with some arguments; what it prints."""

    def run(name: str, *words: object) -> str:
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        printed: str = capsys.readouterr().out
        return printed

    return run


def test_audit_of_a_log(run_example) -> None:
    out = run_example("audit_log.py")
    first, *findings = out.partition("in causal order:")[0].splitlines()
    assert first == "7 events, 0 records that cannot be read"
    assert [finding.partition(":")[0] for finding in findings] == ["late", "timestamp", "lost"]
    places = [line.split() for line in out.partition("in causal order:\n")[2].splitlines()]
    assert [place[0] for place in places] == [str(n) for n in range(7)]
    assert places[0][1:] == ["ann", "send", "price"]


def test_order_of_a_table(run_example) -> None:
    before, after = run_example("order_table.py").split("when the lost message is there:\n")
    assert "held cid: what is? (lacks " in before and "missing: message 2 of ann, 2 rows" in before
    texts = [line.partition(": ")[2] for line in after.splitlines()]
    assert texts == ["the price is 5", "sold!", "5 it is", "so it is a deal", "what is?"]


def test_a_transport_of_ones_own(run_example) -> None:
    lines = run_example("own_transport.py").splitlines()
    assert any(line.startswith("cid is not shown yet: ") for line in lines)
    read = [line for line in lines if line.startswith("cid reads ")]
    assert read == ["cid reads ann: shall we meet at five?", "cid reads bob: five is fine"]


def test_a_study_of_ones_own(run_example, tmp_path: Path) -> None:
    out = run_example("own_study.py", tmp_path / "mine")
    assert out.startswith("At n = 16 optimal needs ")
    assert {"costs", "result.md", "page.html"} <= {file.name for file in (tmp_path / "mine").iterdir()}


def test_the_notebook_shows_what_its_cells_do() -> None:
    file = EXAMPLES / "tour.ipynb"
    notebook = json.loads(file.read_text())
    assert sum(cell["cell_type"] == "code" and bool(cell["outputs"]) for cell in notebook["cells"]) >= 6
    assert json.loads(run_notebook(file)) == notebook, (
        "run python scripts/run_notebook.py examples/tour.ipynb"
    )
