"""optimal: the least control information that causal order needs (Kshemkalyani, Singhal 1998).

LOG maps (sender, time) to the destinations that may not have delivered that message yet and for which no
later message carries the duty. A message carries the part of LOG that its destination, or somebody it
will write to, may need. An entry's absence beside a newer one of the same sender is knowledge too.
Step numbers are those of the textbook's SND and RCV; LOG starts empty (the textbook starts it with an
empty entry per process, which changes nothing and costs n entries on every message).
"""

import msgspec

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.facts import Facts
from antecede.core.gate import Pairs
from antecede.core.gated import Gated
from antecede.core.packet import Packet
from antecede.protocols.stamps import check_destinations, only_messages

Log = dict[int, dict[int, set[int]]]
"""Sender to time to destinations."""


class OptimalStamp(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """`log` is flat: sender, time, number of destinations, destinations; and so on."""

    clock: wire.Count
    dests: list[wire.Count]
    log: list[wire.Count]


_read = wire.reader(OptimalStamp, "stamp of 'optimal'")


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
        stamp="3 * entries of LOG + their destinations; n^2 at worst, far less in practice",
    )
    dense = False

    clock: int = 0
    log: Log = {}

    def _send(self, payload: bytes, targets: list[int]) -> None:
        self.clock += 1  # SND 1
        dests = set(targets)
        for d in targets:  # SND 2: from the unchanged LOG
            carried = {
                s: {t: (w - dests) | ({d} & w) for t, w in times.items()} for s, times in self.log.items()
            }
            purge(carried)
            self._emit(d, wire.encode((self.clock, targets, flatten(carried))), payload)
        for times in self.log.values():  # SND 3
            for waiting in times.values():
                waiting -= dests
        purge(self.log)
        self.log.setdefault(self.me, {})[self.clock] = dests  # SND 4

    def _read(self, packet: Packet) -> tuple[OptimalStamp, Log]:
        only_messages(packet)
        stamp = _read(packet.stamp)
        check_destinations(stamp.dests, self.index[packet.source], self.me, self.n)
        if stamp.clock == 0:
            raise InputError("stamp of 'optimal': the clock starts at 1")
        return stamp, unflatten(stamp.log, self.n)

    def _rule(self, source: int, stamp: tuple[OptimalStamp, Log]) -> tuple[Pairs, Pairs]:
        needs = [(s, t) for s, times in stamp[1].items() for t, dests in times.items() if self.me in dests]
        return needs, [(source, stamp[0].clock)]  # RCV 1, RCV 2

    def _delivered(self, source: int, stamp: tuple[OptimalStamp, Log]) -> None:
        message, carried = stamp
        carried.setdefault(source, {})[message.clock] = set(message.dests)  # RCV 3
        for times in carried.values():
            for waiting in times.values():
                waiting.discard(self.me)
        merge(self.log, carried)  # RCV 4
        purge(self.log)  # RCV 5


def merge(log: Log, carried: Log) -> None:
    """RCV 4: what one side lacks beside something newer, it knew to be settled; both know of the rest."""
    for s, theirs in carried.items():
        ours = log.setdefault(s, {})
        newest, their_newest = max(ours, default=0), max(theirs)
        settled = [t for t in ours if t not in theirs and t < their_newest]
        added = {t: w for t, w in theirs.items() if t in ours or t > newest}
        for t in settled:
            del ours[t]
        for t, waiting in added.items():
            ours[t] = ours[t] & waiting if t in ours else waiting


def purge(log: Log) -> None:
    """Drop entries without destinations, except the newest of each sender."""
    for s, times in log.items():
        newest = max(times)
        log[s] = {t: waiting for t, waiting in times.items() if waiting or t == newest}


def flatten(log: Log) -> list[int]:
    """LOG as one list of numbers."""
    return [
        number
        for s, times in log.items()
        for t, waiting in times.items()
        for number in (s, t, len(waiting), *sorted(waiting))
    ]


def unflatten(flat: list[int], n: int) -> Log:
    """The LOG that `flatten` flattened; raises InputError if it is not one."""
    log: Log = {}
    at = 0
    while at < len(flat):
        s, t, size = (*flat[at : at + 3], 0, n + 1)[:3]
        waiting = flat[at + 3 : at + 3 + size]
        times = log.setdefault(s, {})
        if t == 0 or s >= n or size > n or len(waiting) < size or t in times or max(waiting, default=0) >= n:
            raise InputError("stamp of 'optimal': not a list of (sender, time, destinations) of this group")
        times[t] = set(waiting)
        at += 3 + size
    return log
