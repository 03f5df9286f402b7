"""An outcome written to three tables, with its rows put in order once, or twice if some are left over.

Writing `ordered` puts all rows in order. Mostly that is all: if as many rows were written as there are, then
no row is held or quarantined. Only if some are left over the order is computed once more, for them alone, and
what comes of that is kept. (To keep all rows on disk would cost a table from which nothing is left over, the
usual one, that each of its rows is written and read once more.)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow.dataset as ds
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.ordering.root_gaps import list_gap_sort_keys
from antecede.spark.ordering.outcome import ANSWER, OutcomePlan, OutcomeTables

WriteTable = Callable[[DataFrame, str], str]
"""Writes a table under a name, and says where it is."""


class WrittenOutcome(NamedTuple):
    """Where the tables are, how many rows each has, and what is missing."""

    places: dict[str, str]
    counts: dict[str, int]
    gaps: list[dict[str, Any]]
    gap_count: int
    notes: list[str]


def write_outcome(
    outcome: OutcomePlan,
    row_count: int,
    unreadable_count: int,
    add_unreadable_rows: Callable[[DataFrame], DataFrame],
    write_table: WriteTable,
    most_listed_gaps: int,
) -> WrittenOutcome:
    """Write ordered, held and quarantine.

    `row_count` rows went into the order, and `unreadable_count` more cannot be read: `add_unreadable_rows`
    puts these to the quarantined rows.
    """
    spark = outcome.rows.sparkSession
    ordered_place = write_table(outcome.split(outcome.rows).ordered, "ordered")
    ordered_count = count_written_rows(spark, ordered_place)
    is_left_over = sf.col(ANSWER)["position"].isNull()
    left_over = outcome.rows.where(is_left_over)
    if ordered_count == row_count:
        left_over = spark.createDataFrame([], left_over.schema)
    left_over.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        tables = outcome.split(left_over)
        held, quarantine = tables.held, add_unreadable_rows(tables.quarantine)
        if ordered_count == row_count:  # a table without rows is written without looking for any
            held = spark.createDataFrame([], held.schema)
        if ordered_count == row_count and not unreadable_count:
            quarantine = spark.createDataFrame([], quarantine.schema)
        places = {
            "ordered": ordered_place,
            "held": write_table(held, "held"),
            "quarantine": write_table(quarantine, "quarantine"),
        }
        counts = {
            "ordered": ordered_count,
            "held": count_written_rows(spark, places["held"]),
            "quarantined": count_written_rows(spark, places["quarantine"]),
        }
        gaps: list[dict[str, Any]] = []
        gap_count = 0
        if counts["held"] or outcome.gaps_need_ordered:
            ordered = spark.read.parquet(ordered_place)
            tables = OutcomeTables(ordered, *tables[1:])
            found = outcome.find_gaps(tables, left_over)
            gaps, gap_count = _list_largest_gaps_and_count_all(found, most_listed_gaps)
        notes = list(outcome.stamp_notes)
        if counts["held"]:
            notes += outcome.find_notes(left_over)
    finally:
        left_over.unpersist()
    return WrittenOutcome(places, counts, gaps, gap_count, notes)


def count_written_rows(spark: SparkSession, place: str) -> int:
    """How many rows a table has on disk; a local one tells it without a job."""
    if "://" in place:
        return spark.read.parquet(place).count()
    return int(ds.dataset(place, format="parquet").count_rows())


def _list_largest_gaps_and_count_all(gaps: DataFrame, most: int) -> tuple[list[dict[str, Any]], int]:
    """The gaps that most rows wait for, and how many there are."""
    keys = list_gap_sort_keys(gaps.columns)
    is_ascending = [way == "ascending" for _, way in keys]
    sorted_gaps = gaps.orderBy([name for name, _ in keys], ascending=is_ascending)
    first = sorted_gaps.limit(most).collect()
    count = gaps.count() if len(first) == most else len(first)
    return [row.asDict() for row in first], count
