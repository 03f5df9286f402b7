"""Which events of a log a picture shows: all of a small execution; of a large one those around a finding.

What comes to the driver does not grow with the log. A slice has what a window of a report has.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from antecede.events.graph import Trace, trace
from antecede.spark.auditing.event_audit import Audit, Summary
from antecede.spark.pictures.nearby import fetched, rows_of
from antecede.tables import EVENTS

WHOLE = 400
"""Events of an execution that is drawn whole."""
NEAR = 100
"""Events that are drawn of a larger one."""
MOST = 8
"""Pictures at most."""
FEW = 3
"""Pictures where nothing was found."""
WITNESS = 30
"""Events of a witness that are looked for."""

Copies = set[tuple[str | None, str | None]]


class Slice(NamedTuple):
    """Events in causal order, edges by id, late copies as (process, message), ghosts by id."""

    title: str
    events: pa.Table
    edges: list[tuple[str, str]]
    late: Copies
    ghosts: set[str]
    left_out: str


class Pick(NamedTuple):
    """What to show of an execution: the surroundings of a witness or, if that is empty, the beginning."""

    execution: str
    size: int
    processes: int
    kind: str | None
    witness: list[str]

    @property
    def whole(self) -> bool:
        return self.size <= WHOLE


def slices(events: DataFrame, found: Audit, summary: Summary) -> list[Slice]:
    """The first finding of each kind, or the first executions where there are no findings."""
    picks = _picks(found, summary)
    traces = [trace(table) for table in fetched(events, _spans(events, picks), len(picks))]
    ghosts, late = _ghosts(events, picks, traces), _late(found, picks, traces)
    others = summary.executions - len({pick.execution for pick in picks})
    return [
        Slice(_title(pick), _drawn(one, gone), _edges(one), copies, gone, _left_out(pick, one, others))
        for pick, one, gone, copies in zip(picks, traces, ghosts, late, strict=True)
    ]


def _picks(found: Audit, summary: Summary) -> list[Pick]:
    """A finding of each kind, the most frequent first; what would show the same events is drawn once."""
    firsts: dict[str, dict[str, Any]] = {}
    for row in summary.sample.to_pylist():
        firsts.setdefault(row["kind"], row)
    wanted = sorted(firsts.values(), key=lambda row: -summary.counts[row["kind"]])
    sizes = found.totals.select("execution", "events", "processes").orderBy("execution")
    if wanted:
        sizes = sizes.where(sf.col("execution").isin(sorted({row["execution"] for row in wanted})))
    known = {row["execution"]: row for row in sizes.limit(max(len(wanted), FEW)).collect()}
    if not wanted:
        wanted = [{"execution": name, "kind": None, "events": []} for name in known]
    picks: dict[tuple[str, tuple[str, ...] | None], Pick] = {}
    for row in wanted:
        at = known[row["execution"]]
        pick = Pick(at["execution"], at["events"], at["processes"], row["kind"], row["events"][:WITNESS])
        picks.setdefault((pick.execution, None if pick.whole else tuple(pick.witness)), pick)
    return list(picks.values())[:MOST]


def _spans(events: DataFrame, picks: list[Pick]) -> list[dict[str, Any]]:
    """Where the events of all picks are to be found."""
    cut = [(at, pick) for at, pick in enumerate(picks) if not pick.whole]
    named = [(at, pick.execution, event) for at, pick in cut for event in pick.witness]
    rows = rows_of(events, named)
    spans = [{"window": at, "execution": p.execution, "most": WHOLE} for at, p in enumerate(picks) if p.whole]
    spans += [{**row, "at": row["index"], "most": NEAR, "radius": NEAR} for row in rows]
    for at, pick in cut:
        if not any(row["window"] == at for row in rows):
            radius = max(NEAR // max(pick.processes, 1), 1)
            begin = {"execution": pick.execution, "at": 0, "line": 0}
            spans.append({"window": at, "most": NEAR, "radius": radius, **begin})
    return spans


def _ghosts(events: DataFrame, picks: list[Pick], traces: list[Trace]) -> list[set[str]]:
    """What events of each slice name and the log has not; what a part of it lacks is asked for."""
    named = [set(one.ghosts["event"].to_pylist()) for one in traces]
    asked = [
        (at, pick.execution, event)
        for at, (pick, names) in enumerate(zip(picks, named, strict=True))
        for event in sorted(names)
        if not pick.whole
    ]
    there = {(row["window"], row["event"]) for row in rows_of(events, asked)}
    return [{name for name in names if (at, name) not in there} for at, names in enumerate(named)]


def _late(found: Audit, picks: list[Pick], traces: list[Trace]) -> list[Copies]:
    """The late copies in each slice."""
    messages = [set(one.table["message"].to_pylist()) - {None} for one in traces]
    executions = [pick.execution for pick in picks]
    late = found.findings.where((sf.col("kind") == "late") & sf.col("execution").isin(executions))
    late = late.where(sf.col("message").isin(sorted(set().union(*messages))))
    rows = late.select("execution", "process", "message").collect()
    return [
        {
            (row["process"], row["message"])
            for row in rows
            if row["execution"] == name and row["message"] in some
        }
        for name, some in zip(executions, messages, strict=True)
    ]


def _drawn(found: Trace, ghosts: set[str]) -> pa.Table:
    """The events, causes first; the ghosts, of which nothing is known but the name, before all."""
    table = found.table.take(pa.array(found.sorted.order))
    execution = found.executions[0].as_py() if len(found.executions) else None
    rows = [{"execution": execution, "event": name} for name in sorted(ghosts)]
    return pa.concat_tables([pa.Table.from_pylist(rows, EVENTS), table])


def _edges(found: Trace) -> list[tuple[str, str]]:
    """Direct causes, also those that are named and not here."""
    ids = found.table["event"]
    source, target = (ids.take(pa.array(side)).to_pylist() for side in found.edges)
    named = ids.take(found.ghosts["row"]).to_pylist()
    return [*zip(source, target, strict=True), *zip(found.ghosts["event"].to_pylist(), named, strict=True)]


def _title(pick: Pick) -> str:
    name = f"execution {pick.execution}" if pick.execution else "the log"
    if pick.whole:
        return name
    return f"{name}: the first finding of kind {pick.kind}" if pick.kind else f"{name}: the beginning"


def _left_out(pick: Pick, found: Trace, others: int) -> str:
    left = pick.size - len(found.table)
    parts = [f"{left:,} of the {pick.size:,} events of this execution are left out." if left else ""]
    parts += [f"{others:,} other execution{'s are' if others > 1 else ' is'} not drawn." if others else ""]
    return " ".join(filter(None, parts))
