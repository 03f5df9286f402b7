"""All engines with one face: an Arrow table in, Arrow tables, windows and a page out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from antecede.auditing.summary import SAMPLE, Summary
from antecede.formats import Settings
from antecede.formats.settings import DEFAULT
from antecede.local.compare import CostReport
from antecede.local.logs import Logs
from antecede.report.page import render_page
from antecede.tables import EVENTS, QUARANTINE, LogView, Window


@dataclass(frozen=True)
class Results:
    """All that an audit gives."""

    findings: pa.Table
    totals: pa.Table
    summary: Summary
    windows: list[Window]
    page: str

    def rows(self) -> dict[str, Any]:
        """The same in a form that can be compared: Spark's tables have no order."""
        brief = self.summary
        return {
            "findings": sorted(map(str, self.findings.to_pylist())),
            "totals": sorted(map(str, self.totals.to_pylist())),
            "summary": (brief.executions, brief.counts, brief.totals, brief.uncounted),
            "sample": brief.sample.to_pylist(),
            "windows": [
                (one.title, one.events.to_pylist(), sorted(one.edges), one.late, one.ghosts, one.left_out)
                for one in self.windows
            ],
            "page": self.page,
        }


def make_page(summary: Summary, view: LogView | None) -> str:
    """The page of an audit, if a view of its log is wanted."""
    return "" if view is None else render_page("", {}, summary.sample, view, "", summary.counts)


@dataclass(frozen=True)
class OrderResults:
    """All that an order gives."""

    ordered: pa.Table
    held: pa.Table
    quarantine: pa.Table
    gaps: pa.Table
    counts: dict[str, int]
    names: dict[str, str]
    notes: list[str]

    def rows(self) -> dict[str, list[str]]:
        """The tables in a form that can be compared."""
        tables = {"ordered": self.ordered, "held": self.held}
        tables |= {"quarantine": self.quarantine, "gaps": self.gaps}
        return {name: in_any_order(table) for name, table in tables.items()}


class Engine(Protocol):
    def read_logs(
        self, paths: Sequence[str], format: str | None = None, settings: Settings = DEFAULT
    ) -> Logs:
        """Read logs into Arrow tables."""

    def audit(self, events: pa.Table, sample: int = SAMPLE, windows: bool = False) -> Results:
        """Audit a table of events; windows and a page are made if they are wanted."""

    def compare(self, events: pa.Table, **wishes: Any) -> CostReport:
        """Compare protocols on a table of events."""

    def order(self, messages: pa.Table, **options: Any) -> OrderResults:
        """Put a table of messages in order."""

    def order_events(self, events: pa.Table) -> OrderResults:
        """Put a table of events in order."""


class LocalEngine:
    def read_logs(
        self, paths: Sequence[str], format: str | None = None, settings: Settings = DEFAULT
    ) -> Logs:
        from antecede.local.logs import read_logs

        return read_logs(paths, format, settings)

    def audit(self, events: pa.Table, sample: int = SAMPLE, windows: bool = False) -> Results:
        from antecede.local.audit import audit
        from antecede.local.windows import build_log_view, pick_windows

        done = audit(events)
        summary = done.summary(sample)
        picked = pick_windows(done, summary) if windows else []
        page = make_page(summary, build_log_view(done, summary) if windows else None)
        return Results(done.findings, done.totals, summary, picked, page)

    def compare(self, events: pa.Table, **wishes: Any) -> CostReport:
        from antecede.local.compare import compare

        return compare(events, **wishes)

    def order(self, messages: pa.Table, **options: Any) -> OrderResults:
        from antecede.local.message_order import order

        return self._collect(order(messages, **options))

    def order_events(self, events: pa.Table) -> OrderResults:
        from antecede.local.event_order import order_events

        return self._collect(order_events(events))

    def _collect(self, outcome: Any) -> OrderResults:
        tables = (outcome.ordered, outcome.held, outcome.quarantine, outcome.gaps)
        assert tuple(outcome) == tables[:3]
        return OrderResults(*tables, outcome.counts(), outcome.names, outcome.notes)


class SparkEngine:
    """Executions of more events than `huge` are each judged by many tasks."""

    def __init__(self, spark: Any, huge: int = 5_000_000) -> None:
        self.spark = spark
        self.huge = huge

    def read_logs(
        self, paths: Sequence[str], format: str | None = None, settings: Settings = DEFAULT
    ) -> Logs:
        """What Spark reads is what is read in this process: tables, counts and sentences."""
        from antecede.spark.reading.logs import read_logs

        with read_logs(self.spark, paths, format, settings) as logs:
            assert logs.events.columns == EVENTS.names and logs.quarantine.columns == QUARANTINE.names
            result = Logs(logs.events.toArrow(), logs.quarantine.toArrow(), logs.files, logs.note)
        assert result.counts()["files"] == len(result.files)
        local = LocalEngine().read_logs(paths, format, settings)
        assert in_any_order(result.events) == in_any_order(local.events)
        assert in_any_order(result.quarantine) == in_any_order(local.quarantine)
        assert (result.files, result.note) == (local.files, local.note)
        return result

    def audit(self, events: pa.Table, sample: int = SAMPLE, windows: bool = False) -> Results:
        from antecede.spark.auditing.event_audit import audit
        from antecede.spark.pictures.windows import build_log_view, pick_windows

        frame = self._make_frame(events)
        done = audit(frame, huge=self.huge)
        summary = done.summary(sample)
        picked = pick_windows(frame, done.ranked, done.totals, summary) if windows else []
        page = make_page(
            summary, build_log_view(frame, done.ranked, done.totals, summary) if windows else None
        )
        results = Results(done.findings.toArrow(), done.totals.toArrow(), summary, picked, page)
        done.done()
        return results

    def compare(self, events: pa.Table, **wishes: Any) -> CostReport:
        from antecede.spark.cost_report import compare

        settings = dict(self.spark.conf.getAll)
        report = compare(self._make_frame(events).repartition(3), **wishes)
        assert dict(self.spark.conf.getAll) == settings
        return CostReport(report.costs.toArrow(), report.advice)

    def order(self, messages: pa.Table, **options: Any) -> OrderResults:
        """Spark's tables are those of this process, row for row."""
        from antecede.spark.ordering.message_order import order

        frame = self._make_frame(messages).repartition(3)
        results = self._collect(order(frame, **options))
        return self._compare(results, LocalEngine().order(messages, **options))

    def order_events(self, events: pa.Table) -> OrderResults:
        from antecede.spark.ordering.event_order import order_events

        frame = self._make_frame(events).repartition(3)
        return self._compare(self._collect(order_events(frame)), LocalEngine().order_events(events))

    def _make_frame(self, table: pa.Table) -> Any:
        """A DataFrame; of an Arrow table without rows, Spark Connect makes none."""
        from pyspark.sql.pandas.types import from_arrow_schema

        if len(table):
            return self.spark.createDataFrame(table)
        return self.spark.createDataFrame([], from_arrow_schema(table.schema))

    def _collect(self, outcome: Any) -> OrderResults:
        outcome.keep()
        tables = (outcome.ordered, outcome.held, outcome.quarantine, outcome.gaps)
        ordered, held, quarantine, gaps = (table.toArrow() for table in tables)
        results = OrderResults(
            ordered, held, quarantine, gaps, outcome.counts(), outcome.names, outcome.notes
        )
        outcome.done()
        return results

    def _compare(self, results: OrderResults, local: OrderResults) -> OrderResults:
        assert (results.counts, results.names, results.notes) == (local.counts, local.names, local.notes)
        assert results.ordered.column_names == local.ordered.column_names
        assert results.rows() == local.rows()
        return results


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with maps as dictionaries."""
    maps = [field.name for field in table.schema if pa.types.is_map(field.type)]
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        for name in maps:
            row[name] = None if row[name] is None else dict(row[name])
    return rows


def in_any_order(table: pa.Table) -> list[str]:
    """The rows of a table as a bag: Spark's tables have no order."""
    return sorted(repr(sorted(row.items())) for row in rows_of(table))
