"""The kinds of findings: each has a meaning, and the page of the documentation says the same."""

import re
from pathlib import Path

from antecede.auditing.sentences import KINDS
from antecede.report.findings import MEANINGS

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"


def test_every_kind_has_a_meaning() -> None:
    assert MEANINGS.keys() == set(KINDS)


def test_the_documentation_says_the_same() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.M)
    assert {kind: meaning for kind, meaning, _ in rows} == MEANINGS
