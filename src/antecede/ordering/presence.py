"""Needs that others have come, not that they are out: so rows come out together, or none of them.

The end of a transaction names all changes of it, and its begin names the end. The changes wait for the begin;
so if the begin waited until they are out, all would wait for ever. It waits until they are *whole*: a row is
whole if it has come, and all that it names so is whole. (Rows that name each other are whole together.)

What a row lacks so is what has not come at all: of a row that has come and is not whole, what that one lacks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from antecede.kernels.ragged import Ints, expand_ranges, list_item_rows
from antecede.ordering.columns import Mask


class NamedRows(NamedTuple):
    """For each row those that must have come, by keys; those of row i are at starts[i]:starts[i + 1]."""

    starts: Ints
    keys: Ints


def find_directly_and_indirectly_absent_keys(own_keys: Ints, is_good: Mask, required: NamedRows) -> NamedRows:
    """What has not come of that which must have come before each row; `own_keys` are those of the rows."""
    rows = list_item_rows(required.starts)
    came, at = np.unique(own_keys[is_good], return_inverse=True)
    # For each key that came, one row that has it.
    row_of_key = np.zeros(len(came) + 1, dtype=np.int64)
    row_of_key[at] = np.flatnonzero(is_good)
    place = np.searchsorted(came, required.keys)
    has_come = np.append(came, -1)[place] == required.keys
    named_row = np.where(has_come, row_of_key[place], -1)
    is_whole = _find_complete_rows(len(own_keys), rows, named_row)
    absent = _sort_and_deduplicate_pairs(np.stack((rows[~has_come], required.keys[~has_come])))
    is_link = has_come & ~is_whole[named_row]
    absent = _propagate_absent_keys(absent, rows[is_link], named_row[is_link], len(own_keys))
    starts = np.searchsorted(absent[0], np.arange(len(own_keys) + 1))
    return NamedRows(starts, absent[1])


def _find_complete_rows(row_count: int, naming_row: Ints, named_row: Ints) -> Mask:
    """Which rows are whole; -1 names one that has not come."""
    is_whole = np.ones(row_count + 1, dtype=bool)
    is_whole[-1] = False
    while True:
        broken = np.unique(naming_row[~is_whole[named_row]])
        if not is_whole[broken].any():
            return is_whole
        is_whole[broken] = False


def _propagate_absent_keys(row_key_pairs: Ints, to_row: Ints, from_row: Ints, row_count: int) -> Ints:
    """Pairs of a row and a key that it lacks, with what rows lack because of those that they name."""
    while True:
        starts = np.searchsorted(row_key_pairs[0], np.arange(row_count + 1))
        lengths = np.diff(starts)[from_row]
        keys = row_key_pairs[1][expand_ranges(starts[from_row], lengths)]
        more = np.stack((np.repeat(to_row, lengths), keys))
        grown = _sort_and_deduplicate_pairs(np.concatenate((row_key_pairs, more), axis=1))
        if grown.shape == row_key_pairs.shape:
            return row_key_pairs
        row_key_pairs = grown


def _sort_and_deduplicate_pairs(row_key_pairs: Ints) -> Ints:
    """The pairs of a row and a key, sorted, each once."""
    row_key_pairs = row_key_pairs[:, np.lexsort((row_key_pairs[1], row_key_pairs[0]))]
    is_new = np.ones(row_key_pairs.shape[1], dtype=bool)
    is_new[1:] = (row_key_pairs[:, 1:] != row_key_pairs[:, :-1]).any(axis=0)
    return row_key_pairs[:, is_new]
