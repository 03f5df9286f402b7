"""optimal: the least control information that causal order needs (Kshemkalyani, Singhal 1998).

LOG maps (sender, time) to the destinations that may not have delivered that message yet and for which no
later message carries the duty. A message carries the part of LOG that its destination, or somebody it
will write to, may need. An entry's absence beside a newer one of the same sender is knowledge too.
Step numbers are those of the textbook's SND and RCV; LOG starts empty (the textbook starts it with an
empty entry per process, which changes nothing and costs n entries on every message).
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Annotated

from msgspec import Meta

from antecede.core import wire
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import check_destinations, check_own, only_messages

Log = dict[int, dict[int, set[int]]]
"""Sender to time to destinations."""

Stamp = tuple[int, list[int], Log]
"""The clock of the message, its destinations, and what it carries of LOG."""


@lru_cache
def _reader(n: int) -> Callable[[bytes], Stamp]:
    who = Annotated[int, Meta(ge=0, lt=n)]
    time = Annotated[int, Meta(ge=1, le=wire.LARGEST)]
    times = Annotated[dict[time, set[who]], Meta(min_length=1)]
    stamp: type[Stamp] = tuple[time, list[who], dict[who, times]]
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
    def read(self) -> Callable[[bytes], Stamp]:
        """Reads the stamps of a group of this size."""
        return _reader(self.n)

    def _send(self, payload: bytes, targets: list[int]) -> None:
        self.clock += 1  # SND 1
        dests = set(targets)
        for d in targets:  # SND 2: from the unchanged LOG
            self._emit(d, wire.encode((self.clock, targets, ordered(self._carried(dests, d)))), payload)
        for times in self.log.values():  # SND 3
            for waiting in times.values():
                waiting -= dests
        self.log.setdefault(self.me, {})[self.clock] = dests  # SND 4
        purge(self.log)  # the purge of step 3 comes last, so that LOG is always as small as what is sent

    def _carried(self, dests: set[int], d: int) -> Log:
        if len(dests) == 1:  # d is kept, nobody else is in dests, and LOG is purged: nothing would change
            return self.log
        log = {s: {t: (w - dests) | ({d} & w) for t, w in times.items()} for s, times in self.log.items()}
        purge(log)
        return log

    def _read(self, packet: Packet) -> Stamp:
        only_messages(packet)
        stamp = self.read(packet.stamp)
        check_destinations(stamp[1], self.index[packet.source], self.me, self.n)
        check_own(max(stamp[2].get(self.me, ()), default=0), self.clock)
        return stamp

    def _rule(self, source: int, stamp: Stamp) -> tuple[Pairs, Pairs]:
        clock, _, carried = stamp
        needs = [(s, t) for s, times in carried.items() for t, dests in times.items() if self.me in dests]
        return needs, [(source, clock)]  # RCV 1, RCV 2

    def _delivered(self, source: int, stamp: Stamp) -> None:
        clock, dests, carried = stamp
        carried.setdefault(source, {})[clock] = set(dests)  # RCV 3
        for times in carried.values():
            for waiting in times.values():
                waiting.discard(self.me)
        merge(self.log, carried)  # RCV 4
        purge(self.log)  # RCV 5


def ordered(log: Log) -> dict[int, dict[int, list[int]]]:
    """LOG as it travels: equal logs have equal bytes."""
    return {s: {t: sorted(w) for t, w in times.items()} for s, times in log.items()}


def merge(log: Log, carried: Log) -> None:
    """RCV 4: what one side lacks beside something newer, it knew to be settled; both know of the rest."""
    for s, theirs in carried.items():
        ours = log.setdefault(s, {})
        newest, their_newest = max(ours, default=0), max(theirs)
        for t in [t for t in ours if t < their_newest and t not in theirs]:
            del ours[t]
        for t, waiting in theirs.items():
            if t in ours:
                ours[t] &= waiting
            elif t > newest:
                ours[t] = waiting


def purge(log: Log) -> None:
    """Drop entries without destinations, except the newest of each sender."""
    for s, times in log.items():
        if len(times) > 1 and not all(times.values()):
            newest = max(times)
            log[s] = {t: waiting for t, waiting in times.items() if waiting or t == newest}
