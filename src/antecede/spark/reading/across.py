"""What readers of single files cannot tell: messages without ids, and causes, that lie in other files.

Each execution is handled in the memory of one task, by the same rules as in a single file.
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.formats.cloudevents import resolve_again
from antecede.formats.ndjson import match_again
from antecede.formats.rows import Rows
from antecede.tables import EVENTS

AGAIN: dict[str, Callable[[Rows], None]] = {"ndjson": match_again, "cloudevents": resolve_again}
"""The formats, and what is done with the rows of all files together."""
SORTED = [(name, "ascending") for name in ("execution", "process", "index", "file", "line")]


def across(events: DataFrame, format: str, files: list[str]) -> DataFrame:
    """The events, with those of these files settled together."""
    names = sf.broadcast(events.sparkSession.createDataFrame(pa.table({"file": files})))
    mine = events.join(names, "file", "left_semi").select(EVENTS.names).repartition("execution")
    found = mine.mapInArrow(Settled(AGAIN[format]).run, from_arrow_schema(EVENTS))
    return events.join(names, "file", "left_anti").unionByName(found)


class Settled:
    """Runs a rule over the rows of a whole partition, in an order of their own."""

    def __init__(self, rule: Callable[[Rows], None]) -> None:
        self.rule = rule

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = list(batches)
        if parts:
            rows = Rows.of(pa.Table.from_batches(parts).sort_by(SORTED))
            self.rule(rows)
            yield from rows.events().to_batches()


def ambiguous(events: DataFrame) -> str | None:
    """A sentence on causes that are the ids of several events; None if there is none."""
    told = events.select("file", "line", sf.expr("try_element_at(fields, 'ambiguous')").alias("told"))
    told = told.where("told is not null")
    first = sf.min(sf.struct("file", "line", "told")).alias("first")
    found = told.select(sf.count("*").alias("count"), first).first()
    if found is None or not found["count"]:
        return None
    file, line, text = found["first"]
    more = f" (and {found['count'] - 1:,} more like it)" if found["count"] > 1 else ""
    return f"{file}:{line}: {text}: all of them are taken for its causes{more}"
