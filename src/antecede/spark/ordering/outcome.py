"""What becomes of rows that are put in order: each is in exactly one of ordered, held, quarantine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.ordering.accounting import describe_row_counts_as_sum, refuse_misplaced_rows
from antecede.ordering.added_columns import choose_names_of_added_columns
from antecede.report.notebook import SHOWN_ROWS, Preview, render_heading_with_previews, render_table_columns
from antecede.spark.repl import is_eager_display_enabled

ANSWER = "antecede answer"
"""The column with the answers of the kernel while all rows are together."""

_ANSWER_FIELDS = {"ordered": "position", "held": "missing", "quarantined": "reason"}
"""The field of the answer that only rows of each table have."""


class OutcomeTables(NamedTuple):
    """The three tables that rows are split into."""

    ordered: DataFrame
    held: DataFrame
    quarantine: DataFrame


class OutcomePlan(NamedTuple):
    """How rows are put in order and then split; nothing runs before a table is used."""

    rows: DataFrame
    """All rows with what became of them."""
    names: dict[str, str]
    """What the columns that are added are called, by what they should be called."""
    added: dict[str, Column]
    """Those columns for all rows together, by name."""
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

    def add_outcome_columns(self) -> DataFrame:
        """All rows with the columns that tell what became of them; of three of these one is not null."""
        return self.rows.withColumns(self.added).drop(ANSWER)


@dataclass(frozen=True)
class SparkOutcome:
    """What became of rows that are put in order: each is in exactly one of the first three tables.

    The tables are lazy: each is computed when it is used. Whoever uses more than one has the rows put in
    order once by using them inside a block, which keeps them on disk until it ends:

        with antecede.spark.order(messages, group="room") as outcome:
            ordered, held, quarantine = outcome
            ordered.write.parquet("ordered")
            held.write.parquet("held")

    Where there is no block, as in a notebook, `keep` and `done` do the same.
    """

    _plan: OutcomePlan

    @property
    def ordered(self) -> DataFrame:
        """Rows that are out, with their position."""
        return self._tables.ordered

    @property
    def held(self) -> DataFrame:
        """Rows that wait for something, with what it is."""
        return self._tables.held

    @property
    def quarantine(self) -> DataFrame:
        """Rows that no order can have, with the reason."""
        return self._tables.quarantine

    @property
    def gaps(self) -> DataFrame:
        """Root gaps: what is missing and not itself held, and how many held rows wait for it."""
        return self._plan.find_gaps(self._tables, self._plan.rows)

    @property
    def names(self) -> dict[str, str]:
        """What the columns that are added are called, by what they should be called."""
        return self._plan.names

    @property
    def notes(self) -> list[str]:
        """What stamps cannot tell, and what they may have been taken for in error; runs a job."""
        return [*self._plan.stamp_notes, *self._plan.find_notes(self._plan.rows)]

    def __iter__(self) -> Iterator[DataFrame]:
        return iter(self._tables)

    def counts(self) -> dict[str, int]:
        """How many rows went in, and how many are ordered, held and quarantined; runs a job.

        An error if a row is in none of the tables, or in several.
        """
        answer = sf.col(ANSWER)
        is_in = {name: answer[field].isNotNull() for name, field in _ANSWER_FIELDS.items()}
        table_count = sf.lit(0)
        counts = {"input": sf.count("*")}
        for name, column in is_in.items():
            table_count += column.cast("int")
            counts[name] = sf.count_if(column)
        named = [count.alias(name) for name, count in counts.items()]
        named.append(sf.count_if(table_count != 1).alias("misplaced"))
        (row,) = self._plan.rows.select(*named).collect()
        refuse_misplaced_rows(row["input"], row["misplaced"])
        return {name: row[name] for name in counts}

    def keep(self) -> "SparkOutcome":
        """Keep the rows on disk from their first use on."""
        self._plan.rows.persist(StorageLevel.DISK_ONLY)
        return self

    def done(self) -> None:
        """Forget what was kept on disk."""
        self._plan.rows.unpersist()

    def __enter__(self) -> "SparkOutcome":
        return self.keep()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.done()

    def _repr_html_(self) -> str:
        """For notebooks: the columns of the tables; and their first rows, in sessions that show DataFrames so
        (`spark.sql.repl.eagerEval.enabled`)."""
        tables = self._tables._asdict()
        if not is_eager_display_enabled(self._plan.rows.sparkSession):
            return render_table_columns({name: frame.columns for name, frame in tables.items()})
        counts = self.counts()
        previews = [
            Preview(name, frame.columns, [row.asDict() for row in frame.limit(SHOWN_ROWS).collect()])
            for name, frame in tables.items()
        ]
        return render_heading_with_previews(describe_row_counts_as_sum(counts), *previews)

    @property
    def _tables(self) -> OutcomeTables:
        return self._plan.split(self._plan.rows)


def choose_added_column_names(frame: DataFrame, *names: str) -> dict[str, str]:
    """What columns of ours are called beside those of a DataFrame."""
    exact = is_case_sensitive(frame.sparkSession)
    return choose_names_of_added_columns(frame.columns, names, exact=exact)


def is_case_sensitive(spark: SparkSession) -> bool:
    """Whether upper and lower case make different names."""
    return str(spark.conf.get("spark.sql.caseSensitive")).lower() == "true"
