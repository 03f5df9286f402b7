"""Text from logs, made safe to show. Nobody vouches for what stands in a log: it may hold markup, control
characters, or marks that turn the direction of writing and make a line read as what it is not.
"""

import html
import re
import unicodedata

HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029]")
WIDE = frozenset("WF")
LONGEST = 600
"""Characters shown of one text."""


def shown(text: object) -> str:
    """One line in which every character can be seen; a long one ends in dots."""
    line = str(text)
    line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    line = LINE_ENDS.sub("↵", line).replace("\t", " ")
    return HIDDEN.sub("\ufffd", line)


def escaped(text: object) -> str:
    """The same, for the content or the quoted attribute of an HTML or SVG element."""
    return html.escape(shown(text), quote=True)


def fitted(text: object, width: float, size: float = 12) -> str:
    """The same, cut to a width in pixels: letters of a sans serif are about half as wide as high."""
    line, room = shown(text), width / (size * 0.56)
    for at, letter in enumerate(line):
        room -= 2 if unicodedata.east_asian_width(letter) in WIDE else 1
        if room < 0:
            return html.escape(line[: max(at - 1, 1)] + "…", quote=True)
    return html.escape(line, quote=True)


def number(value: object) -> str:
    """A total, with its thousands apart."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else shown(value)


def many(count: int, word: str) -> str:
    """So many of something: 1 row, 2 rows, 3 processes, 4 deliveries."""
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}{'e' if word.endswith('ss') else ''}s"
    return f"{count:,} {word if count == 1 else plural}"


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts p2 before p10."""
    parts = re.findall("[0-9]{1,18}|[^0-9]+|[0-9]+", name)
    return [(0, int(p), "") if p.isdecimal() and len(p) <= 18 else (1, 0, p) for p in parts]
