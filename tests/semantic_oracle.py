"""The oracle of semantic order: a message depends on what the application says, and on no more
(Gambhire and Kshemkalyani 2000).

Own events (sends, deliveries, internal ones) are numbered from 1. An event depends on the own event it
names, if any; a delivery also depends on its send. Dependence is transitive.
"""

from collections.abc import Iterable

from antecede.simulate.oracle import list_set_bits


class SemanticOracle:
    """Pasts are bits of messages, one per own event."""

    def __init__(self, processes: Iterable[object]) -> None:
        names = list(processes)
        self.events: dict[object, list[int]] = {name: [0] for name in names}
        self.delivered = dict.fromkeys(names, 0)
        self.addressed = dict.fromkeys(names, 0)
        self.message_past: list[int] = []

    def local(self, process: object, depends_on: int = 0) -> None:
        """An internal event."""
        self.events[process].append(self.events[process][depends_on])

    def record_send(self, process: object, to: Iterable[object], depends_on: int = 0) -> int:
        """A message is sent; returns its number."""
        message = len(self.message_past)
        past = self.events[process][depends_on]
        self.message_past.append(past)
        self.events[process].append(past | 1 << message)
        for target in to:
            self.addressed[target] |= 1 << message
        return message

    def record_delivery_and_list_missing_causes(
        self, process: object, message: int, depends_on: int = 0
    ) -> list[int]:
        """A message is delivered; returns the causes that should have come before."""
        missing = list_set_bits(
            self.message_past[message] & self.addressed[process] & ~self.delivered[process]
        )
        self.delivered[process] |= 1 << message
        past = self.message_past[message] | 1 << message | self.events[process][depends_on]
        self.events[process].append(past)
        return missing
