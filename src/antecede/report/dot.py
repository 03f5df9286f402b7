"""A witness or a window in Graphviz's language: a cluster per process, its events in order, arrows across."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from antecede.report.text import shown
from antecede.report.window import (
    Lane,
    Link,
    Row,
    is_late,
    lane_of,
    lanes,
    links,
    rows_of,
    spoken,
    where,
)
from antecede.tables import Copy

RED, GREY = "#c4281c", "#8a8f98"


def dot(
    events: pa.Table,
    edges: Sequence[tuple[str, str]] | None = None,
    late: Collection[Copy] = frozenset(),
    ghosts: Collection[str] = frozenset(),
) -> str:
    """The graph of these events, given causes first. Without edges, those that the events name themselves:
    the send of each message and the parents of each event."""
    rows = rows_of(events)
    lines = ["digraph antecede {", "  fontname=sans; node [shape=box, fontname=sans]; edge [fontname=sans];"]
    for lane, number in lanes(rows).items():
        lines += _cluster(rows, lane, number, late, ghosts)
    lines += [
        _arrow(rows, link, late, ghosts) for link in links(rows, named(rows) if edges is None else edges)
    ]
    return "\n".join([*(line for line in lines if line), "}", ""])


def named(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The causes that events name: parents, and the send of what they receive or deliver."""
    sends = {row["message"]: row["event"] for row in reversed(rows) if row["kind"] == "send"}
    pairs = [(parent, row["event"]) for row in rows for parent in row["parents"] or ()]
    got = [row for row in rows if row["kind"] in ("receive", "deliver") and row["message"] in sends]
    return pairs + [(sends[row["message"]], row["event"]) for row in got]


def quoted(text: str) -> str:
    """A string of Graphviz: backslashes and entities mean what they are, not what they stand for."""
    return '"' + shown(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") + '"'


def _cluster(
    rows: Sequence[Row], lane: Lane, number: int, late: Collection[Copy], ghosts: Collection[str]
) -> list[str]:
    """The events of a process; those of no known process stand free."""
    nodes = [_node(row, at, late, ghosts) for at, row in enumerate(rows) if lane_of(row) == lane]
    if lane.process is None:
        return nodes
    label = quoted(f"{lane.process} · {lane.execution}" if lane.execution else lane.process)
    return [f"  subgraph cluster_{number} {{", f"    label={label};", *nodes, "  }"]


def _node(row: Row, at: int, late: Collection[Copy], ghosts: Collection[str]) -> str:
    what = spoken(row) if not where(row) else f"{spoken(row)} ({where(row)})"
    color = f', color="{RED}", fontcolor="{RED}"' if is_late(row, late) else ""
    grey = f', style=dashed, color="{GREY}", fontcolor="{GREY}"' if row["event"] in ghosts else color
    return f"    n{at} [label={quoted(what)}{grey}];"


def _arrow(rows: Sequence[Row], link: Link, late: Collection[Copy], ghosts: Collection[str]) -> str:
    """An arrow; none to what is outside."""
    if link.source is None or link.target is None:
        return ""
    style = {"step": ["weight=10"], "wait": ["style=dotted", "label=waits"], "message": []}[link.kind]
    if link.kind != "step" and is_late(rows[link.target], late):
        style.append(f'color="{RED}"')
    if rows[link.source]["event"] in ghosts or rows[link.target]["event"] in ghosts:
        style.append(f'color="{GREY}"')
    return f"  n{link.source} -> n{link.target}" + (f" [{', '.join(style)}];" if style else ";")
