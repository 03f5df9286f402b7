"""Rows to Python in linear time, whatever the settings of a session are.

Spark measures a batch for Python after every row that it adds to it, unless a session lets batches be as
large as can be; and measuring a column of lists or maps walks over all nulls at its end. So a batch of n rows
may take n^2 steps. The caller's settings are not ours to change. Hence lists and maps are sent without nulls,
as empty ones, beside columns that tell which are there, and are put back before anybody sees them. (Those
inside of structs and of other lists are sent as they are.)
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, MapType, StructType

from antecede.spark.column_names import quote_column

ArrowTask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class SentColumns(NamedTuple):
    """What is sent of some columns: each of them, and then whether each list is there."""

    columns: list[Column]
    lists: list[int]
    """The places of the lists and maps among them."""


def map_in_arrow(rows: DataFrame, task: ArrowTask, schema: StructType | str) -> DataFrame:
    """What a task makes of the batches of a partition, as with `rows.mapInArrow`."""
    names = rows.columns
    columns, lists = replace_null_lists_by_empty_ones(rows, {name: quote_column(name) for name in names})

    def restore_null_lists_and_run_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        restored = (restore_null_lists(batch.columns, lists) for batch in batches)
        return task(pa.RecordBatch.from_arrays(arrays, names) for arrays in restored)

    return rows.select(*columns).mapInArrow(restore_null_lists_and_run_task, schema)


def replace_null_lists_by_empty_ones(rows: DataFrame, columns: Mapping[str, Column]) -> SentColumns:
    """What to send to Python of these columns of rows; columns behind them tell which lists are there."""
    named = [column.alias(name) for name, column in columns.items()]
    fields = rows.select(*named).schema.fields
    lists = [place for place, field in enumerate(fields) if isinstance(field.dataType, ArrayType | MapType)]
    sent = list(columns.values())
    is_there = []
    for place in lists:
        empty = sf.array() if isinstance(fields[place].dataType, ArrayType) else sf.create_map()
        is_there.append(sent[place].isNotNull())
        sent[place] = sf.coalesce(sent[place], empty.cast(fields[place].dataType))
    # Spark's mapInArrow does not take every name that a column may have.
    numbered = [column.alias(f"column_{place}") for place, column in enumerate(sent + is_there)]
    return SentColumns(numbered, lists)


def restore_null_lists(arrays_and_flags: list[pa.Array], list_places: list[int]) -> list[pa.Array]:
    """The columns as before `replace_null_lists_by_empty_ones`: lists that were null are null again."""
    restored = arrays_and_flags[: len(arrays_and_flags) - len(list_places)]
    for place, is_there in zip(list_places, arrays_and_flags[len(restored) :], strict=True):
        if is_there.true_count < len(is_there):
            restored[place] = pc.if_else(is_there, restored[place], None)
    return restored
