"""The canonical order of events: it depends on what rows say, and not on how they lie in the table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.columns import Bools, Floats, encode_names_by_rank, get_column, to_floats, to_integers
from antecede.kernels.arrays import group_by_key
from antecede.kernels.compiled import compiled
from antecede.kernels.ragged import Ints

TIE_BREAKERS = ("file", "event", "kind", "message", "sender")
"""Read only where the other columns leave rows equal."""
_LAST = 2**62


class RowOrder(NamedTuple):
    """Rows in canonical order, and the execution of each in that order."""

    rows: Ints
    execution: Ints  # a code, ascending
    executions: pa.Array  # names by code


def find_row_order(table: pa.Table) -> RowOrder:
    """The numbers of the rows by execution, process, index, time, line and then by names, nulls last.

    An execution that is null is the one called "".
    """
    executions, (execution,) = encode_names_by_rank([get_column(table, "execution").fill_null("")])
    process_names, (process,) = encode_names_by_rank([get_column(table, "process")])
    process[process < 0] = len(process_names)
    index = to_integers(get_column(table, "index"), _LAST)
    time = to_floats(get_column(table, "time"))
    line = to_integers(get_column(table, "line"), _LAST)
    keys = (execution, process, index, time, line)
    # Logs are mostly written in the order of each process: then a counting sort by process is enough.
    rows = group_by_key(process, len(process_names) + 1).items
    if len(executions) > 1:
        by_execution = group_by_key(execution[rows], len(executions))
        rows = rows[by_execution.items]
    is_tied = np.zeros(len(rows), dtype=np.bool_)
    if not _check_order_and_mark_ties(rows, *keys, is_tied):
        rows = np.lexsort(keys[::-1]).astype(np.int64, copy=False)
        _check_order_and_mark_ties(rows, *keys, is_tied)
    if is_tied.any():
        _sort_tied_rows_by_names(table, rows, is_tied)
    return RowOrder(rows, execution[rows], executions)


@compiled
def _check_order_and_mark_ties(
    rows: Ints, execution: Ints, process: Ints, index: Ints, time: Floats, line: Ints, is_tied: Bools
) -> bool:
    """Note which rows equal the one before them in this order; returns whether the rows ascend."""
    for at in range(1, len(rows)):
        row, before = rows[at], rows[at - 1]
        change = _find_sign_of_change(execution[before], execution[row])
        if change == 0:
            change = _find_sign_of_change(process[before], process[row])
        if change == 0:
            change = _find_sign_of_change(index[before], index[row])
        if change == 0:
            # Not-a-number is behind all numbers.
            change = _find_sign_of_change(np.isnan(time[before]), np.isnan(time[row]))
        if change == 0:
            change = _find_sign_of_change(time[before], time[row])
        if change == 0:
            change = _find_sign_of_change(line[before], line[row])
        if change < 0:
            return False
        is_tied[at] = change == 0
    return True


@compiled
def _find_sign_of_change(before: float, after: float) -> int:
    """1 if the second is larger, -1 if it is smaller; a difference could overflow."""
    return int(after > before) - int(after < before)


def _sort_tied_rows_by_names(table: pa.Table, rows: Ints, is_tied: Bools) -> None:
    """Put rows that equal each other into an order by their names."""
    in_run = is_tied | np.append(is_tied[1:], False)
    run = np.cumsum(~is_tied)[in_run]
    tied_rows = rows[in_run]
    names = [name for name in TIE_BREAKERS if name in table.column_names]
    few = table.select(names).take(pa.array(tied_rows))
    ranks = []
    for name in reversed(names):
        code = encode_names_by_rank([get_column(few, name)]).codes[0]
        ranks.append(np.where(code < 0, _LAST, code))
    rows[in_run] = tied_rows[np.lexsort((*ranks, run))]
