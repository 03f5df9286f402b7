"""optimal: the least control information that causal order needs (Kshemkalyani, Singhal 1998).

LOG has the messages of the past with the destinations that may not have delivered them yet and for which
no later message carries the duty. A message carries the part of LOG that its destination, or somebody it
will write to, may need. What is absent beside something newer of the same sender is knowledge too.
Step numbers are those of the textbook's SND and RCV; LOG starts empty (the textbook starts it with an
empty entry per process, which changes nothing and costs n entries on every message).

Of the messages of one sender to one destination only the last waits: it answers for those before it. So
LOG maps a sender to destinations, and each of these to the time of the message that waits for it. Among
the destinations is *nobody*, whose id is n, with the newest time known: where the textbook keeps an empty
entry beside the others, here the newest message waits for nobody.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Annotated

from msgspec import Meta

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import check_destinations, check_own, only_messages

Log = dict[int, dict[int, int]]
"""Sender to destination, or nobody, to time."""

Stamp = tuple[int, list[int], Log, Pairs]
"""The clock of the message, its destinations, what it carries of LOG, and what of that waits here."""


@lru_cache
def _reader(n: int) -> Callable[[bytes], tuple[int, list[int], Log]]:
    who = Annotated[int, Meta(ge=0, lt=n)]
    who_or_nobody = Annotated[int, Meta(ge=0, le=n)]
    time = Annotated[int, Meta(ge=1, le=wire.LARGEST)]
    times = Annotated[dict[who_or_nobody, time], Meta(min_length=1)]
    stamp: type[tuple[int, list[int], Log]] = tuple[time, list[who], dict[who, times]]
    return wire.reader(stamp, "stamp of 'optimal'")


class Optimal(Gated, kw_only=True):
    """SR is the gate's `have`: slot s holds the time of the last message from s delivered here."""

    facts = Facts(
        name="optimal",
        title="optimal control information",
        paper="KS98, cited by 000 and 003",
        order="causal",
        unicast=True,
        multicast=True,
        broadcast=True,
        exact=True,
        delay_optimal=True,
        counts="sends of that process, to anybody",
        stamp="2 * entries of LOG + their senders and destinations; n^2 at worst, far less in practice",
    )
    dense = False

    clock: int = 0
    log: Log = {}

    @cached_property
    def read(self) -> Callable[[bytes], tuple[int, list[int], Log]]:
        """Reads the stamps of a group of this size."""
        return _reader(self.n)

    def _send(self, payload: bytes, targets: list[int]) -> None:
        self.clock += 1  # SND 1
        for d in targets:  # SND 2: from the unchanged LOG
            self._emit(d, wire.encode((self.clock, targets, self._carried(targets, d))), payload)
        for times in self.log.values():  # SND 3
            for d in targets:
                if d in times:
                    del times[d]
        own = self.log.setdefault(self.me, {})  # SND 4
        own[self.n] = self.clock
        for d in targets:
            own[d] = self.clock

    def _carried(self, dests: list[int], d: int) -> Log:
        if len(dests) == 1:  # d is kept, and nobody else is in dests
            return self.log
        others = set(dests) - {d}
        return {s: {w: t for w, t in times.items() if w not in others} for s, times in self.log.items()}

    def _read(self, packet: Packet) -> Stamp:
        only_messages(packet)
        clock, dests, carried = self.read(packet.stamp)
        source, me, nobody = self.index[packet.source], self.me, self.n
        check_destinations(dests, source, me, nobody)
        here = take_out(me, carried, nobody)
        if me in carried:
            check_own(carried[me][nobody], self.clock)
        if source in carried and carried[source][nobody] >= clock:
            raise InputError("stamp of 'optimal': LOG has a message of the sender that comes after this one")
        return clock, dests, carried, here

    def _rule(self, source: int, stamp: Stamp) -> tuple[Pairs, Pairs]:
        clock, _, _, here = stamp
        have = self.gate.have
        return [(s, t) for s, t in here if t > have.get(s, 0)], [(source, clock)]  # RCV 1, RCV 2

    def _delivered(self, source: int, stamp: Stamp) -> None:
        clock, dests, carried, _ = stamp
        sent = carried.setdefault(source, {})  # RCV 3; this process was removed when the stamp was read
        sent[self.n] = clock
        for d in dests:
            if d != self.me:
                sent[d] = clock
        self._merge(carried)

    def _merge(self, carried: Log) -> None:
        """RCV 4: what one side lacks beside something newer, it knew to be settled; both know of the rest.

        Of a sender's row the side that knows more is kept. Where both have an entry, that one is right: if
        it is not the same on both sides, it is of a message that the other has not heard of.
        """
        log, nobody = self.log, self.n
        for s, fewer in carried.items():
            times = log.get(s)
            if times is None:
                log[s] = fewer
                continue
            newest = fewer[nobody]
            if newest > times[nobody]:
                log[s], times, fewer, newest = fewer, fewer, times, times[nobody]
            if len(times) > 1:
                for d, t in list(times.items()):
                    if t <= newest and d not in fewer:
                        del times[d]  # RCV 5 has nothing left to purge


def take_out(me: int, carried: Log, nobody: int) -> Pairs:
    """Check a LOG from outside, and take out the messages that wait for this process."""
    here = []
    for s, times in carried.items():
        newest = times.get(nobody, 0)
        for t in times.values():
            if t > newest:
                raise InputError("stamp of 'optimal': LOG has a message newer than the newest of its sender")
        if me in times:
            here.append((s, times.pop(me)))
    return here
