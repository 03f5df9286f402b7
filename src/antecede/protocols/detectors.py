"""Detectors of late messages for `probabilistic`: Algorithms 4 and 5 of Mostefaoui and Weiss 2017, and a
sharper one.

Each is asked about a message that is about to be delivered, with the entries V *before* the increment.
An alarm says: something that depends on this message may already have been delivered here.
"""

from collections.abc import Sequence

import msgspec

from antecede.core import wire

ALGORITHM_4, ALGORITHM_5, SHARPER = "algorithm 4", "algorithm 5", "sharper"
DETECTORS = (ALGORITHM_4, ALGORITHM_5, SHARPER)


class Recent(msgspec.Struct, array_like=True):
    """A delivered message that the detectors remember: its sender's keys and its stamp."""

    keys: tuple[wire.Count, ...]
    vector: list[wire.Count]


def find_alarms(
    keys: Sequence[int], vector: list[int], before: dict[int, int], recent: Sequence[Recent]
) -> tuple[str, ...]:
    """The detectors that suspect the message with this stamp, whose sender owns `keys`, to be late."""
    if any(before.get(x, 0) < vector[x] for x in keys):  # some entry was not covered by others
        return ()
    covering = [old for old in recent if all(old.vector[x] >= vector[x] for x in keys)]
    if not covering:
        return (ALGORITHM_4,)
    if any(_may_follow(old, vector) for old in covering):
        return (ALGORITHM_4, ALGORITHM_5, SHARPER)
    return (ALGORITHM_4, ALGORITHM_5)


def _may_follow(old: Recent, vector: list[int]) -> bool:
    """Whether the stamp of `old` is one that an effect of the message could have."""
    at_least = all(mine >= theirs for mine, theirs in zip(old.vector, vector, strict=True))
    return at_least and all(old.vector[x] > vector[x] for x in old.keys)
