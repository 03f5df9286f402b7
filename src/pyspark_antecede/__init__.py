"""Where Spark finds the data source "antecede": it looks for a DefaultSource in packages named `pyspark_...`.

Owns nothing: the source is in `antecede.spark`.
"""

from antecede.spark.reading.data_source import LogSource as DefaultSource

__all__ = ["DefaultSource"]
