"""Which traces are complete, which may still be running, and which lack something for good.

A trace is complete if it has a root, and every span that is named is there. One that is not may still be
running if the log goes on for a shorter time behind it than the longest complete trace takes: spans are
written when they end, and a parent ends behind its children.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from antecede.auditing.missing_causes import TraceEnd
from antecede.events.columns import Bools, Floats, get_column, to_floats, to_integers

STATES = ("complete", "running", "broken")


def find_log_end_and_longest_trace(totals: pa.Table) -> TraceEnd:
    """When the log ended, and how long complete traces take at most; `totals` as in TOTALS."""
    since, until = _read_first_and_last_times(totals)
    is_complete = _find_complete_traces(totals)
    lengths = (until - since)[is_complete]
    return TraceEnd(None, _find_largest_or_none(until), _find_largest_or_none(lengths))


def count_traces_by_state(totals: pa.Table) -> dict[str, int]:
    """How many executions with spans there are of each state; nothing if no execution has spans."""
    is_trace = to_integers(get_column(totals, "spans"), 0) > 0
    if not is_trace.any():
        return {}
    end = find_log_end_and_longest_trace(totals)
    is_complete = _find_complete_traces(totals)
    _, until = _read_first_and_last_times(totals)
    is_open = np.zeros(len(until), dtype=np.bool_)
    if end.log_until is not None and end.longest is not None:
        is_open = end.log_until - until < end.longest
    running = int(np.count_nonzero(is_trace & ~is_complete & is_open))
    complete = int(np.count_nonzero(is_complete))
    broken = int(np.count_nonzero(is_trace)) - complete - running
    return dict(zip(STATES, (complete, running, broken), strict=True))


def _find_complete_traces(totals: pa.Table) -> Bools:
    roots = to_integers(get_column(totals, "roots"), 0)
    missing = to_integers(get_column(totals, "missing"), 0)
    return np.asarray((roots > 0) & (missing == 0))


def _read_first_and_last_times(totals: pa.Table) -> tuple[Floats, Floats]:
    return to_floats(get_column(totals, "since")), to_floats(get_column(totals, "until"))


def _find_largest_or_none(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else None
