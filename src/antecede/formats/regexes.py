"""Expressions as ShiViz writes them (JavaScript, flags g and m), for Python's re.

Named groups, references to them and the class of all characters `[^]` are translated; the rest is the same
in both for what logs need. On purpose more is understood than ShiViz does: literal brackets `\\(`, unnamed
groups in delimiters, letters of all scripts in `\\w`, and U+2028 inside a line.
"""

import re
import warnings

from antecede.core.errors import CallerError

_TOKEN = re.compile(
    r"(?P<escape>\\k<(?P<back>\w+)>|\\[^\n])|(?P<any>\[\^\])|\(\?<(?P<name>[A-Za-z_$][\w$]*)>"
)


def translate_javascript_regex(text: str) -> str:
    """The expression in Python's words."""
    return _TOKEN.sub(_translate_token, text)


def _translate_token(token: re.Match[str]) -> str:
    if token["back"]:
        return f"(?P={token['back']})"
    if token["name"]:
        return f"(?P<{token['name'].replace('$', '_')}>"
    return "[\\s\\S]" if token["any"] else token[0]


def compile_javascript_regex(text: str, groups: tuple[str, ...], what: str) -> re.Pattern[str]:
    """The expression, multi-line, with these groups in it; a CallerError says what is wrong otherwise."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = re.compile(translate_javascript_regex(text), re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        raise CallerError(f"{what} {text!r} is no regular expression: {error}") from None
    missing = [name for name in groups if name not in pattern.groupindex]
    if missing:
        wanted = ", ".join(f"(?<{name}>...)" for name in missing)
        raise CallerError(f"{what} {text!r} has no {wanted}; name these groups in it")
    return pattern
