"""What becomes of rows that are put in order: each is in exactly one of ordered, held, quarantine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import to_integers
from antecede.kernels.ragged import Ints
from antecede.ordering.accounting import describe_row_counts_as_sum, refuse_misplaced_rows
from antecede.report.notebook import SHOWN_ROWS, Preview, render_heading_with_previews

ANSWER_FIELDS = ("position", "missing", "reason")
"""Of the answer to a row, the fields of which exactly one is not null."""


@dataclass(frozen=True)
class Outcome:
    """What became of rows that were put in order: each is in exactly one of the first three tables.

    outcome = antecede.order(messages, group="room")
    ordered, held, quarantine = outcome
    print(outcome.counts(), outcome.gaps)
    """

    ordered: pa.Table
    """Rows that are out, with their position; sorted: group by group (or execution by execution)."""
    held: pa.Table
    """Rows that wait for something, with what it is."""
    quarantine: pa.Table
    """Rows that no order can have, with the reason."""
    gaps: pa.Table
    """Root gaps: what is missing and not itself held, and how many held rows wait for it."""
    names: dict[str, str]
    """What the columns that are added are called, by what they should be called."""
    notes: list[str]
    """What to know of the order: what stamps cannot tell, and what they may have been taken for in error."""

    def __iter__(self) -> Iterator[pa.Table]:
        return iter((self.ordered, self.held, self.quarantine))

    def counts(self) -> dict[str, int]:
        """How many rows went in, and how many are ordered, held and quarantined."""
        parts = {
            "ordered": len(self.ordered),
            "held": len(self.held),
            "quarantined": len(self.quarantine),
        }
        return {"input": sum(parts.values()), **parts}

    def _repr_html_(self) -> str:
        """For notebooks: the accounting, and the first rows of each table that has some."""
        tables = {"ordered": self.ordered, "held": self.held, "quarantine": self.quarantine}
        previews = [
            Preview(name, table.column_names, table.slice(0, SHOWN_ROWS).to_pylist())
            for name, table in tables.items()
            if len(table)
        ]
        return render_heading_with_previews(describe_row_counts_as_sum(self.counts()), *previews)


def check_each_row_is_in_one_table(answers: pa.StructArray) -> None:
    """See that every row goes into exactly one table."""
    tables = sum(answers.field(name).is_valid().to_numpy(zero_copy_only=False) for name in ANSWER_FIELDS)
    refuse_misplaced_rows(len(answers), int(np.count_nonzero(tables != 1)))


def sort_placed_rows_by_group_and_position(answers: pa.StructArray, group: pa.ChunkedArray) -> Ints:
    """The rows that have a position: group by group as these first appear, each by position."""
    position = answers.field("position")
    rows = np.flatnonzero(position.is_valid())
    groups = group.dictionary_encode().chunks
    codes_of_chunks = [to_integers(chunk.indices, -1) for chunk in groups]
    codes = np.concatenate([*codes_of_chunks, np.empty(0, np.int64)])  # there may be no chunk
    places = to_integers(position, -1)
    return rows[np.lexsort((places[rows], codes[rows]))]


def take_rows_with_answer(
    table: pa.Table, answers: pa.StructArray, field: str
) -> tuple[pa.Table, pa.StructArray]:
    """The rows of which this field of the answers is not null, and their answers."""
    rows = pc.indices_nonzero(answers.field(field).is_valid())
    return table.take(rows), answers.take(rows)


def add_columns(table: pa.Table, columns: dict[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """The table with more columns behind its own."""
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table
