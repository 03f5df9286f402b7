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
from antecede.kernels.feedback_arcs import find_feedback_arcs_and_remaining_cycles
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints, invert_permutation
from antecede.kernels.topology import Cycles, Sorted, find_cycles, sort_topologically

EdgePart = tuple[Ints, Ints, int]
KnownEdges = tuple[Ints, Ints, NDArray[np.int8]]
Rank = Ints | NDArray[np.float64]
Ranks = Sequence[Rank]
_NONE = np.empty(0, dtype=np.int64)


class LinearOrder(NamedTuple):
    """All edges that are kept, and an order by them."""

    merged: MergedEdges
    unsent: Edges  # from sends to the deliveries before them; not among the edges
    cycles: Cycles
    sorted: Sorted


def order_events_by_edges(
    by_rank: Ints, steps: Sequence[EdgePart], arrivals: Edges, handovers: Edges
) -> LinearOrder:
    """Order events by edges; where these leave a choice, as in `by_rank`, which lists all events."""
    size = len(by_rank)
    merged = merge_edges(size, [*steps, (*arrivals, MESSAGE), (*handovers, MESSAGE)])
    rank = invert_permutation(by_rank)
    no_edges = Edges(_NONE, _NONE)
    no_cycles = Cycles(np.zeros(1, dtype=np.int64), _NONE)
    if (rank[merged.edges.source] < rank[merged.edges.target]).all():
        # Nothing runs against the ranks: then this is the order that Kahn's algorithm would find.
        return LinearOrder(merged, no_edges, no_cycles, Sorted(by_rank, rank, _NONE))
    in_order = sort_topologically(size, *merged.edges, [rank])
    if not len(in_order.stuck):
        return LinearOrder(merged, no_edges, no_cycles, in_order)
    kept_steps, unsent = _separate_deliveries_before_sends(size, steps, rank)
    is_sent = ~np.isin(handovers.target, unsent.target)
    kept_handovers = (handovers.source[is_sent], handovers.target[is_sent], MESSAGE)
    merged = merge_edges(size, [kept_steps, (*arrivals, MESSAGE), kept_handovers])
    cycles = find_cycles(size, *merged.edges)
    return LinearOrder(merged, unsent, cycles, sort_topologically(size, *merged.edges, [rank]))


def _separate_deliveries_before_sends(
    size: int, steps: Sequence[EdgePart], rank: Ints
) -> tuple[KnownEdges, Edges]:
    """The steps without messages that were delivered before they were sent, and these."""
    merged = merge_edges(size, steps)
    source, target = merged.edges
    arcs, _ = find_feedback_arcs_and_remaining_cycles(size, merged.edges, merged.known == MESSAGE, rank)
    is_kept = np.ones(len(merged.known), dtype=bool)
    is_kept[arcs] = False
    kept = (source[is_kept], target[is_kept], merged.known[is_kept])
    return kept, Edges(source[arcs], target[arcs])


def _is_constant(key: Rank) -> bool:
    """Whether all are the same number, or all are not-a-number."""
    is_same, is_nan = key == key[:1], key != key
    return bool(is_same.all() or is_nan.all())


def sort_by_ranks(size: int, ranks: Ranks) -> Ints:
    """The events by the first rank, then by the next, then by number; not-a-number is behind all others.

    The same as `np.lexsort`. But mostly the first rank is the execution, which ascends already, and the next
    one leaves few events equal: so that one alone is sorted, and only what it leaves equal by all the rest.
    """
    keys = [rank for rank in ranks if not _is_constant(rank)]
    if not keys:
        return np.arange(size)
    scope = np.zeros(size, dtype=np.int64)
    if len(keys) > 1 and _holds_ascending_integers(keys[0]):
        # Numbered anew: lines and indexes may be as large as they like.
        is_next = keys[0][1:] != keys[0][:-1]
        scope, keys = np.append(0, np.cumsum(is_next)), keys[1:]
    by_key: Ints = np.argsort(keys[0])
    _, by_scope = group_by_key(scope[by_key], int(scope[-1]) + 1)
    by_rank = by_key[by_scope]
    is_tied = _equals_previous(keys[0][by_rank]) & _equals_previous(scope[by_rank])
    if is_tied.any():
        in_run = is_tied | np.append(is_tied[1:], False)
        run = np.cumsum(~is_tied)[in_run]
        tied = by_rank[in_run]
        rest = [key[tied] for key in reversed(keys[1:])]
        by_rank[in_run] = tied[np.lexsort((tied, *rest, run))]
    return by_rank


def _holds_ascending_integers(key: Rank) -> bool:
    """Whether these are integers, none smaller than the one before."""
    return key.dtype == np.int64 and bool((key[1:] >= key[:-1]).all())


def _equals_previous(key: Rank) -> NDArray[np.bool_]:
    """Whether each is the same as the one before, or both are not-a-number; the first one is not."""
    is_nan = key != key
    is_same = key[1:] == key[:-1]
    is_same |= is_nan[1:] & is_nan[:-1]
    return np.append(False, is_same)
