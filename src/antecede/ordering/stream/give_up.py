"""When a stream stops waiting for something that does not come, and what it does then.

- `hold`: it waits for ever;
- `release`: rows that have waited too long come out, and say what they missed. What is missing is given up
  once: other rows that lack it come out as well, and if it comes after all, it is late;
- `divert`: rows that have waited too long are put aside for good, with what they lack. What depends on them
  goes on waiting, and a copy that comes later is taken for new.

A row has waited too long when it has waited for so many seconds; or when more rows (or bytes) of its group
wait than may: then the oldest ones have.

To let a row out, the gaps behind it are filled with *ghosts*: messages that bring nothing. Only what is not
there is given up: of what the row waits for, rows that wait themselves come out before it, as causality asks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.core.errors import CallerError
from antecede.kernels.gate import Released, release_items
from antecede.kernels.ragged import (
    Ints,
    Rows,
    compute_starts,
    expand_ranges,
    list_item_rows,
    rank_within_groups,
    take_pairs_of_rows,
)
from antecede.kernels.root_gaps import Gaps, HeldPlaces, find_root_gaps, select_unmet_needs
from antecede.ordering.columns import Mask, join_texts
from antecede.ordering.missing import SHOWN, describe_gaps
from antecede.ordering.stamps import Reading, Stamps

ACTIONS = ("hold", "release", "divert")
LIMITS = ("seconds", "rows", "bytes")


class GiveUp(NamedTuple):
    """What is done with rows that have waited too long, and how long that is."""

    action: str = "hold"
    seconds: float | None = None
    rows: int | None = None
    bytes: int | None = None

    def check_action_and_limits(self) -> GiveUp:
        """The same; refuses what makes no sense."""
        if self.action not in ACTIONS:
            raise CallerError(f"give_up={self.action!r}: choose one of {', '.join(ACTIONS)}")
        limits = {name: getattr(self, name) for name in LIMITS if getattr(self, name) is not None}
        if self.action == "hold" and limits:
            given = ", ".join(f"after_{name}=" for name in limits)
            raise CallerError(f"'hold' waits for ever: leave out {given}, or release or divert")
        if self.action != "hold" and not limits:
            raise CallerError(f"{self.action!r} needs a limit: after_seconds=, after_rows= or after_bytes=")
        for name, limit in limits.items():
            if not limit >= 0:  # nor is not-a-number
                raise CallerError(f"after_{name}= must not be below 0, and is {limit}")
        return self


class WaitingFacts(NamedTuple):
    """What decides whether rows have waited too long."""

    group: Ints
    arrival: Ints
    since: Ints  # in ms
    size: Ints  # in bytes


def find_expired_rows(policy: GiveUp, rows: WaitingFacts, now_ms: int) -> Mask:
    """Which of the rows have waited too long at a moment, in ms."""
    is_expired = np.zeros(len(rows.group), dtype=bool)
    if policy.action == "hold":
        return is_expired
    if policy.seconds is not None:
        is_expired |= rows.since <= now_ms - policy.seconds * 1000
    newest_first = np.lexsort((-rows.arrival, rows.group))
    if policy.rows is not None:
        rank = rank_within_groups(rows.group[newest_first])
        is_expired[newest_first[rank >= policy.rows]] = True
    if policy.bytes is not None:
        group = rows.group[newest_first]
        total = np.cumsum(rows.size[newest_first])
        is_first = np.append(True, group[1:] != group[:-1])[: len(group)]
        before_group = (total - rows.size[newest_first])[is_first]
        number_of_group = np.cumsum(is_first) - 1
        in_group = total - before_group[number_of_group]
        is_expired[newest_first[in_group > policy.bytes]] = True
    return is_expired


class GivenUp(NamedTuple):
    """What came out because something was given up."""

    released: Released
    gaps: Gaps
    unmet: Rows
    """What each of the rows that waited before lacked."""
    held_before: Ints


def release_expired_rows_and_awaited_ones(
    stamps: Stamps, reading: Reading, released: Released, is_expired: Mask
) -> GivenUp:
    """Let the expired ones among the held rows out, behind all that waits before them."""
    held, have = released.held, released.have
    unmet = select_unmet_needs(stamps.needs, held, have)
    members = np.flatnonzero(_find_expired_and_awaited_rows(stamps, held, have, unmet, is_expired))
    own, number = stamps.own[held[members]], stamps.number[held[members]]
    places = HeldPlaces(own, number, np.arange(len(members)))
    gaps = find_root_gaps(have, take_pairs_of_rows(unmet, members), places, dense=True).gaps
    again = _release_as_if_gaps_were_filled(stamps, held, have, gaps)
    return GivenUp(again, gaps, unmet, held)


def _find_expired_and_awaited_rows(
    stamps: Stamps, held: Ints, have: Ints, unmet: Rows, is_expired: Mask
) -> Mask:
    """The expired rows, and those that one of them waits for, directly or not."""
    own, number = stamps.own[held], stamps.number[held]
    owner = list_item_rows(unmet.starts)
    is_awaited = is_expired.copy()
    while True:
        needed = have.copy()
        is_need = is_awaited[owner]
        np.maximum.at(needed, unmet.slots[is_need], unmet.counts[is_need].astype(np.int64))
        is_new = (number <= needed[own]) & (number > have[own]) & ~is_awaited
        if not is_new.any():
            return is_awaited
        is_awaited |= is_new


def _release_as_if_gaps_were_filled(stamps: Stamps, held: Ints, have: Ints, gaps: Gaps) -> Released:
    """What the gate lets out of the held rows when ghosts fill the gaps."""
    needs, gains = take_pairs_of_rows(stamps.needs, held), take_pairs_of_rows(stamps.gains, held)
    ghost_count = len(gaps.slot)
    all_needs = _append_items_of_one_pair(needs, gaps.slot, gaps.first - 1)
    all_gains = _append_items_of_one_pair(gains, gaps.slot, gaps.last)
    again = release_items(have, all_needs, all_gains)
    is_row = again.order < len(held)
    is_held_row = again.held < len(held)
    assert is_held_row.all() or ghost_count
    return Released(
        held[again.order[is_row]], held[again.held[is_held_row]], again.missing[is_held_row], again.have
    )


def _append_items_of_one_pair(pairs: Rows, slots: Ints, counts: Ints) -> Rows:
    """The pairs with one more item for each of the slots."""
    lengths = np.concatenate((np.diff(pairs.starts), np.ones(len(slots), dtype=np.int64)))
    all_slots = np.concatenate((pairs.slots.astype(np.int64), slots))
    all_counts = np.concatenate((pairs.counts.astype(np.int64), counts))
    return Rows(compute_starts(lengths), all_slots, all_counts)


def describe_what_released_rows_missed(
    stamps: Stamps, reading: Reading, given_up: GivenUp, row_count: int
) -> tuple[Ints, pa.Array]:
    """Texts that say what the rows that came out missed, each with the row it is for, row by row."""
    rows = given_up.released.order
    gaps = given_up.gaps
    place_of_row = np.full(row_count, -1, dtype=np.int64)
    place_of_row[given_up.held_before] = np.arange(len(given_up.held_before))
    unmet = take_pairs_of_rows(given_up.unmet, place_of_row[rows])
    owner = list_item_rows(unmet.starts)
    # Gaps lie by slot and number: a need lacks those of its slot that begin at or below its count.
    first_gap = np.searchsorted(gaps.slot, unmet.slots)
    end_gap = np.searchsorted(gaps.slot, unmet.slots, side="right")
    gap = expand_ranges(first_gap, end_gap - first_gap)
    need = np.repeat(np.arange(len(owner)), end_gap - first_gap)
    is_below = gaps.first[gap] <= unmet.counts[need]
    gap, need = gap[is_below], need[is_below]
    owner_of_gap = owner[need]
    rank = rank_within_groups(owner_of_gap)
    counts = np.bincount(owner_of_gap, minlength=len(rows))
    is_shown = rank < SHOWN
    gap, need, shown_owner = gap[is_shown], need[is_shown], owner_of_gap[is_shown]
    last = np.minimum(gaps.last[gap], unmet.counts[need].astype(np.int64))
    texts = describe_gaps(stamps, reading, gaps.slot[gap], gaps.first[gap], last)
    cut = np.flatnonzero(counts > SHOWN)
    rest = join_texts("and ", pa.array(counts[cut] - SHOWN), " more")
    all_owners = np.concatenate((shown_owner, cut))
    by_row = np.argsort(all_owners, kind="stable")
    return rows[all_owners[by_row]], pa.concat_arrays([texts, rest]).take(pa.array(by_row))
