"""Lines of text files with their numbers, read in parts that do not depend on each other.

A part of a file is a range of bytes, and has the lines that begin in it (behind its first byte; the file's
first line belongs to the first range). Gzip is told by content and is one range.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from antecede.core.errors import InputError
from antecede.formats.source import GZIP, UTF8, inflate_blocks

RANGE_BYTES = 64 << 20
"""Bytes of a range."""
BLOCK_BYTES = 4 << 20
"""Bytes that are read at a time."""

LONGEST_LINE = 256 << 20
"""Bytes of a line, at most."""

LINES = pa.schema(
    {
        "number": pa.int32(),  # of the file
        "line": pa.int64(),
        "text": pa.binary(),  # without the line's end; null where the file cannot be read on
        "error": pa.string(),  # why it cannot
    }
)


class LineRange(NamedTuple):
    """A part of a file. The first line of the first range has number 1."""

    number: int
    path: str
    low: int
    high: int
    is_packed: bool
    first_line: int = 1


def split_file_into_ranges(file_number: int, path: str) -> list[LineRange]:
    """The ranges of a file; the lines of those behind the first one are still to be counted."""
    try:
        with open(path, "rb") as file:
            is_packed = file.read(2) == GZIP
        size = os.path.getsize(path)
    except OSError:  # whoever reads the range says why
        return [LineRange(file_number, path, 0, 0, False)]
    if is_packed:
        return [LineRange(file_number, path, 0, size, True)]
    lows = range(0, size or 1, RANGE_BYTES)
    return [LineRange(file_number, path, low, min(low + RANGE_BYTES, size), False) for low in lows]


def count_line_ends(part: LineRange) -> int:
    """How many lines end in a range."""
    if part.is_packed:
        return 0
    try:
        with open(part.path, "rb") as file:
            file.seek(part.low)
            ends = 0
            for low in range(part.low, part.high, BLOCK_BYTES):
                ends += file.read(min(BLOCK_BYTES, part.high - low)).count(b"\n")
            return ends
    except OSError:
        return 0


def set_first_line_numbers(ranges: list[LineRange], line_ends: dict[tuple[int, int], int]) -> list[LineRange]:
    """The ranges with the number of the first line of each. `line_ends` counts them by file and low."""
    numbered = []
    for _, of_file in groupby(ranges, key=lambda part: part.number):
        before = 0
        for part in of_file:
            first = before + 2 if part.low else 1  # the line that goes on into a range began before it
            numbered.append(part._replace(first_line=first))
            before += line_ends.get((part.number, part.low), 0)
    return numbered


def read_lines(part: LineRange) -> Iterator[pa.RecordBatch]:
    """The lines of a range as LINES; what cannot be read on is told in a row of its own."""
    line = part.first_line
    try:
        for data in _inflate_whole_lines(part) if part.is_packed else _read_whole_lines(part):
            texts = data.removesuffix(b"\n").split(b"\n")
            if line == 1:
                texts[0] = texts[0].removeprefix(UTF8)
            yield _make_lines_batch(part.number, np.arange(line, line + len(texts)), texts, None)
            line += len(texts)
    except InputError as error:
        yield _make_lines_batch(part.number, [line], [None], str(error))
    except OSError as error:
        remedy = "check its permissions; on a cluster every worker must see it"
        yield _make_lines_batch(part.number, [None], [None], f"cannot be read ({error.strerror}); {remedy}")


def _make_lines_batch(file_number: int, lines: Any, texts: Any, error: str | None) -> pa.RecordBatch:
    size = len(texts)
    errors = pa.repeat(pa.scalar(error, pa.string()), size)
    columns = [np.full(size, file_number, np.int32), lines, texts, errors]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, LINES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=LINES)


def _read_whole_lines(part: LineRange) -> Iterator[bytes]:
    """Whole lines: those that begin behind `low`, up to and with `high`."""
    with open(part.path, "rb") as file:
        file.seek(part.low)
        if part.low and len(file.readline(LONGEST_LINE)) == LONGEST_LINE:
            raise _make_long_line_error()
        while (at := file.tell()) <= part.high:
            data = file.read(min(BLOCK_BYTES, part.high - at))
            rest = file.readline(LONGEST_LINE)
            if len(rest) == LONGEST_LINE:
                raise _make_long_line_error()
            if not data + rest:
                return
            yield data + rest


def _make_long_line_error() -> InputError:
    return InputError(
        f"a line is longer than {LONGEST_LINE >> 20} MB, so this is no table; name another file"
    )


def _inflate_whole_lines(part: LineRange) -> Iterator[bytes]:
    """Whole lines of a file that is packed; of a broken one also the piece of a line that is left."""
    rest = b""
    with open(part.path, "rb") as file:
        try:
            for data in inflate_blocks(file):
                rest += data
                if len(rest) > BLOCK_BYTES and b"\n" in rest:
                    lines, _, rest = rest.rpartition(b"\n")
                    yield lines + b"\n"
                if len(rest) > LONGEST_LINE:
                    rest = b""
                    raise _make_long_line_error()
        except InputError:
            if rest:
                yield rest
            raise
    if rest:
        yield rest
