"""What only all files of a format tell together, on Spark: each execution in the memory of one task."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.formats.across import AMBIGUOUS, describe_ambiguous_cause, link_events_across_files
from antecede.formats.staging import STAGED_EVENTS
from antecede.spark.arrow_batches import map_in_arrow
from antecede.tables import EVENTS


def link_events_of_files(events: DataFrame, format: str, file_numbers: list[int]) -> DataFrame:
    """The events, with those of these files linked to each other."""
    table = pa.table({"number": pa.array(file_numbers, pa.int64())})
    mine = sf.broadcast(events.sparkSession.createDataFrame(table))
    by_execution = events.join(mine, "number", "left_semi").select(STAGED_EVENTS.names)
    by_execution = by_execution.repartition("execution")
    settled = map_in_arrow(
        by_execution, CrossFileLinker(format).link_executions_of_partition, from_arrow_schema(STAGED_EVENTS)
    )
    return events.join(mine, "number", "left_anti").unionByName(settled)


class CrossFileLinker:
    """Links the events of whole executions, which several files may tell of."""

    def __init__(self, format: str) -> None:
        self.format = format

    def link_executions_of_partition(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = list(batches)
        if parts:
            events = pa.Table.from_batches(parts)
            settled = link_events_across_files(events.select(EVENTS.names), self.format)
            yield from settled.append_column("number", events["number"]).to_batches()


def describe_ambiguous_causes(events: DataFrame, file_numbers: list[int]) -> str | None:
    """A sentence on causes that are the ids of several events; None if there is none. Runs a job."""
    text = sf.expr(f"try_element_at(fields, '{AMBIGUOUS}')").alias("text")
    ambiguous = events.where(sf.col("number").isin(file_numbers)).select("file", "line", text)
    ambiguous = ambiguous.where("text is not null")
    first = sf.min(sf.struct("file", "line", "text")).alias("first")
    row = ambiguous.select(sf.count("*").alias("count"), first).first()
    if row is None or not row["count"]:
        return None
    return describe_ambiguous_cause(**row["first"].asDict(), count=row["count"])
