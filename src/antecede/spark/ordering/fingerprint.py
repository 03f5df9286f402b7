"""A number for what a row says, to tell the same message that came twice from two with one name.

`antecede.ordering.contents` computes the same number in this process.
"""

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from antecede.spark.column_names import quote_column


def hash_columns(fields: Iterable[st.StructField]) -> Column:
    """A hash of the columns; equal rows have equal ones."""
    parts = [part for field in fields for part in _list_hashable_parts(field)]
    return sf.xxhash64(sf.lit(0), *parts)


def _list_hashable_parts(field: st.StructField) -> list[Column]:
    """The column as values that Spark can hash; it refuses maps and variants."""
    column, kind = quote_column(field.name), field.dataType
    if isinstance(kind, st.MapType) and not _has_unhashable_type(kind.keyType, kind.valueType):
        return [sf.map_keys(column), sf.map_values(column)]
    return [sf.to_json(sf.struct(column))] if _has_unhashable_type(kind) else [column]


def _has_unhashable_type(*kinds: st.DataType) -> bool:
    for kind in kinds:
        inside: list[st.DataType] = []
        if isinstance(kind, st.ArrayType):
            inside = [kind.elementType]
        if isinstance(kind, st.StructType):
            inside = [field.dataType for field in kind.fields]
        if isinstance(kind, st.MapType | st.VariantType) or _has_unhashable_type(*inside):
            return True
    return False
