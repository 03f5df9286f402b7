"""What becomes of rows that are put in order: each is in exactly one of ordered, held, quarantine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.ordering.added_columns import index_names, name_added_columns

ANSWER = "antecede answer"
"""The column with the answers of the kernel while all rows are together."""

_ANSWER_FIELDS = {"ordered": "position", "held": "missing", "quarantined": "reason"}
"""The field of the answer that only rows of each table have."""


class OutcomeTables(NamedTuple):
    """The three tables that rows are split into."""

    ordered: DataFrame
    held: DataFrame
    quarantine: DataFrame


@dataclass(frozen=True)
class SparkOutcome:
    """`ordered, held, quarantine = order(...)`, and more by name.

    They are filters of `rows`, which nothing computes before one of them is used. Whoever uses more than one
    calls `keep` first, so that it is computed once; `done` gives the disk back.
    """

    rows: DataFrame
    """All rows with what became of them."""
    names: dict[str, str]
    """What the columns that are added are called, by what they should be called."""
    split: Callable[[DataFrame], OutcomeTables]
    """The tables of all rows, or of some of them."""
    find_gaps: Callable[[OutcomeTables, DataFrame], DataFrame]
    """The root gaps, from the tables and from rows among which are all that are not ordered."""
    gaps_need_ordered: bool = False
    """Whether the ordered rows tell of gaps; else only the held rows do."""
    stamp_notes: tuple[str, ...] = ()
    """What the stamps cannot tell."""
    find_notes: Callable[[DataFrame], list[str]] = lambda rows: []
    """What stamps may have been taken for in error, from rows among which are all held ones; runs a job."""

    @property
    def tables(self) -> OutcomeTables:
        return self.split(self.rows)

    @property
    def ordered(self) -> DataFrame:
        return self.tables.ordered

    @property
    def held(self) -> DataFrame:
        return self.tables.held

    @property
    def quarantine(self) -> DataFrame:
        return self.tables.quarantine

    @property
    def gaps(self) -> DataFrame:
        """Root gaps: what is missing and not itself held, and how many held rows wait for it."""
        return self.find_gaps(self.tables, self.rows)

    @property
    def notes(self) -> list[str]:
        """What stamps cannot tell, and what they may have been taken for in error; runs a job."""
        return [*self.stamp_notes, *self.find_notes(self.rows)]

    def __iter__(self) -> Iterator[DataFrame]:
        return iter(self.tables)

    def counts(self) -> dict[str, int]:
        """How many rows went in, and how many are ordered, held and quarantined."""
        answer = sf.col(ANSWER)
        counts = {name: sf.count(answer[field]).alias(name) for name, field in _ANSWER_FIELDS.items()}
        (row,) = self.rows.select(sf.count("*").alias("input"), *counts.values()).collect()
        return dict(row.asDict())

    def keep(self) -> "SparkOutcome":
        """Keep the rows on disk from their first use on."""
        self.rows.persist(StorageLevel.DISK_ONLY)
        return self

    def done(self) -> None:
        """Forget what was kept on disk."""
        self.rows.unpersist()


def name_our_columns(frame: DataFrame, *names: str) -> dict[str, str]:
    """What columns of ours are called beside those of a DataFrame."""
    exact = compares_exactly(frame.sparkSession)
    return name_added_columns(frame.columns, names, exact=exact)


def check_names(spark: SparkSession, columns: list[str]) -> None:
    """Refuse names that are one to Spark."""
    index_names(columns, exact=compares_exactly(spark))


def compares_exactly(spark: SparkSession) -> bool:
    """Whether upper and lower case make different names."""
    return str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
