"""Events that name others by their ids: parents, and ids that several events have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.columns import decode_names, encode_names_by_appearance, flatten_lists, get_column
from antecede.kernels.arrays import ScopedCodes, number_names_by_scope
from antecede.kernels.causes import look_up_name_codes
from antecede.kernels.histories import Edges
from antecede.kernels.ragged import Ints, join_keys
from antecede.kernels.row_hashes import mix_texts_into_hashes

GHOSTS = pa.schema(
    {
        "execution": pa.string(),
        "event": pa.string(),  # the id that is named
        "row": pa.int64(),  # the row that names it
    }
)
_NONE = np.empty(0, dtype=np.int64)


class IdLinks(NamedTuple):
    """What events tell of others by their ids."""

    parents: Edges
    selves: Ints  # events that name themselves as their parent
    ghosts: pa.Table  # parents that are not in the log, and the row that names each (GHOSTS)
    doubles: tuple[Ints, Ints]  # events with the id of another in the execution: that first one, and they


def link_events_by_ids(table: pa.Table, execution: Ints, executions: pa.Array) -> IdLinks:
    """The edges of parents, events that name themselves, what is named and not there, ids used twice."""
    lists_of_parents = flatten_lists(get_column(table, "parents"))
    parents = lists_of_parents.items[0] if lists_of_parents.items else pa.nulls(0, pa.string())
    events = get_column(table, "event")
    if not len(parents) and not _may_have_repeated_ids(execution, events):
        return IdLinks(Edges(_NONE, _NONE), _NONE, GHOSTS.empty_table(), (_NONE, _NONE))
    names, (event, parent) = encode_names_by_appearance([events, parents])
    ids = number_names_by_scope(execution, event, len(names))
    doubles = _find_reused_ids(ids)
    if not len(parent):
        return IdLinks(Edges(_NONE, _NONE), _NONE, GHOSTS.empty_table(), doubles)
    child = lists_of_parents.rows
    # The ids of execution x are those with the codes first_code[x]..first_code[x + 1]-1.
    execution_of_id, name_of_id = execution[ids.first], event[ids.first]
    first_code = np.searchsorted(execution_of_id, np.arange(len(executions) + 1))
    parent_id = look_up_name_codes(execution[child], parent, first_code, name_of_id, len(names))
    is_known = parent_id >= 0
    is_itself = (event[child] == parent) & (parent >= 0)
    is_edge = is_known & ~is_itself
    ghost = np.flatnonzero(~is_known & (parent >= 0))
    # An event may name a parent twice, and lacks it once.
    _, first_named = np.unique(join_keys(child[ghost], parent[ghost], len(names)), return_index=True)
    ghost = ghost[np.sort(first_named)]
    naming = child[ghost]
    return IdLinks(
        parents=Edges(ids.first[parent_id[is_edge]], child[is_edge]),
        selves=np.unique(child[is_itself]),
        ghosts=_build_ghost_parents_table(executions, execution[naming], names, parent[ghost], naming),
        doubles=doubles,
    )


def _may_have_repeated_ids(execution: Ints, events: pa.Array) -> bool:
    """Whether two ids of an execution have the same hash: found out sooner than whether two are the same."""
    is_valid = events.is_valid().to_numpy(zero_copy_only=False)
    hashes = execution[is_valid].astype(np.uint64)
    ids = decode_names(events).drop_null().cast(pa.large_binary())
    one_each = np.arange(len(ids) + 1)
    _, offset_buffer, byte_buffer = ids.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[ids.offset :][: len(ids) + 1]
    data = np.frombuffer(byte_buffer or b"", np.uint8)
    mix_texts_into_hashes(hashes, one_each, offsets, data, np.ones(len(ids), dtype=np.bool_))
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def _build_ghost_parents_table(
    executions: pa.Array, execution: Ints, names: pa.Array, parent: Ints, row: Ints
) -> pa.Table:
    """The table of ghosts from codes."""
    execution_names = executions.take(pa.array(execution))
    parent_names = names.take(pa.array(parent)).cast(pa.string())
    return pa.Table.from_arrays([execution_names, parent_names, pa.array(row)], schema=GHOSTS)


def _find_reused_ids(ids: ScopedCodes) -> tuple[Ints, Ints]:
    """The first event of each id that several have, for each of the others; and these."""
    if len(ids.first) == len(ids.codes):
        return _NONE, _NONE
    named = np.flatnonzero(ids.codes >= 0)
    first = ids.first[ids.codes[named]]
    is_again = first != named
    return first[is_again], named[is_again]
