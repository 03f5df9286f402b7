"""Charts: what is drawn, in which order, and pages that need no network."""

import json
import re
import sys
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from antecede.report.charts import (
    Chart,
    ChartWithRows,
    Section,
    TextTable,
    build_chart,
    load_altair,
    write_chart_page,
    write_svg,
)
from tests.report.browser import PATH, WHY, Browser

SIZES = [
    {"protocol": name, "n": n, "bytes": value, "low": value * 0.9, "high": value * 1.1}
    for name, n, value in [
        ("matrix", 4, 16.0), ("matrix", 8, 64.0), ("matrix", 16, 256.0),
        ("optimal", 4, 9.0), ("optimal", 8, 12.0), ("optimal", 16, 20.0),
    ]
]  # fmt: skip
GROWTH = Chart("Growth", x="n", y="bytes", low="low", high="high", series="protocol", log_y=True)
BARS = Chart("Sizes", x="bytes", y="protocol", mark="bar", low="low", high="high", facet="n")
HOSTILE = "</script><script>alert(1)</script><b>&amp;'\""


def draw_texts(tmp_path, chart, rows) -> list[str]:
    """The texts of the picture, in its order."""
    write_svg(tmp_path / "chart.svg", chart, rows)
    tree = ElementTree.parse(tmp_path / "chart.svg")
    return [element.text or "" for element in tree.iter("{http://www.w3.org/2000/svg}text")]


def test_a_line_for_each_series_with_its_intervals(tmp_path) -> None:
    texts = draw_texts(tmp_path, GROWTH, SIZES)
    assert {"Growth", "n", "bytes", "matrix", "optimal"} <= set(texts)
    picture = (tmp_path / "chart.svg").read_text()
    assert picture.count('aria-roledescription="line mark"') == 2
    assert picture.count('aria-roledescription="rule mark"') == 6


def test_an_arrow_table_is_drawn_as_its_rows(tmp_path) -> None:
    write_svg(tmp_path / "rows.svg", GROWTH, SIZES)
    write_svg(tmp_path / "table.svg", GROWTH, pa.Table.from_pylist(SIZES))
    assert (tmp_path / "rows.svg").read_text() == (tmp_path / "table.svg").read_text()


def test_bars_stand_in_the_order_of_the_rows(tmp_path) -> None:
    rows = [{"protocol": name, "bytes": 3.0} for name in ("vector", "fifo", "matrix")]
    texts = draw_texts(tmp_path, Chart("Sizes", x="bytes", y="protocol", mark="bar"), rows)
    assert [text for text in texts if text in ("vector", "fifo", "matrix")] == ["vector", "fifo", "matrix"]


def test_a_small_chart_for_each_facet(tmp_path) -> None:
    texts = draw_texts(tmp_path, BARS, SIZES)
    assert {"4", "8", "16"} <= set(texts)
    assert (tmp_path / "chart.svg").read_text().count('aria-roledescription="bar"') == 6


def test_a_zero_on_a_logarithmic_axis_is_drawn() -> None:
    chart = Chart("Delays", x="bytes", y="delay", mark="point", label="name", log_y=True)
    rows = [{"name": "a", "bytes": 1.0, "delay": 0.0}, {"name": "b", "bytes": 2.0, "delay": 5.0}]
    layers = build_chart(chart, rows).to_dict()["layer"]
    assert layers[0]["encoding"]["y"]["scale"]["type"] == "symlog"
    layers = build_chart(chart, rows[1:]).to_dict()["layer"]
    assert layers[0]["encoding"]["y"]["scale"]["type"] == "log"


def test_names_of_columns_are_taken_as_they_are(tmp_path) -> None:
    rows = [{"a.b[0]": 1.0, "c\\d": "x"}, {"a.b[0]": 2.0, "c\\d": "y"}]
    write_svg(tmp_path / "chart.svg", Chart("Odd", x="a.b[0]", y="c\\d", mark="bar"), rows)
    widths = re.findall(r'aria-label="a\.b\[0\]: (\d)', (tmp_path / "chart.svg").read_text())
    assert widths == ["1", "2"]


def test_without_the_extra_the_remedy_is_told(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"charts need vl_convert: run pip install 'antecede\[charts\]'"
    ):
        load_altair()


def test_nothing_in_the_data_can_end_the_script(tmp_path) -> None:
    rows = [{"name": HOSTILE, "bytes": 1.0}]
    drawn = ChartWithRows(Chart(HOSTILE, x="bytes", y="name", mark="bar"), rows)
    sections = [Section(HOSTILE, [HOSTILE], [TextTable([HOSTILE], [[HOSTILE]])], [drawn])]
    write_chart_page(tmp_path / "page.html", HOSTILE, sections)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert page.count("</script>") == 2
    (data,) = re.findall('<script type="application/json" id="charts">(.*?)</script>', page)
    assert json.loads(data)[0]["title"] == HOSTILE


@pytest.mark.skipif(PATH is None, reason=WHY)
@pytest.mark.slow
def test_the_page_draws_its_charts_and_asks_for_nothing(tmp_path) -> None:
    sections = [
        Section("Growth", ["How bytes grow."], charts=[ChartWithRows(GROWTH, SIZES)]),
        Section(
            "Sizes", tables=[TextTable(["n", "bytes"], [["4", "16"]])], charts=[ChartWithRows(BARS, SIZES)]
        ),
    ]
    file = tmp_path / "page.html"
    write_chart_page(file, "Study", sections)
    with Browser() as browser:
        browser.open(file)
        for chart, marks in ((0, "line mark"), (1, "bar")):
            selector = f"#chart-{chart} svg [aria-roledescription='{marks}']"
            assert browser.run(f'document.querySelectorAll("{selector}").length') == (2 if chart == 0 else 6)
        browser.mouse("#chart-1 svg [aria-roledescription='bar']")
        tooltip = browser.run("document.querySelector('#vg-tooltip-element.visible').textContent")
        assert "matrix" in tooltip and "16" in tooltip
        assert browser.run("document.querySelector('td').textContent") == "4"
        assert browser.problems == []
        assert set(browser.requests) == {file.as_uri()}
