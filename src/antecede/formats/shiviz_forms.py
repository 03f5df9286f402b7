"""The forms of ShiViz and GoVector text: which expression reads a file, and where executions begin.

A file may open with ShiViz's two header lines; a user may give the expressions; else the two line orders
are both candidates. Files with a well-known layout are read with expressions of our own, which also take
a time stamp and white space at the line's end.
"""

import re
from typing import NamedTuple

from antecede.core.errors import CallerError, InputError
from antecede.formats.regexes import compile_javascript_regex
from antecede.formats.settings import Settings

CLOCK = r"^(?:(?P<timestamp>\d+) )?(?P<host>\S*) (?P<clock>\{.*\})[ \t]*"
CLOCK_LINE = re.compile(CLOCK + "$", re.MULTILINE)
HOST_FIRST = re.compile(CLOCK + r"\n(?P<event>.*)", re.MULTILINE)
EVENT_FIRST = re.compile(r"^(?P<event>.*)\n" + CLOCK[1:] + "$", re.MULTILINE)
APPENDED = re.compile(
    r"^=== Execution #(?P<run>\w{3} \w{3} [ \d]\d [\d:]{8} \S+ \d{4}) {2}===[ \t]*$", re.MULTILINE
)
USUAL = re.compile(r"^=== (?P<trace>.*?) +===[ \t]*$", re.MULTILINE)

GOVECTOR = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
WELL_KNOWN = {
    GOVECTOR: HOST_FIRST,
    r"(?<timestamp>\d+) " + GOVECTOR: HOST_FIRST,
    r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})": EVENT_FIRST,
}
GROUPS = ("host", "clock", "event")


class Piece(NamedTuple):
    """A stretch of the text: one execution, or one run of it after a process was started again."""

    label: str
    run: str | None
    begin: int
    end: int


class _Cut(NamedTuple):
    """A place at which the text is cut."""

    match: re.Match[str]
    begins_execution: bool
    """Whether it is a delimiter: what follows is another execution, and not only another run."""


class Form(NamedTuple):
    """One way to read the text."""

    pattern: re.Pattern[str]
    delimiter: re.Pattern[str] | None
    is_usual: bool
    """Whether the expression is one of ours, for a well-known layout."""
    begin: int = 0

    def split_into_pieces(self, text: str) -> list[Piece]:
        """The text cut at delimiters and at GoVector's headers of appended logs."""
        cuts = sorted(self._find_cuts(text), key=lambda cut: cut.match.start())
        pieces, label, run, begin = [], "", None, self.begin
        used: dict[str, int] = {}
        for number, (match, begins_execution) in enumerate(cuts, start=1):
            pieces.append(Piece(label, run, begin, match.start()))
            begin = match.end()
            if begins_execution:
                label, run = _make_execution_label(match, number, used), None
            else:
                run = match["run"]
        pieces.append(Piece(label, run, begin, len(text)))
        return pieces

    def _find_cuts(self, text: str) -> list[_Cut]:
        """Delimiters, and GoVector's headers of appended logs."""
        if self.delimiter is not None and self.delimiter is not USUAL:
            found = self.delimiter.finditer(text, self.begin)
            return [_Cut(match, True) for match in found if match.end() > match.start()]
        if not self.is_usual or "===" not in text:
            return []
        cuts = []
        for line in APPENDED.finditer(text, self.begin):
            if self._is_delimiter_line(text, line):
                cuts.append(_Cut(line, False))
        if self.delimiter is None:
            return cuts
        begins_of_appended = {cut.match.start() for cut in cuts}
        for line in USUAL.finditer(text, self.begin):
            if line.start() not in begins_of_appended and self._is_delimiter_line(text, line):
                cuts.append(_Cut(line, True))
        return cuts

    def _is_delimiter_line(self, text: str, line: re.Match[str]) -> bool:
        """Whether the line is not the text of an event beside it."""
        if self.pattern is HOST_FIRST:
            before = text.rfind("\n", 0, max(line.start() - 1, 0)) + 1
            return line.start() == 0 or CLOCK_LINE.fullmatch(text, before, line.start() - 1) is None
        return CLOCK_LINE.match(text, line.end() + 1) is None


def _make_execution_label(delimiter: re.Match[str], number: int, label_counts: dict[str, int]) -> str:
    named = delimiter.groupdict().get("trace")
    label = named if named is not None else f"#{number}"
    count = label_counts[label] = label_counts.get(label, 0) + 1
    return label if count == 1 else f"{label} ({count})"


def list_candidate_forms(text: str, settings: Settings) -> list[Form]:
    """The candidates, the likeliest first."""
    delimiter = compile_javascript_regex(settings.delimiter, (), "delimiter") if settings.delimiter else None
    if settings.regex:
        return [
            Form(
                compile_javascript_regex(settings.regex, GROUPS, "regex"),
                delimiter,
                False,
                _find_header_end(text),
            )
        ]
    if _find_header_end(text):
        return _list_forms_of_header(text, delimiter)
    first = CLOCK_LINE.match(text, len(text) - len(text.lstrip()))
    order = [HOST_FIRST, EVENT_FIRST] if first else [EVENT_FIRST, HOST_FIRST]
    return [Form(pattern, delimiter or USUAL, True) for pattern in order]


def has_shiviz_header(text: str) -> bool:
    """Whether the text opens with ShiViz's header lines."""
    return _find_header_end(text) > 0


def _split_first_two_lines(text: str) -> tuple[str, str, int]:
    """The first two lines, and where the third begins."""
    lines = text[:20_000].split("\n", 2)
    first, second = lines[0], lines[1] if len(lines) > 1 else ""
    return first, second, min(len(first) + len(second) + 2, len(text))


def _is_parser_expression(line: str) -> bool:
    return all(f"(?<{name}>" in line or f"(?P<{name}>" in line for name in GROUPS)


def _find_header_end(text: str) -> int:
    """Where the log begins behind a header; 0 without one. A header without its second line is understood."""
    first, second, begin = _split_first_two_lines(text)
    if not first.strip() and "(?<trace>" in second:
        return begin
    if not _is_parser_expression(first):
        return 0
    return begin if not CLOCK_LINE.match(second) else len(first) + 1


def _list_forms_of_header(text: str, given_delimiter: re.Pattern[str] | None) -> list[Form]:
    first, second, _ = _split_first_two_lines(text)
    begin = _find_header_end(text)
    try:
        own = (
            compile_javascript_regex(second, (), "delimiter")
            if second.strip() and not CLOCK_LINE.match(second)
            else None
        )
        delimiter = given_delimiter or own
        if not first.strip():
            return [Form(pattern, delimiter, True, begin) for pattern in (EVENT_FIRST, HOST_FIRST)]
        known = WELL_KNOWN.get(first.strip().removeprefix("^").removesuffix("$"))
        if known:
            return [Form(known, delimiter, True, begin)]
        wrapped = compile_javascript_regex(f"^{first.strip()}$", GROUPS, "header line 1")
        plain = compile_javascript_regex(first.strip(), GROUPS, "header line 1")
    except CallerError as error:
        raise InputError(f"{error}; or give --regex and --delimiter") from None
    return [Form(wrapped, delimiter, False, begin), Form(plain, delimiter, False, begin)]
