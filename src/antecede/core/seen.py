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
        above = self.above
        while above and number + 1 in above:
            number += 1
            above.remove(number)
        self.low = number
