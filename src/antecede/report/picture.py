"""The space-time diagram of a window as SVG: a vertical line per process, a row per event in the given order,
arrows for messages. Late ones are red, ghosts grey. It stands alone, with the particulars of each event as
its title; inside a page, static/page.css colors it and static/page.js lights up past and future.
"""

import html
from collections.abc import Sequence

from antecede.report.paths import Point, draw_path, format_point
from antecede.report.text import escape_html, fit_to_width, make_visible, natural_key
from antecede.report.window import (
    DrawnLink,
    Lane,
    Row,
    describe_event,
    describe_place,
    find_arrivals,
    find_lane,
    find_links,
    is_late,
    list_rows,
    order_lanes,
)
from antecede.tables import Window

ROW, HEAD, EDGE = 30, 34, 18
"""Pixels: the height of a row and of the names, the space at the sides."""
SPREAD, NARROW, WIDE = 1160, 84, 280
"""Pixels: what the processes share as long as each has a column neither too narrow nor too wide."""
MOST_ENTRIES = 64
"""Entries of a clock that are shown; the own one comes first."""

LABEL_HEIGHTS = {"send": -4, "receive": 12, "deliver": 12, "arrival": 12}
"""Pixels: labels of sends stand above their line and the others below it, out of the way of the arrows."""

GREY, INK, RED, PAPER = "#8a8f98", "#3d4450", "#c4281c", "#ffffff"


def render_svg(window: Window, name: str = "w") -> str:
    """The picture. The element of the event in row i has the id name-i."""
    rows = list_rows(window.events)
    lanes = order_lanes(rows)
    column = max(NARROW, min(WIDE, SPREAD // max(len(lanes), 1)))
    width = EDGE * 2 + column * max(len(lanes), 2)
    height = 2 * HEAD + ROW * (len(rows) + 1)
    places = [_place_event(lanes[find_lane(row)], at, column) for at, row in enumerate(rows)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spacetime" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="group" aria-label="{escape_html(window.title)}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        *_draw_life_lines(lanes, column, height),
        *_draw_links(window, rows, places, column),
        *_draw_events(window, rows, places, column, name),
        *_draw_names(lanes, column, width, height),
        "</svg>",
    ]
    return "\n".join(parts)


def _place_event(lane: int, row: int, column: int) -> Point:
    """The middle of an event."""
    return EDGE + column * lane + 24, HEAD + ROW * (row + 1)


def _draw_life_lines(lanes: dict[Lane, int], column: int, height: int) -> list[str]:
    lines = []
    for lane, number in lanes.items():
        if lane.process is not None:
            x, _ = _place_event(number, 0, column)
            lines.append(f'<path d="M{x:g} {HEAD - 4}V{height - HEAD + 4}"/>')
    return [f'<g class="lives" stroke="{GREY}" stroke-opacity="0.45">', *lines, "</g>"]


def _draw_links(window: Window, rows: Sequence[Row], places: Sequence[Point], column: int) -> list[str]:
    links = find_links(rows, window.edges)
    drawn = [_draw_link(window, rows, places, column, link) for link in links]
    return [f'<g class="links" fill="none" stroke="{INK}" stroke-width="1.3">', *drawn, "</g>"]


def _draw_link(
    window: Window, rows: Sequence[Row], places: Sequence[Point], column: int, link: DrawnLink
) -> str:
    late = ghost = False
    data = ""
    if link.source is not None:
        ghost = rows[link.source]["event"] in window.ghosts
        data += f' data-from="{link.source}"'
    if link.target is not None:
        late = link.kind != "step" and is_late(rows[link.target], window.late)
        ghost = ghost or rows[link.target]["event"] in window.ghosts
        data += f' data-to="{link.target}"'
    classes = _join_classes(link.kind, late, ghost)
    style = _style_link(link, late, ghost)
    return f'<path class="{classes}"{data}{style} d="{draw_path(link, places, column)}"/>'


def _style_link(link: DrawnLink, late: bool, ghost: bool) -> str:
    """Attributes for pictures outside a page, which has a style sheet."""
    style = ""
    if late:
        style += f' stroke="{RED}"'
    elif ghost:
        style += f' stroke="{GREY}"'
    if ghost or link.source is None or link.target is None:
        style += ' stroke-dasharray="4 3"'
    if link.kind == "wait":
        style += ' stroke-width="5" stroke-opacity="0.5"'
    return style


def _join_classes(kind: str, late: bool, ghost: bool) -> str:
    """The classes of an element: its kind first."""
    return kind + (" late" if late else "") + (" ghost" if ghost else "")


def _draw_events(
    window: Window, rows: Sequence[Row], places: Sequence[Point], column: int, name: str
) -> list[str]:
    arrivals = find_arrivals(rows)
    drawn = []
    for at, (row, place) in enumerate(zip(rows, places, strict=True)):
        classes = _list_classes(row, at in arrivals, window)
        drawn.append(_draw_event(row, place, column, f"{name}-{at}", classes))
    return [f'<g class="events" stroke="{INK}" fill="{INK}">', *drawn, "</g>"]


def _list_classes(row: Row, arrival: bool, window: Window) -> list[str]:
    """What an event is: its kind first."""
    kind = row["kind"] if row["kind"] in ("send", "receive", "deliver") else "local"
    late = not arrival and is_late(row, window.late)
    ghost = row["event"] in window.ghosts
    return _join_classes("arrival" if arrival else kind, late, ghost).split()


def _draw_event(row: Row, place: Point, column: int, identity: str, classes: list[str]) -> str:
    color = ""
    if "ghost" in classes:
        color = f' stroke="{GREY}" fill="{GREY}"'
    elif "late" in classes:
        color = f' stroke="{RED}" fill="{RED}"'
    label = row["message"] or row["text"] or row["event"] or row["kind"] or ""
    if "late" in classes and row["message"]:
        label = f"{label} late"
    height = LABEL_HEIGHTS.get(classes[0], 4)
    return (
        f'<g class="event {" ".join(classes)}" id="{identity}" '
        f'transform="translate({format_point(place)})"{color}>'
        f"<title>{_describe_details(row, classes)}</title>"
        '<circle class="hit" r="11" fill="none" stroke="none" pointer-events="all"/>'
        f"{_draw_mark(classes)}"
        f'<text x="9" y="{height}" paint-order="stroke" stroke="{PAPER}" stroke-width="3">'
        f"{fit_to_width(label, column - 18)}</text></g>"
    )


def _draw_mark(classes: list[str]) -> str:
    """A ring for a send, a disc for a delivery, a small ring for an arrival, a square for all else."""
    kind = classes[0]
    dashes = ' stroke-dasharray="2 2"' if "ghost" in classes else ""
    if kind == "local":
        return f'<rect class="mark" x="-4" y="-4" width="8" height="8" rx="1.5"{dashes}/>'
    radius = 3 if kind == "arrival" else 5
    fill = f' fill="{PAPER}"' if kind in ("send", "arrival") or dashes else ""
    return f'<circle class="mark" r="{radius}" stroke-width="1.6"{fill}{dashes}/>'


def _describe_details(row: Row, classes: list[str]) -> str:
    """The particulars of an event, one to a line; the first says what it is."""
    marks = {"late": "late", "ghost": "ghost: not in the log"}
    facts = ", ".join(marks[name] for name in classes if name in marks)
    lines = [f"{describe_event(row)} ({facts})" if facts else describe_event(row)]
    lines.append(describe_place(row))
    if row["text"]:
        lines.append(f"text: {make_visible(row['text'])}")
    if row["clock"] is not None:
        lines.append(f"clock: {_format_clock(row)}")
    if row["time"] is not None:
        lines.append(f"time: {row['time']:,.3f} ms")
    if row["event"] is not None:
        lines.append(f"event: {make_visible(row['event'])}")
    for name, value in row["fields"] or ():
        if value is not None:
            lines.append(f"{make_visible(name)}: {make_visible(value)}")
    return "\n".join(html.escape(line) for line in lines if line)


def _format_clock(row: Row) -> str:
    clock = dict(row["clock"])
    names = sorted(clock, key=lambda name: (name != row["process"], natural_key(name)))
    entries = [f"{make_visible(name)}={clock[name]}" for name in names[:MOST_ENTRIES]]
    if not entries:
        return "empty"
    left_out = len(names) - len(entries)
    return " ".join(entries) + (f" and {left_out} more" if left_out else "")


def _draw_names(lanes: dict[Lane, int], column: int, width: int, height: int) -> list[str]:
    """The names at both ends; inside a page, those at the top stay in sight."""
    parts = []
    for end, top in (("top", 0), ("bottom", height - HEAD)):
        parts.append(f'<g class="names {end}" fill="{INK}" font-weight="600">')
        parts.append(f'<rect class="band" y="{top}" width="{width}" height="{HEAD}" fill="{PAPER}"/>')
        for name, number in _name_lanes(lanes):
            x = _place_event(number, 0, column)[0] - 16
            text = f"<title>{escape_html(name)}</title>{fit_to_width(name, column - 20, 13)}"
            parts.append(f'<text x="{x:g}" y="{top + 21}">{text}</text>')
        parts.append("</g>")
    return parts


def _name_lanes(lanes: dict[Lane, int]) -> list[tuple[str, int]]:
    """The name of each lane, which has the execution in it if there are several, and its number."""
    several = len({lane.execution for lane in lanes}) > 1
    names = []
    for lane, number in lanes.items():
        name = "no process" if lane.process is None else lane.process or "(empty name)"
        names.append((f"{name} · {lane.execution}" if several else name, number))
    return names
