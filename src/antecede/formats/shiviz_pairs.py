"""Blocks of ShiViz text in which every record is two plain lines: host and clock, and the text of the event.

What the expressions of `shiviz_forms` find in such a block, they find pair by pair; here it is cut at its
line ends instead. Time stamps, blank lines, white space at a line's end or anything else make a block odd:
then the expression reads it.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.formats.shiviz_forms import EVENT_FIRST, HOST_FIRST, Form

_HOST = re.compile(r"\S*")


class Pairs(NamedTuple):
    """The records of a block, by column."""

    hosts: list[str]
    clocks: list[str]
    events: list[str]
    starts: NDArray[np.int64]
    """Where records begin and end, counted from the block's beginning; an end is before the line's end."""
    ends: NDArray[np.int64]


def read_pairs(text: str, begin: int, end: int, form: Form) -> Pairs | None:
    """The records in a part of the text that is made of whole lines; None if it is odd."""
    if form.pattern not in (HOST_FIRST, EVENT_FIRST):
        return None
    lines = text[begin:end].removesuffix("\n").split("\n")
    if len(lines) % 2:
        return None
    is_host_first = form.pattern is HOST_FIRST
    clock_lines, events = (lines[::2], lines[1::2]) if is_host_first else (lines[1::2], lines[::2])
    parts = [line.partition(" ") for line in clock_lines]
    hosts, _, clocks = map(list, zip(*parts, strict=True))
    # A second opening bracket behind a blank could make the host a time stamp.
    is_plain = all(clock[:1] == "{" and clock[-1:] == "}" and " {" not in clock for clock in clocks)
    if not is_plain or not all(_HOST.fullmatch(host) for host in set(hosts)):
        return None
    sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + 1
    line_ends = np.cumsum(sizes) - 1
    return Pairs(hosts, clocks, events, line_ends[::2] - sizes[::2] + 1, line_ends[1::2])
