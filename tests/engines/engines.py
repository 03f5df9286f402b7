"""Both engines with one face: an Arrow table in, Arrow tables and windows out."""

from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from antecede.auditing.summary import SAMPLE, Summary
from antecede.tables import Window


@dataclass(frozen=True)
class Results:
    """All that an audit gives."""

    findings: pa.Table
    totals: pa.Table
    summary: Summary
    windows: list[Window]

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
        }


class Engine(Protocol):
    def audit(self, events: pa.Table, sample: int = SAMPLE, windows: bool = False) -> Results:
        """Audit a table of events; windows are looked for if they are wanted."""


class LocalEngine:
    def audit(self, events: pa.Table, sample: int = SAMPLE, windows: bool = False) -> Results:
        from antecede.local.audit import audit
        from antecede.local.windows import pick_windows

        done = audit(events)
        summary = done.summary(sample)
        picked = pick_windows(events, done, summary) if windows else []
        return Results(done.findings, done.totals, summary, picked)


class SparkEngine:
    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def audit(self, events: pa.Table, sample: int = SAMPLE, windows: bool = False) -> Results:
        from antecede.spark.auditing.event_audit import audit
        from antecede.spark.pictures.windows import pick_windows

        frame = self.spark.createDataFrame(events)
        done = audit(frame)
        summary = done.summary(sample)
        picked = pick_windows(frame, done, summary) if windows else []
        results = Results(done.findings.toArrow(), done.totals.toArrow(), summary, picked)
        done.done()
        return results
