"""The cells of a study as tasks on Spark."""

from collections.abc import Iterator, Sequence
from functools import partial

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from antecede.study.experiment import Cell
from antecede.study.running import CellWork, Spread

CELLS_OF_A_TASK = 4
"""Cells are of very different sizes; tasks of a few cells keep all cores busy to the end."""
FEWEST_TASKS = 128
"""Fewer cells than this are a task each: the last one to end should not keep the other cores waiting."""


def spread_over(spark: SparkSession) -> Spread:
    """An engine for `antecede.study.run_study`: the cells become tasks of this session."""
    return partial(_run_cells_in_tasks, spark)


def _run_cells_in_tasks(spark: SparkSession, cells: Sequence[Cell], work: CellWork) -> None:
    """Do the work for every cell, on any core. What is to be kept the work writes itself."""
    texts = [msgspec.json.encode(cell).decode() for cell in cells]
    tasks = min(len(cells), max(FEWEST_TASKS, len(cells) // CELLS_OF_A_TASK))
    numbers = [number % tasks for number in range(len(cells))]
    table = pa.table({"task": pa.array(numbers, pa.int32()), "cell": texts})
    rows = spark.createDataFrame(table).repartitionById(tasks, "task")

    def work_on_cells(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch["cell"].to_pylist():
                work(msgspec.json.decode(text, type=Cell))
            yield batch.select(["task"])

    rows.mapInArrow(work_on_cells, "task int").count()
