"""A kernel over whole partitions that sees only the columns it needs.

A scalar Arrow function that reads all batches of its partition before it answers: Spark keeps the rows
meanwhile (on disk if need be) and puts the answers beside them. So the user's columns never leave Spark,
whatever their types are, and rows need not be sorted or sent back.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from antecede.spark.arrow_batches import unmeasured

Kernel = Callable[[pa.Table], pa.StructArray]


def beside(rows: DataFrame, columns: dict[str, Column], kernel: Kernel, answer: str, name: str) -> DataFrame:
    """The rows with the kernel's answers, a struct of the type `answer`, in a column `name`.

    The kernel gets a table of the columns of a whole partition, two or more, and answers row by row. Spark
    must not move filters to before it: hence it is declared not to be deterministic, which it is.
    """
    unmeasured(rows.sparkSession)
    names = list(columns)

    def run(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        parts = list(batches)
        if parts:
            sizes = [len(part[0]) for part in parts]
            table = pa.table([pa.chunked_array(chunks) for chunks in zip(*parts, strict=True)], names)
            del parts
            yield from _pieces(kernel(table), sizes)

    answers = sf.arrow_udf(run, answer).asNondeterministic()  # type: ignore[attr-defined]
    return rows.select("*", answers(*columns.values()).alias(name))


def _pieces(array: pa.Array, sizes: list[int]) -> Iterator[pa.Array]:
    at = 0
    for size in sizes:
        yield array.slice(at, size)
        at += size
