"""What is wrong with the graph of events: cycles, parents that are not there, ids and times that clash."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from antecede.auditing.findings import FindingRows, build_finding_rows
from antecede.events.columns import get_column, to_floats
from antecede.events.graph import EventGraph
from antecede.kernels.feedback_arcs import find_shortest_cycle_through_least_member
from antecede.kernels.ragged import Ints, compute_starts
from antecede.kernels.times import find_time_contradictions

MEMBERS = 100
"""Events of a cycle that are named."""


def list_graph_findings(graph: EventGraph, rows_with_cyclic_clocks: Ints) -> list[FindingRows]:
    """Cycles, but for those that hold an event whose clock is reported as cyclic; and all else."""
    ghosts = graph.causes.rows_naming_ghosts
    ghost_names = graph.causes.ghosts["event"].to_pylist()
    originals, repeats = graph.events.repeated_ids
    return [
        _list_cycles_without_cyclic_clocks(graph, rows_with_cyclic_clocks),
        build_finding_rows("self-parent", graph.causes.own_parents, graph.causes.own_parents),
        build_finding_rows("missing", ghosts, ghosts, name=ghost_names),
        build_finding_rows("same-id", repeats, originals, repeats),
        _list_time_contradictions(graph),
    ]


def _list_cycles_without_cyclic_clocks(graph: EventGraph, rows_with_cyclic_clocks: Ints) -> FindingRows:
    """Each with a shortest way around, and then the other members; none that has one of these rows."""
    starts, members = graph.causes.cycles
    sizes: list[int] = []
    witnesses: list[Ints] = []
    for low, high in pairwise(starts.tolist()):
        cycle = members[low:high]
        if np.isin(cycle, rows_with_cyclic_clocks).any():
            continue
        way = find_shortest_cycle_through_least_member(graph.causes.edges, cycle)
        others = np.setdiff1d(cycle, way)
        witnesses.append(np.concatenate((way, others))[:MEMBERS])
        sizes.append(len(cycle))
    first = np.array([witness[0] for witness in witnesses], dtype=np.int64)
    ends = compute_starts([len(witness) for witness in witnesses])
    flat = np.concatenate([np.empty(0, dtype=np.int64), *witnesses])
    return FindingRows("cycle", first, ends, flat, {"size": sizes})


def _list_time_contradictions(graph: EventGraph) -> FindingRows:
    """Every direct cause that is later than its effect by their times, looking through events without one."""
    time = to_floats(get_column(graph.events.table, "time"))
    source, target = find_time_contradictions(graph.causes.order, graph.causes.edges, time).edges
    return build_finding_rows("timestamp", target, source, target)
