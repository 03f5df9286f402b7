"""Events that name others by their ids: parents, and ids that several events have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.columns import coded, column, lists
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints

GHOSTS = pa.schema({"execution": pa.string(), "event": pa.string(), "row": pa.int64()})
_NONE = np.empty(0, dtype=np.int64)


class IdLinks(NamedTuple):
    """What events tell of others by their ids."""

    parents: Edges
    selves: Ints  # events that name themselves as their parent
    ghosts: pa.Table  # parents that are not in the log, and the row that names each (GHOSTS)
    doubles: tuple[Ints, Ints]  # events with the id of another in the execution: that first one, and they


def link_ids(table: pa.Table, execution: Ints, executions: pa.Array) -> IdLinks:
    """The edges of parents, events that name themselves, what is named and not there, ids used twice."""
    doubles = _find_reused_ids(table, execution)
    flat = lists(column(table, "parents"))
    if not flat.items or not len(flat.items[0]):
        return IdLinks(Edges(_NONE, _NONE), _NONE, GHOSTS.empty_table(), doubles)
    event, parent = (found := coded([column(table, "event"), flat.items[0]])).codes
    child = flat.rows
    known, first = np.unique((execution * len(found.names) + event)[event >= 0], return_index=True)
    first = np.flatnonzero(event >= 0)[first]
    wanted = execution[child] * len(found.names) + parent
    at = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    there = (known[at] == wanted) if len(known) else np.zeros(len(wanted), dtype=bool)
    itself, named = (event[child] == parent) & (parent >= 0), parent >= 0
    edge, ghost = there & ~itself & named, ~there & named
    names = [executions.take(pa.array(execution[child[ghost]])), found.names.take(pa.array(parent[ghost]))]
    ghosts = pa.Table.from_arrays([*names, pa.array(child[ghost])], schema=GHOSTS)
    return IdLinks(Edges(first[at[edge]], child[edge]), np.unique(child[itself]), ghosts, doubles)


def _find_reused_ids(table: pa.Table, execution: Ints) -> tuple[Ints, Ints]:
    """The first event of each id that several have, for each of the others; and these."""
    names, (event,) = coded([column(table, "event")])
    rows = np.flatnonzero(event >= 0)
    keys = execution[rows] * len(names) + event[rows]
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    first = rows[first][which]
    again = first != rows
    return first[again], rows[again]
