"""Wrong rules for `optimal`: KS 1998. Some are unsafe, some only cost."""

from antecede.protocols.optimal import Optimal, Waiting
from tests.mutants.drives import long_unicast, multicast
from tests.mutants.table import Mutant

Entries = dict[int, dict[int, set[int]]]
"""The textbook's LOG: sender to time to destinations."""


class ForgetsDestination(Optimal, kw_only=True):
    """What a message to d carries does not tell d what to wait for."""

    def _select_log_to_carry(self, dests: list[int], d: int) -> Waiting:
        return {pair: t for pair, t in self.waiting.items() if pair % self.n not in dests}


class PrunesFirst(Optimal, kw_only=True):
    """SND 3 before SND 2."""

    def _send_message(self, payload: bytes, targets: list[int]) -> None:
        self.waiting = {pair: t for pair, t in self.waiting.items() if pair % self.n not in targets}
        super()._send_message(payload, targets)


def by_time(newest: list[int], waiting: Waiting) -> Entries:
    """LOG as in the textbook, where the newest entry of a sender may be empty."""
    n = len(newest)
    entries: Entries = {s: {t: set()} for s, t in enumerate(newest) if t}
    for pair, t in waiting.items():
        entries[pair // n].setdefault(t, set()).add(pair % n)
    return entries


def by_pair(entries: Entries, n: int) -> tuple[list[int], Waiting]:
    """LOG as it is shipped: for each sender the newest time, for each pair the last message."""
    newest = [max(entries.get(s, ()), default=0) for s in range(n)]
    waiting = {s * n + d: t for s, times in entries.items() for t in sorted(times) for d in times[t]}
    return newest, waiting


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

    def _merge_log(self, newest: list[int], waiting: Waiting) -> None:
        entries = by_time(self.newest, self.waiting)
        self._unite(entries, by_time(newest, waiting))
        self._purge(entries)
        self.newest, self.waiting = by_pair(entries, self.n)

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

    def _purge(self, log: Entries) -> None:
        for s in [*log]:
            log[s] = {t: waiting for t, waiting in log[s].items() if waiting}
            if not log[s]:
                del log[s]


ROWS = [
    Mutant(
        "ks-as-is",
        "nothing: the textbook's own LOG, to show that the others change one thing",
        "KS98",
        "clean",
        Textbook,
        multicast,
    ),
    Mutant(
        "ks-forgets-d",
        "the destination itself is not kept in what is sent to it",
        "KS98",
        "unsafe",
        ForgetsDestination,
        multicast,
    ),
    Mutant(
        "ks-prunes-first",
        "LOG is pruned before the packets are made",
        "KS98",
        "unsafe",
        PrunesFirst,
        multicast,
    ),
    Mutant(
        "ks-never-marks",
        "entries that the other side lacks are not dropped",
        "KS98",
        "larger",
        NeverMarks,
        long_unicast,
        sizes=(4, 6),
        runs=20,
    ),
    Mutant(
        "ks-marks-in-turn",
        "one side is pruned before the other is marked",
        "KS98",
        "larger",
        MarksInTurn,
        long_unicast,
        sizes=(4, 6),
        runs=20,
    ),
    Mutant("ks-unites", "common entries take the union of destinations", "KS98", "larger", Unites, multicast),
    Mutant(
        "ks-purges-all",
        "the newest entry of a sender is dropped when empty",
        "KS98",
        "larger",
        PurgesAll,
        long_unicast,
        sizes=(4, 6),
        runs=20,
    ),
]
