"""The one setting of Spark that decides whether rows reach Python in linear time.

Spark 4.3 measures a batch for Python after every row that it adds, unless a batch may be as large as can be;
and measuring a column of lists walks over all nulls at its end. So a batch of n rows may take n^2 steps: with
two columns of nulls, tens of times as long as without the measuring.
"""

from pyspark.sql import SparkSession

NAME = "spark.sql.execution.arrow.maxBytesPerBatch"
LARGEST_BATCH = str(2**31 - 1)
_DEFAULT = "67108864b"


def lift_arrow_batch_limit(spark: SparkSession) -> None:
    """Let a session make batches by number of rows alone, unless its owner chose a size."""
    if spark.conf.get(NAME, _DEFAULT) == _DEFAULT:
        spark.conf.set(NAME, LARGEST_BATCH)
