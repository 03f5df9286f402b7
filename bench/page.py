"""Section `page`: what the page of an audit costs: writing it, against the audit alone in the same run, and
opening it in a real browser.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

from rich.table import Table

from bench.commands import EXAMPLE, run
from bench.logs import PROCESSES, write_jsonl
from bench.measure import Spent, count, verdict
from bench.traffic import write
from tests.report.browser import PATH, Browser

WRITTEN_WITHIN, OPENED_WITHIN, LARGEST = 1.5, 3.0, 30_000_000
"""The bars: times of the audit alone, seconds, bytes."""


def tables(quick: bool) -> Iterator[Table]:
    size = 20_000 if quick else 1_000_000
    run(["audit", str(EXAMPLE), "--engine", "local"])  # compiles the kernels, if that was not done yet
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as name:
        folder = Path(name)
        (folder / "parquet").mkdir()
        logs = {
            "JSON lines": write_jsonl(size, folder / "events.jsonl"),
            "Parquet": write(size, PROCESSES, folder / "parquet"),
        }
        pages = {form: folder / f"{form}.html" for form in logs}
        yield _write_pages(logs, pages, size)
        if PATH is not None:
            yield _open_pages(pages, size)


def _write_pages(logs: dict[str, str], pages: dict[str, Path], size: int) -> Table:
    table = Table(title=f"antecede audit --report: {count(size)} events", title_justify="left")
    table.caption, table.caption_justify = "Wall time (processor time), each the least of two runs.", "left"
    for heading in ("log", "audit alone", "with --report", "ratio", "bar", "", "page", "bar", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for form, log in logs.items():
        words = ["audit", log, "--engine", "local"]
        with_report = [*words, "--report", str(pages[form])]
        alone = _least(lambda words=words: run(words))  # type: ignore[misc]
        written = _least(lambda words=with_report: run(words))  # type: ignore[misc]
        ratio, held = written.wall / alone.wall, pages[form].stat().st_size
        shown = [f"{time.wall:.1f} s ({time.processor:.1f})" for time in (alone, written)]
        sizes = f"{held / 1e6:.1f} MB", f"{LARGEST / 1e6:.0f} MB", verdict(held <= LARGEST)
        table.add_row(
            form, *shown, f"{ratio:.2f} ×", f"{WRITTEN_WITHIN} ×", verdict(ratio <= WRITTEN_WITHIN), *sizes
        )
    return table


def _least(call: Callable[[], Spent]) -> Spent:
    return min((call() for _ in range(2)), key=lambda time: time.wall)


def _open_pages(pages: dict[str, Path], size: int) -> Table:
    table = Table(title=f"The page of {count(size)} events in headless Chromium", title_justify="left")
    table.caption = "Seconds since the address was given; the click is on the overview, and draws a picture."
    table.caption_justify = "left"
    for heading in ("log", "first paint", "overview drawn", "first click answered", "bar", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for form, page in pages.items():
        with Browser() as browser:
            paint, drawn, answered = _open_page(browser, page)
        met = verdict(max(paint, answered) <= OPENED_WITHIN)
        table.add_row(form, f"{paint:.2f}", f"{drawn:.2f}", f"{answered:.2f}", f"{OPENED_WITHIN}", met)
    return table


def _open_page(browser: Browser, page: Path) -> tuple[float, float, float]:
    """Seconds to the first paint, to the overview, and to the answer to the first click on it."""
    start = perf_counter()
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait("document.documentElement?.dataset.ready")
    drawn = perf_counter() - start
    browser.mouse("#overview", click=True)
    browser.wait("document.querySelector('.event.here')")
    answered = perf_counter() - start
    painted: float = browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return painted / 1000, drawn, answered
