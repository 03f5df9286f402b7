"""A witness or a window in Graphviz's language: a cluster per process, its events in order, arrows across."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from antecede.report.text import format_visible_line
from antecede.report.window import (
    DrawnLink,
    Lane,
    Row,
    describe_event,
    describe_file_and_line,
    get_lane_of_event,
    is_late_event,
    list_drawn_links,
    list_event_rows,
    number_lanes,
)
from antecede.tables import Copy

RED, GREY = "#c4281c", "#8a8f98"
STYLES = {"step": ["weight=10"], "wait": ["style=dotted", "label=waits"], "message": []}
"""How each kind of link looks."""


def render_dot(
    events: pa.Table,
    edges: Sequence[tuple[str, str]] | None = None,
    late: Collection[Copy] = frozenset(),
    ghosts: Collection[str] = frozenset(),
) -> str:
    """The graph of these events, given causes first. Without edges, those that the events name themselves:
    the send of each message and the parents of each event."""
    rows = list_event_rows(events)
    if edges is None:
        edges = list_causes_named_by_events(rows)
    lines = ["digraph antecede {", "  fontname=sans; node [shape=box, fontname=sans]; edge [fontname=sans];"]
    for lane, number in number_lanes(rows).items():
        lines += _render_cluster(rows, lane, number, late, ghosts)
    for link in list_drawn_links(rows, edges):
        lines += _render_arrow(rows, link, late, ghosts)
    return "\n".join([*lines, "}", ""])


def list_causes_named_by_events(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The causes that events name: parents, and the send of what they receive or deliver."""
    sends: dict[str, str] = {}
    for row in rows:
        if row["kind"] == "send":
            sends.setdefault(row["message"], row["event"])
    parents = [(parent, row["event"]) for row in rows for parent in row["parents"] or ()]
    receipts = [row for row in rows if row["kind"] in ("receive", "deliver")]
    messages = [(sends[row["message"]], row["event"]) for row in receipts if row["message"] in sends]
    return parents + messages


def quote_for_dot(text: str) -> str:
    """A string of Graphviz: backslashes and entities mean what they are, not what they stand for."""
    visible = format_visible_line(text)
    for sign, replacement in (("\\", "\\\\"), ('"', '\\"'), ("&", "&amp;")):
        visible = visible.replace(sign, replacement)
    return f'"{visible}"'


def _render_cluster(
    rows: Sequence[Row], lane: Lane, number: int, late: Collection[Copy], ghosts: Collection[str]
) -> list[str]:
    """The events of a process; those of no known process stand free."""
    nodes = [
        _render_node(row, at, late, ghosts) for at, row in enumerate(rows) if get_lane_of_event(row) == lane
    ]
    if lane.process is None:
        return nodes
    name = f"{lane.process} · {lane.execution}" if lane.execution else lane.process
    return [f"  subgraph cluster_{number} {{", f"    label={quote_for_dot(name)};", *nodes, "  }"]


def _render_node(row: Row, at: int, late: Collection[Copy], ghosts: Collection[str]) -> str:
    label = describe_event(row)
    if place := describe_file_and_line(row):
        label += f" ({place})"
    style = ""
    if row["event"] in ghosts:
        style = f', style=dashed, color="{GREY}", fontcolor="{GREY}"'
    elif is_late_event(row, late):
        style = f', color="{RED}", fontcolor="{RED}"'
    return f"    n{at} [label={quote_for_dot(label)}{style}];"


def _render_arrow(
    rows: Sequence[Row], link: DrawnLink, late: Collection[Copy], ghosts: Collection[str]
) -> list[str]:
    """An arrow; none to what is outside."""
    if link.source is None or link.target is None:
        return []
    style = list(STYLES[link.kind])
    if link.kind != "step" and is_late_event(rows[link.target], late):
        style.append(f'color="{RED}"')
    if rows[link.source]["event"] in ghosts or rows[link.target]["event"] in ghosts:
        style.append(f'color="{GREY}"')
    attributes = f" [{', '.join(style)}]" if style else ""
    return [f"  n{link.source} -> n{link.target}{attributes};"]
