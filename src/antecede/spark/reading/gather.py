"""Executions that are spread over several files, put together on Spark as `formats.executions` decided.

The decisions are few: events are only joined to them.
"""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from antecede.formats.executions import BY_CLOCK, BY_TIME, FURTHER, Gathering

PART = ["number", "execution", "process"]
"""What a file has of a process."""


def apply_gathering(spark: SparkSession, events: DataFrame, gathering: Gathering) -> DataFrame:
    """The events, which have the number of their file, with the positions and executions of all files."""
    shifts, new_names = gathering.index_shifts, gathering.new_names
    if len(shifts):
        has_timed = BY_TIME in shifts["how"].to_pylist()
        events = _shift_indexes(events, sf.broadcast(spark.createDataFrame(shifts)), has_timed)
    if len(new_names):
        events = _prefix_execution_names(events, sf.broadcast(spark.createDataFrame(new_names)))
    return events


def _shift_indexes(events: DataFrame, shifts: DataFrame, has_timed: bool) -> DataFrame:
    """New positions, and new ids for events whose ids were made from positions."""
    joined = events.join(shifts, PART, "left")
    how, index = sf.col("how"), sf.col("index")
    place = sf.when(how == BY_CLOCK, sf.expr("try_element_at(clock, process)") - 1)
    place = place.when(how == FURTHER, index + sf.col("further"))
    if has_timed:
        in_file = Window.partitionBy(*PART, "how").orderBy("index", "line")
        joined = joined.withColumn("latest", sf.max("time").over(in_file))
        in_all_files = Window.partitionBy("execution", "process", "how", index.isNull())
        by_time = in_all_files.orderBy("latest", "further", "index", "line")
        place = place.when(how == BY_TIME, sf.row_number().over(by_time) - 1)
    # An event without a position has none afterwards.
    place = sf.when(index.isNotNull(), sf.coalesce(place, index)).cast("long")
    was_made = sf.col("event") == sf.concat_ws("#", "process", "index")
    event = sf.when(was_made, sf.concat_ws("#", "process", place)).otherwise(sf.col("event"))
    return joined.withColumns({"event": event, "index": place}).select(events.columns)


def _prefix_execution_names(events: DataFrame, new_names: DataFrame) -> DataFrame:
    """Executions named by what they are in, where they are separate."""
    new_name, own = sf.col("new_name"), sf.col("execution")
    name = sf.when(own == "", new_name).otherwise(sf.concat_ws(": ", new_name, own))
    joined = events.join(new_names, ["number", "execution"], "left")
    return joined.withColumn("execution", sf.when(new_name.isNull(), own).otherwise(name)).select(
        events.columns
    )
