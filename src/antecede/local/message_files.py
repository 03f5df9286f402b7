"""Tables of messages from files, in this process: with all columns, and with what cannot be a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.errors import CallerError, InputError
from antecede.formats.message_files import describe_parquet_fault, find_table_kind
from antecede.formats.parquet import PARQUET_ERRORS
from antecede.formats.source import compute_unpacked_limit_bytes, describe_too_large_gzip
from antecede.formats.sources import list_files
from antecede.formats.text_lines import (
    LineRange,
    count_line_ends,
    read_lines,
    set_first_line_numbers,
    split_file_into_ranges,
)
from antecede.local.arrow import convert_view_and_run_columns_to_plain
from antecede.ordering.added_columns import choose_names_of_added_columns
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
    make_text_question_and_read_csv_header,
    parse_lines,
    plan_text_table,
    summarize_lines,
)

_ADDED = ("file", "line", "raw", "reason")
"""The columns that quarantine has beside those of the rows."""


class LocalMessageFiles(NamedTuple):
    """The rows that can be read, and those that cannot."""

    rows: pa.Table
    """The user's columns."""
    places: pa.Table
    """Where each row was read: the number of its file, and the line."""
    unreadable: pa.Table
    """The same of what is no row, with what stood there and the reason."""
    kind: str
    files: list[str]
    notes: tuple[str, ...] = ()
    """What a user must know of how these were read."""

    @property
    def quarantine_column_names(self) -> dict[str, str]:
        """What the columns that are added to quarantine are called, by what they should be called."""
        return choose_names_of_added_columns(self.rows.column_names, _ADDED)

    @property
    def row_origins(self) -> pa.Table:
        """Where each row was read, in columns as quarantine has them."""
        return self._make_origin_columns(self.places)

    def add_unreadable_rows(self, quarantine: pa.Table) -> pa.Table:
        """All rows that are left out: those that an order quarantined, and those that cannot be read."""
        unreadable = self._make_origin_columns(self.unreadable)
        return pa.concat_tables([quarantine, unreadable], promote_options="default")

    def _make_origin_columns(self, places: pa.Table) -> pa.Table:
        names = self.quarantine_column_names
        files = pa.array(self.files, pa.string()).take(places[FILE])
        columns = {names["file"]: files, names["line"]: places[LINE]}
        for name, column in (("raw", RAW), ("reason", REASON)):
            if column in places.column_names:
                columns[names[name]] = places[column]
        return pa.table(columns)


def read_message_files(paths: list[str], kind: str | None, **options: Any) -> LocalMessageFiles:
    """The table in these files, all of one kind.

    The options are those of `make_text_question_and_read_csv_header`.
    """
    files = list_files(paths)
    kind = find_table_kind(files, kind)
    if kind == "parquet":
        return _read_parquet_files(files)
    if kind == "debezium":
        return _read_debezium_files(files)
    return _read_text_files(kind, files, options)


def _read_parquet_files(files: list[str]) -> LocalMessageFiles:
    """Files that cannot be read to their end are left out whole."""
    tables, numbers, unreadable = [], [], []
    for number, file in enumerate(files):
        try:
            table = pq.ParquetFile(file).read()
            _ = table.column_names  # these are decoded here, and not before
        except PARQUET_ERRORS as error:
            unreadable.append((number, None, None, describe_parquet_fault(error)))
            continue
        tables.append(convert_view_and_run_columns_to_plain(table))
        numbers.append(number)
    if not tables:
        raise InputError(f"{files[unreadable[0][0]]}: {unreadable[0][3]}")
    try:
        rows = pa.concat_tables(tables, promote_options="default")
    except pa.ArrowInvalid as error:
        raise CallerError(f"the files have columns that do not fit together: {error}") from None
    sizes = [len(table) for table in tables]
    lines = [np.arange(1, size + 1) for size in sizes]
    places = pa.table({FILE: np.repeat(numbers, sizes), LINE: np.concatenate(lines)})
    named = [dict(zip(PLACE_TYPES, values, strict=True)) for values in unreadable]
    refused = pa.Table.from_pylist(named, pa.schema(PLACE_TYPES))
    return LocalMessageFiles(rows, places, refused, "parquet", files)


def _read_debezium_files(files: list[str]) -> LocalMessageFiles:
    """Changes of a database: one look for the order of commits, and one for the rows."""
    ranges = _split_files_into_ranges(files)
    marks = pa.Table.from_batches(list_transaction_marks(_read_all_lines(ranges)), MARKS)
    rows = parse_change_lines(_read_all_lines(ranges), order_commits(marks))
    log = _split_unreadable_rows(pa.Table.from_batches(rows, FROM_LINES), "debezium", files)
    return log._replace(notes=describe_commit_order_if_in_several_files(marks, files))


def _split_files_into_ranges(files: list[str]) -> list[LineRange]:
    ranges = [part for number, file in enumerate(files) for part in split_file_into_ranges(number, file)]
    ends = {(part.number, part.low): count_line_ends(part) for part in ranges if len(ranges) > len(files)}
    return set_first_line_numbers(ranges, ends)


def _read_text_files(kind: str, files: list[str], options: dict[str, Any]) -> LocalMessageFiles:
    ranges = _split_files_into_ranges(files)
    question = make_text_question_and_read_csv_header(kind, files, ranges, **options)
    summary = summarize_lines(_read_all_lines(ranges), question)
    plan = plan_text_table(question, summary)
    return _split_unreadable_rows(
        pa.Table.from_batches(parse_lines(_read_all_lines(ranges), plan), plan.schema), kind, files
    )


def _split_unreadable_rows(table: pa.Table, kind: str, files: list[str]) -> LocalMessageFiles:
    is_row = table[REASON].is_null()
    good = table.filter(is_row)
    unreadable = table.filter(table[REASON].is_valid()).select(list(PLACE_TYPES))
    rows = good.drop_columns(list(PLACE_TYPES))
    return LocalMessageFiles(rows, good.select([FILE, LINE]), unreadable, kind, files)


def _read_all_lines(ranges: list[LineRange]) -> Iterator[pa.RecordBatch]:
    """All lines; refuses what unpacks to more than memory can hold."""
    for part in ranges:
        room = compute_unpacked_limit_bytes()
        for batch in read_lines(part):
            room -= batch.nbytes
            if part.is_packed and room < 0:
                raise InputError(f"{part.path}: {describe_too_large_gzip()}; add --engine spark")
            yield batch
