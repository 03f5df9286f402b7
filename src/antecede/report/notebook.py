"""Results as a notebook shows them: small pieces of HTML with a heading and tables; all text is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from antecede.report.text import format_number_or_text, format_visible_html

SHOWN_ROWS = 10
"""Rows of a table that a caller should give."""
SHOWN_FINDINGS = 3
"""Findings of each kind that are shown."""
LONGEST_CELL = 200
"""Characters shown of a value."""


class Preview(NamedTuple):
    """The first rows of a table, and what they are."""

    caption: str
    columns: Sequence[str]
    rows: Iterable[Mapping[str, Any]]


def render_heading_with_previews(heading: str, *previews: Preview) -> str:
    """A heading with the first rows of some tables."""
    parts = [f"<p><b>{format_visible_html(heading)}</b></p>"]
    parts += [_render_preview(preview) for preview in previews]
    return f"<div>{''.join(parts)}</div>"


def render_verdict(verdict: str, findings: pa.Table, note: str | None = None) -> str:
    """An audit: its verdict, a note, and some findings."""
    columns = ("kind", "sentence", "file", "line")
    heading = verdict if note is None else f"{verdict} ({note})"
    if not len(findings):
        return render_heading_with_previews(heading)
    return render_heading_with_previews(heading, Preview("", columns, findings.to_pylist()))


def preview_files(files: Sequence[Any], note: str | None) -> Preview:
    """How files were read, given rows with these fields; those with faults first."""
    columns = ("name", "format", "events", "quarantined", "error")
    first = sorted(files, key=lambda file: not file.quarantined)[:SHOWN_ROWS]
    return Preview(note or "", columns, [file._asdict() for file in first])


def render_table_columns(tables: Mapping[str, Sequence[str]]) -> str:
    """The columns of tables whose rows nobody has asked for."""
    rows = [{"table": name, "columns": ", ".join(columns)} for name, columns in tables.items()]
    return render_heading_with_previews("computed when used", Preview("", ("table", "columns"), rows))


def _render_preview(preview: Preview) -> str:
    cells = "".join(f"<th>{format_visible_html(name, LONGEST_CELL)}</th>" for name in preview.columns)
    lines = [f"<tr>{cells}</tr>"]
    for row in preview.rows:
        cells = "".join(f"<td>{_render_cell(row[name])}</td>" for name in preview.columns)
        lines.append(f"<tr>{cells}</tr>")
    caption = format_visible_html(preview.caption)
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"


def _render_cell(value: object) -> str:
    return "" if value is None else format_visible_html(format_number_or_text(value), LONGEST_CELL)
