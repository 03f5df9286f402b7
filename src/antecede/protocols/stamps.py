"""Checks that several protocols make when they read a stamp."""

from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from antecede.core.errors import InputError
from antecede.protocols.counts import Counts, exceeds_somewhere


def refuse_packet_kind(protocol: str, kind: str) -> NoReturn:
    """Refuse a control packet of a kind that the protocol does not have."""
    raise InputError(f"{protocol!r} has no {kind!r} packets")


def check_process_ids(ids: Iterable[int], group_size: int) -> None:
    """Refuse ids of processes that the group does not have."""
    if max(ids, default=0) >= group_size:
        raise InputError(f"stamp: a process id is not below {group_size}; it was made for a larger group")


def refuse_claimed_count_above_actual(claimed: int, actual: int) -> None:
    """Refuse a stamp that tells of more messages of this process than it has sent."""
    if claimed > actual:
        raise InputError(
            f"stamp: tells of {claimed} messages or events of this process, which has had {actual}; "
            "was this endpoint restored from an old snapshot?"
        )


def refuse_claimed_counts_above_actual(claimed: Counts, actual: Counts) -> None:
    """Refuse counts by destination (a row of a matrix) of which one is above what was sent."""
    if not exceeds_somewhere(claimed, actual):
        return
    ahead = claimed.astype(np.int64) - actual.astype(np.int64)
    worst = ahead.argmax()
    refuse_claimed_count_above_actual(int(claimed[worst]), int(actual[worst]))


def check_vector_length(vector: list[int], expected_length: int) -> None:
    """Refuse a vector that does not have one entry per process (or slot)."""
    if len(vector) != expected_length:
        raise InputError(f"stamp: {len(vector)} entries where this group needs {expected_length}")


def check_destinations(destinations: list[int], source: int, receiver: int, group_size: int) -> None:
    """Refuse a destination list without this process, with the sender, or with repeats."""
    check_process_ids(destinations, group_size)
    has_repeats = len(set(destinations)) < len(destinations)
    if receiver not in destinations or source in destinations or has_repeats:
        raise InputError(
            "stamp: the list of destinations must name the receiver, each once, never the sender"
        )
