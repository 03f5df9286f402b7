"""A number for the contents of a row, to tell the same message that came twice from two with one name."""

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st


def fingerprint(fields: Iterable[st.StructField]) -> Column:
    """A hash of the columns; equal rows have equal ones."""
    return sf.xxhash64(sf.lit(0), *(part for field in fields for part in _parts(field)))


def _parts(field: st.StructField) -> list[Column]:
    """The column as values that Spark can hash; it refuses maps and variants."""
    column, kind = sf.col("`" + field.name.replace("`", "``") + "`"), field.dataType
    if isinstance(kind, st.MapType) and not _refused(kind.keyType) and not _refused(kind.valueType):
        return [sf.map_keys(column), sf.map_values(column)]
    return [sf.to_json(sf.struct(column))] if _refused(kind) else [column]


def _refused(kind: st.DataType) -> bool:
    if isinstance(kind, st.ArrayType):
        return _refused(kind.elementType)
    if isinstance(kind, st.StructType):
        return any(_refused(field.dataType) for field in kind.fields)
    return isinstance(kind, st.MapType | st.VariantType)
