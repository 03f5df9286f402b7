"""Endpoints that hold nothing at the receiver: what arrives waits in a box only for the application."""

import msgspec

from antecede.core.endpoint import Endpoint
from antecede.core.gate import Pairs
from antecede.core.packet import Delivery


class Letter(msgspec.Struct):
    """A message in the box, in order of arrival."""

    sender: str
    number: int
    payload: bytes


class Boxed(Endpoint, kw_only=True):
    """A protocol whose arrivals may be delivered at once."""

    inbox: list[Letter] = []

    @classmethod
    def read_needs_and_gains(
        cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int
    ) -> tuple[Pairs, Pairs]:
        """Nothing: packets are in order as they arrive."""
        return [], []

    def _find_next_deliverable(self, sender: str | None) -> int | None:
        """The head of the box or nothing: a letter further back may be an effect of the head."""
        if not self.inbox or sender not in (None, self.inbox[0].sender):
            return None
        return 0

    def _find_first_letter(self, sender: str | None) -> int | None:
        """The first letter (from `sender`), wherever it stands."""
        for at, letter in enumerate(self.inbox):
            if sender in (None, letter.sender):
                return at
        return None

    def _pop_delivery(self, key: int) -> Delivery:
        letter = self.inbox.pop(key)
        return Delivery(letter.sender, letter.payload)
