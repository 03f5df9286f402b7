"""Our own events table as Parquet, where its footer says that no row needs a second look.

Such a table is taken as it is: its executions and positions are what they are, whatever other files say.
"""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.formats.parquet import PARQUET_ERRORS, fill_file_and_line, read_table
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
            return parquet.metadata.num_rows if _needs_no_conversion(parquet) else None
    except PARQUET_ERRORS:
        return None


def read_native_table(path: str, file: str) -> pa.Table:
    """The events in such a file. Rows without a place of their own are numbered from 1, as in readers."""
    table = read_table(path, file, EVENTS.names)
    return fill_file_and_line(table.select(EVENTS.names).cast(EVENTS), file)


def _needs_no_conversion(parquet: pq.ParquetFile) -> bool:
    """Whether it has our columns and, by the statistics in its footer, no value needs a second look."""
    schema = parquet.schema_arrow
    has_columns = set(schema.names) - ADDED_BY_ORDER == set(EVENTS.names)
    if not has_columns or len(set(schema.names)) < len(schema.names):
        return False
    if any(_simplify_type(schema.field(field.name).type) != _simplify_type(field.type) for field in EVENTS):
        return False
    groups = (parquet.metadata.row_group(at) for at in range(parquet.metadata.num_row_groups))
    return all(
        _is_complete_by_statistics(group.column(at)) for group in groups for at in range(group.num_columns)
    )


def _simplify_type(kind: pa.DataType) -> Any:
    """A type without the names and the widths that make no difference."""
    if pa.types.is_map(kind):
        return ("map", _simplify_type(kind.key_type), _simplify_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ("list", _simplify_type(kind.value_type))
    return "string" if pa.types.is_large_string(kind) else str(kind)


def _is_complete_by_statistics(column: Any) -> bool:
    """Names are all there, and clocks have no entries that say nothing."""
    statistics, path = column.statistics, column.path_in_schema
    if path in NEVER_NULL:
        return statistics is not None and statistics.has_null_count and not statistics.null_count
    if path.startswith("clock.") and column.physical_type == "INT64":
        if statistics is None:
            return False
        has_no_entries = statistics.has_null_count and statistics.null_count == column.num_values
        return bool(has_no_entries or (statistics.has_min_max and statistics.min > 0))
    return True
