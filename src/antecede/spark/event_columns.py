"""The columns of an events table as kernels want them, whatever a caller's DataFrame has of them."""

from itertools import chain

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from pyspark.sql.types import StructField

from antecede.events.coercion import (
    SAYS_NOTHING_OF_CAUSES,
    Conversion,
    check_event_columns,
    choose_column_conversion,
)
from antecede.events.kinds import LISTED_WORDS, USUAL_KINDS
from antecede.spark.arrow_types import convert_to_arrow_type
from antecede.tables import EVENTS

_TYPES = from_arrow_schema(EVENTS)


def select_cause_columns(events: DataFrame) -> dict[str, Column]:
    """Those that tell of causes, with the types of EVENTS. Without `execution`, all events are of one."""
    check_event_columns(events.columns)
    columns = {
        field.name: _convert_column_to_wanted_type(events, field)
        for field in _TYPES.fields
        if field.name in events.columns and field.name not in SAYS_NOTHING_OF_CAUSES
    }
    columns["execution"] = sf.coalesce(columns.get("execution", sf.lit("")), sf.lit(""))
    if "kind" in columns:
        columns["kind"] = _convert_kinds(columns["kind"])
    return columns


def _convert_kinds(words: Column) -> Column:
    """As `events.kinds.convert_kind_column` does."""
    kind_of_word = sf.create_map(*(sf.lit(word) for pair in USUAL_KINDS.items() for word in pair))
    return sf.coalesce(sf.try_element_at(kind_of_word, sf.lower(words)), words)


def list_unknown_kinds(events: DataFrame) -> list[str]:
    """Some words of the column `kind` that mean no kind, if there are any. Runs a job."""
    if "kind" not in events.columns:
        return []
    words = events.select(sf.col("kind").cast("string").alias("kind")).where("kind is not null")
    unknown = words.where(~sf.lower("kind").isin(*USUAL_KINDS)).distinct()
    return [row.kind for row in unknown.orderBy("kind").limit(LISTED_WORDS + 1).collect()]


def convert_to_all_event_columns(events: DataFrame) -> DataFrame:
    """The events with all columns of EVENTS and no others, as kernels want them."""
    columns = select_cause_columns(events)
    for name in SAYS_NOTHING_OF_CAUSES:
        if name in events.columns:
            columns[name] = _convert_column_to_wanted_type(events, _TYPES[name])
    known = events.select(*(column.alias(name) for name, column in columns.items()))
    return add_missing_event_columns(known)


def add_missing_event_columns(events: DataFrame) -> DataFrame:
    """The events with all columns of EVENTS; those that they do not have are null."""
    lacking = [field for field in _TYPES.fields if field.name not in events.columns]
    if not lacking:  # to add no columns is refused through Spark Connect
        return events
    return events.withColumns({field.name: sf.lit(None).cast(field.dataType) for field in lacking})


def _convert_structs_to_clocks(column: Column, struct_type: pa.StructType) -> Column:
    """As `events.clock_columns.convert_structs_to_clocks` does."""
    counts = [(sf.lit(field.name), column[field.name].cast("bigint")) for field in struct_type.fields]
    clock = sf.map_filter(sf.create_map(*chain.from_iterable(counts)), lambda _, count: count.isNotNull())
    return sf.when(column.isNotNull(), clock)


def _describe_type(arrow_type: pa.DataType) -> str:
    return str(from_arrow_type(arrow_type).simpleString())


def _convert_column_to_wanted_type(events: DataFrame, wanted: StructField) -> Column:
    column = sf.col(wanted.name)
    given = convert_to_arrow_type(events.schema[wanted.name].dataType)
    conversion = choose_column_conversion(wanted.name, given, _describe_type)
    if conversion is Conversion.FROM_TIMESTAMP:
        return sf.unix_micros(column.cast("timestamp")) / 1000
    if conversion is Conversion.FROM_STRUCT:
        return _convert_structs_to_clocks(column, given)
    column = column.cast(wanted.dataType)
    if wanted.name == "time":  # as readers do: an infinite time is unknown
        return sf.when(sf.abs(column) < float("inf"), column)
    return column
