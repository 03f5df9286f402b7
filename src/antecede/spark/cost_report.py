"""Replays of recorded communication as tasks on Spark: executions become cells, and cells are spread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from antecede.events.graph import build_event_graph
from antecede.spark.arrow_batches import map_in_arrow
from antecede.spark.event_columns import select_cause_columns
from antecede.spark.partition_kernel import read_chosen_partition_count, repartition_by_key
from antecede.study.advice import Advice, advise_on_all_executions
from antecede.study.compare import (
    CellOutcome,
    Comparison,
    ExecutionFacts,
    ReplayCell,
    Variant,
    gather_comparisons,
    list_replay_cells,
    replay_cell,
)
from antecede.study.compare_preferences import make_preferences
from antecede.study.compare_table import build_comparison_table

CELLS = pa.schema([(name, pa.binary()) for name in ("facts", "variant", "recording")])
OUTCOMES = pa.schema({"outcome": pa.binary()})
TASKS_OF_A_PARTITION = 4
"""Tasks with replays for each partition of a shuffle."""
TASKS = 128
"""The same where nobody has chosen a number of partitions: sizes do not tell how long replays take."""


@dataclass(frozen=True)
class SparkCostReport:
    """`costs` as in COMPARISON, and `advice` on each execution."""

    costs: DataFrame
    advice: list[Advice]


def compare(
    events: DataFrame,
    weights: Mapping[str, float] | None = None,
    limits: Mapping[str, float | str] | None = None,
) -> SparkCostReport:
    """As `antecede.compare`, for a DataFrame of events of any size: replays are tasks of its session.

    Runs two jobs before it returns. What comes to the driver are a few numbers for each replay.
    """
    preferences = make_preferences(weights, limits)
    advice = advise_on_all_executions(compare_protocols_on_events(events), preferences)
    return SparkCostReport(events.sparkSession.createDataFrame(build_comparison_table(advice)), advice)


def compare_protocols_on_events(events: DataFrame) -> list[Comparison]:
    """Replay the communication of all executions; runs two jobs. The results are small, and come here."""
    named = events.select(*(column.alias(name) for name, column in select_cause_columns(events).items()))
    executions = repartition_by_key(named, None, sf.col("execution"))
    cells = map_in_arrow(executions, _make_replay_cells, from_arrow_schema(CELLS))
    # The cells of an execution are made in one place; replays take very different times.
    chosen = read_chosen_partition_count(events.sparkSession)
    spread = cells.repartition(TASKS if chosen is None else TASKS_OF_A_PARTITION * chosen)
    outcomes = spread.mapInArrow(_replay_cells, from_arrow_schema(OUTCOMES)).collect()
    decoder = msgspec.msgpack.Decoder(CellOutcome)
    return gather_comparisons(decoder.decode(bytes(row.outcome)) for row in outcomes)


def _make_replay_cells(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = [batch for batch in batches if len(batch)]
    if not parts:
        return
    table = pa.Table.from_batches(parts)
    for cell in list_replay_cells(build_event_graph(table)):
        row = {
            "facts": msgspec.msgpack.encode(cell.facts),
            "variant": msgspec.msgpack.encode(cell.variant),
            "recording": cell.recording,
        }
        yield pa.RecordBatch.from_pylist([row], schema=CELLS)


def _replay_cells(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            cell = ReplayCell(
                msgspec.msgpack.decode(row["facts"], type=ExecutionFacts),
                msgspec.msgpack.decode(row["variant"], type=Variant | None),
                row["recording"],
            )
            outcome = {"outcome": msgspec.msgpack.encode(replay_cell(cell))}
            yield pa.RecordBatch.from_pylist([outcome], schema=OUTCOMES)
