"""Columns by names that users chose."""

from pyspark.sql import Column
from pyspark.sql import functions as sf


def quote_column(name: str) -> Column:
    """A column, whatever signs are in its name."""
    return sf.col("`" + name.replace("`", "``") + "`")
