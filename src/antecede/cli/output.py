"""How commands say what they have to say: lines for people, one JSON document for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]


def print_json(facts: Mapping[str, Any] | list[Any]) -> None:
    """One document on one line, at once: whoever watches reads it through a pipe."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(facts).decode() + "\n")
    sys.stdout.flush()


def print_lines(lines: Iterable[str]) -> None:
    """Lines in rich's markup; long ones are left to the terminal to fold."""
    from rich.console import Console

    console = Console()
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)
