"""Detectors of late messages for `probabilistic`: Algorithms 4 and 5 of Mostefaoui and Weiss 2017, and a
sharper one.

Each is asked about a message that is about to be delivered, with the entries V *before* the increment.
An alarm says: something that depends on this message may already have been delivered here.
"""

from collections.abc import Sequence
from operator import ge

import msgspec

from antecede.core import wire

ALGORITHM_4 = "algorithm 4"
ALGORITHM_5 = "algorithm 5"
SHARPER = "sharper"
DETECTORS = (ALGORITHM_4, ALGORITHM_5, SHARPER)


class Recent(msgspec.Struct, array_like=True):
    """A delivered message that the detectors remember: its sender's keys and its stamp."""

    keys: tuple[wire.Count, ...]
    vector: list[wire.Count]


def find_detectors_suspecting_lateness(
    keys: Sequence[int], vector: list[int], entries_before: dict[int, int], recent: Sequence[Recent]
) -> tuple[str, ...]:
    """The detectors that suspect the message with this stamp, whose sender owns `keys`, to be late."""
    uncovered = [x for x in keys if entries_before.get(x, 0) < vector[x]]
    if uncovered:
        return ()
    covering = [old for old in recent if _covers_sender_entries(old, keys, vector)]
    if not covering:
        return (ALGORITHM_4,)
    if any(_may_causally_follow(old, vector) for old in covering):
        return (ALGORITHM_4, ALGORITHM_5, SHARPER)
    return (ALGORITHM_4, ALGORITHM_5)


def _covers_sender_entries(old: Recent, keys: Sequence[int], vector: list[int]) -> bool:
    """Whether the stamp of `old` alone covers the entries on which the sender of the message counts it."""
    return all(old.vector[x] >= vector[x] for x in keys)


def _may_causally_follow(old: Recent, vector: list[int]) -> bool:
    """Whether the stamp of `old` is one that an effect of the message could have."""
    nowhere_less = all(map(ge, old.vector, vector))
    more_on_own_keys = all(old.vector[x] > vector[x] for x in old.keys)
    return nowhere_less and more_on_own_keys
