"""Tables of messages from files: Parquet, JSON lines or CSV with a header, with all columns.

Rows know the file and the line (or row) they stood on; what cannot be a row is kept with the reason. The kind
of each file is told by its beginning.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError, InputError
from antecede.formats.message_files import find_parquet_fault, find_table_kind
from antecede.formats.sources import list_files
from antecede.formats.text_lines import LineRange
from antecede.ordering.change_tables import (
    FROM_LINES,
    MARKS,
    describe_commit_order_if_in_several_files,
    list_transaction_marks,
    order_commits,
    parse_change_lines,
)
from antecede.ordering.text_tables import (
    FILE,
    LINE,
    PLACE_TYPES,
    RAW,
    REASON,
    TextPlan,
    TextSummary,
    make_text_question_and_read_csv_header,
    merge_summaries,
    parse_lines,
    plan_text_table,
    summarize_lines,
)
from antecede.spark.column_names import quote_column
from antecede.spark.ordering.outcome import choose_added_column_names, is_case_sensitive
from antecede.spark.reading.lines import map_lines, plan_line_ranges
from antecede.spark.reading.native import (
    does_spark_accept_file_name,
    get_file_path_column,
    make_escaped_absolute_path,
)

_SUMMARY = pa.schema({"summary": pa.string()})


class MessageFiles(NamedTuple):
    """The rows that can be read, and those that cannot."""

    rows: DataFrame
    """The user's columns, the number of the file and the line."""
    unreadable: DataFrame
    """The number of the file, line, reason and what stood there."""
    kind: str
    files: list[str]
    counts: tuple[int, int] | None = None
    """How many rows can and cannot be read, if that is known."""
    notes: tuple[str, ...] = ()
    """What a user must know of how these were read."""

    @property
    def quarantine_column_names(self) -> dict[str, str]:
        """What the columns that are added to quarantine are called, by what they should be called."""
        return choose_added_column_names(self.rows.drop(FILE, LINE), "file", "line", "raw", "reason")

    def count_readable_and_unreadable_rows(self) -> tuple[int, int]:
        """How many rows can and cannot be read."""
        return self.counts or (self.rows.count(), self.unreadable.count())

    def add_unreadable_rows(self, quarantine: DataFrame) -> DataFrame:
        """All rows that are left out: those that an order quarantined, and those that cannot be read."""
        names = self.quarantine_column_names
        new_names = {LINE: names["line"], REASON: names["reason"], RAW: names["raw"]}
        unreadable = self.unreadable.withColumnsRenamed({REASON: names["reason"]})
        refused = quarantine.unionByName(unreadable, allowMissingColumns=True)
        numbers = pa.array(range(len(self.files)), pa.int32())
        files = pa.table({FILE: numbers, names["file"]: self.files})
        known = sf.broadcast(self.rows.sparkSession.createDataFrame(files))
        return refused.join(known, FILE, "left").drop(FILE).withColumnsRenamed(new_names)


def read_message_files(
    spark: SparkSession, paths: list[str], kind: str | None, **options: Any
) -> MessageFiles:
    """The table in these files, all of one kind.

    The options are those of `make_text_question_and_read_csv_header`.
    """
    files = list_files(paths)
    kind = find_table_kind(files, kind)
    if kind == "parquet":
        with _explain_column_name_clashes():
            return _read_parquet_files(spark, files)
    if kind == "debezium":
        return _read_change_logs(spark, files)
    return _read_text_files(spark, kind, files, options)


def _read_text_files(
    spark: SparkSession, kind: str, files: list[str], options: dict[str, Any]
) -> MessageFiles:
    """Two jobs look at all lines: one for the types of columns, and one for the rows, which are kept."""
    ranges = plan_line_ranges(spark, files)
    plan = plan_text_parsing(spark, kind, files, ranges, options)

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return parse_lines(batches, plan)

    return _persist_and_split_unreadable_rows(map_lines(spark, ranges, parse, plan.schema), kind, files)


def _read_change_logs(spark: SparkSession, files: list[str]) -> MessageFiles:
    """Changes of a database: one job for the order of commits, and one for the rows."""
    ranges = plan_line_ranges(spark, files)
    marks = map_lines(spark, ranges, list_transaction_marks, MARKS).toArrow()
    commits = order_commits(marks)

    def parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return parse_change_lines(batches, commits)

    log = _persist_and_split_unreadable_rows(map_lines(spark, ranges, parse, FROM_LINES), "debezium", files)
    return log._replace(notes=describe_commit_order_if_in_several_files(marks, files))


def _persist_and_split_unreadable_rows(lines: DataFrame, kind: str, files: list[str]) -> MessageFiles:
    """The rows that can be read, and those that cannot; both are kept on disk."""
    rows = lines.persist(StorageLevel.DISK_ONLY)
    reason = quote_column(REASON)
    good = rows.where(reason.isNull()).drop(RAW, REASON)
    unreadable = rows.where(reason.isNotNull()).select(*PLACE_TYPES)
    return MessageFiles(good, unreadable, kind, files)


def plan_text_parsing(
    spark: SparkSession, kind: str, files: list[str], ranges: list[LineRange], options: dict[str, Any]
) -> TextPlan:
    """How the lines of these files are read, by a look at all of them."""
    question = make_text_question_and_read_csv_header(kind, files, ranges, **options)

    def summarize(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        summary = msgspec.json.encode(summarize_lines(batches, question)).decode()
        yield pa.RecordBatch.from_pydict({"summary": [summary]}, _SUMMARY)

    summaries = [
        msgspec.json.decode(row["summary"], type=TextSummary)
        for row in map_lines(spark, ranges, summarize, _SUMMARY).collect()
    ]
    return plan_text_table(question, merge_summaries(summaries), exact_names=is_case_sensitive(spark))


def _read_parquet_files(spark: SparkSession, files: list[str]) -> MessageFiles:
    """Files whose footer cannot be read are left out whole. Footers also tell how many rows there are."""
    faults = {number: _find_parquet_fault(file) for number, file in enumerate(files)}
    broken = [(number, None, fault, None) for number, fault in faults.items() if fault]
    good = [os.path.abspath(file) for number, file in enumerate(files) if not faults[number]]
    if not good:
        raise InputError(f"{files[broken[0][0]]}: {broken[0][2]}")
    footers = [pq.read_metadata(file) for file in good]
    differ = any(not footer.schema.equals(footers[0].schema) for footer in footers)
    table = spark.read.option("mergeSchema", differ).parquet(*map(make_escaped_absolute_path, good))
    _ = table.columns  # through Spark Connect, names that clash are told only now
    rows = table.withColumns(
        {LINE: sf.col("_metadata.row_index") + 1, FILE: _make_file_number_column(good, files)}
    )
    unreadable_schema = f"`{FILE}` int, `{LINE}` bigint, `{REASON}` string, `{RAW}` string"
    unreadable = spark.createDataFrame(broken, unreadable_schema)
    row_count = sum(footer.num_rows for footer in footers)
    return MessageFiles(rows, unreadable, "parquet", files, (row_count, len(broken)))


def _find_parquet_fault(file: str) -> str | None:
    if not does_spark_accept_file_name(file):
        return (
            "Spark opens no Parquet file with a colon in its name, or a dot or an underscore first: rename it"
        )
    return find_parquet_fault(file)


def _make_file_number_column(readable_paths: list[str], files: list[str]) -> Column:
    """The number of the file of each row."""
    numbers = {os.path.abspath(file): number for number, file in enumerate(files)}
    if len(readable_paths) == 1:
        return sf.lit(numbers[readable_paths[0]]).cast("int")
    names = [os.path.basename(path) for path in readable_paths]
    are_plain = all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in names)
    if are_plain and len(set(names)) == len(names):  # these are looked up sooner than decoded paths
        keys, name_of_row = names, sf.col("_metadata.file_name")
    else:
        keys, name_of_row = readable_paths, get_file_path_column()
    keys_and_numbers = []
    for key, path in zip(keys, readable_paths, strict=True):
        keys_and_numbers += [sf.lit(key), sf.lit(numbers[path])]
    return sf.try_element_at(sf.create_map(*keys_and_numbers), name_of_row).cast("int")


@contextmanager
def _explain_column_name_clashes() -> Iterator[None]:
    """What Spark says of columns that it cannot tell apart, or put together, in words of ours."""
    try:
        yield
    except AnalysisException as error:
        names = re.findall("`([^`]*)`", str(error))
        if "COLUMN_ALREADY_EXISTS" in str(error):
            raise CallerError(
                f"two columns are called {names[0] if names else ''!r} but for upper and lower case, "
                "and Spark takes them for one: rename one of them"
            ) from None
        raise
