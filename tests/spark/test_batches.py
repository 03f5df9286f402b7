"""Lists and maps reach Python as they are, and are sent without nulls, which take Spark quadratic time."""

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from antecede.spark.arrow_batches import map_in_arrow, replace_null_lists_by_empty_ones
from antecede.spark.column_names import quote_column
from antecede.spark.partition_kernel import add_kernel_answers

pytestmark = pytest.mark.spark

ROWS = pa.table(
    {
        "a name, with `signs`": [1, 2, 3, 4],
        "list": pa.array([None, [], ["x", None], None], pa.list_(pa.string())),
        "map": pa.array([[("k", 1)], None, None, []], pa.map_(pa.string(), pa.int64())),
        "structs": pa.array([None, [{"n": 1}], [], None], pa.list_(pa.struct({"n": pa.int64()}))),
        "plain": ["x", None, "z", None],
    }
)


def echo(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        texts = [repr(sorted(row.items())) for row in batch.to_pylist()]
        yield pa.RecordBatch.from_pydict({"text": texts})


def list_texts() -> list[str]:
    return [repr(sorted(row.items())) for row in ROWS.to_pylist()]


def test_a_task_sees_nulls_where_they_are(spark) -> None:
    frame = spark.createDataFrame(ROWS)
    texts = map_in_arrow(frame.repartition(2), echo, "text string").collect()
    assert sorted(row.text for row in texts) == list_texts()


def test_a_kernel_sees_nulls_where_they_are(spark) -> None:
    frame = spark.createDataFrame(ROWS)
    columns = {name: quote_column(name) for name in frame.columns}

    def answer(table: pa.Table) -> pa.StructArray:
        texts = [repr(sorted(row.items())) for row in table.to_pylist()]
        return pa.StructArray.from_arrays([pa.array(texts)], ["text"])

    answered = add_kernel_answers(frame, columns, answer, "text string", "answer")
    assert sorted(row.answer.text for row in answered.collect()) == list_texts()


def test_no_list_that_is_sent_can_be_null(spark) -> None:
    frame = spark.createDataFrame(ROWS).withColumn("other", sf.lit(None).cast("array<int>"))
    sent = replace_null_lists_by_empty_ones(frame, {name: quote_column(name) for name in frame.columns})
    fields = frame.select(*sent.columns).schema.fields
    assert [at for at, field in enumerate(fields) if not field.nullable][: len(sent.lists)] == sent.lists
    assert sent.lists == [1, 2, 3, 5]
