"""The audit of a trace: every finding with its witness and its sentence, and totals for each execution."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.auditing.clock_findings import judge_clocks
from antecede.auditing.false_causality_findings import judge_false_causality
from antecede.auditing.findings import (
    FindingRows,
    build_finding_rows,
    build_table_of_reported_findings,
    count_findings_by_kind_and_execution,
)
from antecede.auditing.graph_findings import list_graph_findings
from antecede.auditing.late_findings import judge_deliveries
from antecede.auditing.message_findings import judge_messages
from antecede.auditing.send_time_findings import judge_delivery_order_by_send_times
from antecede.auditing.sentences import KINDS
from antecede.auditing.steps import StepGraph, number_steps_in_order
from antecede.auditing.trace_numbers import TRACE_NUMBERS, count_spans_and_roots
from antecede.events.columns import Floats, get_column, to_floats
from antecede.events.graph import EventGraph
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
    "unordered_processes",  # that deliver several messages; `late` and `fifo` are not judged there
)
MEANT = (
    "needless_waits",  # of messages, for others that are not meant to come first
    "false_pairs",  # of the ordered pairs, those that no dependency orders
)
"""Numbers that are null where it is not known what sends depend on."""
COUNT_COLUMNS = {kind: kind.replace("-", "_") for kind in KINDS}
"""The column of TOTALS that counts the findings of each kind, also those that are not reported."""
COUNTS = (*NUMBERS, *MEANT, *TRACE_NUMBERS, *COUNT_COLUMNS.values())
TIMES = ("since", "until")
"""The first and the last time of an execution, in milliseconds; null if no event has one."""
TOTALS = pa.schema(
    {
        "execution": pa.string(),
        **{name: pa.int64() for name in COUNTS},
        **{name: pa.float64() for name in TIMES},
    }
)
"""One row for each execution."""


class Judgement(NamedTuple):
    """Tables of FINDINGS and TOTALS."""

    findings: pa.Table
    totals: pa.Table


class Examination(NamedTuple):
    """All findings by the rows of the trace, and a table of TOTALS."""

    parts: list[FindingRows]
    totals: pa.Table


def judge(graph: EventGraph) -> Judgement:
    """Audit all executions of a trace."""
    examined = find_findings_and_totals(graph)
    return Judgement(build_table_of_reported_findings(graph, examined.parts), examined.totals)


def find_findings_and_totals(graph: EventGraph) -> Examination:
    """What is wrong with all executions of a graph, not yet in words."""
    steps = number_steps_in_order(graph)
    # Deliveries take about as long as all the rest, of a trace without clocks.
    with ThreadPoolExecutor(1) as other_thread:
        delivered = other_thread.submit(judge_deliveries, graph, steps)
        pairs = _count_ordered_and_concurrent_pairs(graph, steps)
        clocks = judge_clocks(graph)
        cyclic = [part.at for part in clocks if part.kind == "clock-cyclic"]
        shape = list_graph_findings(graph, np.concatenate([np.empty(0, dtype=np.int64), *cyclic]))
        messages = judge_messages(graph)
        plain_numbers = _count_events_processes_messages_and_edges(graph)
        unmeant = judge_false_causality(graph, pairs["ordered_pairs"])
        send_times = judge_delivery_order_by_send_times(graph)
    lateness = delivered.result()
    lost = _build_lost_copy_findings(graph, lateness.deliveries_despite_loss)
    others = [*messages, *clocks, *shape, lost, send_times]
    numbers = count_findings_by_kind_and_execution(graph, others)
    for more_numbers in (plain_numbers, pairs, lateness.counts, unmeant.counts, count_spans_and_roots(graph)):
        numbers |= more_numbers
    names = (*NUMBERS, *MEANT, *TRACE_NUMBERS, *COUNT_COLUMNS)
    columns = [pa.array(numbers[name], mask=numbers[name] < 0) for name in names]
    columns += [pa.array(times, from_pandas=True) for times in _find_first_and_last_times_by_execution(graph)]
    totals = pa.Table.from_arrays([graph.events.executions, *columns], schema=TOTALS)
    return Examination([*lateness.parts, *others, unmeant.part], totals)


def _build_lost_copy_findings(graph: EventGraph, deliveries_despite_loss: Ints) -> FindingRows:
    """Lost copies, each with a delivery that came though it should have been behind it."""
    send = graph.messages.links.lost_send
    receivers = graph.events.look_up_process_names(graph.messages.links.lost_receiver)
    return build_finding_rows("lost", send, send, deliveries_despite_loss, receiver=receivers)


def _count_events_processes_messages_and_edges(graph: EventGraph) -> dict[str, Ints]:
    """What is simply counted in each execution."""
    named = get_column(graph.events.table, "process").is_valid().to_numpy(zero_copy_only=False)
    begins = np.diff(graph.events.process, prepend=-1) != 0  # the rows of a process stand together
    source, target = graph.causes.edges
    is_across = graph.events.process[source] != graph.events.process[target]
    is_across &= graph.events.is_step[target]
    rows = {
        "events": np.arange(len(named)),
        "processes": np.flatnonzero(named & begins),
        "sends": np.flatnonzero(graph.messages.act == SEND),
        "deliveries": np.flatnonzero(graph.messages.act == DELIVER),
        "edges": target[is_across],
        "unordered_processes": _list_first_events_of_unordered_processes(graph),
    }
    return {name: graph.events.count_rows_by_execution(some) for name, some in rows.items()}


def _list_first_events_of_unordered_processes(graph: EventGraph) -> Ints:
    """Of each process that delivered several messages, and not all of them on its line, the first row."""
    events, codes = graph.events, len(graph.events.process_names)
    sends = graph.messages.links.find_sends_of_deliveries(graph.messages.act)
    deliveries = np.bincount(events.process[sends >= 0], minlength=codes)
    is_alone = (sends >= 0) & (events.track >= codes)
    alone = np.bincount(events.process[is_alone], minlength=codes)
    # The rows of a process stand together, and those of processes ascend.
    return np.searchsorted(events.process, np.flatnonzero((deliveries >= 2) & (alone >= 1)))


def _find_first_and_last_times_by_execution(graph: EventGraph) -> tuple[Floats, Floats]:
    """The first and the last time of each execution, nan if no event has one."""
    time = to_floats(get_column(graph.events.table, "time"))
    if not len(time):
        return time, time
    starts = np.searchsorted(graph.events.execution, np.arange(len(graph.events.executions)))
    return np.fmin.reduceat(time, starts), np.fmax.reduceat(time, starts)


def _count_ordered_and_concurrent_pairs(graph: EventGraph, steps: StepGraph) -> dict[str, Ints]:
    """Ordered and concurrent pairs of steps; -1 where they are unknown."""
    tracks = graph.events.track[steps.rows]
    processes = len(graph.events.process_names)
    ordered = count_ordered_pairs(steps.starts, tracks, steps.source, steps.target, processes)
    ordered[graph.events.execution[graph.causes.stuck]] = -1
    size = np.diff(steps.starts)
    concurrent = size * (size - 1) // 2 - ordered
    return {
        "ordered_pairs": ordered,
        "concurrent_pairs": np.where(ordered < 0, -1, concurrent),
    }
