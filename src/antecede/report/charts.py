"""Charts of result tables, drawn by Altair (Vega-Lite): one page with everything inside it, or SVG.

A `Chart` names columns of its rows; what they mean was decided before. Altair and vl-convert come with the
extra `charts` and are loaded by whoever draws. The scripts of Vega are in the page; Vega's own interpreter
evaluates its expressions, so that the page's policy can forbid `eval`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from antecede.report.document import read_asset, render_document
from antecede.report.text import LONGEST_PARAGRAPH, format_visible_html
from antecede.scratch import replace_file_atomically

if TYPE_CHECKING:
    import altair

REMEDY = "run pip install 'antecede[charts]'"
WIDTH, HEIGHT, BAR_HEIGHT = 620, 320, 22
"""Pixels of the drawing area, and of each bar."""

Mark = Literal["line", "point", "bar"]
ChartValues = list[dict[str, Any]]
"""The rows of a chart, as Vega-Lite takes them."""


class Chart(NamedTuple):
    """What a chart shows: columns of its rows by name; an empty name means that there is no such column.

    Bars lie: `x` is their length and `y` has their names. Texts are categories in the order of the rows,
    numbers have an axis. A logarithmic axis is linear around zero where some values have no logarithm.
    """

    title: str
    x: str
    y: str
    mark: Mark = "line"
    low: str = ""
    high: str = ""
    """The ends of an interval around the value: `y`, or for bars `x`."""
    series: str = ""
    facet: str = ""
    """One small chart for each value of this column."""
    label: str = ""
    """A column with what stands beside each point."""
    x_title: str = ""
    y_title: str = ""
    log_x: bool = False
    log_y: bool = False


class ChartWithRows(NamedTuple):
    """A chart and the rows that it shows."""

    chart: Chart
    rows: pa.Table | Sequence[Mapping[str, Any]]


class TextTable(NamedTuple):
    """A table for a page: headings, and rows of cells as they shall be read."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


class Section(NamedTuple):
    """A part of a page: paragraphs, then tables, then charts."""

    heading: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[TextTable] = ()
    charts: Sequence[ChartWithRows] = ()


def load_altair() -> None:
    """Raises ModuleNotFoundError with a remedy if charts cannot be drawn here; ask before long work."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"charts need {error.name}: {REMEDY}", name=error.name) from None
    altair.data_transformers.disable_max_rows()


def build_chart(chart: Chart, rows: pa.Table | Sequence[Mapping[str, Any]]) -> altair.TopLevelMixin:
    """The chart as Altair has it, to be shown in a notebook, changed or saved."""
    load_altair()
    import altair

    values = _list_rows_as_dicts(rows)
    data = altair.InlineData(values=values)
    base = altair.Chart().encode(**_build_axis_color_and_tooltip_encodings(chart, values))
    drawing = altair.layer(*_draw_layers(base, chart, values))
    height = _choose_chart_height(chart, values)
    if not chart.facet:
        return drawing.properties(data=data, title=chart.title, width=WIDTH, height=height)
    # The data stand at the top: a part that had its own would show all rows.
    column = altair.Facet(field=_escape_field_name(chart.facet), type="nominal", title=None, sort=None)
    part = drawing.properties(width=WIDTH // 2 - 40, height=height)
    return part.facet(column, data=data, columns=2, title=chart.title)


def write_svg(path: str | Path, chart: Chart, rows: pa.Table | Sequence[Mapping[str, Any]]) -> None:
    """The chart as a picture."""
    spec = build_chart(chart, rows).to_dict()
    import vl_convert

    replace_file_atomically(
        Path(path), vl_convert.vegalite_to_svg(spec, vl_version=_find_vega_lite_version()).encode()
    )


def write_chart_page(path: str | Path, title: str, sections: Sequence[Section]) -> None:
    """One HTML file with these sections, whose charts answer to the mouse, and which needs no network."""
    load_altair()
    import vl_convert

    body = [f"<header><h1>{format_visible_html(title)}</h1></header>\n<main>"]
    specs: list[dict[str, Any]] = []
    for section in sections:
        body.append(_render_section(section, len(specs)))
        specs += [build_chart(drawn.chart, drawn.rows).to_dict() for drawn in section.charts]
    # Nothing in a JSON text may end the element that it stands in.
    data = json.dumps(specs).replace("<", "\\u003c")
    body.append(f'</main>\n<script type="application/json" id="charts">{data}</script>')
    script = vl_convert.javascript_bundle(read_asset("charts.js"), vl_version=_find_vega_lite_version())
    replace_file_atomically(Path(path), render_document(title, body, script, script_type="module").encode())


def _find_vega_lite_version() -> str:
    """The version of Vega-Lite that Altair writes for, as vl-convert names it: 6.4 for v6.4.1."""
    import altair

    major, minor, *_ = altair.SCHEMA_VERSION.removeprefix("v").split(".")
    return f"{major}.{minor}"


def _list_rows_as_dicts(rows: pa.Table | Sequence[Mapping[str, Any]]) -> ChartValues:
    if isinstance(rows, pa.Table):
        listed: ChartValues = rows.to_pylist()
        return listed
    return [dict(row) for row in rows]


def _choose_chart_height(chart: Chart, values: ChartValues) -> int:
    if chart.mark != "bar":
        return HEIGHT
    return BAR_HEIGHT * max(len({value[chart.y] for value in values}), 2)


def _build_axis_color_and_tooltip_encodings(chart: Chart, values: ChartValues) -> dict[str, Any]:
    """Both axes, the colors of the series, and what is shown where the mouse points."""
    import altair

    fields: dict[str, Any] = {
        "x": altair.X(**_build_axis_options(chart.x, chart.x_title, chart.log_x, values)),
        "y": altair.Y(**_build_axis_options(chart.y, chart.y_title, chart.log_y, values)),
    }
    if chart.series:
        legend = altair.Legend(labelLimit=0)  # names are shown in full
        series = _escape_field_name(chart.series)
        fields["color"] = altair.Color(field=series, type="nominal", sort=None, legend=legend)
    told = [chart.label, chart.series, chart.y, chart.x, chart.low, chart.high]
    fields["tooltip"] = [
        altair.Tooltip(field=_escape_field_name(name)) for name in dict.fromkeys(told) if name
    ]
    return fields


def _build_axis_options(column: str, title: str, is_log: bool, values: ChartValues) -> dict[str, Any]:
    axis: dict[str, Any] = {"field": _escape_field_name(column), "title": title or column}
    present = [value[column] for value in values if value[column] is not None]
    if any(isinstance(value, str) for value in present):
        return axis | {"type": "nominal", "sort": None}
    axis["type"] = "quantitative"
    if is_log:
        has_logarithms = all(value > 0 for value in present)
        axis["scale"] = {"type": "log" if has_logarithms else "symlog"}
    return axis


def _draw_layers(base: altair.Chart, chart: Chart, values: ChartValues) -> list[altair.Chart]:
    """The marks, and above them the intervals and what stands beside points."""
    import altair

    if chart.mark == "bar":
        layers = [base.mark_bar(height={"band": 0.7})]
    elif chart.mark == "line":
        layers = [base.mark_line(point=True)]
    else:
        layers = [base.mark_point(filled=True, size=70)]
    if chart.low and chart.high:
        along = "x" if chart.mark == "bar" else "y"
        title = (chart.x_title or chart.x) if along == "x" else (chart.y_title or chart.y)
        ends: dict[str, Any] = {
            along: _build_axis_options(
                chart.low, title, chart.log_x if along == "x" else chart.log_y, values
            ),
            f"{along}2": {"field": _escape_field_name(chart.high)},
        }
        layers.append(base.mark_rule(strokeWidth=1.5).encode(**ends))
    if chart.label:
        text = altair.Text(field=_escape_field_name(chart.label), type="nominal")
        layers.append(base.mark_text(align="left", dx=8, dy=-6).encode(text=text))
    return layers


def _escape_field_name(name: str) -> str:
    """Vega-Lite takes dots and brackets in the name of a field for a path."""
    for sign in ("\\", ".", "[", "]"):
        name = name.replace(sign, f"\\{sign}")
    return name


def _render_section(section: Section, first_chart_number: int) -> str:
    parts = [f"<section><h2>{format_visible_html(section.heading)}</h2>"]
    parts += [f"<p>{format_visible_html(text, LONGEST_PARAGRAPH)}</p>" for text in section.paragraphs]
    parts += [_render_table(table) for table in section.tables]
    for number, drawn in enumerate(section.charts, start=first_chart_number):
        name = format_visible_html(drawn.chart.title)
        parts.append(f'<figure class="chart" id="chart-{number}" role="group" aria-label="{name}"></figure>')
    return "\n".join([*parts, "</section>"])


def _render_table(table: TextTable) -> str:
    head = "".join(f"<th>{format_visible_html(heading)}</th>" for heading in table.headings)
    rows = []
    for row in table.rows:
        cells = "".join(f"<td>{format_visible_html(cell)}</td>" for cell in row)
        rows.append(f"<tr>{cells}</tr>")
    body = "\n".join(rows)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
    )
