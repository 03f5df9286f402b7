"""What a session shows of a result that is only named, in a notebook."""

from pyspark.sql import SparkSession


def is_eager_display_enabled(spark: SparkSession) -> bool:
    """Whether rows are shown, which takes a job; if not, as Spark has it, only columns are."""
    return str(spark.conf.get("spark.sql.repl.eagerEval.enabled")).lower() == "true"
