"""Text between the records of a ShiViz log: which of it is a damaged record, and which is no record at all.

Our own expressions describe whole logs: every line that they do not match goes to quarantine. An expression
of a user's may leave lines out on purpose. So many lines as it leaves out behind nine records of ten, at
least, it means to leave out, unless there is a clock in them that counts something: if most records are
damaged, damage is usual. Where there are more lines before the next record, something should have been a
record and was not. Text before the first and behind the last record of an execution goes to quarantine if
the expression leaves nothing out on purpose, or if there is a clock in the text that counts something.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

COUNTING_CLOCK = re.compile(r'\{[^{}\n]*"\s*:\s*[1-9]')
"""A clock, also one that is cut off, in which something is counted: that of an initial state is all zeros."""
_LINE_WITH_TEXT = re.compile(r"^.*\S.*\n?", re.MULTILINE)


class TextGap(NamedTuple):
    """Some text that is in no record."""

    begin: int
    end: int
    is_behind_record: bool
    """Whether there is a record before it in its execution."""
    is_last: bool
    """Whether there is no record behind it in its execution."""


def select_damaged_gaps(text: str, gaps: Sequence[TextGap], record_count: int) -> Iterator[TextGap]:
    """The gaps that an expression of a user's does not leave out on purpose, without what it does leave out.

    Most of the records may have no gap behind them.
    """
    usual = _count_lines_usually_left_out(text, gaps, record_count)
    for gap in gaps:
        begin = _skip_lines_without_counting_clock(text, gap, usual) if gap.is_behind_record else gap.begin
        is_between = gap.is_behind_record and not gap.is_last
        rest = text[begin : gap.end]
        if rest.strip() and (is_between or usual == 0 or COUNTING_CLOCK.search(rest)):
            yield gap._replace(begin=begin)


def trim_gap(text: str, gap: TextGap) -> TextGap:
    """The gap without white space around it."""
    rest = text[gap.begin : gap.end]
    begin = gap.begin + len(rest) - len(rest.lstrip())
    return gap._replace(begin=begin, end=begin + len(rest.strip()))


def _count_lines_usually_left_out(text: str, gaps: Sequence[TextGap], record_count: int) -> int:
    """How many lines with text nine of ten records have behind them, at least."""
    counts = [_count_lines_with_text(text, gap) for gap in gaps if gap.is_behind_record]
    counts += [0] * (record_count - len(counts))
    counts.sort()
    return counts[len(counts) // 10] if counts else 0


def _count_lines_with_text(text: str, gap: TextGap) -> int:
    return sum(1 for _ in _LINE_WITH_TEXT.finditer(text, gap.begin, gap.end))


def _skip_lines_without_counting_clock(text: str, gap: TextGap, count: int) -> int:
    """Where the gap goes on behind so many lines with text; its begin if they have a clock that counts."""
    begin = gap.begin
    for line, _ in zip(_LINE_WITH_TEXT.finditer(text, gap.begin, gap.end), range(count), strict=False):
        begin = line.end()
    has_clock = COUNTING_CLOCK.search(text, gap.begin, begin) is not None
    return gap.begin if has_clock else begin
