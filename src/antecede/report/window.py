"""A window: the events that one picture draws, and what links them, before anything has a place.

The links that a picture draws are the relation that it lights up: the steps of each process from one event
to the next, the messages and other causes that the caller names, and the waiting of what has arrived. Where
a log has deliveries, a receive without a clock is an arrival: it stands on the line of its process but is no
step of it, since nothing that the process does later depends on it before it is delivered.
"""

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from antecede.report.text import natural, shown
from antecede.tables import Copy

COLUMNS = [
    "execution", "process", "index", "event", "kind", "message", "sender", "parents",
    "clock", "time", "text", "fields", "file", "line",
]  # fmt: skip
Row = dict[str, Any]


class Link(NamedTuple):
    """From one row to another; None is an event outside the window."""

    kind: Literal["step", "wait", "message"]
    source: int | None
    target: int | None


class Lane(NamedTuple):
    """A process of an execution. Events of no known process share one lane, and no order."""

    execution: str
    process: str | None


def rows_of(events: pa.Table) -> list[Row]:
    return list(events.select(COLUMNS).to_pylist())


def lane_of(row: Row) -> Lane:
    return Lane(row["execution"] or "", row["process"])


def lanes(rows: Sequence[Row]) -> dict[Lane, int]:
    """The lanes from left to right: by name, p2 before p10, what has no process last."""
    found = {lane_of(row) for row in rows}
    order = sorted(
        found, key=lambda at: (at.process is None, natural(at.process or ""), natural(at.execution))
    )
    return {lane: at for at, lane in enumerate(order)}


def is_late(row: Row, late: Collection[Copy]) -> bool:
    return row["kind"] != "send" and (row["process"], row["message"]) in late


def arrivals(rows: Sequence[Row]) -> set[int]:
    """The rows that are no events of happened-before."""
    if not any(row["kind"] == "deliver" for row in rows):
        return set()
    return {at for at, row in enumerate(rows) if row["kind"] == "receive" and row["clock"] is None}


def links(rows: Sequence[Row], edges: Sequence[tuple[str, str]]) -> list[Link]:
    """All links of a window. A message goes to its arrival, and from there waits for its delivery."""
    arrived = arrivals(rows)
    steps, waits = _steps(rows, arrived), _waits(rows, arrived)
    sent = {row["message"]: at for at, row in reversed(list(enumerate(rows))) if row["kind"] == "send"}
    messages = _messages(rows, edges, waits, arrived)
    messages += [Link("message", sent[m], at) for at in sorted(arrived) if (m := rows[at]["message"]) in sent]
    return [*steps, *(Link("wait", at, to) for to, at in waits.items()), *dict.fromkeys(messages)]


def _steps(rows: Sequence[Row], arrived: set[int]) -> list[Link]:
    last: dict[Lane, int] = {}
    steps = []
    for at, row in enumerate(rows):
        lane = lane_of(row)
        if lane.process is None or at in arrived:
            continue
        if lane in last:
            steps.append(Link("step", last[lane], at))
        last[lane] = at
    return steps


def _waits(rows: Sequence[Row], arrived: set[int]) -> dict[int, int]:
    """Of each delivery whose first arrival is in the window, and before it: that arrival."""
    first: dict[tuple[Lane, str], int] = {}
    waits = {}
    for at, row in enumerate(rows):
        copy = (lane_of(row), row["message"])
        if at in arrived:
            first.setdefault(copy, at)
        elif row["kind"] == "deliver" and copy in first:
            waits[at] = first.pop(copy)
    return waits


def _messages(
    rows: Sequence[Row], edges: Sequence[tuple[str, str]], waits: dict[int, int], arrived: set[int]
) -> list[Link]:
    """The caller's edges, but for those that the steps of a process say already."""
    place = {row["event"]: at for at, row in reversed(list(enumerate(rows)))}
    found = []
    for a, b in edges:
        source, target = place.get(a), place.get(b)
        if source is None and target is None:
            continue
        if source is not None and target is not None:
            if _is_step(rows, source, target, arrived):
                continue
            if rows[source]["kind"] == "send" and rows[source]["message"] == rows[target]["message"]:
                target = waits.get(target, target)
        found.append(Link("message", source, target))
    return found


def _is_step(rows: Sequence[Row], source: int, target: int, arrived: set[int]) -> bool:
    lane = lane_of(rows[source])
    ordered = lane.process is not None and lane == lane_of(rows[target]) and source < target
    return ordered and not arrived & {source, target}


VERBS = {"send": "sends", "receive": "receives", "deliver": "delivers", "local": "does"}


def spoken(row: Row) -> str:
    """An event in a few words: p1 sends m4."""
    who = shown(row["process"]) if row["process"] is not None else "unknown process"
    if row["message"] is not None and row["kind"] in VERBS:
        return f"{who} {VERBS[row['kind']]} {shown(row['message'])}"
    what = next((row[key] for key in ("text", "message", "event", "kind") if row[key]), "event")
    return f"{who}: {shown(what)}"


def where(row: Row) -> str:
    """The file and the line of a row, as far as they are known."""
    if row["file"] is None:
        return "" if row["line"] is None else f"line {row['line']}"
    return shown(row["file"]) + ("" if row["line"] is None else f":{row['line']}")
