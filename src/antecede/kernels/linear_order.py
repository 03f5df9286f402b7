"""One order of all events by all that is known of causes, even where deliveries come before their own sends.

Edges come in parts. `steps` are those between the steps of processes, each part known from something;
`arrivals` lead from sends to arrivals that are no steps, and `handovers` from arrivals to deliveries. If the
edges run in cycles, messages that were delivered before they were sent are left out (`feedback_arcs`), with
the handovers to these deliveries; what still lies on cycles then has no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.causes import MESSAGE, MergedEdges, merge_edges
from antecede.kernels.feedback_arcs import find_feedback_arcs
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints, invert_permutation
from antecede.kernels.topology import Cycles, Sorted, cycles, order

EdgePart = tuple[Ints, Ints, int]
Ranks = Sequence[Ints | NDArray[np.float64]]
_NONE = np.empty(0, dtype=np.int64)


class LinearOrder(NamedTuple):
    """All edges that are kept, and an order by them."""

    merged: MergedEdges
    unsent: Edges  # from sends to the deliveries before them; not among the edges
    cycles: Cycles
    sorted: Sorted


def order_events(
    size: int, steps: Sequence[EdgePart], arrivals: Edges, handovers: Edges, ranks: Ranks
) -> LinearOrder:
    """Order the events 0..size-1; where edges leave a choice, the ranks decide."""
    merged = merge_edges(size, [*steps, (*arrivals, MESSAGE), (*handovers, MESSAGE)])
    by_rank = _sort_by_ranks(size, ranks)
    rank = invert_permutation(by_rank)
    no_cycles = Cycles(np.zeros(1, dtype=np.int64), _NONE)
    if (rank[merged.edges.source] < rank[merged.edges.target]).all():
        # Nothing runs against the ranks: then this is the order that Kahn's algorithm would find.
        return LinearOrder(merged, Edges(_NONE, _NONE), no_cycles, Sorted(by_rank, rank, _NONE))
    line = order(size, *merged.edges, [rank])
    if not len(line.stuck):
        return LinearOrder(merged, Edges(_NONE, _NONE), no_cycles, line)
    firm = merge_edges(size, steps)
    gone, _ = find_feedback_arcs(size, firm.edges, firm.known == MESSAGE, rank)
    unsent = Edges(firm.edges.source[gone], firm.edges.target[gone])
    left = np.ones(len(firm.known), dtype=bool)
    left[gone] = False
    kept = (firm.edges.source[left], firm.edges.target[left], firm.known[left])
    in_order = ~np.isin(handovers.target, unsent.target)
    handovers = Edges(handovers.source[in_order], handovers.target[in_order])
    merged = merge_edges(size, [kept, (*arrivals, MESSAGE), (*handovers, MESSAGE)])
    return LinearOrder(merged, unsent, cycles(size, *merged.edges), order(size, *merged.edges, [rank]))


def _all_equal(key: Ints | NDArray[np.float64]) -> bool:
    """Whether all are the same number, or all are none."""
    return bool((key == key[:1]).all() or (key != key).all())


def _sort_by_ranks(size: int, ranks: Ranks) -> Ints:
    """The events by the first rank, then by the next, then by number; not-a-number is behind all others.

    The same as `np.lexsort`. But mostly the first rank is the execution, which ascends already, and the next
    one leaves few events equal: so that one alone is sorted, and only what it leaves equal by all the rest.
    """
    keys = [rank for rank in ranks if not _all_equal(rank)]
    if not keys:
        return np.arange(size)
    scope = np.zeros(size, dtype=np.int64)
    if len(keys) > 1 and keys[0].dtype == np.int64 and (keys[0][1:] >= keys[0][:-1]).all():
        scope, keys = keys[0] - keys[0][0], keys[1:]
    by_rank: Ints = np.argsort(keys[0])
    by_rank = by_rank[group_by_key(scope[by_rank], int(scope[-1]) + 1)[1]]
    ranked, ranked_scope = keys[0][by_rank], scope[by_rank]
    both_nan = (ranked[1:] != ranked[1:]) & (ranked[:-1] != ranked[:-1])
    is_tied = ((ranked[1:] == ranked[:-1]) | both_nan) & (ranked_scope[1:] == ranked_scope[:-1])
    if is_tied.any():
        in_run = np.append(is_tied, False) | np.append(False, is_tied)
        run = np.cumsum(~np.append(False, is_tied))[in_run]
        tied = by_rank[in_run]
        rest = [key[tied] for key in keys[:0:-1]]
        by_rank[in_run] = tied[np.lexsort((tied, *rest, run))]
    return by_rank
