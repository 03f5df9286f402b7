"""Which events of a log a picture shows: all of a small execution; of a large one those around a finding.

What is chosen here is the same for both engines; a `WindowSource` looks up in the log what is asked for, and
what it hands over does not grow with the log.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from antecede.auditing.summary import Summary
from antecede.events.columns import decode_dictionary_columns
from antecede.events.graph import EventGraph, build_event_graph
from antecede.tables import EVENTS, Copy, Window

DRAWN_WHOLE = 400
"""Events of an execution up to which it is drawn whole."""
DRAWN_NEARBY = 100
"""Events that are drawn of a larger one."""
MOST_WINDOWS = 8
MOST_PARTS, PARTS_OF_KIND = 30, 3
"""Findings whose surroundings are in the page of a log that is too large for it: of all kinds, and of one."""
CLEAN_WINDOWS = 3
"""Windows where nothing was found."""
LOCATED_WITNESS = 30
"""Events of a witness that are looked for."""

SPANS = pa.schema(
    {
        "window": pa.int64(),
        "most": pa.int64(),  # events of the window
        "execution": pa.string(),
        "process": pa.string(),
        "at": pa.int64(),  # position in the process
        "file": pa.string(),
        "line": pa.int64(),
        "radius": pa.int64(),
    }
)
"""A part of a window: what is at most a radius away from a place; null is any process, file or distance."""
IDENTITY = ("file", "line", "process", "index", "event")
"""Events that agree in these are drawn once."""

Row = dict[str, Any]


class EventName(NamedTuple):
    """An event that some window wants to know of."""

    window: int
    execution: str
    event: str


class WindowSource(Protocol):
    """A log and its audit, as far as windows want to know of them."""

    def list_execution_sizes(self, executions: list[str] | None, most: int) -> list[Row]:
        """Rows of `execution`, `events` and `processes`, by execution: of these, or else of the first."""

    def locate_events(self, names: list[EventName]) -> list[Row]:
        """Where the events are that the log has: `window`, EventName's other columns, process and place."""

    def fetch_nearest_events_of_windows(self, spans: list[Row], windows: int) -> list[pa.Table]:
        """The events of each window: of those inside its spans (SPANS) the nearest, each once."""

    def list_late_copies(self, executions: list[str], messages: Collection[str]) -> list[Row]:
        """Rows of `execution`, `process` and `message` of the late deliveries of these messages."""


class _Choice(NamedTuple):
    """What to show of an execution: the surroundings of a witness or, if that is empty, the beginning."""

    execution: str
    size: int
    processes: int
    kind: str | None
    witness: list[str]

    @property
    def is_drawn_whole(self) -> bool:
        return self.size <= DRAWN_WHOLE


def fetch_events_around_findings(source: WindowSource, summary: Summary) -> pa.Table:
    """The events around findings of each kind, or of the first executions without a finding; each once."""
    choices = _choose_findings_to_draw(source, summary, PARTS_OF_KIND)[:MOST_PARTS]
    tables = source.fetch_nearest_events_of_windows(_list_spans_of_windows(source, choices), len(choices))
    rows: dict[tuple[Any, ...], Row] = {}
    for row in pa.concat_tables([EVENTS.empty_table(), *tables]).to_pylist():
        rows.setdefault(tuple(row[name] for name in IDENTITY), row)
    return pa.Table.from_pylist(list(rows.values()), EVENTS)


def build_windows_around_findings(source: WindowSource, summary: Summary) -> list[Window]:
    """Windows around the first finding of each kind, or of the first executions without a finding."""
    choices = _choose_findings_to_draw(source, summary, 1)[:MOST_WINDOWS]
    tables = source.fetch_nearest_events_of_windows(_list_spans_of_windows(source, choices), len(choices))
    graphs = [build_event_graph(table) for table in tables]
    missing_causes = _find_missing_causes(source, choices, graphs)
    late = _find_late_copies(source, choices, graphs)
    others = summary.executions - len({choice.execution for choice in choices})
    windows = []
    for choice, graph, ghosts, copies in zip(choices, graphs, missing_causes, late, strict=True):
        windows.append(
            Window(
                title=_write_window_title(choice),
                events=_sort_events_causes_first_behind_ghosts(graph, ghosts),
                edges=_list_edges_by_id(graph),
                late=copies,
                ghosts=ghosts,
                left_out=_describe_left_out_events(choice, len(graph.events.table), others),
            )
        )
    return windows


def _choose_findings_to_draw(source: WindowSource, summary: Summary, most_of_kind: int) -> list[_Choice]:
    """Findings of each kind, the worst kind first; what would show the same events is drawn once."""
    by_kind: dict[str, list[Row]] = {kind: [] for kind in summary.counts}
    for row in summary.sample.to_pylist():
        by_kind[row["kind"]].append(row)
    wanted = [row for rows in by_kind.values() for row in rows[:most_of_kind]]
    executions = sorted({row["execution"] for row in wanted}) if wanted else None
    most = max(len(wanted), CLEAN_WINDOWS)
    sizes = {row["execution"]: row for row in source.list_execution_sizes(executions, most)}
    if not wanted:
        wanted = [{"execution": name, "kind": None, "events": []} for name in sizes]
    choices: dict[tuple[str, tuple[str, ...] | None], _Choice] = {}
    for row in wanted:
        size = sizes[row["execution"]]
        witness = row["events"][:LOCATED_WITNESS]
        choice = _Choice(row["execution"], size["events"], size["processes"], row["kind"], witness)
        drawn = None if choice.is_drawn_whole else tuple(witness)
        choices.setdefault((choice.execution, drawn), choice)
    return list(choices.values())


def _list_spans_of_windows(source: WindowSource, choices: list[_Choice]) -> list[Row]:
    """Where the events of all choices are to be found."""
    names = []
    for window, choice in enumerate(choices):
        if not choice.is_drawn_whole:
            names += [EventName(window, choice.execution, event) for event in choice.witness]
    around: dict[int, list[Row]] = {}
    for row in source.locate_events(names):
        span = {**row, "at": row["index"], "most": DRAWN_NEARBY, "radius": DRAWN_NEARBY}
        around.setdefault(row["window"], []).append(span)
    spans: list[Row] = []
    for window, choice in enumerate(choices):
        if choice.is_drawn_whole:
            spans.append({"window": window, "execution": choice.execution, "most": DRAWN_WHOLE})
        else:
            spans += around.get(window) or [_make_span_of_beginning(window, choice)]
    return spans


def _make_span_of_beginning(window: int, choice: _Choice) -> Row:
    """The first events of each process."""
    radius = max(DRAWN_NEARBY // max(choice.processes, 1), 1)
    return {
        "window": window,
        "most": DRAWN_NEARBY,
        "radius": radius,
        "execution": choice.execution,
        "at": 0,
        "line": 0,
    }


def _find_missing_causes(
    source: WindowSource, choices: list[_Choice], graphs: list[EventGraph]
) -> list[set[str]]:
    """The causes that events of each window name and the log does not have.

    A window on a part of an execution also lacks causes that the log has elsewhere: these are looked up.
    """
    missing = [set(graph.causes.ghosts["event"].to_pylist()) for graph in graphs]
    missing_in_parts = []
    for window, choice in enumerate(choices):
        if not choice.is_drawn_whole:
            missing_in_parts += [
                EventName(window, choice.execution, event) for event in sorted(missing[window])
            ]
    for located in source.locate_events(missing_in_parts):
        missing[located["window"]].discard(located["event"])
    return missing


def _find_late_copies(
    source: WindowSource, choices: list[_Choice], graphs: list[EventGraph]
) -> list[set[Copy]]:
    """The late copies in each window."""
    messages = [set(graph.events.table["message"].to_pylist()) - {None} for graph in graphs]
    executions = [choice.execution for choice in choices]
    rows = source.list_late_copies(executions, set().union(*messages))
    late: list[set[Copy]] = []
    for execution, names in zip(executions, messages, strict=True):
        mine = [row for row in rows if row["execution"] == execution and row["message"] in names]
        late.append({(row["process"], row["message"]) for row in mine})
    return late


def _sort_events_causes_first_behind_ghosts(graph: EventGraph, ghosts: set[str]) -> pa.Table:
    """The events, causes first; the ghosts, of which nothing is known but the name, before all."""
    events = decode_dictionary_columns(graph.events.table.take(pa.array(graph.causes.order)))
    executions = graph.events.executions
    execution = executions[0].as_py() if len(executions) else None
    rows = [{"execution": execution, "event": name} for name in sorted(ghosts)]
    return pa.concat_tables([pa.Table.from_pylist(rows, EVENTS), events])


def _list_edges_by_id(graph: EventGraph) -> list[tuple[str, str]]:
    """Direct causes by id, also those that are named and not here."""
    ids = graph.events.table["event"]
    causes = ids.take(pa.array(graph.causes.edges.source)).to_pylist()
    effects = ids.take(pa.array(graph.causes.edges.target)).to_pylist()
    ghosts = graph.causes.ghosts
    named_by = ids.take(ghosts["row"]).to_pylist()
    absent = ghosts["event"].to_pylist()
    return [*zip(causes, effects, strict=True), *zip(absent, named_by, strict=True)]


def _write_window_title(choice: _Choice) -> str:
    name = f"execution {choice.execution}" if choice.execution else "the log"
    if choice.is_drawn_whole:
        return name
    return f"{name}: the first finding of kind {choice.kind}" if choice.kind else f"{name}: the beginning"


def _describe_left_out_events(choice: _Choice, drawn_events: int, undrawn_executions: int) -> str:
    """What the window leaves out, in a sentence or two."""
    sentences = []
    if left := choice.size - drawn_events:
        sentences.append(f"{left:,} of the {choice.size:,} events of this execution are left out.")
    if undrawn_executions:
        others = "other executions are" if undrawn_executions > 1 else "other execution is"
        sentences.append(f"{undrawn_executions:,} {others} not drawn.")
    return " ".join(sentences)
