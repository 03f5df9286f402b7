"""Blocks of ShiViz text in which every record is two plain lines: host and clock, and the text of the event.

What the expressions of `shiviz_forms` find in such a block, they find pair by pair; here its bytes are cut at
the line ends, all lines at once. Time stamps, blank lines, white space at a line's end or anything else make
a block odd: then the expression reads it.
"""

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from antecede.formats.shiviz_forms import EVENT_FIRST, HOST_FIRST, Form
from antecede.kernels.clock_texts import Bytes, find_first_blanks, gather_parts_and_offsets

Ints = NDArray[np.int64]

_HOST = re.compile(r"\S*")


class Pairs(NamedTuple):
    """The records of a block, by column."""

    hosts: pa.Array
    clocks: pa.Array
    events: pa.Array
    starts: Ints
    """Where records begin and end, counted from the block's beginning; an end is before the line's end."""
    ends: Ints


def read_line_pairs(text: str, begin: int, end: int, form: Form) -> Pairs | None:
    """The records in a part of the text that is made of whole lines; None if it is odd.

    If the last line has no other beside it, it is left over.
    """
    if form.pattern not in (HOST_FIRST, EVENT_FIRST):
        return None
    block = text[begin:end]
    if not block.endswith("\n"):
        block += "\n"
    encoded = block.encode()
    data = np.frombuffer(encoded, np.uint8)
    line_ends = np.flatnonzero(data == ord("\n"))
    pairs = len(line_ends) // 2
    if pairs == 0:
        return None
    line_ends = line_ends[: 2 * pairs]
    line_begins = np.append(0, line_ends[:-1] + 1)
    clock_line = 0 if form.pattern is HOST_FIRST else 1
    host_begins, clock_ends = line_begins[clock_line::2], line_ends[clock_line::2]
    host_ends = find_first_blanks(data, host_begins, clock_ends)
    if (host_ends == clock_ends).any():
        return None
    clock_begins = host_ends + 1
    are_objects = (data[clock_begins] == ord("{")) & (data[clock_ends - 1] == ord("}"))
    if not are_objects.all():
        return None
    clocks = _slice_texts(data, clock_begins, clock_ends)
    # A second opening bracket behind a blank could make the host a time stamp.
    if encoded.count(b" {", 0, line_ends[-1]) > pairs and pc.any(pc.match_substring(clocks, " {")).as_py():
        return None
    hosts = _slice_texts(data, host_begins, host_ends)
    if not all(_HOST.fullmatch(host) for host in hosts.unique().to_pylist()):
        return None
    events = _slice_texts(data, line_begins[1 - clock_line :: 2], line_ends[1 - clock_line :: 2])
    starts, ends = line_begins[::2], line_ends[1::2]
    if len(data) > len(block):
        characters = _byte_to_character_offsets(data)
        starts, ends = characters[starts], characters[ends]
    return Pairs(hosts, clocks, events, starts, ends)


def _slice_texts(data: Bytes, begins: Ints, ends: Ints) -> pa.Array:
    texts, offsets = gather_parts_and_offsets(data, begins, ends)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
    return pa.Array.from_buffers(pa.string(), len(begins), buffers)


def _byte_to_character_offsets(data: Bytes) -> Ints:
    """How many characters begin before each byte of some UTF-8."""
    is_begin = (data & 0xC0) != 0x80
    return np.asarray(np.cumsum(is_begin) - is_begin, np.int64)
