"""What becomes of rows that are put in order: each is in exactly one of ordered, held, quarantine."""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError

ADDED = ("position", "missing", "since", "reason")
"""Columns of the outcome that the input must not have."""

ANSWER = "antecede"
"""The column with the answers of the kernel while all rows are together."""


@dataclass(frozen=True)
class Outcome:
    """`ordered, held, quarantine = order(...)`, and more by name.

    They are filters of `rows`, which nothing computes before one of them is used. Whoever uses more than one
    calls `keep` first, so that it is computed once; `done` gives the disk back.
    """

    ordered: DataFrame
    held: DataFrame
    quarantine: DataFrame
    gaps: DataFrame
    """Root gaps: what is missing and not itself held, and how many held rows wait for it."""
    rows: DataFrame
    """All rows with what became of them."""

    def __iter__(self) -> Iterator[DataFrame]:
        return iter((self.ordered, self.held, self.quarantine))

    def counts(self) -> dict[str, int]:
        """How many rows went in, and how many are ordered, held and quarantined."""
        answer = sf.col(ANSWER)
        found = self.rows.select(
            sf.count("*").alias("input"),
            *(sf.count(answer[field]).alias(name) for name, field in _PARTS.items()),
        ).first()
        return dict(found.asDict()) if found else {}

    def keep(self) -> "Outcome":
        """Keep the rows on disk from their first use on."""
        self.rows.persist(StorageLevel.DISK_ONLY)
        return self

    def done(self) -> None:
        """Forget what was kept on disk."""
        self.rows.unpersist()


_PARTS = {"ordered": "position", "held": "missing", "quarantined": "reason"}


def check_free(frame: DataFrame, names: tuple[str, ...]) -> None:
    """Refuse an input whose columns have the names of those to be added."""
    present = {column.lower() for column in frame.columns}
    if taken := [name for name in (*names, ANSWER) if name.lower() in present]:
        raise CallerError(
            f"the input has a column {taken[0]!r}, which the outcome adds: rename it first, "
            f"with withColumnRenamed({taken[0]!r}, ...)"
        )
