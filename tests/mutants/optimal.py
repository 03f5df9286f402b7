"""Wrong rules for `optimal`: KS 1998. Some are unsafe, some only cost."""

from collections.abc import Callable

from antecede.core import wire
from antecede.core.packet import Packet
from antecede.protocols.optimal import Log, Optimal, Stamp, take_out
from tests.mutants.drives import long_unicast, multicast
from tests.mutants.table import Mutant

Entries = dict[int, dict[int, set[int]]]
"""The textbook's LOG: sender to time to destinations."""

_stamp: Callable[[bytes], tuple[int, list[int], Log]] = wire.reader(tuple[int, list[int], Log], "stamp")


class ForgetsDestination(Optimal, kw_only=True):
    """What a message to d carries does not tell d what to wait for."""

    def _carried(self, dests: list[int], d: int) -> Log:
        return {s: {w: t for w, t in times.items() if w not in dests} for s, times in self.log.items()}


class PrunesFirst(Optimal, kw_only=True):
    """SND 3 before SND 2."""

    def _send(self, payload: bytes, targets: list[int]) -> None:
        for times in self.log.values():
            for d in targets:
                times.pop(d, None)
        super()._send(payload, targets)


def by_time(log: Log, nobody: int) -> Entries:
    """LOG as in the textbook, where the newest entry of a sender may be empty."""
    entries: Entries = {s: {} for s in log}
    for s, times in log.items():
        for d, t in times.items():
            entries[s].setdefault(t, set()).update({d} - {nobody})
    return entries


def by_destination(entries: Entries, nobody: int) -> Log:
    """LOG as it is shipped: for each destination the last message, for nobody the newest."""
    log: Log = {}
    for s, times in entries.items():
        waiting = {d: t for t in sorted(times) for d in times[t]}
        log[s] = {**waiting, nobody: max(times)}
    return log


def merge(log: Entries, carried: Entries) -> None:
    """RCV 4 as in the textbook."""
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


def purge(log: Entries) -> None:
    """RCV 5: drop entries without destinations, except the newest of each sender."""
    for s, times in log.items():
        log[s] = {t: waiting for t, waiting in times.items() if waiting or t == max(times)}


class Textbook(Optimal, kw_only=True):
    """RCV 4 and RCV 5 on the textbook's entries: right."""

    def _merge(self, carried: Log) -> None:
        entries = by_time(self.log, self.n)
        self._unite(entries, by_time(carried, self.n))
        self._purge(entries)
        self.log = by_destination(entries, self.n)

    def _unite(self, log: Entries, carried: Entries) -> None:
        merge(log, carried)

    def _purge(self, log: Entries) -> None:
        purge(log)


class NeverMarks(Textbook, kw_only=True):
    """Absence beside a newer entry is not read as knowledge."""

    def _unite(self, log: Entries, carried: Entries) -> None:
        for s, theirs in carried.items():
            ours = log.setdefault(s, {})
            for t, waiting in theirs.items():
                ours[t] = ours[t] & waiting if t in ours else waiting


class MarksInTurn(Textbook, kw_only=True):
    """The packet is pruned before it is asked which entries of LOG it shows to be settled."""

    def _unite(self, log: Entries, carried: Entries) -> None:
        newest = {s: max(times) for s, times in log.items()}
        for s, times in carried.items():
            kept = {t: w for t, w in times.items() if t > newest.get(s, 0) or t in log[s]}
            merge(log, {s: kept} if kept else {})


class Unites(Textbook, kw_only=True):
    """Of two views of an entry the larger is kept."""

    def _unite(self, log: Entries, carried: Entries) -> None:
        mine = {s: {t: set(waiting) for t, waiting in times.items()} for s, times in log.items()}
        super()._unite(log, carried)
        for s, times in carried.items():
            for t in times.keys() & mine.get(s, {}).keys():
                log[s][t] = mine[s][t] | times[t]


class PurgesAll(Textbook, kw_only=True):
    """The newest entry of a sender goes too when it is empty."""

    def _send(self, payload: bytes, targets: list[int]) -> None:
        super()._send(payload, targets)
        self._merge({})

    def _carried(self, dests: list[int], d: int) -> Log:
        carried = by_time(super()._carried(dests, d), self.n)
        self._purge(carried)
        return by_destination(carried, self.n)

    def _purge(self, log: Entries) -> None:
        for s in [*log]:
            log[s] = {t: waiting for t, waiting in log[s].items() if waiting}
            if not log[s]:
                del log[s]


class TextbookStart(Optimal, kw_only=True):
    """LOG starts with an empty entry of time 0 for every process."""

    def _start(self) -> None:
        self.log = {s: {self.n: 0} for s in range(self.n)}

    def _read(self, packet: Packet) -> Stamp:
        clock, dests, carried = _stamp(packet.stamp)
        return clock, dests, carried, take_out(self.me, carried, self.n)


ROWS = [
    Mutant("ks-as-is", "nothing: the textbook's own LOG, to show that the others change one thing", "KS98",
           "clean", Textbook, multicast),
    Mutant("ks-forgets-d", "the destination itself is not kept in what is sent to it", "KS98",
           "unsafe", ForgetsDestination, multicast),
    Mutant("ks-prunes-first", "LOG is pruned before the packets are made", "KS98",
           "unsafe", PrunesFirst, multicast),
    Mutant("ks-never-marks", "entries that the other side lacks are not dropped", "KS98",
           "larger", NeverMarks, long_unicast, sizes=(4, 6), runs=20),
    Mutant("ks-marks-in-turn", "one side is pruned before the other is marked", "KS98",
           "larger", MarksInTurn, long_unicast, sizes=(4, 6), runs=20),
    Mutant("ks-unites", "common entries take the union of destinations", "KS98", "larger", Unites, multicast),
    Mutant("ks-purges-all", "the newest entry of a sender is dropped when empty", "KS98",
           "smaller", PurgesAll, multicast),
    Mutant("ks-textbook-start", "LOG starts with an entry per process", "KS98, the textbook",
           "larger", TextbookStart, multicast),
]  # fmt: skip
