"""Which packet numbers of one source have arrived, in little memory: a low-water mark and what lies above."""

import msgspec

from antecede.core import wire


class Seen(msgspec.Struct):
    """All numbers from 1 to `low` have arrived, and those in `above`."""

    low: wire.Count = 0
    above: set[wire.Count] = set()

    def has(self, number: int) -> bool:
        """Whether this number arrived before."""
        return number <= self.low or number in self.above

    def add(self, number: int) -> None:
        """Note an arrival."""
        if number != self.low + 1:
            self.above.add(number)
            return
        self.low = number
        while self.above and self.low + 1 in self.above:
            self.low += 1
            self.above.remove(self.low)
