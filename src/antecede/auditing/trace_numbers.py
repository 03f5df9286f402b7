"""What is counted of traces: executions whose events are starts and ends of spans."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.events.columns import Bools, decode_dictionary, get_column
from antecede.events.graph import EventGraph
from antecede.kernels.ragged import Ints
from antecede.tables import SPAN_STARTS

TRACE_NUMBERS = (
    "spans",
    "roots",  # spans without a parent
)
"""Numbers that are null where an execution has no spans."""


def count_spans_and_roots(graph: EventGraph) -> dict[str, Ints]:
    """The spans and roots of each execution; -1 where it has no spans."""
    is_start = _find_span_starts(graph.events.table)
    spans = graph.events.count_rows_by_execution(np.flatnonzero(is_start))
    no_parent = pc.equal(pc.list_value_length(get_column(graph.events.table, "parents")), 0)
    is_root = is_start & no_parent.fill_null(False).to_numpy(zero_copy_only=False)
    roots = graph.events.count_rows_by_execution(np.flatnonzero(is_root))
    has_spans = spans > 0
    return {"spans": np.where(has_spans, spans, -1), "roots": np.where(has_spans, roots, -1)}


def _find_span_starts(table: pa.Table) -> Bools:
    """Which events are starts of spans: they name parents, if only that there are none."""
    parents = get_column(table, "parents")
    if "event" not in table.column_names or parents.null_count == len(parents):
        return np.zeros(len(table), dtype=np.bool_)
    is_start = pc.starts_with(decode_dictionary(get_column(table, "event")), SPAN_STARTS)
    return np.asarray(is_start.fill_null(False).to_numpy(zero_copy_only=False), dtype=np.bool_)
