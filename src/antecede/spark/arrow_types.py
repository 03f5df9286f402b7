"""Spark's types as Arrow has them, with times in UTC, whatever Spark wants to be told of that."""

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql import types as st
from pyspark.sql.pandas import types as converters

_IN_UTC: dict[str, Any] = (
    {"timezone": "UTC"} if "timezone" in signature(converters.to_arrow_type).parameters else {}
)
"""Before Spark 4.2 all times are in UTC, and there is nothing to be told."""


def convert_to_arrow_type(kind: st.DataType) -> pa.DataType:
    """The type of a column in Arrow; raises an error of Spark's if Arrow has none."""
    return converters.to_arrow_type(kind, **_IN_UTC)


def convert_to_arrow_schema(columns: st.StructType) -> pa.Schema:
    """The types of all columns in Arrow."""
    return converters.to_arrow_schema(columns, **_IN_UTC)
