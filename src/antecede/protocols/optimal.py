"""optimal: the least control information that causal order needs (Kshemkalyani, Singhal 1998).

LOG has the messages of the past with the destinations that may not have delivered them yet and for which
no later message carries the duty. A message carries the part of LOG that its destination, or somebody it
will write to, may need. What is absent beside something newer of the same sender is knowledge too.
Step numbers are those of the textbook's SND and RCV.

Of the messages of one sender to one destination only the last waits: it answers for those before it. So
LOG is, for each pair of sender and destination, the time of the message that waits (`waiting`), and for each
sender the newest time known (`newest`), which stands for the textbook's empty entries.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.protocols.stamps import (
    check_destinations,
    refuse_claimed_count_above_actual,
    refuse_packet_kind,
)

Waiting = dict[int, int]
"""Sender times n plus destination, to time."""

Fields = tuple[int, list[int], list[int], Waiting]
"""What is on the wire: the clock of the message, its destinations, and both parts of LOG."""

Stamp = tuple[int, list[int], list[int], Waiting, Pairs]
"""The same, and what of LOG waits here."""


@lru_cache
def _make_stamp_decoder(group_size: int, protocol: str) -> Callable[[bytes], Fields]:
    who = Annotated[int, Meta(ge=0, lt=group_size)]
    pair = Annotated[int, Meta(ge=0, lt=group_size * group_size)]
    time = Annotated[int, Meta(ge=1, le=wire.LARGEST)]
    newest = Annotated[list[wire.Count], Meta(min_length=group_size, max_length=group_size)]
    fields: type[Fields] = tuple[time, list[who], newest, dict[pair, time]]
    return wire.make_decoder(fields, f"stamp of {protocol!r}")


_decode = msgspec.msgpack.Decoder(Fields).decode
"""Reads a stamp of any group, unchecked."""


class Optimal(Gated, kw_only=True):
    """SR is the gate's `have`: slot s holds the time of the last message from s delivered here."""

    facts = Facts(
        name="optimal",
        title="optimal control information",
        paper="Kshemkalyani, Singhal 1998",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=True,
        counts="sends of that process, to anybody",
        stamp="n + 2 * messages that may be undelivered, one per pair at most; far less than n^2 in practice",
    )
    dense = False
    tells_past = True

    clock: int = 0
    newest: list[int] = []
    waiting: Waiting = {}

    def _init_state(self) -> None:
        self.newest = [0] * self.n

    @cached_property
    def pairs_by_destination(self) -> list[frozenset[int]]:
        """For each destination the pairs that it is in."""
        n = self.n
        return [frozenset(range(d, n * n, n)) for d in range(n)]

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        first = self.me * self.n
        self.clock += 1  # SND 1
        for d in targets:  # SND 2: from the unchanged LOG
            carried = self._select_log_to_carry(targets, d)
            stamp = wire.encode((self.clock, targets, self.newest, carried))
            self._emit_packet(d, stamp, payload)
        for d in targets:  # SND 3
            for pair in self.waiting.keys() & self.pairs_by_destination[d]:
                del self.waiting[pair]
        self.newest[self.me] = self.clock  # SND 4
        for d in targets:
            self.waiting[first + d] = self.clock

    def _select_log_to_carry(self, destinations: list[int], destination: int) -> Waiting:
        if len(destinations) == 1:  # destination is kept, and nobody else is in destinations
            return self.waiting
        others, n = set(destinations) - {destination}, self.n
        return {pair: t for pair, t in self.waiting.items() if pair % n not in others}

    @classmethod
    def read_stamp(cls, kind: str, data: bytes, source: int, receiver: int, group_size: int) -> Stamp:
        """As `Stamp` says."""
        name = cls.facts.name
        if kind != "message":
            refuse_packet_kind(name, kind)
        clock, dests, newest, waiting = _make_stamp_decoder(group_size, name)(data)
        if dests != [receiver]:
            check_destinations(dests, source, receiver, group_size)
        if newest[source] >= clock:
            raise InputError(f"stamp of {name!r}: LOG has a message of the sender that comes after this one")
        here = []
        for pair, time in waiting.items():
            sender = pair // group_size
            if time > newest[sender]:
                raise InputError(f"stamp of {name!r}: LOG has a message newer than the newest of its sender")
            if pair % group_size == receiver:
                here.append((sender, time))
        return clock, dests, newest, waiting, here

    @staticmethod
    def find_needs_and_gains(stamp: Stamp, source: int, receiver: int) -> tuple[Pairs, Pairs]:
        """RCV 1 and 2: what LOG says may be undelivered at `receiver` comes first."""
        clock, *_, here = stamp
        return here, [(source, clock)]

    @classmethod
    def read_past_counts(cls, kind: str, stamp: bytes, source: int, receiver: int, group_size: int) -> Pairs:
        """The newest message of each process that the sender knew of."""
        _, _, newest, _, _ = cls.read_stamp(kind, stamp, source, receiver, group_size)
        return list(enumerate(newest))

    @staticmethod
    def count_entries(stamp: bytes) -> int:
        """The clock, the destinations, the newest of each process, and two numbers for what waits."""
        _, dests, newest, waiting = _decode(stamp)
        return 1 + len(dests) + len(newest) + 2 * len(waiting)

    def _refuse_claim_of_unsent_messages(self, stamp: Stamp) -> None:
        _, _, newest, _, _ = stamp
        refuse_claimed_count_above_actual(newest[self.me], self.clock)

    def _learn_from_delivery(self, source: int, stamp: Stamp) -> None:
        clock, dests, newest, waiting, here = stamp
        n, me = self.n, self.me
        newest[source] = clock  # RCV 3
        for d in dests:
            waiting[source * n + d] = clock
        for s, _ in here:
            waiting.pop(s * n + me, None)
        waiting.pop(source * n + me, None)
        self._merge_log(newest, waiting)

    def _merge_log(self, newest: list[int], waiting: Waiting) -> None:
        """RCV 4: what one side lacks and yet has heard of, it knew to be settled; both know of the rest.

        Where both have a time for a pair, the later one is of a message that the other has not heard of.
        """
        n, mine, ours = self.n, self.newest, self.waiting
        settled = [p for p, t in ours.items() if p not in waiting and t <= newest[p // n]]
        for p in settled:
            del ours[p]
        for p, t in waiting.items():
            if t > mine[p // n]:
                ours[p] = t  # RCV 5 has nothing left to purge
        for s, t in enumerate(newest):
            if t > mine[s]:
                mine[s] = t
