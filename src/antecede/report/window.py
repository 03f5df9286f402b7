"""A window: the events that one picture draws, and what links them, before anything has a place.

The links that a picture draws are the relation that it lights up: the steps of each process from one event
to the next, the messages and other causes that the caller names, and the waiting of what has arrived. Where
a log has deliveries, a receive without a clock is an arrival: it stands on the line of its process but is no
step of it, since nothing that the process does later depends on it before it is delivered.
"""

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from antecede.report.text import format_visible_line, make_natural_sort_key
from antecede.tables import Copy

COLUMNS = [
    "execution", "process", "index", "event", "kind", "message", "sender", "parents",
    "clock", "time", "text", "fields", "file", "line",
]  # fmt: skip
Row = dict[str, Any]


class DrawnLink(NamedTuple):
    """A line from one row to another; None is an event outside the window."""

    kind: Literal["step", "wait", "message"]
    source: int | None
    target: int | None


class Lane(NamedTuple):
    """A process of an execution. Events of no known process share one lane, and no order."""

    execution: str
    process: str | None


def list_event_rows(events: pa.Table) -> list[Row]:
    """The events as rows, with the columns that pictures use."""
    return list(events.select(COLUMNS).to_pylist())


def get_lane_of_event(row: Row) -> Lane:
    """The lane that an event stands on."""
    return Lane(row["execution"] or "", row["process"])


def number_lanes(rows: Sequence[Row]) -> dict[Lane, int]:
    """The number of each lane, from left to right: by name, p2 before p10, what has no process last."""
    ordered = sorted({get_lane_of_event(row) for row in rows}, key=_make_lane_sort_key)
    return {lane: number for number, lane in enumerate(ordered)}


def _make_lane_sort_key(lane: Lane) -> tuple[Any, ...]:
    return (
        lane.process is None,
        make_natural_sort_key(lane.process or ""),
        make_natural_sort_key(lane.execution),
    )


def is_late_event(row: Row, late: Collection[Copy]) -> bool:
    """Whether an event is one of the late deliveries, or the arrival of one."""
    return row["kind"] != "send" and (row["process"], row["message"]) in late


def find_arrivals_that_are_no_steps(rows: Sequence[Row]) -> set[int]:
    """The rows that are no events of happened-before."""
    if not any(row["kind"] == "deliver" for row in rows):
        return set()
    return {at for at, row in enumerate(rows) if row["kind"] == "receive" and row["clock"] is None}


def list_drawn_links(rows: Sequence[Row], edges: Sequence[tuple[str, str]]) -> list[DrawnLink]:
    """All links of a window. A message goes to its arrival, and from there waits for its delivery."""
    arrivals = find_arrivals_that_are_no_steps(rows)
    waits = _find_arrival_of_each_delivery(rows, arrivals)
    messages = [
        *_link_causes_to_effects(rows, edges, waits, arrivals),
        *_link_sends_to_arrivals(rows, arrivals),
    ]
    return [
        *_link_consecutive_events(rows, arrivals),
        *(DrawnLink("wait", arrival, delivery) for delivery, arrival in waits.items()),
        *dict.fromkeys(messages),
    ]


def _link_consecutive_events(rows: Sequence[Row], arrivals: set[int]) -> list[DrawnLink]:
    """From each event of a process to its next one."""
    last: dict[Lane, int] = {}
    steps = []
    for at, row in enumerate(rows):
        lane = get_lane_of_event(row)
        if lane.process is None or at in arrivals:
            continue
        if lane in last:
            steps.append(DrawnLink("step", last[lane], at))
        last[lane] = at
    return steps


def _find_arrival_of_each_delivery(rows: Sequence[Row], arrivals: set[int]) -> dict[int, int]:
    """Of each delivery whose first arrival is in the window, and before it: that arrival."""
    first: dict[tuple[Lane, str], int] = {}
    waits = {}
    for at, row in enumerate(rows):
        copy = (get_lane_of_event(row), row["message"])
        if at in arrivals:
            first.setdefault(copy, at)
        elif row["kind"] == "deliver" and copy in first:
            waits[at] = first.pop(copy)
    return waits


def _link_sends_to_arrivals(rows: Sequence[Row], arrivals: set[int]) -> list[DrawnLink]:
    """From the first send of a message to each of its arrivals."""
    sends: dict[str, int] = {}
    for at, row in enumerate(rows):
        if row["kind"] == "send":
            sends.setdefault(row["message"], at)
    known = [at for at in sorted(arrivals) if rows[at]["message"] in sends]
    return [DrawnLink("message", sends[rows[at]["message"]], at) for at in known]


def _link_causes_to_effects(
    rows: Sequence[Row], edges: Sequence[tuple[str, str]], waits: dict[int, int], arrivals: set[int]
) -> list[DrawnLink]:
    """The caller's edges, but for those that the steps of a process say already."""
    places: dict[str, int] = {}
    for at, row in enumerate(rows):
        places.setdefault(row["event"], at)
    messages = []
    for cause, effect in edges:
        source, target = places.get(cause), places.get(effect)
        if source is None and target is None:
            continue
        if source is not None and target is not None:
            if _is_implied_by_process_order(rows, source, target, arrivals):
                continue
            if rows[source]["kind"] == "send" and rows[source]["message"] == rows[target]["message"]:
                target = waits.get(target, target)
        messages.append(DrawnLink("message", source, target))
    return messages


def _is_implied_by_process_order(rows: Sequence[Row], source: int, target: int, arrivals: set[int]) -> bool:
    """Whether the order of a process already puts one event before the other."""
    lane = get_lane_of_event(rows[source])
    if lane.process is None or lane != get_lane_of_event(rows[target]) or source >= target:
        return False
    return source not in arrivals and target not in arrivals


VERBS = {"send": "sends", "receive": "receives", "deliver": "delivers", "local": "does"}


def describe_event(row: Row) -> str:
    """An event in a few words: p1 sends m4."""
    who = format_visible_line(row["process"]) if row["process"] is not None else "unknown process"
    if row["message"] is not None and row["kind"] in VERBS:
        return f"{who} {VERBS[row['kind']]} {format_visible_line(row['message'])}"
    names = (row[column] for column in ("text", "message", "event", "kind"))
    what = next(filter(None, names), "event")
    return f"{who}: {format_visible_line(what)}"


def describe_file_and_line(row: Row) -> str:
    """The file and the line of a row, as far as they are known."""
    if row["file"] is None:
        return "" if row["line"] is None else f"line {row['line']}"
    file = format_visible_line(row["file"])
    return file if row["line"] is None else f"{file}:{row['line']}"
