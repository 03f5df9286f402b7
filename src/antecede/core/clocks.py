"""Plain clocks: they stamp events and compare stamps, and hold nothing back.

Lamport 1978, vector clocks (Fidge, Mattern 1988), and plausible clocks with R entries (Torres-Rojas, Ahamad
1999; the K = 1 case of Mostefaoui and Weiss 2017): they never miss or invert an order, but may order what is
concurrent. For applications that write stamped logs and leave the order to `antecede order` or `audit`.
"""

from dataclasses import dataclass, field
from operator import le


@dataclass
class LamportClock:
    """One counter; (time, process) is a total order that contains happened-before."""

    time: int = 0

    def tick(self) -> int:
        """A local event or a send; returns its stamp."""
        self.time += 1
        return self.time

    def receive(self, stamp: int) -> int:
        """A receipt of something stamped so; returns the stamp of the receipt."""
        self.time = max(self.time, stamp) + 1
        return self.time


@dataclass(frozen=True)
class ClockStamp:
    """The time of an event: who, on which entry it counts, and the entries."""

    process: int
    entry: int
    entries: tuple[int, ...]

    def is_before(self, other: "ClockStamp") -> bool:
        """Whether this event happened before the other, as far as the entries tell.

        Both rules of the plausible clock: the two entries that count, and no entry larger. The second
        rules out some false orderings and never a true one.
        """
        if self.process == other.process:
            return self.entries[self.entry] < other.entries[self.entry]
        own_entry_passed = self.entries[self.entry] <= other.entries[self.entry]
        other_entry_ahead = self.entries[other.entry] < other.entries[other.entry]
        none_larger = all(map(le, self.entries, other.entries))
        return own_entry_passed and other_entry_ahead and none_larger

    def is_concurrent_with(self, other: "ClockStamp") -> bool:
        """Whether neither happened before the other, as far as the entries tell."""
        return self != other and not self.is_before(other) and not other.is_before(self)


@dataclass
class PlausibleClock:
    """R entries for any number of processes: process p counts on entry p mod R."""

    process: int
    size: int
    entries: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entries = self.entries or [0] * self.size

    def tick(self) -> ClockStamp:
        """A local event or a send; returns its stamp."""
        entry = self.process % self.size
        self.entries[entry] += 1
        return ClockStamp(self.process, entry, tuple(self.entries))

    def receive(self, stamp: ClockStamp) -> ClockStamp:
        """A receipt of something stamped so; returns the stamp of the receipt."""
        self.entries = list(map(max, self.entries, stamp.entries))
        return self.tick()


class VectorClock(PlausibleClock):
    """One entry per process: `is_before` is exactly happened-before."""
