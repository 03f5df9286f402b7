"""The first of many sentences, for the screen, in rich's markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antecede.report.text import LONGEST, format_visible_line

SHOWN_SENTENCES = 3
"""Findings of a kind, or rows in quarantine, that are told on the screen."""


def format_visible_line_for_rich(text: str, longest: int | None = LONGEST) -> str:
    """As `format_visible_line`, for rich, which takes brackets for markup."""
    from rich.markup import escape

    return escape(format_visible_line(text, longest))


def format_first_sentences(sentences: list[str], total: int) -> Iterator[str]:
    """A line for each sentence, and one for those of the `total` that are left out."""
    for sentence in sentences:
        yield f"  {format_visible_line_for_rich(sentence)}"
    if total > len(sentences):
        yield f"  [dim]... and {total - len(sentences):,} more[/]"


def format_first_quarantined_rows(rows: list[dict[str, Any]], total: int) -> Iterator[str]:
    """The first of so many rows in quarantine: where each was read, and the reason."""
    sentences = [_describe_quarantined_row(row) for row in rows[:SHOWN_SENTENCES]]
    yield from format_first_sentences(sentences, total)


def _describe_quarantined_row(row: dict[str, Any]) -> str:
    line = f":{row['line']}" if row["line"] is not None else ""
    return f"{row['file']}{line}: {row['reason'].removeprefix(row['file'] + ': ')}"
