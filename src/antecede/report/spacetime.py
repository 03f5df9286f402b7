"""A space-time diagram in the terminal: a column per process, time goes down, a line per event.

A send shows where it goes. An arrival is drawn as an arrow from the sender's column; what is not delivered
there and then is marked as waiting, and its delivery, further down, says for how long it waited; what was
delivered before, with another message, is marked as known. What the oracle found early or late is red.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Event = Mapping[str, Any]
"""A row of the events table."""

MOST_LINES = 120
"""Events shown; a larger run says how many it leaves out."""
_NARROW, _WIDE, _TIME = 10, 18, 11


class _Label(NamedTuple):
    """What stands at an event."""

    text: str
    color: str


def render_diagram(events: Sequence[Event], width: int = 110) -> list[str]:
    """The lines, in rich's markup, for a screen of this width (wider if there are many processes)."""
    ordered = sorted(events, key=lambda event: event["time"])  # what is simultaneous stays in order
    names = _list_processes(ordered)
    column = max(_NARROW, min(_WIDE, (width - _TIME) // max(len(names), 1)))
    lines = []
    for event, label in _label_events(ordered):
        lines.append(_draw_event_line(event, names, column, label))
    head = "".join(f"[bold]{name[: column - 1]:<{column}}[/]" for name in names)
    shown = [f"{'ms':>9}  {head}", *lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"... and {len(lines) - MOST_LINES} more; --out DIR has them all")
    return shown


def _list_processes(events: Sequence[Event]) -> list[str]:
    """All processes by name, also those that something was only sent to."""
    names = {event["process"] for event in events}
    for event in events:
        names.update(event["receivers"] or ())
    return sorted(names)


def _label_events(events: Sequence[Event]) -> list[tuple[Event, _Label]]:
    """The events that have a line, each with what stands there."""
    arrivals, deliveries = {}, {}
    for event in events:
        copy = (event["process"], event["message"])
        if event["kind"] == "receive":
            arrivals[copy] = event["time"]
        elif event["kind"] == "deliver":
            deliveries[copy] = event
    labelled = []
    for event in events:
        copy = (event["process"], event["message"])
        label = _label_event(event, arrivals.get(copy), deliveries.get(copy))
        if label is not None:
            labelled.append((event, label))
    return labelled


def _label_event(event: Event, arrival_time_ms: float | None, delivery: Event | None) -> _Label | None:
    """What stands at an event; nothing for a delivery that its arrival shows."""
    message, time, kind = event["message"], event["time"], event["kind"]
    if kind == "send":
        return _Label(_describe_send(event), "cyan")
    if kind == "deliver":
        if arrival_time_ms == time:
            return None
        waited = 0.0 if arrival_time_ms is None else max(time - arrival_time_ms, 0.0)
        return _label_delivery(event, waited)
    if kind != "receive":
        return _Label(f"▪ {event['text']}", "white")
    if delivery is None or delivery["time"] > time:
        return _Label(f"◌ {message} waits", "yellow")
    if delivery["time"] == time:
        return _label_delivery(delivery, 0.0)
    return _Label(f"· {message} known", "dim")


def _describe_send(event: Event) -> str:
    receivers = event["receivers"] or []
    return f"○ {event['message']}→{'all' if len(receivers) > 2 else ','.join(receivers)}"


def _label_delivery(event: Event, waited_ms: float) -> _Label:
    """What stands at a delivery: red if the oracle found it early or late."""
    order = dict(event["fields"] or ()).get("order")
    text = f"● {event['message']}"
    if waited_ms:
        text += f" +{waited_ms:.1f}"
    if order:
        text += f" {order}"
    return _Label(text, "red" if order else "green")


def _draw_event_line(event: Event, names: Sequence[str], column: int, label: _Label) -> str:
    """The life lines of all processes, the event on its own, and an arrow to an arrival."""
    at = source = names.index(event["process"])
    if event["kind"] == "receive" and event["sender"] in names:
        source = names.index(event["sender"])
    text = label.text[: column - 1]
    cells = ["│" + " " * (column - 1) for _ in names]
    for between in range(min(at, source), max(at, source)):
        cells[between] = ("├" if between == source else "┼") + "─" * (column - 1)
    if source > at:
        cells[source] = "┤" + " " * (column - 1)
        tail = " <" + "─" * (column - len(text) - 2) if len(text) < column - 1 else " "
        cells[at] = f"[{label.color}]{text}[/]{tail}"
    else:
        cells[at] = f"[{label.color}]{text:<{column}}[/]"
    if source < at:
        cells[at - 1] = cells[at - 1][:-1] + ">"
    return f"{event['time']:>9.1f}  " + "".join(cells).rstrip()
