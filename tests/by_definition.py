"""What an audit must find in a small log, straight from the definitions: slow and without the package.

A log is a list of rows of the events table, of one execution, with clocks as dictionaries; every row has a
process, an index and an id. A finding is named by its kind and the ids of its events; of a late delivery only
the delivery itself counts, since several chains may show it; of false causality, the two sends.
"""

from collections import Counter
from functools import cached_property
from itertools import pairwise
from typing import Any

Row = dict[str, Any]
Finding = tuple[str, ...]


class Log:
    """Rows with what follows from them; events are known by their place in `rows`."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = sorted(rows, key=lambda row: (row["process"], row["index"]))
        delivers = any(row["kind"] == "deliver" for row in rows)
        self.arrives = [row["kind"] == "receive" and delivers and not row["clock"] for row in self.rows]
        self.gets = [row["kind"] in ("deliver", "receive") for row in self.rows]
        self.delivers = [get and not arrives for get, arrives in zip(self.gets, self.arrives, strict=True)]
        self.clocks = [{q: c for q, c in (row["clock"] or {}).items() if c > 0} for row in self.rows]
        self.line: dict[str, list[int]] = {}
        for i, row in enumerate(self.rows):
            if not self.arrives[i]:
                self.line.setdefault(row["process"], []).append(i)
        self.before = {b: a for line in self.line.values() for a, b in pairwise(line)}

    def id(self, event: int) -> str:
        return str(self.rows[event]["event"])

    def clock(self, event: int) -> dict[str, int]:
        return self.clocks[event]

    def own(self, event: int) -> int:
        return self.clock(event).get(self.rows[event]["process"], 0)

    def meant(self, process: str, count: int) -> int | None:
        """The event that a clock entry stands for."""
        return next((i for i in self.line.get(process, []) if self.own(i) == count), None)

    @cached_property
    def sends(self) -> dict[str, int]:
        """The first send of each message."""
        found: dict[str, int] = {}
        for i, row in enumerate(self.rows):
            if row["kind"] == "send" and row["message"] is not None:
                found.setdefault(row["message"], i)
        return found

    @cached_property
    def copies(self) -> dict[tuple[str, str], list[int]]:
        """The deliveries of each message at each process."""
        found: dict[tuple[str, str], list[int]] = {}
        for i, row in enumerate(self.rows):
            if self.delivers[i] and row["message"] is not None:
                found.setdefault((row["process"], row["message"]), []).append(i)
        return found

    def claims(self, event: int) -> list[int]:
        """ShiViz's rule: the events of others that a clock newly claims, but for what these imply."""
        row = self.rows[event]
        line = self.line.get(row["process"], [])
        earlier = [self.clock(i) for i in line if i < event]
        grown = {
            q: c
            for q, c in self.clock(event).items()
            if q != row["process"] and all(clock.get(q, 0) < c for clock in earlier)
        }
        found = {q: f for q, c in grown.items() if (f := self.meant(q, c)) is not None}
        return [
            f
            for q, f in found.items()
            if all(self.clock(g).get(q) != grown[q] for g in found.values() if g != f)
        ]

    @cached_property
    def carried(self) -> set[tuple[int, int]]:
        """Edges from sends to first deliveries."""
        return {(self.sends[m], c[0]) for (_, m), c in self.copies.items() if m in self.sends}

    def told(self, event: int) -> list[int]:
        """The causes of an event by parents and messages, where these make sense."""
        sent = {s for s, d in self.carried - self.unsent if d == event}
        return sorted(sent | {self.named[p] for p in self.rows[event]["parents"] or [] if p in self.named})

    @cached_property
    def named(self) -> dict[str, int]:
        """The first event of each id."""
        found: dict[str, int] = {}
        for i, row in enumerate(self.rows):
            found.setdefault(row["event"], i)
        return found

    @cached_property
    def firm(self) -> set[tuple[int, int]]:
        """Direct causes by process order, parents and clocks."""
        found = {(a, b) for b, a in self.before.items()}
        named = self.named
        for i, row in enumerate(self.rows):
            found |= {(named[p], i) for p in row["parents"] or [] if p in named and named[p] != i}
            found |= {(f, i) for f in self.claims(i)}
        return found

    @cached_property
    def arrivals(self) -> set[tuple[int, int]]:
        """From sends to arrivals, and from first arrivals to first deliveries behind them."""
        found, first = set(), set()
        for i, row in enumerate(self.rows):
            copy = row["process"], row["message"]
            if self.arrives[i] and row["message"] in self.sends:
                found.add((self.sends[row["message"]], i))
            if self.arrives[i] and copy not in first:
                over = self.copies.get(copy, [-1])[0]
                found |= {(i, over)} if over > i else set()
                first.add(copy)
        return found

    @cached_property
    def unsent(self) -> set[tuple[int, int]]:
        """Messages that were delivered before they were sent, and that time shows to be to blame.

        Where there is a cycle without messages, that one is to blame.
        """
        ahead = reach(len(self.rows), self.firm | self.carried)
        alone = reach(len(self.rows), self.firm)
        rings = [{j for j in ahead[i] if i in ahead[j]} for i in range(len(ahead))]
        return {
            (s, d)
            for s, d in self.carried - self.firm
            if s in ahead[d] and self.time(s) > self.time(d) and not any(j in alone[j] for j in rings[s])
        }

    def time(self, event: int) -> float:
        return float(self.rows[event]["time"] or 0)

    @cached_property
    def edges(self) -> set[tuple[int, int]]:
        """All direct causes."""
        bad = {d for _, d in self.unsent}
        over = {(a, d) for a, d in self.arrivals if d in bad}
        return self.firm | (self.carried - self.unsent) | (self.arrivals - over)

    @cached_property
    def backwards(self) -> set[tuple[int, int]]:
        """Causes that are later than their effects by their times.

        In place of an event without a time stands the latest of its causes, each seen likewise.
        """
        causes: dict[int, list[int]] = {}
        for a, b in sorted(self.edges):
            causes.setdefault(b, []).append(a)

        def told(event: int, above: frozenset[int] = frozenset()) -> int | None:
            if self.rows[event]["time"] is not None:
                return event
            heard = [told(a, above | {event}) for a in causes.get(event, []) if a not in above]
            return max((a for a in heard if a is not None), key=self.time, default=None)

        seen = {(told(a), b) for a, b in self.edges if self.rows[b]["time"] is not None}
        return {(a, b) for a, b in seen if a is not None and self.time(a) > self.time(b)}


def reach(size: int, edges: set[tuple[int, int]]) -> list[set[int]]:
    """What each event leads to, itself only if it lies on a cycle."""
    found, before = [0] * size, [-1] * size
    while found != before:
        before = found.copy()
        for a, b in sorted(edges, reverse=True):
            found[a] |= found[b] | 1 << b
    return [{i for i in range(size) if bits >> i & 1} for bits in found]


def findings(rows: list[Row]) -> Counter[Finding]:
    """All findings."""
    log = Log(rows)
    ahead = reach(len(log.rows), log.edges)
    rings = [{j for j in ahead[i] if i in ahead[j]} for i in range(len(ahead))]
    found: Counter[Finding] = Counter(("unsent", log.id(d), log.id(s)) for s, d in log.unsent)
    found += messages(log) + late(log, rings) + unmeant(log, rings) + (clocks := clock_faults(log))
    cyclic = {ids[-1] for kind, *ids in clocks if kind == "clock-cyclic"}
    named = {tuple(sorted(map(log.id, ring))) for ring in rings if ring}
    found += Counter(("cycle", *ring) for ring in named if not cyclic & set(ring))
    found.update(("timestamp", log.id(a), log.id(b)) for a, b in log.backwards)
    same = Counter(row["event"] for row in rows)
    found += Counter({("same-id", name, name): number - 1 for name, number in same.items()})
    ids = {row["event"] for row in rows}
    for row in rows:
        for parent in set(row["parents"] or []) - ids:
            found["missing", parent, row["event"]] += 1
        found["self-parent", row["event"]] += row["event"] in (row["parents"] or [])
    return +found


def messages(log: Log) -> Counter[Finding]:
    """Lost, orphan, duplicate, resent, astray."""
    found: Counter[Finding] = Counter()
    for (process, message), copies in log.copies.items():
        sends = [row for row in log.rows if row["kind"] == "send" and row["message"] == message]
        by = {row["process"] for row in sends}
        to = {name for row in sends for name in row["receivers"] or []} | by
        for copy in copies if sends else []:
            send = log.id(log.sends[message])
            known = all(row["receivers"] for row in sends)
            found["misdelivered", send, log.id(copy)] += known and process not in to
            found["wrong-sender", send, log.id(copy)] += log.rows[copy]["sender"] not in {None, *by}
        found.update(("duplicate", log.id(copies[0]), log.id(again)) for again in copies[1:])
        if message not in log.sends:
            found["orphan", log.id(copies[0])] += 1
    for i, row in enumerate(log.rows):
        if row["kind"] == "send" and log.sends[row["message"]] != i:
            found["resent", log.id(log.sends[row["message"]]), log.id(i)] += 1
    return +found + lost(log)


def lost(log: Log) -> Counter[Finding]:
    """Copies that never came, each where a send first names its receiver.

    The receivers of all sends of a message count, but for the process of that send, unless nobody else is
    named; a message of which no send names anybody is lost if nobody has it.
    """
    found: Counter[Finding] = Counter()
    got = {message for _, message in log.copies}
    for message, first in log.sends.items():
        sends = [i for i, row in enumerate(log.rows) if row["kind"] == "send" and row["message"] == message]
        named = [(to, i) for i in sends for to in log.rows[i]["receivers"] or []]
        meant = [(to, i) for to, i in named if to != log.rows[i]["process"]] or named
        for receiver, send in dict(reversed(meant)).items():
            found["lost", log.id(send), receiver] += (receiver, message) not in log.copies
        found["lost", log.id(first), ""] += not named and message not in got
    return +found


def late(log: Log, rings: list[set[int]]) -> Counter[Finding]:
    """Deliveries before which one came that depends on them; on a cycle, nothing causes what was before."""
    forward = {(a, b) for a, b in log.edges if b not in rings[a] or log.time(a) <= log.time(b)}
    ahead = reach(len(log.rows), forward)
    source = {d: s for s, d in log.carried & forward}
    found: Counter[Finding] = Counter()
    for line in log.line.values():
        came = [d for d in line if d in source]
        for at, d in enumerate(came):
            first = [e for e in came[:at] if source[e] in ahead[source[d]]]
            sender = log.rows[source[d]]["process"]
            fifo = any(log.rows[source[e]]["process"] == sender for e in first)
            found["late", log.id(d)] += bool(first)
            found["fifo", log.id(d)] += fifo
    return +found


def unmeant(log: Log, rings: list[set[int]]) -> Counter[Finding]:
    """Deliveries before one that happened first, and on which they do not depend by what sends name."""
    ids = {row["event"]: i for i, row in enumerate(log.rows)}
    named = [row["parents"] for row in log.rows if row["kind"] == "send"]
    parents = {(p, i) for i, row in enumerate(log.rows) for p in row["parents"] or []}
    if None in named or not any(named) or any(rings) or any(ids.get(p, i) == i for p, i in parents):
        return Counter()
    source = {d: s for s, d in log.carried & log.edges}
    past = reach(len(log.rows), log.edges)
    meant = reach(len(log.rows), {(ids[p], i) for p, i in parents} | (log.carried & log.edges))
    found: Counter[Finding] = Counter()
    for line in log.line.values():
        came = [source[d] for d in line if d in source]
        for at, late in enumerate(came):
            early = [e for e in came[:at] if e in past[late] and e not in meant[late]]
            found.update(("false-causality", log.id(late), log.id(e)) for e in early)
    return found


def clock_faults(log: Log) -> Counter[Finding]:
    """Claims that no execution can have made, each where it enters."""
    found: Counter[Finding] = Counter()
    for process, line in log.line.items():
        counted: list[int] = []
        clocked: list[int] = []
        for e in line:
            name, faults = log.id(e), Counter[Finding]()
            own = log.own(e)
            last = log.own(counted[-1]) if counted else 0
            other = [log.id(counted[-1])] if counted else []
            restart = own == 1 < last
            if own:
                faults["clock-hole", *other, name] += own > last + 1
                faults["clock-restart", *other, name] += restart
                faults["clock-repeat", *other, name] += own == last
                faults["clock-backwards", *other, name] += own < last and not restart
            faults["clock-uncounted", name] += not own and bool(log.clock(e))
            if log.clock(e):
                faults += claim_faults(log, e, process, clocked[-1] if clocked and not restart else None)
                clocked.append(e)
            if own and own == last and not _comparable(log.clock(e), log.clock(counted[-1])):
                told = ("clock-backwards", "clock-repeat")
                faults = Counter({f: n for f, n in faults.items() if f[0] not in told})
                faults["concurrent", *other, name] += 1
            counted += [e] if own else []
            found += faults
    place = {log.id(i): i for i in range(len(log.rows))}
    for kind, *ids in list(found):
        if kind == "clock-cyclic" and place[ids[0]] > place[ids[1]]:
            twice = (kind, *ids[::-1]) in found
            found[kind, *ids] -= twice
    return +found


def claim_faults(log: Log, e: int, process: str, last: int | None) -> Counter[Finding]:
    """The faults of the entries for others."""
    found: Counter[Finding] = Counter()
    mine = log.clock(e)
    before = {} if last is None else log.clock(last)
    own = log.own(e)
    told = {q for q, c in before.items() if q != process and mine.get(q, 0) < c}
    found.update(("clock-backwards", log.id(last), log.id(e)) for _ in told if last is not None)
    direct = log.claims(e) + [f for f in log.told(e) if log.rows[f]["process"] != process]
    for f in direct:
        back = 1 <= own <= log.clock(f).get(process, 0)
        lacks = {q for q, c in log.clock(f).items() if q != process and mine.get(q, 0) < c} - told
        if lacks and not back:
            told |= lacks
            found["clock-not-transitive", log.id(e)] += len(lacks)
    for q, c in mine.items():
        if q == process or c <= before.get(q, 0):
            continue
        other = log.meant(q, c)
        if other is not None and 1 <= own <= log.clock(other).get(process, 0):
            found["clock-cyclic", log.id(other), log.id(e)] += 1
        if other is None and all(log.clock(f).get(q, 0) < c for f in direct):
            top = max((log.own(i) for i in log.line.get(q, [])), default=0)
            found["clock-unknown", log.id(e)] += q not in log.line
            found["clock-beyond", log.id(e)] += q in log.line and c > top
    return +found


def _comparable(one: dict[str, int], other: dict[str, int]) -> bool:
    less = all(one.get(q, 0) >= c for q, c in other.items())
    return less or all(other.get(q, 0) >= c for q, c in one.items())
