"""How many tasks read files."""

from pyspark.sql import SparkSession

from antecede.spark.partition_kernel import read_chosen_partition_count

TASKS_PER_PARTITION = 4
"""Tasks for each shuffle partition, at most: more of them even out what sizes do not tell."""
TASK_BYTES = 4_000_000
"""What a task reads at least, where nobody has chosen a number of partitions and there are many files."""
MANY = 32
"""So many files are a task each, then."""


def choose_reading_task_count(spark: SparkSession, pieces: int, total_bytes: int) -> int:
    """Tasks for so many files, or parts of files, which have so many bytes together."""
    chosen = read_chosen_partition_count(spark)
    most = max(MANY, total_bytes // TASK_BYTES) if chosen is None else TASKS_PER_PARTITION * chosen
    return min(pieces, most)
