"""Text from logs, made safe to show. Nobody vouches for what stands in a log: it may hold markup, control
characters, or marks that turn the direction of writing and make a line read as what it is not.
"""

import html
import re

HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029]")
LONGEST = 600
"""Characters shown of one text."""
LONGEST_PARAGRAPH = 20_000
"""Characters shown of a paragraph, which has sentences of ours with texts among them."""
LONGEST_NUMBER = 18
"""Digits that are read as a number when names are sorted."""


def format_visible_line(text: object, longest: int | None = LONGEST) -> str:
    """One line in which every character can be seen; one of more characters than `longest` ends in dots.

    None is for what must stay whole, such as a line that is to be copied.
    """
    line = str(text)
    if longest is not None and len(line) > longest:
        line = line[: longest - 1] + "…"
    line = LINE_ENDS.sub("↵", line).replace("\t", " ")
    return HIDDEN.sub("\ufffd", line)


def format_visible_html(text: object, longest: int = LONGEST) -> str:
    """The same, for the content or the quoted attribute of an HTML or SVG element."""
    return html.escape(format_visible_line(text, longest), quote=True)


def format_number_or_text(value: object) -> str:
    """A number with its thousands apart; anything else as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return format_visible_line(value)


def pluralize(count: int, word: str) -> str:
    """So many of something: 1 row, 2 rows, 3 processes, 4 deliveries."""
    if count == 1:
        return f"1 {word}"
    if word.endswith("y"):
        return f"{count:,} {word[:-1]}ies"
    if word.endswith("ss"):
        return f"{count:,} {word}es"
    return f"{count:,} {word}s"


def make_natural_sort_key(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts p2 before p10."""
    key = []
    for part in re.findall("[0-9]{1,18}|[^0-9]+|[0-9]+", name):
        if part.isdecimal() and len(part) <= LONGEST_NUMBER:
            key.append((0, int(part), ""))
        else:
            key.append((1, 0, part))
    return key
