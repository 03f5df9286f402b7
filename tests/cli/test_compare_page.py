"""The page of `antecede compare`: charts in a real browser, and what is said where they cannot be drawn."""

import sys
from pathlib import Path

import pytest

from tests.commands import here
from tests.report.browser import PATH, WHY, Browser


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Runs commands in a folder with the trace of a run."""
    monkeypatch.chdir(tmp_path)
    plan = ("--protocol", "unordered", "--workload", "broadcast", "-n", "3", "-m", "60", "--out", "run")
    assert here(monkeypatch, capsys, "simulate", *plan).code == 0
    return lambda *words: here(monkeypatch, capsys, "compare", "run/events.parquet", *words)


@pytest.mark.skipif(PATH is None, reason=WHY)
@pytest.mark.slow
def test_the_page_shows_the_table_and_draws_every_protocol(run) -> None:
    done = run("--report", "sub/page.html")
    assert done.code == 0 and "report: sub/page.html" in done.out
    page = Path("sub/page.html").resolve()
    with Browser() as browser:
        browser.open(page)
        rows = browser.run(
            "[...document.querySelectorAll('tbody tr')].map((row) => row.cells[1].textContent)"
        )
        assert {"matrix", "vector", "scalar", "buffered"} <= set(rows)
        for chart, mark in ((0, "point"), (1, "bar"), (2, "bar")):
            selector = f"#chart-{chart} svg [aria-roledescription='{mark}']"
            assert browser.run(f'document.querySelectorAll("{selector}").length') == len(rows)
        assert "vector: " in browser.run("document.querySelector('section p').textContent")
        assert browser.problems == []
        assert set(browser.requests) == {page.as_uri()}


def test_without_the_extra_the_remedy_is_told_before_any_work(run, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    done = run("--report", "page.html")
    assert done.code == 2 and done.out == ""
    assert "pip install 'antecede[charts]'" in " ".join(done.err.split())
    assert not Path("page.html").exists()
    assert run().code == 0
