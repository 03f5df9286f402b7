"""Plain clocks: they stamp events and compare stamps, and hold nothing back.

Lamport 1978, vector clocks (Fidge, Mattern 1988), and plausible clocks with R entries, the K = 1 case of
004: they never miss or invert an order, but may order what is concurrent.
"""

from dataclasses import dataclass, field


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
class Stamp:
    """The time of an event: who, on which entry it counts, and the entries."""

    process: int
    entry: int
    entries: tuple[int, ...]

    def before(self, other: "Stamp") -> bool:
        """Whether this event happened before the other, as far as the entries tell.

        Both rules of the plausible clock: the two entries that count, and no entry larger. The second
        rules out some false orderings and never a true one.
        """
        if self.process == other.process:
            return self.entries[self.entry] < other.entries[self.entry]
        counted = (
            self.entries[self.entry] <= other.entries[self.entry]
            and self.entries[other.entry] < other.entries[other.entry]
        )
        return counted and all(a <= b for a, b in zip(self.entries, other.entries, strict=True))

    def concurrent(self, other: "Stamp") -> bool:
        """Whether neither happened before the other, as far as the entries tell."""
        return self != other and not self.before(other) and not other.before(self)


@dataclass
class PlausibleClock:
    """R entries for any number of processes: process p counts on entry p mod R."""

    process: int
    size: int
    entries: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entries = self.entries or [0] * self.size

    def tick(self) -> Stamp:
        """A local event or a send; returns its stamp."""
        entry = self.process % self.size
        self.entries[entry] += 1
        return Stamp(self.process, entry, tuple(self.entries))

    def receive(self, stamp: Stamp) -> Stamp:
        """A receipt of something stamped so; returns the stamp of the receipt."""
        self.entries = [max(pair) for pair in zip(self.entries, stamp.entries, strict=True)]
        return self.tick()


class VectorClock(PlausibleClock):
    """One entry per process: `before` is exactly happened-before."""
