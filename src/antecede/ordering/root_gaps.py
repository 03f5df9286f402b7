"""The answers for held rows: what each of them lacks, and the root gaps of its group.

`kernels.root_gaps` has the definition: a root gap is something that is missing and not itself held, and all
held rows that need it, directly or through others, wait for it. A cycle of held rows is one, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.kernels.gate import Released
from antecede.kernels.ragged import Ints, Rows, compute_starts, list_item_rows, take_pairs_of_rows
from antecede.kernels.root_gaps import (
    HeldPlaces,
    RootGaps,
    find_root_gaps,
    find_root_gaps_by_replay,
    select_unmet_needs,
)
from antecede.ordering.columns import Mask
from antecede.ordering.missing import describe_cycles, describe_gaps, describe_missing_causes
from antecede.ordering.stamps import Reading, Stamps, count_present_messages, sum_counts_by_row

HOLES = 3
"""One hole for so many messages is no accident."""
FEW_ROWS = 10
"""Among so few rows, one hole that a receive would explain is enough to tell of it."""
TICKS = (
    "there are holes in the numbers of messages, before rows that know of others: if these clocks count "
    "other events as well, such as receives, name the form 'clock'"
)


def list_gap_sort_keys(columns: Iterable[str]) -> list[tuple[str, str]]:
    """By what a table of gaps is sorted: those that most rows wait for come first, and no two are equal."""
    places = [name for name in columns if name not in ("missing", "waiting")]
    return [("waiting", "descending"), *((name, "ascending") for name in ("missing", *places))]


class HeldExplanations(NamedTuple):
    """What is said of each row of the table; null where there is nothing to be said."""

    missing: pa.Array
    gaps: pa.Array
    notes: pa.Array


def explain_held_rows(
    stamps: Stamps, reading: Reading, group: Ints, released: Released, is_seen: Mask
) -> HeldExplanations:
    """For each row of the table a list of what it lacks, a list of root gaps, and a note, or null.

    The root gaps and the note of a group stand at the first of its held rows. Rows that the user does not
    see bring what they gain, but they are not counted and get no answer.
    """
    seen = released.held[is_seen[released.held]]
    unseen = released.held[~is_seen[released.held]]
    held, have = np.concatenate((seen, unseen)), released.have
    unmet = select_unmet_needs(stamps.needs, held, have)
    if reading.silent or reading.shape == "parents":  # these may name one thing twice
        unmet = _drop_pairs_repeated_in_row(unmet)
    if stamps.add:
        roots = find_root_gaps_by_replay(
            have, unmet, take_pairs_of_rows(stamps.gains, held), counted=len(seen)
        )
    else:
        places = HeldPlaces(stamps.own[held], stamps.number[held], np.arange(len(held)))
        is_dense = reading.stretches and reading.shape != "parents"
        roots = find_root_gaps(have, unmet, places, dense=is_dense)
    cycle_texts = describe_cycles(stamps, reading, held, roots.cycles)
    rows, texts = describe_missing_causes(stamps, reading, have, unmet, roots.cycles, cycle_texts)
    is_answer = rows < len(seen)
    answer_rows = held[rows[is_answer]]
    missing = _group_items_by_row(answer_rows, texts.filter(pa.array(is_answer)), len(group))
    gaps = _list_root_gaps_at_first_held_rows(stamps, reading, group, seen, roots, cycle_texts)
    if not reading.counted or reading.ticks:
        return HeldExplanations(missing, gaps, pa.nulls(len(group), pa.string()))
    notes = _note_overcounting_clocks(stamps, group, released, roots)
    return HeldExplanations(missing, gaps, notes)


def _drop_pairs_repeated_in_row(pairs: Rows) -> Rows:
    """The pairs without those that stand in their row before."""
    row = list_item_rows(pairs.starts)
    by_pair = np.lexsort((pairs.counts, pairs.slots, row))  # equal ones stay in the order of the row
    is_same = np.ones(max(len(row) - 1, 0), dtype=bool)
    for part in (row, pairs.slots, pairs.counts):
        is_same &= part[by_pair][1:] == part[by_pair][:-1]
    is_first = np.ones(len(row), dtype=bool)
    is_first[by_pair[1:][is_same]] = False
    kept = np.bincount(row[is_first], minlength=len(pairs.starts) - 1)
    return Rows(compute_starts(kept), pairs.slots[is_first], pairs.counts[is_first])


def _list_root_gaps_at_first_held_rows(
    stamps: Stamps, reading: Reading, group: Ints, held: Ints, roots: RootGaps, cycle_texts: list[str]
) -> pa.Array:
    """The gaps and cycles of each group with how many rows wait for each, at its first held row."""
    texts = describe_gaps(stamps, reading, *roots.gaps)
    texts = pa.concat_arrays([texts, pa.array(cycle_texts, pa.string())])
    waiting = np.concatenate((roots.gap_waiting, roots.cycle_waiting))
    items = pa.StructArray.from_arrays([texts, pa.array(waiting)], names=["missing", "waiting"])
    first_members = roots.cycles.members[roots.cycles.starts[:-1]]
    gap_group = stamps.slots.get_groups(roots.gaps.slot)
    cycle_group = group[held[first_members]]
    item_group = np.concatenate((gap_group, cycle_group))

    is_awaited = waiting > 0  # not so if only rows that are not seen wait
    groups, first_held = np.unique(group[held], return_index=True)
    item_row = held[first_held][np.searchsorted(groups, item_group[is_awaited])]
    return _group_items_by_row(item_row, items.filter(pa.array(is_awaited)), len(group))


def _note_overcounting_clocks(stamps: Stamps, group: Ints, released: Released, roots: RootGaps) -> pa.Array:
    """A note at the first held row of groups whose clocks look as if they counted more than messages.

    Such a clock leaves holes before many messages: a third as many holes between the messages of a sender as
    there are messages in all, or a third as many missing numbers that receives would explain. Where messages
    are lost, or a table begins late, there are fewer. In a group of few rows a single number is enough,
    unless a row shows that receives have none.
    """
    held = released.held
    arrived = np.concatenate((released.order, held))
    group_count = int(group.max()) + 1
    messages = np.bincount(group[arrived], minlength=group_count)
    holes = _count_gaps_between_messages(stamps, held, roots, group_count)
    receives = _count_numbers_likely_given_to_receives(stamps, group, arrived, messages)
    is_small = messages <= FEW_ROWS
    shows_none = (
        np.bincount(group[_find_rows_after_unnumbered_receives(stamps, arrived)], minlength=group_count) > 0
    )
    receives[shows_none] = 0
    holes[shows_none & is_small] = 0
    is_ticking = is_small & (receives > 0)
    is_ticking |= HOLES * np.maximum(holes, receives) >= messages
    groups, first_held = np.unique(group[held], return_index=True)
    notes = np.full(len(group), None, dtype=object)
    notes[held[first_held[is_ticking[groups]]]] = TICKS
    return pa.array(notes, pa.string())


def _count_gaps_between_messages(stamps: Stamps, held: Ints, roots: RootGaps, group_count: int) -> Ints:
    """How many gaps of each group lie between messages of a sender."""
    highest = np.zeros(stamps.slots.size, dtype=np.int64)
    np.maximum.at(highest, stamps.own[held], stamps.number[held])
    slot, first, last = roots.gaps
    is_between = (first > 1) & (last < highest[slot])
    return np.bincount(stamps.slots.get_groups(slot)[is_between], minlength=group_count)


def _count_numbers_likely_given_to_receives(
    stamps: Stamps, group: Ints, arrived: Ints, message_counts: Ints
) -> Ints:
    """How many numbers each group lacks that its senders may have given to receives.

    A sender receives a message once, and then knows of it. So the last row of a sender knows of at least as
    many rows of others as numbers are missing up to it, if these are receives. Messages of the receiver need
    no rows: it may have sent as many as the group has messages.
    """
    rows = _sort_by_sender_and_number(stamps, arrived)
    own, number = stamps.own[rows], stamps.number[rows]
    is_last = np.append(own[1:] != own[:-1], True)
    last_rows = rows[is_last]
    rows_of_sender = np.diff(np.flatnonzero(is_last), prepend=-1)
    missing = number[is_last] - rows_of_sender

    needs = take_pairs_of_rows(stamps.needs, last_rows)
    owner = list_item_rows(needs.starts)
    present = count_present_messages(needs.slots, needs.counts, own, number)
    present[needs.slots == stamps.own[last_rows][owner]] = 0
    known = np.bincount(owner, weights=present, minlength=len(last_rows))
    if stamps.of_receiver is not None:
        known += np.minimum(stamps.of_receiver[last_rows], message_counts[group[last_rows]])
    likely = np.where(missing <= known, missing, 0)
    return np.bincount(group[last_rows], weights=likely, minlength=len(message_counts)).astype(np.int64)


def _sort_by_sender_and_number(stamps: Stamps, rows: Ints) -> Ints:
    """The rows sender by sender, each by number."""
    return rows[np.lexsort((stamps.number[rows], stamps.own[rows]))]


def _find_rows_after_unnumbered_receives(stamps: Stamps, arrived: Ints) -> Ints:
    """Rows that know more of others than the last one of their sender, without a hole between the two.

    If receives had numbers, there would be one.
    """
    rows = _sort_by_sender_and_number(stamps, arrived)
    own, number = stamps.own[rows], stamps.number[rows]
    of_others = sum_counts_by_row(stamps.needs)[rows] - (number - 1)
    if stamps.of_receiver is not None:
        of_others += stamps.of_receiver[rows]
    is_first = np.append(True, own[1:] != own[:-1])
    number_before = np.where(is_first, 0, np.roll(number, 1))
    known_before = np.where(is_first, 0, np.roll(of_others, 1))
    is_free: Mask = (number == number_before + 1) & (of_others > known_before)
    return rows[is_free]


def _group_items_by_row(rows: Ints, items: pa.Array, row_count: int) -> pa.Array:
    """Items as lists by row, in the order in which they lie; null for rows without any."""
    counts = np.bincount(rows, minlength=row_count)
    starts = compute_starts(counts).astype(np.int32)
    sorted_items = items.take(pa.array(np.argsort(rows, kind="stable")))
    is_null = np.append(counts == 0, False)
    return pa.ListArray.from_arrays(pa.array(starts, mask=is_null), sorted_items)
