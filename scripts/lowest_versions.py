"""Prints the lowest versions that pyproject.toml allows of what antecede needs, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRAS = ("spark", "connect")
"""Extras whose packages are part of it."""


def list_lowest_versions(requirements: Iterable[str]) -> Iterator[str]:
    """`name==version` for each requirement with a lower bound."""
    for requirement in requirements:
        match = re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound")
        yield f"{match[1]}=={match[2]}"


def main() -> None:
    project = tomllib.loads(PROJECT.read_text())["project"]
    requirements = list(project["dependencies"])
    for extra in EXTRAS:
        requirements += project["optional-dependencies"][extra]
    print(*dict.fromkeys(list_lowest_versions(requirements)), sep="\n")


if __name__ == "__main__":
    main()
