"""A kernel over whole partitions that sees only the columns it needs.

A scalar Arrow function that reads all batches of its partition before it answers: Spark keeps the rows
meanwhile (on disk if need be) and puts the answers beside them. So the user's columns never leave Spark,
whatever their types are, and rows need not be sorted or sent back.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from antecede.spark.arrow_batches import replace_null_lists_by_empty_ones, restore_null_lists

Kernel = Callable[[pa.Table], pa.StructArray]


def add_kernel_answers(
    rows: DataFrame, columns: dict[str, Column], kernel: Kernel, answer_type: str, answer_column: str
) -> DataFrame:
    """The rows with the kernel's answers, structs of a type, in a column of their own.

    The kernel gets a table of the columns of a whole partition, two or more, and answers row by row. Spark
    must not move filters to before it: hence it is declared not to be deterministic, which it is.
    """
    names = list(columns)
    sent, lists = replace_null_lists_by_empty_ones(rows, columns)

    def answer_whole_partition(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        parts = list(batches)
        if not parts:
            return
        sizes = [len(part[0]) for part in parts]
        restored = [restore_null_lists(list(part), lists) for part in parts]
        chunked = [pa.chunked_array(chunks) for chunks in zip(*restored, strict=True)]
        table = pa.table(chunked, names)
        del parts, restored, chunked
        yield from _cut_into_batches(kernel(table), sizes)

    answers = sf.arrow_udf(answer_whole_partition, answer_type).asNondeterministic()  # type: ignore[attr-defined]
    return rows.select("*", answers(*sent).alias(answer_column))


def _cut_into_batches(array: pa.Array, sizes: list[int]) -> Iterator[pa.Array]:
    start = 0
    for size in sizes:
        yield array.slice(start, size)
        start += size


def read_chosen_partition_count(spark: SparkSession) -> int | None:
    """How many partitions the owner of a session wants shuffles to make; None if they have not said so."""
    chosen = spark.conf.getAll.get("spark.sql.shuffle.partitions")
    return None if chosen is None else int(chosen)


def repartition_by_key(rows: DataFrame, partitions: int | None, *key: Column) -> DataFrame:
    """The rows in so many partitions, those with one key in one of them.

    Where nobody has chosen a number, Spark chooses one when it knows how large the rows are: it puts small
    partitions together, as long as there is one for each core. (Not where the rows are kept on disk.)
    """
    number = partitions or read_chosen_partition_count(rows.sparkSession)
    return rows.repartition(*key) if number is None else rows.repartition(number, *key)
