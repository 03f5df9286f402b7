"""A space-time diagram in the terminal: a column per process, time goes down, a line per event.

A send shows where it goes. An arrival is drawn as an arrow from the sender's column; what is not delivered
there and then is marked as waiting, and its delivery, further down, says for how long it waited; what was
delivered before, with another message, is marked as known. What the oracle found early or late is red.
"""

from collections.abc import Sequence
from typing import Any

Event = dict[str, Any]
"""A row of the events table."""

MOST = 120
"""Events shown; a larger run says how many it leaves out."""
_NARROW, _WIDE, _TIME = 10, 18, 11


def diagram(events: Sequence[Event], width: int = 110) -> list[str]:
    """The lines, in rich's markup, for a screen of this width (wider if there are many processes)."""
    ordered = sorted(events, key=lambda event: event["time"])  # what is simultaneous stays in order
    names = sorted(
        {event["process"] for event in ordered} | {n for e in ordered for n in e["receivers"] or ()}
    )
    column = max(_NARROW, min(_WIDE, (width - _TIME) // max(len(names), 1)))
    columns = {name: at for at, name in enumerate(names)}
    arrivals = {(e["process"], e["message"]): e["time"] for e in ordered if e["kind"] == "receive"}
    delivered = {(e["process"], e["message"]): e for e in ordered if e["kind"] == "deliver"}
    lines = [f"{'ms':>9}  " + "".join(f"[bold]{name[: column - 1]:<{column}}[/]" for name in names)]
    for event in ordered:
        copy = (event["process"], event["message"])
        drawn = _drawn(event, arrivals.get(copy), delivered.get(copy))
        lines += [_line(event, columns, column, *drawn)] if drawn else []
    more = len(lines) - 1 - MOST
    return lines[: MOST + 1] + ([f"... and {more} more; --out DIR has them all"] if more > 0 else [])


def _drawn(event: Event, arrived: float | None, delivery: Event | None) -> tuple[str, str] | None:
    """What stands at an event, and its color; nothing for a delivery that its arrival shows."""
    message, time, kind = event["message"], event["time"], event["kind"]
    if kind == "send":
        return _send(event), "cyan"
    if kind == "deliver":
        waited = 0.0 if arrived is None else max(time - arrived, 0.0)
        return None if arrived == time else _delivery(event, waited)
    if kind != "receive":
        return f"▪ {event['text']}", "white"
    if delivery is None or delivery["time"] > time:
        return f"◌ {message} waits", "yellow"
    return _delivery(delivery, 0.0) if delivery["time"] == time else (f"· {message} known", "dim")


def _send(event: Event) -> str:
    receivers = event["receivers"] or []
    return f"○ {event['message']}→{'all' if len(receivers) > 2 else ','.join(receivers)}"


def _delivery(event: Event, waited: float) -> tuple[str, str]:
    """What stands at a delivery, and its color."""
    order = dict(event["fields"] or ()).get("order")
    after = f" +{waited:.1f}" if waited else ""
    return f"● {event['message']}{after} {order or ''}".rstrip(), "red" if order else "green"


def _line(event: Event, columns: dict[str, int], column: int, text: str, color: str) -> str:
    """The life lines of all processes, the event on its own, and an arrow to an arrival."""
    at = columns[event["process"]]
    source = columns.get(event["sender"], at) if event["kind"] == "receive" else at
    text = text[: column - 1]
    cells = ["│" + " " * (column - 1) for _ in columns]
    for between in range(min(at, source), max(at, source)):
        cells[between] = ("├" if between == source else "┼") + "─" * (column - 1)
    if source > at:
        cells[source] = "┤" + " " * (column - 1)
        tail = " <" + "─" * (column - len(text) - 2) if len(text) < column - 1 else " "
        cells[at] = f"[{color}]{text}[/]{tail}"
    else:
        cells[at] = f"[{color}]{text:<{column}}[/]"
    if source < at:
        cells[at - 1] = cells[at - 1][:-1] + ">"
    return f"{event['time']:>9.1f}  " + "".join(cells).rstrip()
