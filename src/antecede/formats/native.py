"""Our own events table as Parquet, where its footer says that no row needs a second look.

Such a table is taken as it is: its executions and positions are what they are, whatever other files say. One
that a reader would still have to change is none: where kinds are words of its own, or nothing has an index
and no parents say what follows what.
"""

from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.core.wire import LARGEST
from antecede.events.kinds import KINDS
from antecede.formats.parquet import NEVER_EMPTY, PARQUET_ERRORS, fill_missing_file_and_line, read_table
from antecede.formats.settings import Settings
from antecede.tables import EVENTS

ADDED_BY_ORDER = {"position", "ghosts"}
"""What `order` adds to the columns of the events it has put into order."""
NEVER_NULL = ("execution", "process", "event")


def count_native_rows(path: str, format: str | None, settings: Settings) -> int | None:
    """How many rows the table has, by its footer; None if it is no such table, or might hold surprises."""
    if format not in (None, "parquet") or settings.fields or settings.kinds:
        return None
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"PAR1":
                return None
            parquet = pq.ParquetFile(file)
            is_native = _needs_no_conversion(parquet) and _has_our_kinds(parquet, file)
            return parquet.metadata.num_rows if is_native else None
    except PARQUET_ERRORS:
        return None


def read_native_table(path: str, file: str) -> pa.Table:
    """The events in such a file. Rows without a place of their own are numbered from 1, as in readers."""
    table = read_table(path, file, EVENTS.names)
    return fill_missing_file_and_line(table.select(EVENTS.names).cast(EVENTS), file)


def _needs_no_conversion(parquet: pq.ParquetFile) -> bool:
    """Whether it has our columns and, by the statistics in its footer, no value needs a second look."""
    schema = parquet.schema_arrow
    has_columns = set(schema.names) - ADDED_BY_ORDER == set(EVENTS.names)
    if not has_columns or len(set(schema.names)) < len(schema.names):
        return False
    if any(_simplify_type(schema.field(field.name).type) != _simplify_type(field.type) for field in EVENTS):
        return False
    columns = [column for group in _list_column_chunks(parquet) for column in group.values()]
    if not all(map(_has_valid_values_by_statistics, columns)):
        return False
    # What was put in order has been through a reader, which left out an index because parents say enough.
    return set(schema.names) >= ADDED_BY_ORDER or _has_index_or_parents_without_clocks(columns)


def _list_column_chunks(parquet: pq.ParquetFile) -> list[dict[str, Any]]:
    """The columns of each row group by their paths."""
    groups = (parquet.metadata.row_group(at) for at in range(parquet.metadata.num_row_groups))
    return [
        {column.path_in_schema: column for column in map(group.column, range(group.num_columns))}
        for group in groups
    ]


def _has_index_or_parents_without_clocks(columns: list[Any]) -> bool:
    """Whether a reader would make no index, by statistics: the table has one, or parents and no clocks."""
    has_index = any(c.path_in_schema == "index" and not _is_all_null(c) for c in columns)
    has_parents = any(c.path_in_schema.startswith("parents.") and not _is_all_null(c) for c in columns)
    has_clocks = any(c.path_in_schema.startswith("clock.") and not _is_all_null(c) for c in columns)
    return has_index or (has_parents and not has_clocks)


def _has_our_kinds(parquet: pq.ParquetFile, file: BinaryIO) -> bool:
    """Whether all kinds are called as in our table. Where the footer does not tell, the column is read."""
    encoded = pq.ParquetFile(file, metadata=parquet.metadata, read_dictionary=["kind"])
    for at, group in enumerate(_list_column_chunks(parquet)):
        kind = group["kind"]
        statistics = kind.statistics
        if _is_all_null(kind):
            continue
        if statistics is not None and statistics.has_min_max and statistics.min == statistics.max in KINDS:
            continue
        chunks = encoded.read_row_group(at, columns=["kind"])["kind"].chunks
        if any(not set(chunk.dictionary.to_pylist()) <= {*KINDS} for chunk in chunks):
            return False
    return True


def _is_all_null(column: Any) -> bool:
    """Whether no row has a value (in lists and maps: an entry), as far as statistics tell."""
    statistics = column.statistics
    is_told = statistics is not None and statistics.has_null_count
    return bool(is_told and statistics.null_count == column.num_values)


def _simplify_type(kind: pa.DataType) -> Any:
    """A type without the names and the widths that make no difference."""
    if pa.types.is_map(kind):
        return ("map", _simplify_type(kind.key_type), _simplify_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ("list", _simplify_type(kind.value_type))
    return "string" if pa.types.is_large_string(kind) else str(kind)


def _has_valid_values_by_statistics(column: Any) -> bool:
    """Names are all there and not empty, places are counts, and clocks have no entries that say nothing."""
    statistics, path = column.statistics, column.path_in_schema
    has_ends = statistics is not None and statistics.has_min_max
    if (
        (path in NEVER_EMPTY or path.startswith(("receivers.", "parents.")))
        and has_ends
        and not statistics.min
    ):
        return False
    if path in ("index", "line") and has_ends and not (statistics.min >= 0 and statistics.max <= LARGEST):
        return False
    if path in NEVER_NULL:
        return statistics is not None and statistics.has_null_count and not statistics.null_count
    if path.startswith("clock.") and column.physical_type == "INT64":
        if statistics is None:
            return False
        return _is_all_null(column) or (has_ends and statistics.min > 0 and statistics.max <= LARGEST)
    return True
