"""Charts of where findings are: over time, by process, by channel. Each is plain SVG or a table with bars, so
that it needs no script; names are buttons that search for them where there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from antecede.report.gravity import GROUPS, find_severity_group
from antecede.report.marks import PlacedMarks
from antecede.report.text import format_number_or_text, format_visible_html, make_natural_sort_key, pluralize

SLICES = 60
"""Columns of the chart over time."""
SHOWN_BARS = 10
"""Processes or channels that have a bar."""
WIDTH, HEIGHT, AXIS = 360, 132, 18
BAR_WIDTH, BAR_HEIGHT = 100, 10
"""Pixels."""
FIRST_EPOCH_TIME = 1e11
"""Milliseconds: times behind this are counted from 1970."""

Tally = dict[str, int]
"""How many findings there are of each group of kinds."""


def render_finding_charts(marks: PlacedMarks, counts: Mapping[str, int]) -> str:
    """The three charts, and a key to their colors; `counts` has the findings of each kind, all of them."""
    if not marks.kind:
        return ""
    groups = [find_severity_group(kind) for kind in marks.kind]
    charts = [
        _render_time_chart(marks, groups),
        _render_bar_chart(
            "by process",
            "process",
            _count_findings_by_value_and_group(groups, marks.process, _format_process_name),
        ),
        _render_bar_chart(
            "by channel",
            "channel",
            _count_findings_by_value_and_group(groups, marks.channel, _format_channel_name),
        ),
    ]
    key = "".join(f'<li class="{name}">{name}</li>' for name in GROUPS if name in groups)
    note = ""
    if left_out := sum(counts.values()) - len(marks.kind):
        shown, counted = format_number_or_text(len(marks.kind)), format_number_or_text(left_out)
        note = (
            f'<p class="left">These charts and the overview show {shown} findings, '
            f"the first ones of each kind and execution; {counted} more are only counted.</p>"
        )
    return (
        '<section class="charts" aria-labelledby="charts"><h2 id="charts">Where the findings are</h2>'
        f'<ul class="groups">{key}</ul><div class="row">{"".join(charts)}</div>{note}</section>'
    )


def _count_findings_by_value_and_group(
    groups: Sequence[str],
    values: Sequence[object],
    name_value: Callable[[object], str],
) -> list[tuple[str, Tally]]:
    """The findings of each value by group, those with the gravest and the most findings first."""
    tallies: dict[str, Counter[str]] = {}
    for group, value in zip(groups, values, strict=True):
        if value is not None:
            tallies.setdefault(name_value(value), Counter())[group] += 1
    gravest = list(GROUPS)
    ranked = sorted(
        tallies.items(),
        key=lambda item: ([-item[1][group] for group in gravest], make_natural_sort_key(item[0])),
    )
    return [(name, dict(tally)) for name, tally in ranked]


def _format_process_name(value: object) -> str:
    return str(value) or "(empty name)"


def _format_channel_name(value: object) -> str:
    assert isinstance(value, tuple)
    return f"{_format_process_name(value[0])} → {_format_process_name(value[1])}"


def _render_bar_chart(title: str, word: str, tallies: list[tuple[str, Tally]]) -> str:
    """A table with a bar in each row."""
    head = f"<h3>{title}</h3>"
    if not tallies:
        return f'<div class="chart-box">{head}<p class="none">No finding has a {word}.</p></div>'
    longest = max(sum(tally.values()) for _, tally in tallies)
    rows = []
    for name, tally in tallies[:SHOWN_BARS]:
        label = format_visible_html(name)
        parts = ", ".join(f"{count:,} {group}" for group, count in tally.items())
        button = f'<button type="button" class="find" data-find="{label}">{label}</button>'
        total = format_number_or_text(sum(tally.values()))
        rows.append(
            f'<tr><th scope="row">{button}</th>'
            f'<td><svg width="{BAR_WIDTH}" height="{BAR_HEIGHT}" aria-hidden="true"><title>{parts}</title>'
            f"{_draw_bar(tally, longest)}</svg></td><td>{total}</td></tr>"
        )
    rest = len(tallies) - SHOWN_BARS
    more = f'<p class="left">and {pluralize(rest, word)} more</p>' if rest > 0 else ""
    return (
        f'<div class="chart-box">{head}<table class="bars"><tbody>{"".join(rows)}</tbody></table>{more}</div>'
    )


def _draw_bar(tally: Tally, longest: int) -> str:
    """The parts of a bar, gravest first; none is too short to be seen."""
    parts, x = [], 0.0
    for group in GROUPS:
        if count := tally.get(group, 0):
            width = max(count / longest * BAR_WIDTH, 2.0)
            parts.append(f'<rect class="{group}" x="{x:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}"/>')
            x += width
    return "".join(parts)


def _render_time_chart(marks: PlacedMarks, groups: Sequence[str]) -> str:
    """Columns over time or, where no event has one, over the places of events in their processes."""
    has_times = bool(np.isfinite(marks.time).any())
    values = marks.time if has_times else marks.position
    is_known = np.isfinite(values)
    title = "over time" if has_times else "over the course of each process"
    head = f"<h3>{title}</h3>"
    if not is_known.any():
        return f'<div class="chart-box">{head}<p class="none">No finding has a time or a place.</p></div>'
    low, high = float(values[is_known].min()), float(values[is_known].max())
    width = (high - low) / SLICES or 1.0
    slices = np.minimum((values[is_known] - low) // width, SLICES - 1).astype(int).tolist()
    known_groups = [group for group, known in zip(groups, is_known.tolist(), strict=True) if known]
    tallies: list[Counter[str]] = [Counter() for _ in range(SLICES)]
    for at, group in zip(slices, known_groups, strict=True):
        tallies[at][group] += 1
    most = max(sum(tally.values()) for tally in tallies)
    labels = _format_times if has_times else _format_event_positions
    columns = []
    for at, tally in enumerate(tallies):
        if tally:
            between = " to ".join(labels([low + at * width, low + (at + 1) * width]))
            columns.append(_draw_time_column(at, tally, most, between))
    first, last = labels([low, high])
    unknown = len(groups) - len(known_groups)
    note = f'<p class="left">{pluralize(unknown, "finding")} without a time</p>' if unknown else ""
    told = f"{pluralize(len(known_groups), 'finding')} from {first} to {last}, at most {most:,} in a column"
    return (
        f'<div class="chart-box">{head}<svg class="times" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{told}"><path class="axis" d="M0 {HEIGHT - AXIS + 0.5}H{WIDTH}"/>{"".join(columns)}'
        f'<text x="0" y="{HEIGHT - 4}">{first}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 4}" text-anchor="end">{last}</text></svg>{note}</div>'
    )


def _draw_time_column(at: int, tally: Counter[str], most: int, between: str) -> str:
    """A column of the chart over time, the gravest at the bottom."""
    step, floor = WIDTH / SLICES, HEIGHT - AXIS
    parts, y = [], float(floor)
    for group in GROUPS:
        if count := tally[group]:
            height = max(count / most * (floor - 8), 1.5)
            y -= height
            parts.append(
                f'<rect class="{group}" x="{at * step:.1f}" y="{y:.1f}" width="{step - 1:.1f}" '
                f'height="{height:.1f}"/>'
            )
    told = ", ".join(f"{tally[group]:,} {group}" for group in GROUPS if tally[group])
    return f"<g><title>{between}: {told}</title>{''.join(parts)}</g>"


def _format_times(times_ms: Sequence[float]) -> list[str]:
    """Times in milliseconds: those of this age as dates, in UTC; others as seconds."""
    if min(times_ms) > FIRST_EPOCH_TIME and max(times_ms) < 2.5e14:
        moments = [datetime.fromtimestamp(time_ms / 1000, UTC) for time_ms in times_ms]
        return [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in moments]
    return [f"{time_ms / 1000:,.3f} s" for time_ms in times_ms]


def _format_event_positions(places: Sequence[float]) -> list[str]:
    return [f"event {place:,.0f}" for place in places]
