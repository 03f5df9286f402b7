"""The position of an event in its process's own order, where a log tells it. Arrays in, arrays out."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def encode_values(values: Iterable[Hashable]) -> Ints:
    """Equal values get equal numbers."""
    known: dict[Hashable, int] = {}
    return np.fromiter((known.setdefault(value, len(known)) for value in values), np.int64)


def rank_rows_in_groups(groups: Ints, *keys: Any) -> Ints:
    """Each row's place among the rows of its group, sorted by the keys; equal keys stay in file order."""
    order = np.lexsort((*reversed(keys), groups))
    result = np.empty(len(order), np.int64)
    result[order] = _rank_within_equal_runs(groups[order])
    return result


def _rank_within_equal_runs(sorted_values: Ints) -> Ints:
    """The place of each element in its stretch of equal ones."""
    places = np.arange(len(sorted_values))
    begins_run = np.ones(len(sorted_values), np.bool_)
    begins_run[1:] = sorted_values[1:] != sorted_values[:-1]
    begin_of_run = np.maximum.accumulate(np.where(begins_run, places, 0))
    return places - begin_of_run


def count_restarts_before_events(groups: Ints, own_entries: Ints) -> Ints:
    """How often a process had been started again: when an own entry of 1 comes again, a new run begins.

    A restart and a late copy of the first event look alike; both come after what was logged before them.
    """
    result = np.zeros(len(own_entries), np.int64)
    ones = own_entries == 1
    if len(np.unique(groups[ones])) < np.count_nonzero(ones):
        order = np.argsort(groups, kind="stable")
        seen = np.cumsum(ones[order])
        before = seen - ones[order]
        places = _rank_within_equal_runs(groups[order])
        first = np.maximum.accumulate(np.where(places == 0, before, 0))
        result[order] = np.maximum(seen - first - 1, 0)
    return result


def rank_events_by_clock(groups: Ints, own_entries: Ints) -> Ints:
    """Positions by run and own clock entry."""
    return rank_rows_in_groups(groups, count_restarts_before_events(groups, own_entries), own_entries)


def count_earlier_copies(groups: Ints, own_entries: Ints) -> Ints:
    """0 for the first row with its own entry in its group, 1 for the next one, and so on, in file order."""
    order = np.lexsort((own_entries, groups))
    group, entry = groups[order], own_entries[order]
    is_new = np.zeros(len(order), np.bool_)
    is_new[1:] = (group[1:] != group[:-1]) | (entry[1:] != entry[:-1])
    result = np.empty(len(order), np.int64)
    result[order] = _rank_within_equal_runs(np.cumsum(is_new))
    return result
