"""What becomes of rows that are put in order: each is in exactly one of ordered, held, quarantine."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError

ANSWER = "antecede answer"
"""The column with the answers of the kernel while all rows are together."""

FILE, LINE = "antecede file", "antecede line"
"""Where a row was read, if that is known; no columns of the user's, and only quarantine has them."""


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
    names: dict[str, str]
    """What the columns that are added are called, by what they should be called."""

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


def our_names(frame: DataFrame, *names: str) -> dict[str, str]:
    """What columns of ours are called beside those of the input, which keep their names: as they should be,
    or with `antecede_` in front."""
    taken = told_apart(frame.sparkSession, frame.columns)
    return {name: _free(name, taken) for name in names}


def told_apart(spark: SparkSession, columns: Iterable[str]) -> Collection[str]:
    """The names as Spark compares them; refuses two that are one to it."""
    exact = str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
    found: dict[str, str] = {}
    for at, column in enumerate(columns):
        other = found.setdefault(column if exact else column.lower(), column)
        if len(found) <= at:
            how = "are called the same" if other == column else "differ only in upper and lower case"
            raise CallerError(
                f"the columns {other!r} and {column!r} {how}, and Spark takes them for one: rename one"
            )
    return found.keys()


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"antecede_{name}"
    return name
