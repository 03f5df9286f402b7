"""Executions that are spread over several files, put together on Spark as `formats.executions` decided.

The decisions are few: events are only joined to them.
"""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from antecede.formats.executions import BY_CLOCK, BY_RESTART, BY_TIME, FURTHER, Gathering

PART = ["number", "execution", "process"]
"""What a file has of a process."""


def join_files_into_executions(spark: SparkSession, events: DataFrame, gathering: Gathering) -> DataFrame:
    """The events, which have the number of their file, with the positions and executions of all files."""
    shifts, new_names = gathering.index_shifts, gathering.new_names
    if len(shifts):
        shift_kinds = set(shifts["how"].to_pylist())
        shift_table = sf.broadcast(spark.createDataFrame(shifts))
        events = _shift_indexes_and_ids_made_of_them(events, shift_table, shift_kinds)
    if len(new_names):
        events = _prefix_execution_names(events, sf.broadcast(spark.createDataFrame(new_names)))
    return events


def _shift_indexes_and_ids_made_of_them(
    events: DataFrame, shifts: DataFrame, shift_kinds: set[str]
) -> DataFrame:
    """New positions, and new ids for events whose ids were made from positions."""
    joined = events.join(shifts, PART, "left")
    how, index, own = sf.col("how"), sf.col("index"), sf.expr("try_element_at(clock, process)")
    place = sf.when(how == BY_CLOCK, own - 1)
    place = place.when(how == FURTHER, index + sf.col("further"))
    in_all_files = Window.partitionBy("execution", "process", "track", index.isNull())
    if BY_RESTART in shift_kinds:
        by_line = in_all_files.orderBy("further", "line").rowsBetween(Window.unboundedPreceding, 0)
        restarts = sf.greatest(sf.count_if(own == 1).over(by_line) - 1, sf.lit(0))
        joined = joined.withColumn("restarts", restarts)
        by_restart = in_all_files.orderBy("restarts", own, "further", "line")
        place = place.when(how == BY_RESTART, sf.row_number().over(by_restart) - 1)
    if BY_TIME in shift_kinds:
        in_file = Window.partitionBy(*PART, "how").orderBy("index", "line")
        joined = joined.withColumn("latest", sf.max("time").over(in_file))
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
