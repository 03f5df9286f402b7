"""The oracle of the SimPy program, in plain Python: the verdicts of `Oracle`, in memory of what is in flight.

A message has a slot (a bit) while some destination has not delivered it; pasts are sets of slots. The bit of
a message that is delivered everywhere is in nobody's `due`, so it does no harm until it is swept away with
others: the work per event depends on how much is in flight, not on the length of the run. Processes are
numbered from 0, messages from 0 in the order of their sends.
"""

from antecede.simulate.oracle import list_set_bits

SWEEP = 256
"""Dead slots are kept until there are this many, and half of all."""


class Flight:
    """A message that some destination has not delivered."""

    __slots__ = ("bit", "left", "message", "past", "slot")

    def __init__(self, message: int, slot: int, past: int, left: int) -> None:
        self.message, self.slot, self.bit, self.past, self.left = message, slot, 1 << slot, past, left


class Window:
    """Happened-before among the messages in flight."""

    def __init__(self, n: int) -> None:
        self.past = [0] * n
        """Slots of messages whose send happened before the present state of the process."""
        self.due = [0] * n
        """Slots of messages that are addressed to the process and not delivered there."""
        self.flights: dict[int, Flight] = {}
        self.messages: list[int] = []
        """Slot to message."""
        self.free: list[int] = []
        self.dead: list[int] = []
        self.sent = 0

    def send(self, process: int, to: list[int]) -> int:
        """A message is sent to others; returns its number."""
        message, past, self.sent = self.sent, self.past[process], self.sent + 1
        if not to:
            return message
        if self.free:
            slot = self.free.pop()
            self.messages[slot] = message
        else:
            slot = len(self.messages)
            self.messages.append(message)
        flight = self.flights[message] = Flight(message, slot, past, len(to))
        self.past[process] |= flight.bit
        due, bit = self.due, flight.bit
        for target in to:
            due[target] |= bit
        return message

    def missing(self, process: int, message: int) -> int:
        """The slots of the causes of a message that should come before it at this process."""
        return self.flights[message].past & self.due[process]

    def named(self, slots: int) -> list[int]:
        """The messages of some slots."""
        return sorted(self.messages[slot] for slot in list_set_bits(slots))

    def expects(self, process: int, message: int) -> bool:
        """Whether the message is addressed to this process and not delivered there."""
        flight = self.flights.get(message)
        return flight is not None and bool(self.due[process] & flight.bit)

    def late(self, process: int, message: int) -> bool:
        """Whether an effect of the message was delivered here before it (asked before its delivery)."""
        return bool(self.past[process] & self.flights[message].bit)

    def deliver(self, process: int, message: int) -> int:
        """An expected message is delivered; returns the slots of causes that should have come before."""
        flight, due = self.flights[message], self.due[process]
        past, bit = flight.past, flight.bit
        self.past[process] |= past | bit
        self.due[process] = due ^ bit
        flight.left = left = flight.left - 1
        if not left:
            self._settle(flight)
        return past & due

    def undelivered(self) -> list[tuple[int, int]]:
        """Every (process, message) still to be delivered."""
        return [(p, m) for p, due in enumerate(self.due) for m in self.named(due)]

    def _settle(self, flight: Flight) -> None:
        del self.flights[flight.message]
        self.dead.append(flight.slot)
        if len(self.dead) >= SWEEP and 2 * len(self.dead) >= len(self.messages):
            alive = ~sum(1 << slot for slot in self.dead)
            self._sweep(alive)
            self.free += self.dead
            self.dead = []

    def _sweep(self, alive: int) -> None:
        self.past = [past & alive for past in self.past]
        for flight in self.flights.values():
            flight.past &= alive
