"""Our own events table as Parquet, read by Spark itself: no row of it needs a second look."""

import os
import re

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.tables import EVENTS


def does_spark_accept_file_name(path: str) -> bool:
    """Whether Spark takes a file of this name: not a hidden one, and none with a colon."""
    name = os.path.basename(path)
    return ":" not in name and not name.startswith((".", "_"))


def read_native_tables(spark: SparkSession, paths: list[str]) -> DataFrame:
    """The tables in these files. Rows without a place of their own are numbered from 1, as in readers."""
    table = spark.read.schema(from_arrow_schema(EVENTS)).parquet(*map(make_escaped_absolute_path, paths))
    row = sf.col("_metadata.row_index") + 1
    table = table.withColumns({"line": sf.coalesce("line", row), "_path": get_file_path_column()})
    # Spark tells a file by its whole path, and we by the name that the user gave.
    names = pa.table({"_path": list(map(os.path.abspath, paths)), "_name": paths})
    table = table.join(sf.broadcast(spark.createDataFrame(names)), "_path", "left")
    return table.withColumn("file", sf.coalesce("file", "_name", "_path")).select(EVENTS.names)


def make_escaped_absolute_path(path: str) -> str:
    """A path for Spark's readers, which take some signs in it for patterns."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", os.path.abspath(path))


def get_file_path_column() -> Column:
    """The path of the file of each row."""
    plain = sf.replace(sf.col("_metadata.file_path"), sf.lit("+"), sf.lit("%2B"))
    return sf.regexp_replace(sf.url_decode(plain), "^file:(//)?", "")
