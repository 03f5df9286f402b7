"""The columns of an events table as kernels want them, whatever a caller's DataFrame has of them."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.core.errors import CallerError
from antecede.tables import EVENTS

_TELLS_NOTHING = ("text", "fields")
_NESTED = (st.ArrayType, st.MapType, st.StructType)
_TYPES = from_arrow_schema(EVENTS)


def event_columns(events: DataFrame) -> dict[str, Column]:
    """Those that tell of causes, with the types of EVENTS. Without `execution`, all events are of one."""
    wanted = [field for field in _TYPES.fields if field.name in events.columns]
    found = {field.name: _cast(events, field) for field in wanted if field.name not in _TELLS_NOTHING}
    found["execution"] = sf.coalesce(found.get("execution", sf.lit("")), sf.lit(""))
    return found


def complete(events: DataFrame) -> DataFrame:
    """The events with all columns of EVENTS; those that they do not have are null."""
    lacking = [field for field in _TYPES.fields if field.name not in events.columns]
    return events.withColumns({field.name: sf.lit(None).cast(field.dataType) for field in lacking})


def _cast(events: DataFrame, wanted: st.StructField) -> Column:
    column, kind = sf.col(wanted.name), events.schema[wanted.name].dataType
    if wanted.name == "time" and isinstance(kind, st.TimestampType | st.TimestampNTZType):
        return sf.unix_micros(column.cast("timestamp")) / 1000
    nested = any(isinstance(one, _NESTED) for one in (kind, wanted.dataType))
    if nested and type(kind) is not type(wanted.dataType):
        raise CallerError(
            f"column {wanted.name!r} is {kind.simpleString()} and must be "
            f"{wanted.dataType.simpleString()}: cast it first"
        )
    return column.cast(wanted.dataType)
