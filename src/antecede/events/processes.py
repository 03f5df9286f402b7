"""Who acts in a table of events, and what their clocks say: processes, senders and receivers as codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.clock_columns import refuse_wrong_clock_counts
from antecede.events.columns import (
    Bools,
    FlatLists,
    encode_names_by_rank,
    flatten_lists,
    get_column,
    to_integers,
)
from antecede.kernels.causes import look_up_name_codes, sort_clock_rows_dropping_zeros_and_repeats
from antecede.kernels.ragged import Ints, Rows, join_keys, list_item_rows

_NO_NAMES = pa.array([], pa.string())


class Actors(NamedTuple):
    """A process of an execution has one code, whether it acts or is only named; -1 is unknown."""

    process: Ints  # of each event; an event without a process has a code of its own
    names: pa.Array  # by code
    sender: Ints
    receivers: tuple[Ints, Ints]  # those of event i are at starts[i]:starts[i + 1] of the second
    clocks: Rows
    own: Ints  # the clock's entry for the event's own process, 0 if there is none


class _Mentions(NamedTuple):
    """Names that are mentioned somewhere, each in an execution; -1 is none."""

    execution: Ints
    name: Ints


def encode_actors_and_clocks(table: pa.Table, execution: Ints) -> Actors:
    """The actors of a table in canonical order, given the code of the execution of each row."""
    clock = flatten_lists(get_column(table, "clock"))
    receivers = flatten_lists(get_column(table, "receivers"))
    columns = [get_column(table, "process"), get_column(table, "sender")]
    columns += [_list_items_or_keys(receivers), _list_items_or_keys(clock)]
    names, (name, sender, receiver, slot) = encode_names_by_rank(columns)
    process, first_row = _assign_process_codes_and_find_first_rows(execution, name)
    mentions = [
        _Mentions(execution, sender),
        _Mentions(execution[receivers.row_of_item], receiver),
        _Mentions(execution[clock.row_of_item], slot),
    ]
    acting = _Mentions(execution[first_row], name[first_row])
    all_names, codes = _list_names_by_code_and_encode_mentions(acting, mentions, len(names))
    counts = to_integers(clock.items[1], -1) if clock.items else codes[2]
    clocks, own = clean_clocks_and_find_own_entries(clock.starts, codes[2], counts, process)
    return Actors(
        process=process,
        names=names.take(pa.array(all_names, mask=all_names < 0)),
        sender=codes[0],
        receivers=(receivers.starts, codes[1]),
        clocks=clocks,
        own=own,
    )


def _list_items_or_keys(column: FlatLists) -> pa.Array:
    """The items of lists, or the keys of maps."""
    return column.items[0] if column.items else _NO_NAMES


def _assign_process_codes_and_find_first_rows(execution: Ints, name: Ints) -> tuple[Ints, Ints]:
    """The code of each row's process, and the first row of each code. Rows of a process stand together."""
    is_other = (np.diff(execution) != 0) | (np.diff(name) != 0)
    is_other |= name[1:] < 0
    is_first = np.append(True, is_other)[: len(name)]
    return np.cumsum(is_first) - 1, np.flatnonzero(is_first)


def _list_names_by_code_and_encode_mentions(
    acting: _Mentions, mentions: list[_Mentions], name_count: int
) -> tuple[Ints, list[Ints]]:
    """The names of all codes, and the codes of what is mentioned: those that act first, then strangers."""
    executions = int(acting.execution[-1]) + 1 if len(acting.execution) else 0
    first_code = np.searchsorted(acting.execution, np.arange(executions + 1))
    codes, strangers = [], []
    for mention in mentions:
        code = look_up_name_codes(mention.execution, mention.name, first_code, acting.name, name_count)
        is_stranger = (code < 0) & (mention.name >= 0)
        codes.append(code)
        execution, name = mention.execution[is_stranger], mention.name[is_stranger]
        strangers.append(join_keys(execution, name, name_count))
    known_strangers = np.unique(np.concatenate(strangers))
    for mention, code, keys in zip(mentions, codes, strangers, strict=True):
        is_stranger = (code < 0) & (mention.name >= 0)
        code[is_stranger] = len(acting.name) + np.searchsorted(known_strangers, keys)
    stranger_names = known_strangers % max(name_count, 1)
    return np.concatenate((acting.name, stranger_names)), codes


def clean_clocks_and_find_own_entries(
    starts: Ints, slots: Ints, counts: Ints, process: Ints
) -> tuple[Rows, Ints]:
    """Clocks fit for kernels, and of each event what its clock has for its own process."""
    refuse_wrong_clock_counts(counts)
    clocks = Rows(starts, slots, counts)
    if len(slots):
        clocks = Rows(*sort_clock_rows_dropping_zeros_and_repeats(starts, slots, counts))
    row = list_item_rows(clocks.starts)
    is_own = clocks.slots == process[row]
    own = np.zeros(len(process), dtype=np.int64)
    own[row[is_own]] = clocks.counts[is_own]
    return clocks, own


def assign_tracks_and_places(
    process: Ints, is_step: Bools, index: pa.Array, own_entries: Ints, code_count: int
) -> tuple[Ints, Ints]:
    """Where each event stands in its process's order: the process's code and a key that ascends.

    A process is ordered by index, or by own clock entries where more of its steps have those. Steps that this
    leaves out have a code of their own, from `code_count` on. The key is the row, since rows are ordered by
    index; where own entries order a process, the events that have one share out their rows among themselves.
    """
    has_index = index.is_valid().to_numpy(zero_copy_only=False)
    steps_with_index = np.bincount(process[is_step & has_index], minlength=code_count)
    steps_with_own = np.bincount(process[is_step & (own_entries > 0)], minlength=code_count)
    is_by_own = (steps_with_own > steps_with_index)[process]
    is_alone = ~is_step | np.where(is_by_own, own_entries < 1, ~has_index)
    track = process.copy()
    track[is_alone] = code_count + np.arange(np.count_nonzero(is_alone))
    place = np.arange(len(process))
    counted = np.flatnonzero(is_by_own & (own_entries >= 1))
    is_same_process = np.diff(process[counted]) == 0
    falls = np.diff(own_entries[counted]) < 0
    if (is_same_process & falls).any():
        by_own = np.lexsort((own_entries[counted], process[counted]))
        place[counted[by_own]] = counted
    return track, place
