"""The workload of all benchmarks: updates by replicas that merge now and then, as they arrive at a target.

Before each write, by a replica picked at random, the writer merges all that was written so far with
probability 1/2. A stamp counts, for each replica, the updates in the past of this one, itself included.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from antecede.core.gate import Pairs
from antecede.kernels.ragged import Rows

ARRIVALS = ("in order", "reversed", "shuffled")
Item = tuple[int, Pairs, Pairs]
"""The number of an update, what it needs, what it gains."""


@dataclass(frozen=True)
class Updates:
    """Updates in the order of arrival: which of the history each is, who wrote it, with which stamp."""

    number: NDArray[np.int64]
    writer: NDArray[np.int32]
    stamps: NDArray[np.int32]
    merged: NDArray[np.bool_]


def updates(size: int, replicas: int, arrival: str, seed: int = 1) -> Updates:
    """A history of this size, and its arrival at the target."""
    random = np.random.default_rng(seed)
    writer = random.integers(0, replicas, size, dtype=np.int32)
    merged = random.random(size) < 0.5
    number = np.arange(size)
    if arrival == "reversed":
        number = number[::-1].copy()
    elif arrival == "shuffled":
        number = random.permutation(size)
    place = np.empty(size, dtype=np.int64)
    place[number] = np.arange(size)
    return Updates(number, writer[number], _stamps(writer, merged, place, replicas), merged[number])


@njit(cache=True)
def _stamps(writer: Any, merged: Any, place: Any, replicas: int) -> Any:
    """The stamp of each update, put where it arrives."""
    stamps = np.empty((len(writer), replicas), dtype=np.int32)
    written = np.zeros(replicas, dtype=np.int32)
    known = np.zeros((replicas, replicas), dtype=np.int32)
    for at in range(len(writer)):
        who = writer[at]
        if merged[at]:
            known[who] = written
        written[who] += 1
        known[who, who] = written[who]
        stamps[place[at]] = known[who]
    return stamps


def items(history: Updates) -> list[Item]:
    """For a gate that takes one at a time: needs and gains as `antecede.protocols.vector` makes them."""
    made = []
    for number, who, stamp in zip(
        history.number.tolist(), history.writer.tolist(), history.stamps.tolist(), strict=True
    ):
        others = [(slot, seen) for slot, seen in enumerate(stamp) if seen and slot != who]
        made.append((number, [(who, stamp[who] - 1), *others], [(who, stamp[who])]))
    return made


def rows(history: Updates) -> tuple[Rows, Rows]:
    """For the compiled gate: needs with an entry for each replica, and gains. The stamps are used up."""
    size, replicas = history.stamps.shape
    slots = np.tile(np.arange(replicas, dtype=np.uint8), size)
    own = history.stamps[np.arange(size), history.writer]
    history.stamps[np.arange(size), history.writer] -= 1
    needs = Rows(np.arange(size + 1) * replicas, slots, history.stamps.reshape(-1))
    return needs, Rows(np.arange(size + 1), history.writer, own)


def chains(size: int, length: int, arrival: str, seed: int = 1) -> list[Item]:
    """For those who allow one cause per event: chains of some length, a slot for each chain."""
    numbers = list(range(size))
    if arrival == "reversed":
        numbers.reverse()
    elif arrival == "shuffled":
        np.random.default_rng(seed).shuffle(numbers)
    return [(n, [(n // length, n % length)], [(n // length, n % length + 1)]) for n in numbers]
