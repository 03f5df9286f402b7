"""Held rows that wait for each other: no message that arrives later can free them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.kernels.gate import Released
from antecede.kernels.ragged import Ints
from antecede.kernels.topology import cycles
from antecede.ordering.columns import words
from antecede.ordering.stamps import Reading, Stamps

NAMED = 10
"""So many members of a ring are named."""
MOST = 10_000_000
"""With more unmet needs than this, only the first of each row is followed."""


class Unmet(NamedTuple):
    """Needs of held rows that are not met: the place of the row among those held, the slot and the count."""

    row: Ints
    slot: Ints
    needed: Ints


class Rings(NamedTuple):
    """The members of ring i, places among the held rows, are `members[starts[i]:starts[i + 1]]`."""

    starts: Ints
    members: Ints
    texts: list[str]
    waiting: Ints
    """How many held rows wait for a member of each ring, its members with them."""

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)


def rings(stamps: Stamps, reading: Reading, found: Released, unmet: Iterator[Unmet]) -> Rings:
    """The rings among held rows; where gains add up nobody can tell who waits for whom."""
    if stamps.add:
        return Rings(
            np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), [], np.empty(0, dtype=np.int64)
        )
    source, target = _edges(stamps, reading, found, unmet)
    starts, members = cycles(len(found.held), source, target)
    named = _labels(stamps, reading, found.held[members]).to_pylist()
    texts = [_told(named[low:high]) for low, high in pairwise(starts.tolist())]
    return Rings(starts, members, texts, _waiting(starts, members, source, target, len(found.held)))


def _waiting(starts: Ints, members: Ints, source: Ints, target: Ints, held: int) -> Ints:
    """How many rows have an edge into each ring; a row with several counts once."""
    ring = np.full(held, -1, dtype=np.int64)
    ring[members] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    into = ring[target] >= 0
    pairs = np.unique(ring[target[into]] * max(held, 1) + source[into])
    return np.bincount(pairs // max(held, 1), minlength=len(starts) - 1)


def _edges(stamps: Stamps, reading: Reading, found: Released, unmet: Iterator[Unmet]) -> tuple[Ints, Ints]:
    """From each held row to the held rows that it waits for."""
    own, number = stamps.own[found.held], stamps.number[found.held]
    line = np.lexsort((number, own))
    lengths = np.diff(stamps.needs.starts)[found.held].sum()
    parts = []
    for row, slot, needed in unmet:
        if lengths > MOST:
            first = slot == found.missing[row]
            row, slot, needed = row[first], slot[first], needed[first]
        at = _last(own[line], number[line], slot, needed)
        there = (at >= 0) & (own[line][at] == slot)
        there &= reading.stretches | (number[line][at] == needed)
        parts.append((row[there], line[at[there]]))
    source, target = (np.concatenate(side) for side in zip(*parts, strict=True))
    return source, target


def _last(own: Ints, number: Ints, slot: Ints, needed: Ints) -> Ints:
    """The place of the last row of each slot whose number is at most the one that is needed."""
    slots = np.concatenate((own, slot))
    order = np.lexsort((np.arange(len(slots)), np.concatenate((number, needed)), slots))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(order < len(own)) - 1
    return rank[len(own) :]


def _labels(stamps: Stamps, reading: Reading, rows: Ints) -> pa.Array:
    names = stamps.slots.names(stamps.own[rows])
    if reading.shape == "parents":
        return names
    return words(f"{reading.noun} ", pa.array(stamps.number[rows]), " of ", names)


def _told(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"a cycle: {', '.join(names[:NAMED])}{more} wait for each other"
