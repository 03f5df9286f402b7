"""Events that name others by their ids: parents, and ids that are repeated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.columns import decode_dictionary, encode_names_by_appearance, flatten_lists, get_column
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


class RepeatedIds(NamedTuple):
    """Events with the id of an earlier one of their execution."""

    originals: Ints  # for each of the repeats, the first event with its id
    repeats: Ints


_NO_REPEATED_IDS = RepeatedIds(_NONE, _NONE)


class IdLinks(NamedTuple):
    """What events tell of others by their ids."""

    parents: Edges
    selves: Ints  # events that name themselves as their parent
    ghosts: pa.Table  # parents that are not in the log, and the row that names each (GHOSTS)
    repeated_ids: RepeatedIds


def link_events_by_ids(table: pa.Table, execution: Ints, execution_names: pa.Array) -> IdLinks:
    """The edges of parents, events that name themselves, what is named and not there, repeated ids."""
    lists_of_parents = flatten_lists(get_column(table, "parents"))
    parents = lists_of_parents.items[0] if lists_of_parents.items else pa.nulls(0, pa.string())
    events = get_column(table, "event")
    if not len(parents) and not _may_have_repeated_ids(execution, events):
        return IdLinks(Edges(_NONE, _NONE), _NONE, GHOSTS.empty_table(), _NO_REPEATED_IDS)
    names, (event, parent) = encode_names_by_appearance([events, parents])
    ids = number_names_by_scope(execution, event, len(names))
    repeated_ids = _find_repeated_ids(ids)
    if not len(parent):
        return IdLinks(Edges(_NONE, _NONE), _NONE, GHOSTS.empty_table(), repeated_ids)
    child = lists_of_parents.row_of_item
    # The ids of execution x are those with the codes first_code[x]..first_code[x + 1]-1.
    execution_of_id, name_of_id = execution[ids.first], event[ids.first]
    first_code = np.searchsorted(execution_of_id, np.arange(len(execution_names) + 1))
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
        ghosts=_build_ghost_parents_table(execution_names, execution[naming], names, parent[ghost], naming),
        repeated_ids=repeated_ids,
    )


def _may_have_repeated_ids(execution: Ints, event_ids: pa.Array) -> bool:
    """Whether two ids of an execution have the same hash: found out sooner than whether two are the same."""
    is_valid = event_ids.is_valid().to_numpy(zero_copy_only=False)
    hashes = execution[is_valid].astype(np.uint64)
    ids = decode_dictionary(event_ids).drop_null().cast(pa.large_binary())
    one_each = np.arange(len(ids) + 1)
    _, offset_buffer, byte_buffer = ids.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[ids.offset :][: len(ids) + 1]
    data = np.frombuffer(byte_buffer or b"", np.uint8)
    mix_texts_into_hashes(hashes, one_each, offsets, data, np.ones(len(ids), dtype=np.bool_))
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())


def _build_ghost_parents_table(
    execution_names: pa.Array, execution_codes: Ints, names: pa.Array, parent_codes: Ints, naming_rows: Ints
) -> pa.Table:
    """The table of ghosts from codes."""
    names_of_executions = execution_names.take(pa.array(execution_codes))
    parent_names = names.take(pa.array(parent_codes)).cast(pa.string())
    return pa.Table.from_arrays([names_of_executions, parent_names, pa.array(naming_rows)], schema=GHOSTS)


def _find_repeated_ids(ids: ScopedCodes) -> RepeatedIds:
    """The events whose id an earlier event of their execution has, and that first one."""
    if len(ids.first) == len(ids.codes):
        return _NO_REPEATED_IDS
    named = np.flatnonzero(ids.codes >= 0)
    original_of_named = ids.first[ids.codes[named]]
    is_repeated = original_of_named != named
    return RepeatedIds(original_of_named[is_repeated], named[is_repeated])
