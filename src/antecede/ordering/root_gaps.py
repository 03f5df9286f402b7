"""The answers for held rows: what each of them lacks, and the root gaps of its group.

`kernels.root_gaps` has the definition: a root gap is something that is missing and not itself held, and all
held rows that need it, directly or through others, wait for it. A cycle of held rows is one, too.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from antecede.kernels.gate import Released
from antecede.kernels.ragged import Ints, starts_of_lengths
from antecede.kernels.root_gaps import HeldPlaces, RootGaps, find_root_gaps, play_root_gaps, select_unmet
from antecede.ordering.columns import Mask, take_rows
from antecede.ordering.missing import describe_cycles, describe_gaps, list_missing
from antecede.ordering.stamps import Reading, Stamps

HOLES = 3
"""One hole for so many messages is no accident."""
TICKS = (
    "there are many holes between the numbers of messages: if these clocks count other events as well, "
    "such as receives, name the form 'clock'"
)


def explain_held_rows(
    stamps: Stamps, reading: Reading, group: Ints, released: Released, is_seen: Mask
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """For each row of the table a list of what it lacks, a list of root gaps, and a note, or null.

    The root gaps and the note of a group stand at the first of its held rows. Rows that the user does not
    see bring what they gain, but they are not counted and get no answer.
    """
    seen = released.held[is_seen[released.held]]
    unseen = released.held[~is_seen[released.held]]
    held, have = np.concatenate((seen, unseen)), released.have
    unmet = select_unmet(stamps.needs, held, have)
    if stamps.add:
        roots = play_root_gaps(have, unmet, take_rows(stamps.gains, held), counted=len(seen))
    else:
        places = HeldPlaces(stamps.own[held], stamps.number[held], np.arange(len(held)))
        is_dense = reading.stretches and reading.shape != "parents"
        roots = find_root_gaps(have, unmet, places, dense=is_dense)
    cycle_texts = describe_cycles(stamps, reading, held, roots.cycles)
    rows, texts = list_missing(stamps, reading, have, unmet, roots.cycles, cycle_texts)
    is_answer = rows < len(seen)
    answer_rows = held[rows[is_answer]]
    missing = _list_by_row(answer_rows, texts.filter(pa.array(is_answer)), len(group))
    gaps = _list_root_gaps(stamps, reading, group, seen, roots, cycle_texts)
    if not reading.counted or reading.ticks:
        return missing, gaps, pa.nulls(len(group), pa.string())
    return missing, gaps, _note_ticks(stamps, group, released, roots)


def _list_root_gaps(
    stamps: Stamps, reading: Reading, group: Ints, held: Ints, roots: RootGaps, cycle_texts: list[str]
) -> pa.Array:
    """The gaps and cycles of each group with how many rows wait for each, at its first held row."""
    texts = describe_gaps(stamps, reading, *roots.gaps)
    texts = pa.concat_arrays([texts, pa.array(cycle_texts, pa.string())])
    waiting = np.concatenate((roots.gap_waiting, roots.cycle_waiting))
    items = pa.StructArray.from_arrays([texts, pa.array(waiting)], names=["missing", "waiting"])
    first_members = roots.cycles.members[roots.cycles.starts[:-1]]
    gap_group = stamps.slots.groups(roots.gaps.slot)
    cycle_group = group[held[first_members]]
    item_group = np.concatenate((gap_group, cycle_group))

    is_awaited = waiting > 0  # not so if only rows that are not seen wait
    groups, first_held = np.unique(group[held], return_index=True)
    item_row = held[first_held][np.searchsorted(groups, item_group[is_awaited])]
    return _list_by_row(item_row, items.filter(pa.array(is_awaited)), len(group))


def _note_ticks(stamps: Stamps, group: Ints, released: Released, roots: RootGaps) -> pa.Array:
    """A note at the first held row of groups whose clocks look as if they counted more than messages.

    Such a clock leaves a hole before most messages: there are holes between the messages of a sender, a third
    as many as messages at least. Where messages are lost, or a table begins late, there are few.
    """
    held = released.held
    highest = np.zeros(stamps.slots.size, dtype=np.int64)
    np.maximum.at(highest, stamps.own[held], stamps.number[held])
    slot, first, last = roots.gaps
    is_between = (first > 1) & (last < highest[slot])
    group_count = int(group.max()) + 1
    holes = np.bincount(stamps.slots.groups(slot)[is_between], minlength=group_count)
    arrived = np.concatenate((released.order, held))
    messages = np.bincount(group[arrived], minlength=group_count)
    groups, first_held = np.unique(group[held], return_index=True)
    is_noted = HOLES * holes[groups] >= messages[groups]
    notes = np.full(len(group), None, dtype=object)
    notes[held[first_held[is_noted]]] = TICKS
    return pa.array(notes, pa.string())


def _list_by_row(rows: Ints, items: pa.Array, size: int) -> pa.Array:
    """Items as lists by row, in the order in which they lie; null for rows without any."""
    counts = np.bincount(rows, minlength=size)
    starts = starts_of_lengths(counts).astype(np.int32)
    sorted_items = items.take(pa.array(np.argsort(rows, kind="stable")))
    is_null = np.append(counts == 0, False)
    return pa.ListArray.from_arrays(pa.array(starts, mask=is_null), sorted_items)
