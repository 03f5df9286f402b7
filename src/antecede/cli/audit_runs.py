"""An audit for the command line, in this process or on Spark: both say and write the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from antecede.cli.logs import open_spark, read_logs_on_spark
from antecede.cli.steps import show_activity, show_spark_stages

if TYPE_CHECKING:
    import pyarrow as pa

    from antecede.auditing.summary import Summary
    from antecede.cli.engine import Engine
    from antecede.cli.folders import OutputFolder
    from antecede.formats.logs import FileRead
    from antecede.formats.settings import Settings
    from antecede.tables import LogView, Window

SAMPLED_FINDINGS = 500
"""Findings of each kind that are held in memory for the page and for programs."""
LISTED_QUARANTINE = 100
"""Records that could not be read, of those the same."""
TABLES = ("findings", "totals", "quarantine")
"""What is written into --out."""


class AuditRun(Protocol):
    """What a command wants to know of an audit that was run."""

    engine: Engine
    summary: Summary
    files: list[FileRead]
    note: str | None
    refused: list[dict[str, Any]]
    """The first records that cannot be read."""

    def pick_windows(self) -> list[Window]:
        """What is to be drawn in files for other tools."""

    def build_log_view_for_page(self) -> LogView:
        """What the page holds of the log."""

    def get_events_that_were_read(self) -> pa.Table:
        """Every event: for logs of which the summary says that they are small."""

    def write_tables(self, output: OutputFolder) -> None:
        """Write findings, totals and quarantine."""


def run_audit(
    engine: Engine,
    inputs: list[str],
    format: str | None,
    settings: Settings,
    master: str | None,
    staging: str | None,
) -> AbstractContextManager[AuditRun]:
    """The audit; what it keeps on disk is gone behind the block."""
    if engine.name == "local":
        return _run_audit_locally(engine, inputs, format, settings)
    return _run_audit_on_spark(engine, inputs, format, settings, master, staging)


@contextmanager
def _run_audit_locally(
    engine: Engine, inputs: list[str], format: str | None, settings: Settings
) -> Iterator[AuditRun]:
    with show_activity("reading"):
        from antecede.local.logs import read_logs

        logs = read_logs(inputs, format, settings)
    with show_activity("auditing"):
        run = _LocalRun(engine, logs)
    yield run


class _LocalRun:
    def __init__(self, engine: Engine, logs: Any) -> None:
        from antecede.local.audit import audit

        self.engine, self.logs = engine, logs
        self.audit = audit(logs.events)
        self.summary = self.audit.summary(SAMPLED_FINDINGS)
        self.files, self.note = logs.files, logs.note
        by_place = [("file", "ascending"), ("line", "ascending")]
        self.refused = logs.quarantine.sort_by(by_place).slice(0, LISTED_QUARANTINE).to_pylist()

    def pick_windows(self) -> list[Window]:
        from antecede.local.windows import pick_windows

        return pick_windows(self.audit, self.summary)

    def build_log_view_for_page(self) -> LogView:
        from antecede.local.windows import build_log_view

        with show_activity("gathering what the page holds"):
            return build_log_view(self.audit, self.summary)

    def get_events_that_were_read(self) -> pa.Table:
        return self.logs.events

    def write_tables(self, output: OutputFolder) -> None:
        tables = {
            "findings": self.audit.findings,
            "totals": self.audit.totals,
            "quarantine": self.logs.quarantine,
        }
        for name, table in tables.items():
            output.write_arrow_table(table, name)


@contextmanager
def _run_audit_on_spark(
    engine: Engine,
    inputs: list[str],
    format: str | None,
    settings: Settings,
    master: str | None,
    staging: str | None,
) -> Iterator[AuditRun]:
    with open_spark(master) as spark, read_logs_on_spark(spark, inputs, format, settings, staging) as logs:
        run = _SparkRun(engine, spark, logs)
        try:
            yield run
        finally:
            run.audit.done()


class _SparkRun:
    def __init__(self, engine: Engine, spark: Any, logs: Any) -> None:
        from antecede.spark.auditing.event_audit import audit

        self.engine, self.spark, self.logs = engine, spark, logs
        self.files, self.note = logs.files, logs.note
        with show_spark_stages(spark, "auditing"):
            self.audit = audit(logs.events, number=sum(file.events for file in logs.files))
            self.summary = self.audit.summary(SAMPLED_FINDINGS)
            self.refused = self._list_first_quarantined_rows()

    def _list_first_quarantined_rows(self) -> list[dict[str, Any]]:
        if not any(file.quarantined for file in self.files):
            return []
        rows = self.logs.quarantine.orderBy("file", "line").limit(LISTED_QUARANTINE).collect()
        return [row.asDict() for row in rows]

    def pick_windows(self) -> list[Window]:
        from antecede.spark.pictures.windows import pick_windows

        with show_spark_stages(self.spark, "looking for what to draw"):
            return pick_windows(self.logs.events, self.audit.ranked, self.audit.totals, self.summary)

    def build_log_view_for_page(self) -> LogView:
        from antecede.spark.pictures.windows import build_log_view

        with show_spark_stages(self.spark, "gathering what the page holds"):
            return build_log_view(self.logs.events, self.audit.ranked, self.audit.totals, self.summary)

    def get_events_that_were_read(self) -> pa.Table:
        return self.logs.events.toArrow()

    def write_tables(self, output: OutputFolder) -> None:
        tables = {
            "findings": self.audit.findings,
            "totals": self.audit.totals,
            "quarantine": self.logs.quarantine,
        }
        with show_spark_stages(self.spark, "writing"):
            for name, table in tables.items():
                output.write_spark_table(table, name)
