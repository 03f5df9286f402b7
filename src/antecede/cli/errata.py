"""What docs/errata.md says of a protocol's paper; a wheel has a copy of it beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from antecede.core.facts import Facts

_PLACES = (Path(__file__).with_name("errata.md"), Path(__file__).parents[3] / "docs" / "errata.md")
"""In a wheel, and in the sources."""
_CELL_END = re.compile(r"(?<!\\)\|")


class Erratum(NamedTuple):
    """Something that is wrong with a paper or left open by it, and the shortest execution that shows it."""

    what: str
    example: str


def list_errata(facts: Facts) -> list[Erratum]:
    """The errata of the paper that a protocol is from."""
    sections = re.split(r"^## ", _read_errata_document(), flags=re.MULTILINE)
    rows = []
    for section in sections:
        heading, _, text = section.partition("\n")
        if f"`{facts.name}`" in heading:
            rows += list(_parse_errata_rows(text))
    # A section on several papers begins each row with its authors.
    authors = re.sub(r" \d{4}.*", "", facts.paper)
    own_rows = [row for row in rows if row.what.startswith(authors)]
    return own_rows or rows


def _read_errata_document() -> str:
    file = next((place for place in _PLACES if place.exists()), None)
    return "" if file is None else file.read_text(encoding="utf-8")


def _parse_errata_rows(text: str) -> Iterator[Erratum]:
    """The rows of the tables in a text, without their headings."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| what is wrong"):
            cells = [cell.strip().replace("`", "") for cell in _CELL_END.split(line)]
            yield Erratum(cells[1], cells[2])
