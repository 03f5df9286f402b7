"""The oracle for long runs: the verdicts of `Oracle` and `SemanticOracle`, in memory of what is in flight.

A message has a slot (a bit) while some destination has not delivered it; pasts are sets of slots. The bit of
a message that is delivered everywhere is in nobody's `due`, so it does no harm until it is swept away with
others: the work per event depends on how much is in flight, not on the length of the run. Processes are
numbered from 0, messages from 0 in the order of their sends.
"""

from antecede.causality.oracle import bits

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
        return self._launch(process, to, self.past[process])

    def missing(self, process: int, message: int) -> int:
        """The slots of the causes of a message that should come before it at this process."""
        return self.flights[message].past & self.due[process]

    def named(self, slots: int) -> list[int]:
        """The messages of some slots."""
        return sorted(self.messages[slot] for slot in bits(slots))

    def expects(self, process: int, message: int) -> bool:
        """Whether the message is addressed to this process and not delivered there."""
        flight = self.flights.get(message)
        return flight is not None and bool(self.due[process] & flight.bit)

    def late(self, process: int, message: int) -> bool:
        """Whether an effect of the message was delivered here before it (asked before its delivery)."""
        return bool(self.past[process] & self.flights[message].bit)

    def deliver(self, process: int, message: int) -> int:
        """An expected message is delivered; returns the slots of causes that should have come before."""
        return self.land(process, self.flights[message])

    def land(self, process: int, flight: Flight) -> int:
        """The same, of a message whose flight is at hand."""
        past, bit, due = flight.past, flight.bit, self.due[process]
        self.past[process] |= past | bit
        self.due[process] = due ^ bit
        flight.left = left = flight.left - 1
        if not left:
            self._settle(flight)
        return past & due

    def undelivered(self) -> list[tuple[int, int]]:
        """Every (process, message) still to be delivered."""
        return [(p, m) for p, due in enumerate(self.due) for m in self.named(due)]

    def _launch(self, process: int, to: list[int], past: int) -> int:
        message, self.sent = self.sent, self.sent + 1
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


class SemanticWindow(Window):
    """Dependence as declared: a message depends on the own event it names, and on what that depends on.

    Own events (sends and deliveries) are numbered from 1; the latest `memory` of each process can be named.
    """

    def __init__(self, n: int, memory: int = 1024) -> None:
        super().__init__(n)
        self.memory = memory
        self.events: list[dict[int, int]] = [{} for _ in range(n)]
        self.counts = [0] * n

    def send_after(self, process: int, to: list[int], depends_on: int | None) -> int:
        """A send that depends on an own event, on nothing (0), or on everything before it (None)."""
        past = self.past[process]
        if depends_on is not None:
            past = self.events[process][depends_on] if depends_on else 0
        message = self._launch(process, to, past)
        self._event(process, past | (self.flights[message].bit if to else 0))
        return message

    def land(self, process: int, flight: Flight) -> int:
        """The same; it is an own event, too."""
        self._event(process, flight.past | flight.bit)
        return super().land(process, flight)

    def _event(self, process: int, past: int) -> None:
        self.counts[process] += 1
        events = self.events[process]
        events[self.counts[process]] = past
        if len(events) > self.memory:
            del events[self.counts[process] - self.memory]

    def _sweep(self, alive: int) -> None:
        super()._sweep(alive)
        for events in self.events:
            for event, past in events.items():
                events[event] = past & alive
