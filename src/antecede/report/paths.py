"""The lines of a picture, as SVG path data: along a process, across to another one, in a bow back to the same
one, and stubs to what is outside. The head of an arrow is part of its path, so that it has its color.
"""

from collections.abc import Sequence
from math import hypot

from antecede.report.window import Link

RADIUS, HEAD_LONG, HEAD_WIDE = 6.0, 7.0, 3.2
"""Pixels: how far from the middle of an event a line ends, and the size of the heads."""
OUT, DOWN = 20, 15
"""Pixels: how far a stub reaches."""
WIDEST = 72
"""Pixels: how far the middle of a bow is pulled aside; its line goes half as far."""

Point = tuple[float, float]


def path(link: Link, places: Sequence[Point], column: int) -> str:
    """The line of a link between events at these places, in columns of this width."""
    if link.source is None or link.target is None:
        return _stub(link, places)
    a, b = places[link.source], places[link.target]
    if link.kind != "message":
        return f"M{xy(a)}V{b[1]:g}"
    if a[0] != b[0]:
        return _arrow(_toward(a, b), _toward(b, a))
    bow = (a[0] - min(column * 0.8, WIDEST, 24 + abs(b[1] - a[1]) * 0.2), (a[1] + b[1]) / 2)
    start, end = _toward(a, bow), _toward(b, bow)
    return f"M{xy(start)}Q{xy(bow)} {xy(end)}{_chevron(bow, end)}"


def xy(point: Point) -> str:
    return f"{round(point[0], 1):g} {round(point[1], 1):g}"


def _stub(link: Link, places: Sequence[Point]) -> str:
    """From the upper left into an event, or from an event to the lower left."""
    if link.source is None:
        assert link.target is not None
        x, y = places[link.target]
        return _arrow((x - OUT, y - DOWN), _toward((x, y), (x - OUT, y - DOWN)))
    x, y = places[link.source]
    return _arrow(_toward((x, y), (x - OUT, y + DOWN)), (x - OUT, y + DOWN))


def _arrow(start: Point, end: Point) -> str:
    return f"M{xy(start)}L{xy(end)}{_chevron(start, end)}"


def _chevron(start: Point, end: Point) -> str:
    """Two strokes that end where the line does."""
    x, y = _direction(start, end)
    back = (end[0] - x * HEAD_LONG, end[1] - y * HEAD_LONG)
    left = (back[0] - y * HEAD_WIDE, back[1] + x * HEAD_WIDE)
    right = (back[0] + y * HEAD_WIDE, back[1] - x * HEAD_WIDE)
    return f"M{xy(left)}L{xy(end)}L{xy(right)}"


def _toward(a: Point, b: Point) -> Point:
    """The rim of the event at a, on the side of b."""
    x, y = _direction(a, b)
    return a[0] + x * RADIUS, a[1] + y * RADIUS


def _direction(a: Point, b: Point) -> Point:
    length = hypot(b[0] - a[0], b[1] - a[1]) or 1.0
    return (b[0] - a[0]) / length, (b[1] - a[1]) / length
