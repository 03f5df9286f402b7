"""The communication of a recorded execution: who sent to whom, when, and how long it travelled.

Times are those of the log, in milliseconds, or steps where a log has none. A recording knows no protocol:
`replay.py` runs it through one. It is flat arrays, so that it can be sent to where it is replayed.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from antecede.kernels.arrays import group_by_key
from antecede.kernels.ragged import Ints

Floats = NDArray[np.float64]

EVERYTHING, NOTHING = -2, -1
"""What a send depends on if it names no own event: all that its process did before, or nothing."""
MOST_STRETCHES, LEAST_MESSAGES = 20, 10
"""Into so many stretches a recording is cut at most, and so many messages each has at least."""


class Recording(msgspec.Struct, frozen=True, dict=True):
    """Messages are in an order in which each comes behind its causes; a copy is a message for one target.

    The copies of message m are those at `starts[m]` to `starts[m + 1] - 1`. `heard[m]` is how many copies the
    sender of m had been handed before it sent m. `handed` has those copies that the log saw delivered, in the
    order in which each process got them, the processes one after the other at `handed_starts`.
    `depends_on[m]` is EVERYTHING or NOTHING, or an own event of the sender: the delivery of copy c is c, the
    send of message x is x behind all copies.
    """

    names: list[str]
    unit: str
    sender: Ints
    sent: Floats
    starts: Ints
    target: Ints
    travel: Floats
    heard: Ints
    handed: Ints
    handed_starts: Ints
    depends_on: Ints

    @property
    def messages(self) -> int:
        """How many there are."""
        return len(self.sender)

    @property
    def copies(self) -> int:
        """How many there are of all messages."""
        return len(self.target)

    @cached_property
    def declares_dependence(self) -> bool:
        """Whether it is known what messages depend on."""
        return bool((self.depends_on != EVERYTHING).any())

    @cached_property
    def most_targets(self) -> int:
        """The most targets of a message."""
        return int(np.diff(self.starts).max(initial=0))

    @cached_property
    def is_broadcast(self) -> bool:
        """Whether every message goes to all others."""
        return bool((np.diff(self.starts) == len(self.names) - 1).all())

    @cached_property
    def only_receiver(self) -> int | None:
        """The process that is the only one to receive anything, if there is one."""
        receivers = np.unique(self.target)
        return int(receivers[0]) if len(receivers) == 1 else None

    @cached_property
    def mean_in_flight(self) -> float:
        """How many copies to one process are under way at once, in the mean."""
        span = float(self.sent.max(initial=0.0) - self.sent.min(initial=0.0))
        return float(self.travel.sum()) / span / len(self.names) if span > 0 else 0.0

    def assign_messages_to_stretches(self) -> Ints:
        """Of each message, the number of its stretch: consecutive by the time of the send, of equal sizes."""
        stretches = max(1, min(MOST_STRETCHES, self.messages // LEAST_MESSAGES))
        rank = np.empty(self.messages, dtype=np.int64)
        rank[np.argsort(self.sent, kind="stable")] = np.arange(self.messages)
        return rank * stretches // max(self.messages, 1)

    def find_median_travel_times_by_link_and_overall(self) -> tuple[Floats, float]:
        """The median travel time of each link, [source, target], and that of all; nan where none was seen."""
        n = len(self.names)
        source = np.repeat(self.sender, np.diff(self.starts))
        link = source * n + self.target  # below n * n: processes are numbered from 0
        starts, items = group_by_key(link, n * n)
        typical = np.full(n * n, np.nan)
        for at in np.flatnonzero(np.diff(starts)):
            typical[at] = np.median(self.travel[items[starts[at] : starts[at + 1]]])
        return typical.reshape(n, n), float(np.median(self.travel)) if self.copies else 0.0

    def pack(self) -> bytes:
        """As bytes."""
        return msgspec.msgpack.encode(self, enc_hook=_pack_array)


def unpack_recording(data: bytes) -> Recording:
    """The recording that was packed."""
    return msgspec.msgpack.decode(data, type=Recording, dec_hook=_unpack_array)


def _pack_array(array: Any) -> bytes:
    return bytes(array.tobytes())


def _unpack_array(kind: Any, data: bytes) -> Any:
    """All arrays are of one of two types, which the field tells."""
    return np.frombuffer(data, np.float64 if kind == Floats else np.int64)
