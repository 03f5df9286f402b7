"""Who acts in a table of events, and what their clocks say: processes, senders and receivers as codes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.events.columns import Bools, flatten_lists, get_column, rank_names, to_integers
from antecede.kernels.causes import clean_clock_rows, look_up_names
from antecede.kernels.ragged import Ints, Rows


class Actors(NamedTuple):
    """A process of an execution has one code, whether it acts or is only named; -1 is unknown."""

    process: Ints  # of each event; an event without a process has a code of its own
    names: pa.Array  # by code
    sender: Ints
    receivers: tuple[Ints, Ints]  # those of event i are at starts[i]:starts[i + 1] of the second
    clocks: Rows
    own: Ints  # the clock's entry for the event's own process, 0 if there is none


def find_actors(table: pa.Table, execution: Ints) -> Actors:
    """The actors of a table in canonical order, and the code of the execution of each row."""
    clock, receivers = (
        flatten_lists(get_column(table, "clock")),
        flatten_lists(get_column(table, "receivers")),
    )
    keys = clock.items[0] if clock.items else pa.array([], pa.string())
    to = receivers.items[0] if receivers.items else pa.array([], pa.string())
    found = rank_names([get_column(table, "process"), get_column(table, "sender"), to, keys])
    name, sender, to_names, key_names = found.codes
    process, names, scope = _number_processes(execution, name)
    first = np.searchsorted(scope, np.arange(scope[-1] + 2)) if len(scope) else np.zeros(1, dtype=np.int64)
    size = len(found.names)
    flat = [(execution, sender), (execution[receivers.rows], to_names), (execution[clock.rows], key_names)]
    codes = [look_up_names(where, what, first, names, size) for where, what in flat]
    strangers = [_list_strangers(*part, code, size) for part, code in zip(flat, codes, strict=True)]
    new = np.unique(np.concatenate(strangers))
    for (where, what), code in zip(flat, codes, strict=True):
        unknown = (code < 0) & (what >= 0)
        code[unknown] = len(names) + np.searchsorted(new, where[unknown] * size + what[unknown])
    all_names = np.concatenate((names, new % max(size, 1)))
    clocks, own = clean_clocks(
        clock.starts, codes[2], to_integers(clock.items[1], 0) if clock.items else codes[2], process
    )
    called = found.names.take(pa.array(all_names, mask=all_names < 0))
    return Actors(process, called, codes[0], (receivers.starts, codes[1]), clocks, own)


def _number_processes(execution: Ints, name: Ints) -> tuple[Ints, Ints, Ints]:
    """The code of each row's process; name and execution by code. Rows of a process stand together."""
    changes = (np.diff(execution) != 0) | (np.diff(name) != 0) | (name[1:] < 0)
    begins = np.append(True, changes)[: len(name)]
    return np.cumsum(begins) - 1, name[begins], execution[begins]


def _list_strangers(execution: Ints, name: Ints, code: Ints, size: int) -> Ints:
    """Execution and name, as one number, of those that do not act."""
    unknown = (code < 0) & (name >= 0)
    return np.unique(execution[unknown] * size + name[unknown])


def clean_clocks(starts: Ints, slots: Ints, counts: Ints, process: Ints) -> tuple[Rows, Ints]:
    """Clocks fit for kernels, and of each event what its clock has for its own process."""
    clocks = Rows(starts, slots, counts)
    if len(slots):
        clocks = Rows(*clean_clock_rows(starts, slots, counts))
    row = np.repeat(np.arange(len(process)), np.diff(clocks.starts))
    mine = clocks.slots == process[row]
    own = np.zeros(len(process), dtype=np.int64)
    own[row[mine]] = clocks.counts[mine]
    return clocks, own


def assign_tracks(process: Ints, step: Bools, index: pa.Array, own: Ints, codes: int) -> tuple[Ints, Ints]:
    """Where each event stands in its process's order: the process's code and a key that ascends.

    A process is ordered by index, or by own clock entries where more of its steps have those. Steps that this
    leaves out have a code of their own, from `codes` on. The key is the row, since rows are ordered by index;
    where own entries order a process, the events that have one share out their rows among themselves.
    """
    indexed = index.is_valid().to_numpy(zero_copy_only=False)
    placed, counted = (np.bincount(process[step & mask], minlength=codes) for mask in (indexed, own > 0))
    by_own = (counted > placed)[process]
    alone = ~step | np.where(by_own, own < 1, ~indexed)
    track = process.copy()
    track[alone] = codes + np.arange(np.count_nonzero(alone))
    place = np.arange(len(process))
    counted = np.flatnonzero(by_own & (own >= 1))
    same_process = process[counted[1:]] == process[counted[:-1]]
    if (same_process & (own[counted[1:]] < own[counted[:-1]])).any():
        place[counted[np.lexsort((own[counted], process[counted]))]] = counted
    return track, place
