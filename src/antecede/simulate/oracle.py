"""The oracle: knows happened-before and nothing of protocols, stamps or gates.

It is told of every send and every delivery of a run, and says of each delivery whether it broke causal
order. Pasts are sets of messages, kept as bits of whole numbers: bit m stands for message m.
"""

from collections.abc import Iterable


class Oracle:
    """Messages are numbered from 0 in the order of their sends; processes are any hashable names."""

    def __init__(self, processes: Iterable[object]) -> None:
        names = list(processes)
        self.past = dict.fromkeys(names, 0)
        """Messages whose send happened before the present state of the process."""
        self.delivered = dict.fromkeys(names, 0)
        self.addressed = dict.fromkeys(names, 0)
        self.message_past: list[int] = []
        self.sender: list[object] = []

    def record_send(self, process: object, to: Iterable[object]) -> int:
        """A message is sent; returns its number."""
        message = len(self.message_past)
        self.message_past.append(self.past[process])
        self.sender.append(process)
        self.past[process] |= 1 << message
        for target in to:
            self.addressed[target] |= 1 << message
        return message

    def list_missing_causes(self, process: object, message: int) -> list[int]:
        """The causes of a message that are addressed to this process and not delivered there."""
        return list_set_bits(self.message_past[message] & self._get_due_message_bits(process))

    def is_ready(self, process: object, message: int) -> bool:
        """Whether causal order allows to deliver the message now."""
        return not self.message_past[message] & self._get_due_message_bits(process)

    def record_delivery_and_list_missing_causes(self, process: object, message: int) -> list[int]:
        """A message is delivered; returns the causes that should have come before (none: all is well)."""
        if not self.addressed[process] >> message & 1 or self.delivered[process] >> message & 1:
            raise ValueError(f"message {message} is not for {process!r}, or was delivered there before")
        missing = self.list_missing_causes(process, message)
        self.delivered[process] |= 1 << message
        self.past[process] |= self.message_past[message] | 1 << message
        return missing

    def is_late(self, process: object, message: int) -> bool:
        """Whether an effect of the message was delivered here before it (asked before its delivery)."""
        return bool(self.past[process] >> message & 1)

    def list_undelivered_messages(self) -> list[tuple[object, int]]:
        """Every (process, message) still to be delivered."""
        return [(p, m) for p in self.addressed for m in list_set_bits(self._get_due_message_bits(p))]

    def _get_due_message_bits(self, process: object) -> int:
        """What is addressed to a process and not delivered there."""
        return self.addressed[process] & ~self.delivered[process]


def list_set_bits(number: int) -> list[int]:
    """The positions of the 1 bits, lowest first."""
    found = []
    while number:
        low = number & -number
        found.append(low.bit_length() - 1)
        number ^= low
    return found
