"""Which deliveries came too late, and the chain of causes that shows it.

Deliveries are judged over the linear order of all steps, some executions at a time. Where the log tells who
should have got a message that never came, it is found too what was delivered there in spite of it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from antecede.auditing.findings import MOST_REPORTED, FindingRows
from antecede.auditing.steps import StepGraph
from antecede.events.graph import EventGraph
from antecede.kernels.lateness import OrderViolations, find_order_violations
from antecede.kernels.links import LinkedTrace, add_bridge_events, build_linked_trace
from antecede.kernels.ragged import (
    Ints,
    compress_codes,
    compute_starts,
    expand_ranges,
    join_keys,
    rank_within_runs,
)
from antecede.kernels.witness import LateWitnesses, build_cause_graph, find_late_witnesses

BLOCK = 200_000
"""Events whose executions are judged together."""
PAIRS = 2**23
"""Most violating pairs that are kept at once."""
LOST = 4_096
"""Most lost copies of an execution for which it is sought what was delivered in spite of them."""
COUNTED = ("late", "fifo", "early", "pairs")
"""What is counted by execution: late deliveries, those overtaken by their own sender, early ones, pairs."""


class Lateness(NamedTuple):
    """Late and FIFO findings, counts by execution, and for each lost copy what came in spite of it, or -1."""

    parts: list[FindingRows]
    counts: dict[str, Ints]  # by COUNTED
    deliveries_despite_loss: Ints


class _Block(NamedTuple):
    """Some executions, linked, with positions from 0."""

    low: int  # the position of the first step among all steps
    rows: Ints
    trace: LinkedTrace
    tracks: Ints  # of the event graph, by those of the block; ascending
    source: Ints
    target: Ints


def judge_deliveries(graph: EventGraph, steps: StepGraph) -> Lateness:
    """Judge all deliveries."""
    executions = len(graph.events.executions)
    lost = len(graph.messages.links.lost_send)
    lateness = Lateness(
        parts=[],
        counts={name: np.zeros(executions, dtype=np.int64) for name in COUNTED},
        deliveries_despite_loss=np.full(lost, -1, dtype=np.int64),
    )
    sent = _find_send_positions_of_deliveries(graph, steps)
    if (sent < 0).all():
        return lateness
    starts = np.unique(steps.starts)
    ends = np.flatnonzero(np.diff(starts[:-1] // BLOCK, append=-1)) + 1
    for first, last in pairwise([0, *ends.tolist()]):
        _add_lateness_of_executions(graph, steps, sent, starts[first : last + 1], lateness)
    return lateness


def _find_send_positions_of_deliveries(graph: EventGraph, steps: StepGraph) -> Ints:
    """Of the first delivery of a message at each process, the position of its send; -1 elsewhere."""
    send = graph.messages.links.find_sends_of_deliveries(graph.messages.act)[steps.rows]
    return np.where(send >= 0, steps.position[send], -1)


def _add_lateness_of_executions(
    graph: EventGraph, steps: StepGraph, send_positions: Ints, execution_starts: Ints, lateness: Lateness
) -> None:
    """Judge the executions that begin at these positions, up to the last one; adds to what is found."""
    block = _cut_block_of_steps(
        graph, steps, send_positions, int(execution_starts[0]), int(execution_starts[-1])
    )
    violations = _find_block_violations(block, block.trace)
    if violations.pairs > PAIRS and len(execution_starts) > 2:
        middle = len(execution_starts) // 2
        _add_lateness_of_executions(graph, steps, send_positions, execution_starts[: middle + 1], lateness)
        _add_lateness_of_executions(graph, steps, send_positions, execution_starts[middle:], lateness)
        return
    execution = graph.events.execution[block.rows]
    _add_violations_to_counts(execution, violations, lateness.counts)
    if len(violations.late):
        lateness.parts.extend(_list_late_and_fifo_findings(execution, block, violations))
    _fill_in_deliveries_despite_loss(graph, steps, block, lateness.deliveries_despite_loss)


def _cut_block_of_steps(
    graph: EventGraph, steps: StepGraph, send_positions: Ints, low: int, high: int
) -> _Block:
    """The steps low..high-1."""
    rows = steps.rows[low:high]
    tracks, process = compress_codes(graph.events.track[rows])
    sent_here = np.where(send_positions[low:high] >= 0, send_positions[low:high] - low, -1)
    edges = slice(*np.searchsorted(steps.target, (low, high)))
    return _Block(
        low=low,
        rows=rows,
        trace=build_linked_trace(process, sent_here),
        tracks=tracks,
        source=steps.source[edges] - low,
        target=steps.target[edges] - low,
    )


def _find_block_violations(block: _Block, trace: LinkedTrace) -> OrderViolations:
    """The violations in a trace that begins with the block; causes besides messages carry a past too."""
    is_extra = trace.process[block.source] != trace.process[block.target]
    is_extra &= trace.sent[block.target] != block.source
    whole_trace, origin = add_bridge_events(trace, block.source[is_extra], block.target[is_extra])
    violations = find_order_violations(whole_trace, len(block.tracks), PAIRS)
    return violations._replace(
        late=origin[violations.late],
        fifo=origin[violations.fifo],
        early=origin[violations.early],
        pair_early=origin[violations.pair_early],
        pair_cause=origin[violations.pair_cause],
    )


def _add_violations_to_counts(execution: Ints, violations: OrderViolations, counts: dict[str, Ints]) -> None:
    """Add the violations of a block to the counts of its executions."""
    positions_of = {
        "late": violations.late,
        "fifo": violations.fifo,
        "early": violations.early,
        "pairs": violations.pair_early,
    }
    for name, positions in positions_of.items():
        counts[name] += np.bincount(execution[positions], minlength=len(counts[name]))
    # Pairs are listed up to a limit, which only a block of one execution reaches: the rest are that one's.
    unlisted_pairs = violations.pairs - len(violations.pair_early)
    counts["pairs"][execution[0]] += unlisted_pairs


def _list_late_and_fifo_findings(
    execution: Ints, block: _Block, violations: OrderViolations
) -> list[FindingRows]:
    """Findings for the late deliveries that are reported, and for those of them that break FIFO order."""
    reported = _keep_reported_late_violations(execution, block.trace, violations)
    causes = build_cause_graph(block.trace.process, block.source, block.target)
    witnesses = find_late_witnesses(block.trace, reported, causes)
    all_late = np.arange(len(witnesses.late))
    fifo = np.flatnonzero(np.isin(witnesses.late, violations.fifo))
    return [
        _build_findings_of_late_witnesses("late", block.rows, witnesses, all_late),
        _build_findings_of_late_witnesses("fifo", block.rows, witnesses, fifo),
    ]


def _keep_reported_late_violations(
    execution: Ints, trace: LinkedTrace, violations: OrderViolations
) -> OrderViolations:
    """The violations of the late deliveries that are reported: the first MOST_REPORTED of an execution."""
    late = np.sort(violations.late)
    late = late[rank_within_runs(execution[late]) < MOST_REPORTED]
    tracks = int(trace.process.max(initial=0)) + 1
    copies = join_keys(trace.sent[late], trace.process[late], tracks)
    pairs = np.isin(join_keys(violations.pair_cause, violations.pair_process, tracks), copies)
    return violations._replace(
        late=late,
        pair_early=violations.pair_early[pairs],
        pair_cause=violations.pair_cause[pairs],
        pair_process=violations.pair_process[pairs],
    )


def _build_findings_of_late_witnesses(
    kind: str, row_of_position: Ints, witnesses: LateWitnesses, chosen_witnesses: Ints
) -> FindingRows:
    """Findings with the chain from send to send, and then the two deliveries."""
    starts, events = witnesses.chains
    lengths = np.diff(starts)[chosen_witnesses]
    ends = compute_starts(lengths + 2)
    flat = np.empty(ends[-1], dtype=np.int64)
    flat[expand_ranges(ends[:-1], lengths)] = events[expand_ranges(starts[chosen_witnesses], lengths)]
    flat[ends[1:] - 2] = witnesses.early[chosen_witnesses]
    flat[ends[1:] - 1] = witnesses.late[chosen_witnesses]
    return FindingRows(
        kind, row_of_position[witnesses.late[chosen_witnesses]], ends, row_of_position[flat], {}
    )


def _fill_in_deliveries_despite_loss(
    graph: EventGraph, steps: StepGraph, block: _Block, deliveries_despite_loss: Ints
) -> None:
    """Of lost copies, note the first delivery at their receiver of something that depends on them.

    A copy counts as delivered behind the end. Copies are in the order of their sends, so that none of them
    is early itself.
    """
    lost = _list_lost_copies_in_block(graph, steps, block)
    if not len(lost):
        return
    links = graph.messages.links
    sent = steps.position[links.lost_send[lost]] - block.low
    receiver = np.searchsorted(block.tracks, links.lost_receiver[lost])
    violations = _find_block_violations(block, _append_deliveries(block.trace, sent, receiver))
    copies = join_keys(sent, receiver, len(block.tracks))
    by_copy = np.argsort(copies)
    causes = join_keys(violations.pair_cause, violations.pair_process, len(block.tracks))
    at = np.minimum(np.searchsorted(copies[by_copy], causes), len(copies) - 1)
    # Backwards, so that of several deliveries in spite of a copy the first one stays.
    pairs = np.flatnonzero(copies[by_copy][at] == causes)[::-1]
    deliveries_despite_loss[lost[by_copy[at[pairs]]]] = block.rows[violations.pair_early[pairs]]


def _list_lost_copies_in_block(graph: EventGraph, steps: StepGraph, block: _Block) -> Ints:
    """The lost copies that were sent in the block to somebody in it, by send.

    Those of an execution that lost very many are left out.
    """
    links = graph.messages.links
    position = steps.position[links.lost_send] - block.low
    inside = (position >= 0) & (position < len(block.rows))
    inside &= np.isin(links.lost_receiver, block.tracks)
    execution = graph.events.execution[links.lost_send]
    is_few = graph.events.count_rows_by_execution(links.lost_send[inside]) <= LOST
    lost = np.flatnonzero(inside & is_few[execution])
    return lost[np.argsort(position[lost], kind="stable")]


def _append_deliveries(trace: LinkedTrace, sent: Ints, process: Ints) -> LinkedTrace:
    """The trace with deliveries of these sends at its end."""
    until = np.append(trace.until, np.full(len(sent), -1, dtype=np.int64))
    until[sent] = len(trace.process) + np.arange(len(sent))
    return LinkedTrace(
        process=np.append(trace.process, process),
        sender=np.append(trace.sender, trace.process[sent]),
        sent=np.append(trace.sent, sent),
        until=until,
    )
