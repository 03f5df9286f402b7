"""The space-time diagram of a window as SVG: a vertical line per process, a row per event in the given order,
arrows for messages. Late ones are red, ghosts grey. It stands alone, with the particulars of each event as
its title; inside a page, static/page.css colors it and static/page.js lights up past and future.
"""

import html
from collections.abc import Sequence

from antecede.report.paths import Point, path, xy
from antecede.report.text import escaped, fitted, natural, shown
from antecede.report.window import (
    Lane,
    Link,
    Row,
    arrivals,
    is_late,
    lane_of,
    lanes,
    links,
    rows_of,
    spoken,
    where,
)
from antecede.tables import Window

ROW, HEAD, EDGE = 30, 34, 18
"""Pixels: the height of a row and of the names, the space at the sides."""
SPREAD, NARROW, WIDE = 1160, 84, 280
"""Pixels: what the processes share as long as each has a column neither too narrow nor too wide."""
MOST_ENTRIES = 64
"""Entries of a clock that are shown; the own one comes first."""

BESIDE = {"send": -4, "receive": 12, "deliver": 12, "arrival": 12}
"""Pixels: labels of sends stand above their line and the others below it, out of the way of the arrows."""

GREY, INK, RED, PAPER = "#8a8f98", "#3d4450", "#c4281c", "#ffffff"


def svg(window: Window, name: str = "w") -> str:
    """The picture. The element of the event in row i has the id name-i."""
    rows = rows_of(window.events)
    order = lanes(rows)
    column = max(NARROW, min(WIDE, SPREAD // max(len(order), 1)))
    width, height = EDGE * 2 + column * max(len(order), 2), 2 * HEAD + ROW * (len(rows) + 1)
    places = [_place(order[lane_of(row)], at, column) for at, row in enumerate(rows)]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spacetime" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="group" aria-label="{escaped(window.title)}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        *_lives(order, column, height),
        *_links(window, rows, places, column),
        *_events(window, rows, places, column, name),
        *_names(order, column, width, height),
        "</svg>",
    ]
    return "\n".join(parts)


def _place(lane: int, row: int, column: int) -> Point:
    return EDGE + column * lane + 24, HEAD + ROW * (row + 1)


def _lives(order: dict[Lane, int], column: int, height: int) -> list[str]:
    ends = [(_place(at, 0, column)[0], lane) for lane, at in order.items() if lane.process is not None]
    lines = [f'<path d="M{x:g} {HEAD - 4}V{height - HEAD + 4}"/>' for x, _ in ends]
    return [f'<g class="lives" stroke="{GREY}" stroke-opacity="0.45">', *lines, "</g>"]


def _links(window: Window, rows: Sequence[Row], places: Sequence[Point], column: int) -> list[str]:
    drawn = [_link(window, rows, places, column, link) for link in links(rows, window.edges)]
    return [f'<g class="links" fill="none" stroke="{INK}" stroke-width="1.3">', *drawn, "</g>"]


def _link(window: Window, rows: Sequence[Row], places: Sequence[Point], column: int, link: Link) -> str:
    ends = [rows[at] for at in (link.source, link.target) if at is not None]
    late = link.kind != "step" and link.target is not None and is_late(rows[link.target], window.late)
    ghost = any(row["event"] in window.ghosts for row in ends)
    outside = link.source is None or link.target is None
    classes = [link.kind, *(["late"] if late else []), *(["ghost"] if ghost else [])]
    style = f' stroke="{RED}"' if late else f' stroke="{GREY}"' if ghost else ""
    style += ' stroke-dasharray="4 3"' if ghost or outside else ""
    style += ' stroke-width="5" stroke-opacity="0.5"' if link.kind == "wait" else ""
    data = "" if link.source is None else f' data-from="{link.source}"'
    data += "" if link.target is None else f' data-to="{link.target}"'
    return f'<path class="{" ".join(classes)}"{data}{style} d="{path(link, places, column)}"/>'


def _events(
    window: Window, rows: Sequence[Row], places: Sequence[Point], column: int, name: str
) -> list[str]:
    arrived = arrivals(rows)
    drawn = [
        _event(row, place, column, f"{name}-{at}", _classes(row, at in arrived, window))
        for at, (row, place) in enumerate(zip(rows, places, strict=True))
    ]
    return [f'<g class="events" stroke="{INK}" fill="{INK}">', *drawn, "</g>"]


def _classes(row: Row, arrival: bool, window: Window) -> list[str]:
    kind = row["kind"] if row["kind"] in ("send", "receive", "deliver") else "local"
    late, ghost = not arrival and is_late(row, window.late), row["event"] in window.ghosts
    return ["arrival" if arrival else kind, *(["late"] if late else []), *(["ghost"] if ghost else [])]


def _event(row: Row, place: Point, column: int, identity: str, classes: list[str]) -> str:
    color = f' stroke="{RED}" fill="{RED}"' if "late" in classes else ""
    color = f' stroke="{GREY}" fill="{GREY}"' if "ghost" in classes else color
    label = row["message"] or row["text"] or row["event"] or row["kind"] or ""
    label = fitted(f"{label} late" if "late" in classes and row["message"] else label, column - 18)
    return (
        f'<g class="event {" ".join(classes)}" id="{identity}" transform="translate({xy(place)})"{color}>'
        f"<title>{_about(row, classes)}</title>"
        '<circle class="hit" r="11" fill="none" stroke="none" pointer-events="all"/>'
        f"{_mark(classes)}"
        f'<text x="9" y="{BESIDE.get(classes[0], 4)}" paint-order="stroke" stroke="{PAPER}" stroke-width="3">'
        f"{label}</text></g>"
    )


def _mark(classes: list[str]) -> str:
    """A ring for a send, a disc for a delivery, a small ring for an arrival, a square for all else."""
    dashed = ' stroke-dasharray="2 2"' if "ghost" in classes else ""
    if classes[0] == "local":
        return f'<rect class="mark" x="-4" y="-4" width="8" height="8" rx="1.5"{dashed}/>'
    radius = 3 if classes[0] == "arrival" else 5
    paper = f' fill="{PAPER}"' if classes[0] in ("send", "arrival") or dashed else ""
    return f'<circle class="mark" r="{radius}" stroke-width="1.6"{paper}{dashed}/>'


def _about(row: Row, classes: list[str]) -> str:
    """The particulars of an event, one to a line; the first says what it is."""
    facts = [
        *(["late"] if "late" in classes else []),
        *(["ghost: not in the log"] if "ghost" in classes else []),
    ]
    lines = [spoken(row) + (f" ({', '.join(facts)})" if facts else ""), where(row)]
    lines += [f"text: {shown(row['text'])}"] if row["text"] else []
    lines += [f"clock: {_clock(row)}"] if row["clock"] is not None else []
    lines += [f"time: {row['time']:,.3f} ms"] if row["time"] is not None else []
    lines += [f"event: {shown(row['event'])}"] if row["event"] is not None else []
    lines += [f"{shown(key)}: {shown(value)}" for key, value in row["fields"] or () if value is not None]
    return "\n".join(html.escape(line) for line in lines if line)


def _clock(row: Row) -> str:
    clock = dict(row["clock"])
    names = sorted(clock, key=lambda name: (name != row["process"], natural(name)))
    entries = [f"{shown(name)}={clock[name]}" for name in names[:MOST_ENTRIES]]
    more = len(names) - len(entries)
    return (" ".join(entries) + (f" and {more} more" if more else "")) or "empty"


def _names(order: dict[Lane, int], column: int, width: int, height: int) -> list[str]:
    """The names at both ends; inside a page, those at the top stay in sight."""
    several = len({lane.execution for lane in order}) > 1
    parts = []
    for end, top in (("top", 0), ("bottom", height - HEAD)):
        parts += [f'<g class="names {end}" fill="{INK}" font-weight="600">']
        parts += [f'<rect class="band" y="{top}" width="{width}" height="{HEAD}" fill="{PAPER}"/>']
        for lane, at in order.items():
            name = "no process" if lane.process is None else lane.process or "(empty name)"
            name = f"{name} · {lane.execution}" if several else name
            x = _place(at, 0, column)[0] - 16
            text = f"<title>{escaped(name)}</title>{fitted(name, column - 20, 13)}"
            parts.append(f'<text x="{x:g}" y="{top + 21}">{text}</text>')
        parts += ["</g>"]
    return parts
