"""The communication of a table of events as cells to be replayed, in this process."""

from __future__ import annotations

from antecede.events.coercion import SAYS_NOTHING_OF_CAUSES, coerce_events
from antecede.events.graph import build_event_graph
from antecede.local.arrow import to_arrow_table
from antecede.study.compare import ReplayCell, list_cells


def make_cells(events: object) -> list[ReplayCell]:
    """The cells of all executions of a table of events, as `audit` takes one."""
    table = coerce_events(to_arrow_table(events))
    unread = [name for name in SAYS_NOTHING_OF_CAUSES if name in table.column_names]
    return list(list_cells(build_event_graph(table.drop_columns(unread))))
