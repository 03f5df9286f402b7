"""Wrong rules for `optimal`: KS 1998. Some are unsafe, some only cost."""

from collections.abc import Callable

from antecede.core import wire
from antecede.core.packet import Packet
from antecede.protocols.optimal import Log, Optimal, Stamp, merge, purge
from tests.mutants.drives import long_unicast, multicast
from tests.mutants.table import Mutant

_stamp: Callable[[bytes], Stamp] = wire.reader(Stamp, "stamp")  # type: ignore[arg-type]


class ForgetsDestination(Optimal, kw_only=True):
    """What a message to d carries does not tell d what to wait for."""

    def _carried(self, dests: set[int], d: int) -> Log:
        carried = {s: {t: w - dests for t, w in times.items()} for s, times in self.log.items()}
        purge(carried)
        return carried


class PrunesFirst(Optimal, kw_only=True):
    """SND 3 before SND 2."""

    def _send(self, payload: bytes, targets: list[int]) -> None:
        for times in self.log.values():
            for waiting in times.values():
                waiting -= set(targets)
        super()._send(payload, targets)


class Merges(Optimal, kw_only=True):
    """The protocol as shipped, with RCV 4 and RCV 5 in methods of their own."""

    def _delivered(self, source: int, stamp: Stamp) -> None:
        clock, dests, carried = stamp
        carried.setdefault(source, {})[clock] = set(dests)
        for times in carried.values():
            for waiting in times.values():
                waiting.discard(self.me)
        self._merge(carried)
        self._purge(self.log)

    def _merge(self, carried: Log) -> None:
        merge(self.log, carried)

    def _purge(self, log: Log) -> None:
        purge(log)


class NeverMarks(Merges, kw_only=True):
    """Absence beside a newer entry is not read as knowledge."""

    def _merge(self, carried: Log) -> None:
        for s, theirs in carried.items():
            ours = self.log.setdefault(s, {})
            for t, waiting in theirs.items():
                ours[t] = ours[t] & waiting if t in ours else waiting


class MarksInTurn(Merges, kw_only=True):
    """The packet is pruned before it is asked which entries of LOG it shows to be settled."""

    def _merge(self, carried: Log) -> None:
        newest = {s: max(times) for s, times in self.log.items()}
        for s, times in carried.items():
            kept = {t: w for t, w in times.items() if t > newest.get(s, 0) or t in self.log[s]}
            merge(self.log, {s: kept} if kept else {})


class Unites(Merges, kw_only=True):
    """Of two views of an entry the larger is kept."""

    def _merge(self, carried: Log) -> None:
        mine = {s: {t: set(waiting) for t, waiting in times.items()} for s, times in self.log.items()}
        super()._merge(carried)
        for s, times in carried.items():
            for t in times.keys() & mine.get(s, {}).keys():
                self.log[s][t] = mine[s][t] | times[t]


class PurgesAll(Merges, kw_only=True):
    """The newest entry of a sender goes too when it is empty."""

    def _carried(self, dests: set[int], d: int) -> Log:
        carried = {s: {t: (w - dests) | ({d} & w) for t, w in ts.items()} for s, ts in self.log.items()}
        self._purge(carried)
        return carried

    def _purge(self, log: Log) -> None:
        for s in [*log]:
            log[s] = {t: waiting for t, waiting in log[s].items() if waiting}
            if not log[s]:
                del log[s]


class TextbookStart(Optimal, kw_only=True):
    """LOG starts with an empty entry of time 0 for every process."""

    def _start(self) -> None:
        self.log = {s: {0: set()} for s in range(self.n)}

    def _read(self, packet: Packet) -> Stamp:
        return _stamp(packet.stamp)


ROWS = [
    Mutant("ks-as-is", "nothing: the rules as shipped, to show that the others change one thing", "KS98",
           "clean", Merges, multicast),
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
