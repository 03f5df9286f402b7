"""The audit of a trace: every finding with its witness and its sentence, and totals for each execution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.clock_findings import clock_findings
from antecede.auditing.false_causality_findings import false_causality
from antecede.auditing.findings import Found, counted, found, told
from antecede.auditing.graph_findings import graph_findings
from antecede.auditing.late_findings import late
from antecede.auditing.message_findings import message_findings
from antecede.auditing.sentences import KINDS
from antecede.events.columns import column
from antecede.events.graph import Trace
from antecede.kernels.links import DELIVER, SEND
from antecede.kernels.pair_counts import count_ordered_pairs
from antecede.kernels.ragged import Ints

NUMBERS = (
    "events",
    "processes",
    "sends",
    "deliveries",
    "edges",  # direct causes in other processes
    "ordered_pairs",  # of sends, deliveries and local events; null where cycles or sheer size forbid to count
    "concurrent_pairs",
    "early",
    "pairs",  # of an early and a late delivery
)
MEANT = (
    "needless_waits",  # of messages, for others that are not meant to come first
    "false_pairs",  # of the ordered pairs, those that no dependency orders
)
"""Numbers that are null where it is not known what sends depend on."""
TOTALS = pa.schema([("execution", pa.string()), *((name, pa.int64()) for name in (*NUMBERS, *MEANT, *KINDS))])
"""One row for each execution; the columns called after kinds count findings, also those that are not told."""


class Judged(NamedTuple):
    """Tables of FINDINGS and TOTALS."""

    findings: pa.Table
    totals: pa.Table


class Examined(NamedTuple):
    """All findings by the rows of the trace, and a table of TOTALS."""

    parts: list[Found]
    totals: pa.Table


def judge(trace: Trace) -> Judged:
    """Audit all executions of a trace."""
    examined = examine(trace)
    return Judged(told(trace, examined.parts), examined.totals)


def examine(trace: Trace) -> Examined:
    """What is wrong with all executions of a trace, not yet in words."""
    messages = late(trace)
    clocks = clock_findings(trace)
    cyclic = [part.at for part in clocks if part.kind == "clock-cyclic"]
    graph = graph_findings(trace, np.concatenate([np.empty(0, dtype=np.int64), *cyclic]))
    others = [*message_findings(trace), *clocks, *graph, _lost(trace, messages.spite)]
    pairs = _pairs(trace)
    unmeant = false_causality(trace, pairs["ordered_pairs"])
    numbers = counted(trace, others) | _numbers(trace) | pairs | messages.counts | unmeant.counts
    columns = [pa.array(numbers[name], mask=numbers[name] < 0) for name in TOTALS.names[1:]]
    totals = pa.Table.from_arrays([trace.executions, *columns], schema=TOTALS)
    return Examined([*messages.parts, *others, unmeant.part], totals)


def _lost(trace: Trace, spite: Ints) -> Found:
    """Lost copies, each with a delivery that came though it should have been behind it."""
    send, receiver = trace.messages.lost_send, trace.messages.lost_receiver
    receivers = trace.names.take(pa.array(receiver, mask=receiver < 0)).to_pylist()
    return found("lost", send, send, spite, receiver=receivers)


def _numbers(trace: Trace) -> dict[str, Ints]:
    """What is simply counted in each execution."""
    named = column(trace.table, "process").is_valid().to_numpy(zero_copy_only=False)
    processes = np.unique(trace.process[named], return_index=True)[1]
    source, target = trace.edges
    across = (trace.process[source] != trace.process[target]) & trace.is_step[target]
    rows = {
        "events": np.arange(len(named)),
        "processes": np.flatnonzero(named)[processes],
        "sends": np.flatnonzero(trace.act == SEND),
        "deliveries": np.flatnonzero(trace.act == DELIVER),
        "edges": target[across],
    }
    size = len(trace.executions)
    return {name: np.bincount(trace.execution[row], minlength=size) for name, row in rows.items()}


def _pairs(trace: Trace) -> dict[str, Ints]:
    """Ordered and concurrent pairs of steps; -1 where they cannot be told."""
    rows = trace.sorted.order[trace.is_step[trace.sorted.order]]
    place = np.full(len(trace.act), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    source, target = place[trace.edges.source], place[trace.edges.target]
    inside = (source >= 0) & (source < target)
    starts = np.searchsorted(trace.execution[rows], np.arange(len(trace.executions) + 1))
    ordered = count_ordered_pairs(starts, trace.track[rows], source[inside], target[inside], len(trace.names))
    ordered[trace.execution[trace.sorted.stuck]] = -1
    size = np.diff(starts)
    return {
        "ordered_pairs": ordered,
        "concurrent_pairs": np.where(ordered < 0, -1, size * (size - 1) // 2 - ordered),
    }
