"""Our own events table as Parquet, read by Spark itself: no row of it needs a second look."""

import os
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.formats import Settings
from antecede.tables import EVENTS

ADDED = {"position", "ghosts"}
"""What ordering adds to the columns."""
NAMED = ("execution", "process", "event")
"""Columns that must be there in every row."""


def rows_of_native(path: str, format: str | None, settings: Settings) -> int | None:
    """How many rows the table has, by its footer; None if it is no such table, or might hold surprises."""
    if format not in (None, "parquet") or settings.fields or settings.kinds or not can_open(path):
        return None
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"PAR1":
                return None
            footer = pq.ParquetFile(file)
            return footer.metadata.num_rows if _fits(footer) else None
    except (OSError, ValueError):
        return None


def can_open(path: str) -> bool:
    """Whether Spark takes a file of this name: not a hidden one, and none with a colon."""
    name = os.path.basename(path)
    return ":" not in name and not name.startswith((".", "_"))


def _fits(file: pq.ParquetFile) -> bool:
    schema = file.schema_arrow
    if len(set(schema.names)) < len(schema.names) or set(schema.names) - ADDED != set(EVENTS.names):
        return False
    if any(_shape(schema.field(field.name).type) != _shape(field.type) for field in EVENTS):
        return False
    groups = (file.metadata.row_group(at) for at in range(file.metadata.num_row_groups))
    return all(_is_plain(group.column(at)) for group in groups for at in range(group.num_columns))


def _shape(kind: pa.DataType) -> Any:
    """A type without the names and the widths that make no difference."""
    if pa.types.is_map(kind):
        return ("map", _shape(kind.key_type), _shape(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ("list", _shape(kind.value_type))
    return "string" if pa.types.is_large_string(kind) else str(kind)


def _is_plain(column: Any) -> bool:
    """Names are all there, and clocks have no entries that say nothing."""
    found, path = column.statistics, column.path_in_schema
    if path in NAMED:
        return found is not None and found.has_null_count and not found.null_count
    if path.startswith("clock.") and column.physical_type == "INT64":
        none = found is not None and found.has_null_count and found.null_count == column.num_values
        return none or (found is not None and found.has_min_max and found.min > 0)
    return True


def native(spark: SparkSession, paths: list[str]) -> DataFrame:
    """The tables in these files. Rows without a place of their own are numbered from 1, as in readers."""
    table = spark.read.schema(from_arrow_schema(EVENTS)).parquet(*map(as_path, paths))
    place = {"file": _path(paths), "line": sf.col("_metadata.row_index") + 1}
    known = {name: sf.coalesce(sf.col(name), value) for name, value in place.items()}
    return table.withColumns(known)


def _path(paths: list[str]) -> Column:
    """The file as it was named; Spark tells it as a URL."""
    if len(paths) == 1:
        return sf.lit(paths[0])
    path = path_of()
    if any(map(os.path.isabs, paths)):
        return path
    return sf.replace(path, sf.lit(os.path.join(os.getcwd(), "")), sf.lit(""))


def as_path(path: str) -> str:
    """A path for Spark's readers, which take some signs in it for patterns."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", os.path.abspath(path))


def path_of() -> Column:
    """The path of the file of each row."""
    plain = sf.replace(sf.col("_metadata.file_path"), sf.lit("+"), sf.lit("%2B"))
    return sf.regexp_replace(sf.url_decode(plain), "^file:(//)?", "")
