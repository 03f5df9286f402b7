"""The lines of a picture, as SVG path data: along a process, across to another one, in a bow back to the same
one, and stubs to what is outside. The head of an arrow is part of its path, so that it has its color.
"""

from collections.abc import Sequence
from math import hypot

from antecede.report.window import DrawnLink

RADIUS = 6.0
"""Pixels: how far from the middle of an event a line ends."""
HEAD_LENGTH, HEAD_WIDTH = 7.0, 3.2
STUB_WIDTH, STUB_HEIGHT = 20, 15
"""Pixels: how far a stub reaches."""
WIDEST_BOW = 72
"""Pixels: how far the middle of a bow is pulled aside; its line goes half as far."""

Point = tuple[float, float]


def draw_path(link: DrawnLink, places: Sequence[Point], column: int) -> str:
    """The line of a link between events at these places, in columns of this width."""
    if link.source is None or link.target is None:
        return _draw_stub(link, places)
    start, end = places[link.source], places[link.target]
    if link.kind != "message":
        return f"M{format_point(start)}V{end[1]:g}"
    if start[0] != end[0]:
        return _draw_arrow(_find_rim(start, end), _find_rim(end, start))
    return _draw_bow(start, end, column)


def format_point(point: Point) -> str:
    """A point in tenths of a pixel."""
    x, y = point
    return f"{round(x, 1):g} {round(y, 1):g}"


def _draw_stub(link: DrawnLink, places: Sequence[Point]) -> str:
    """From the upper left into an event, or from an event to the lower left."""
    if link.source is None:
        assert link.target is not None
        x, y = places[link.target]
        outside = (x - STUB_WIDTH, y - STUB_HEIGHT)
        return _draw_arrow(outside, _find_rim((x, y), outside))
    x, y = places[link.source]
    outside = (x - STUB_WIDTH, y + STUB_HEIGHT)
    return _draw_arrow(_find_rim((x, y), outside), outside)


def _draw_bow(start: Point, end: Point, column: int) -> str:
    """Between two events of one process, around what is between them: the further apart, the wider."""
    length = abs(end[1] - start[1])
    width = min(column * 0.8, WIDEST_BOW, 24 + length * 0.2)
    middle = (start[0] - width, (start[1] + end[1]) / 2)
    start, end = _find_rim(start, middle), _find_rim(end, middle)
    curve = f"M{format_point(start)}Q{format_point(middle)} {format_point(end)}"
    return curve + _draw_head(middle, end)


def _draw_arrow(start: Point, end: Point) -> str:
    return f"M{format_point(start)}L{format_point(end)}{_draw_head(start, end)}"


def _draw_head(start: Point, end: Point) -> str:
    """Two strokes that end where the line does."""
    x, y = _unit_vector(start, end)
    back = (end[0] - x * HEAD_LENGTH, end[1] - y * HEAD_LENGTH)
    left = (back[0] - y * HEAD_WIDTH, back[1] + x * HEAD_WIDTH)
    right = (back[0] + y * HEAD_WIDTH, back[1] - x * HEAD_WIDTH)
    return f"M{format_point(left)}L{format_point(end)}L{format_point(right)}"


def _find_rim(event: Point, other: Point) -> Point:
    """The rim of an event, on the side of another point."""
    x, y = _unit_vector(event, other)
    return event[0] + x * RADIUS, event[1] + y * RADIUS


def _unit_vector(start: Point, end: Point) -> Point:
    """The direction from one point to another, with length 1."""
    x, y = end[0] - start[0], end[1] - start[1]
    length = hypot(x, y) or 1.0
    return x / length, y / length
