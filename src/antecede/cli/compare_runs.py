"""A comparison for the command line, in this process or on Spark: both say and write the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from antecede.cli.logs import open_spark, read_logs_on_spark
from antecede.cli.steps import show_activity, show_spark_stages
from antecede.cli.work import WorkProgress

if TYPE_CHECKING:
    import pyarrow as pa

    from antecede.cli.engine import Engine
    from antecede.cli.folders import OutputFolder
    from antecede.formats.logs import FileRead
    from antecede.formats.settings import Settings
    from antecede.study.compare import CellOutcome, Comparison, ReplayCell

TABLES = ("costs", "quarantine")
"""What is written into --out."""


class CompareRun(Protocol):
    """What a command wants to know of a comparison that was run."""

    engine: Engine
    files: list[FileRead]
    note: str | None
    comparisons: list[Comparison]

    def write_tables(self, costs: pa.Table, output: OutputFolder) -> None:
        """Write costs and quarantine."""


def run_comparison(
    engine: Engine,
    inputs: list[str],
    format: str | None,
    settings: Settings,
    master: str | None,
    staging: str | None,
) -> AbstractContextManager[CompareRun]:
    """The comparison; what it keeps on disk is gone behind the block."""
    if engine.name == "local":
        return _run_comparison_locally(engine, inputs, format, settings)
    return _run_comparison_on_spark(engine, inputs, format, settings, master, staging)


@contextmanager
def _run_comparison_locally(
    engine: Engine, inputs: list[str], format: str | None, settings: Settings
) -> Iterator[CompareRun]:
    with show_activity("reading"):
        from antecede.local.logs import read_logs

        logs = read_logs(inputs, format, settings)
    yield _LocalComparison(engine, logs)


class _LocalComparison:
    def __init__(self, engine: Engine, logs: Any) -> None:
        from antecede.local.compare import make_replay_cells
        from antecede.study.compare import gather_comparisons

        self.engine, self.logs = engine, logs
        self.files, self.note = logs.files, logs.note
        with show_activity("looking for messages"):
            cells = make_replay_cells(logs.events)
        self.comparisons = gather_comparisons(_replay_cells_with_progress(cells))

    def write_tables(self, costs: pa.Table, output: OutputFolder) -> None:
        tables = {"costs": costs, "quarantine": self.logs.quarantine}
        for name, table in tables.items():
            output.write_arrow_table(table, name)


def _replay_cells_with_progress(cells: list[ReplayCell]) -> Iterator[CellOutcome]:
    from antecede.study.compare import replay_cells

    with WorkProgress("replays", len(cells)) as work:
        for outcome in replay_cells(cells):
            work.advance(1)
            yield outcome


@contextmanager
def _run_comparison_on_spark(
    engine: Engine,
    inputs: list[str],
    format: str | None,
    settings: Settings,
    master: str | None,
    staging: str | None,
) -> Iterator[CompareRun]:
    with open_spark(master) as spark, read_logs_on_spark(spark, inputs, format, settings, staging) as logs:
        yield _SparkComparison(engine, spark, logs)


class _SparkComparison:
    def __init__(self, engine: Engine, spark: Any, logs: Any) -> None:
        from antecede.spark.cost_report import compare_protocols_on_events

        self.engine, self.spark, self.logs = engine, spark, logs
        self.files, self.note = logs.files, logs.note
        with show_spark_stages(spark, "replaying"):
            self.comparisons = compare_protocols_on_events(logs.events)

    def write_tables(self, costs: pa.Table, output: OutputFolder) -> None:
        tables = {"costs": self.spark.createDataFrame(costs), "quarantine": self.logs.quarantine}
        with show_spark_stages(self.spark, "writing"):
            for name, table in tables.items():
                output.write_spark_table(table, name)
