"""Checks that several protocols make when they read a stamp."""

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from antecede.core.errors import InputError
from antecede.protocols.counts import Counts, exceeds_somewhere


def refuse_kind(protocol: str, kind: str) -> NoReturn:
    """Refuse a control packet of a kind that the protocol does not have."""
    raise InputError(f"{protocol!r} has no {kind!r} packets")


def check_ids(ids: Iterable[int], n: int) -> None:
    """Refuse ids of processes that the group does not have."""
    if max(ids, default=0) >= n:
        raise InputError(f"stamp: a process id is not below {n}; it was made for a larger group")


def check_own(claimed: int, own: int) -> None:
    """Refuse a stamp that tells of more messages of this process than it has sent."""
    if claimed > own:
        raise InputError(
            f"stamp: tells of {claimed} messages or events of this process, which has had {own}; "
            "was this endpoint restored from an old snapshot?"
        )


def check_own_row(claimed: Counts, own: Counts) -> None:
    """The same for counts by destination, as a row of a matrix has them."""
    if not exceeds_somewhere(claimed, own):
        return
    ahead = claimed.astype(np.int64) - own.astype(np.int64)
    worst = ahead.argmax()
    check_own(int(claimed[worst]), int(own[worst]))


def check_length(vector: list[int], n: int) -> None:
    """Refuse a vector that does not have one entry per process (or slot)."""
    if len(vector) != n:
        raise InputError(f"stamp: {len(vector)} entries where this group needs {n}")


def check_destinations(dests: list[int], source: int, me: int, n: int) -> None:
    """Refuse a destination list without this process, with the sender, or with repeats."""
    check_ids(dests, n)
    has_repeats = len(set(dests)) < len(dests)
    if me not in dests or source in dests or has_repeats:
        raise InputError(
            "stamp: the list of destinations must name the receiver, each once, never the sender"
        )
