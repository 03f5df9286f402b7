"""Stamps on the wire as needs and gains, for packets that are read from a table and not by an endpoint.

A packet from `source` at `me` needs and gains what the gate of the protocol's endpoint would ask for, but for
what `me` itself has sent: that is not in a table of its arrivals. A protocol that holds nothing at the
receiver has no rule here: its packets are in order as they arrive. `monitor` and `server` promise order at
one process only, whose name is no part of a stamp; their rule holds there. Entries that several senders
share (`probabilistic` and its kin) are read by `shared`: what a key counts cannot be told apart by sender.
"""

from collections.abc import Callable
from typing import NamedTuple

from antecede.core import wire
from antecede.core.errors import InputError
from antecede.core.gate import Pairs
from antecede.protocols.counts import pairs, unpack
from antecede.protocols.history import HistoryStamp
from antecede.protocols.matrix import MatrixStamp
from antecede.protocols.pairs import PairsStamp
from antecede.protocols.predecessors import PredecessorsStamp
from antecede.protocols.probabilistic import ProbabilisticStamp
from antecede.protocols.semantic import SemanticStamp
from antecede.protocols.stamps import check_ids, check_length

Rule = Callable[[bytes, int, int, int], tuple[Pairs, Pairs]]
"""Stamp, source, me and the number of processes, to needs and gains; the first gain is the packet's own."""

ONE_PLACE = ("monitor", "server")
"""Protocols whose rule holds at one process: where the own counts are those of the packets that arrive."""
WHOLE_PAST = ("history",)
"""Protocols whose counts are of the whole past, with nothing that waits for it: it comes along."""
SHARED = ("probabilistic", "plausible", "scalar")
UNHELD = ("unordered", "sync", "buffered")
SPARSE = ("pairs", "optimal", "predecessors", "history")
"""Protocols whose counts are sends to anybody, so that only those that are named are for this process."""

_counts = wire.reader(list[wire.Count], "stamp")
_count = wire.reader(wire.Count, "stamp")
_matrix = wire.reader(MatrixStamp, "stamp")
_pairs = wire.reader(PairsStamp, "stamp")
_predecessors = wire.reader(PredecessorsStamp, "stamp")
_history = wire.reader(HistoryStamp, "stamp")
_semantic = wire.reader(SemanticStamp, "stamp")
_optimal = wire.reader(
    tuple[wire.Count, list[wire.Count], list[wire.Count], dict[wire.Count, wire.Count]], "stamp"
)
shared: Callable[[bytes], ProbabilisticStamp] = wire.reader(ProbabilisticStamp, "stamp")


class Asked(NamedTuple):
    """What a packet needs and gains, by process."""

    needs: Pairs
    gains: Pairs


def asked(protocol: str, kind: str, stamp: bytes, source: int, me: int, n: int) -> Asked:
    """What the gate at `me` is asked for a packet; raises InputError if the stamp is not right."""
    rule = _RULES.get((protocol, kind))
    if rule is None:
        if protocol in UNHELD:
            return Asked([], [])
        raise InputError(f"{protocol!r} has no {kind!r} packets")
    needs, gains = rule(stamp, source, me, n)
    return Asked([(x, count) for x, count in needs if x != me and count], gains)


def _vector(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    counts = _counts(stamp)
    check_length(counts, n)
    if counts[source] == 0:
        raise InputError("the sender's own entry is 0: it must count this message")
    own = counts[source]
    counts[source] -= 1
    return list(enumerate(counts)), [(source, own)]


def _monitor(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    counts = _counts(stamp)
    check_length(counts, n)
    return list(enumerate(counts)), [(source, counts[source] + 1)]


def _server(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    counts = _counts(stamp)
    check_length(counts, n)
    own = counts[source]
    counts[source] = max(own - 1, 0)  # 0 is right elsewhere than at the server
    return list(enumerate(counts)), [(source, own)]


def _fifo(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    before = _count(stamp)
    return [(source, before)], [(source, before + 1)]


def _rst(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    column = unpack(_matrix(stamp).sent, n, n)[:, me]
    return pairs(column), [(source, int(column[source]) + 1)]


def _bounded(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    flat = _counts(stamp)
    if len(flat) % 3:
        raise InputError("stamp of 'bounded': not a list of (from, to, count)")
    check_ids((*flat[::3], *flat[1::3]), n)
    triples = zip(flat[::3], flat[1::3], flat[2::3], strict=True)
    return _next(source, {x: count for x, y, count in triples if y == me})


def _extra(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    flat = _counts(stamp)
    if len(flat) % 2:
        raise InputError("stamp of 'bounded': an extra carries a list of (from, count)")
    check_ids(flat[::2], n)
    return _next(source, dict(zip(flat[::2], flat[1::2], strict=True)))


def _next(source: int, column: dict[int, int]) -> tuple[Pairs, Pairs]:
    return list(column.items()), [(source, column.get(source, 0) + 1)]


def _semantics(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    read = _semantic(stamp)
    column = unpack(read.sp, n, n)[:, me]
    column[source] += unpack(read.sc, n, n)[source, me]
    return pairs(column), [(source, int(column[source]) + 1)]


def _ses(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    read = _pairs(stamp)
    for time in (read.time, *read.last.values()):
        check_length(time, n)
    others = [(x, count) for x, count in enumerate(read.time) if x != source and count]
    return list(enumerate(read.last.get(me, []))), [(source, read.time[source]), *others]


def _ks(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    clock, _, _, waiting = _optimal(stamp)
    check_ids((pair // n for pair in waiting), n)
    return [(pair // n, time) for pair, time in waiting.items() if pair % n == me], [(source, clock)]


def _prs(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    read = _predecessors(stamp)
    needs = read.barriers.get(me, {})
    check_ids(needs, n)
    return list(needs.items()), [(source, read.count)]


def _isis(stamp: bytes, source: int, me: int, n: int) -> tuple[Pairs, Pairs]:
    """All of the past, to whomever it was sent."""
    past = _history(stamp).past
    check_length(past, n)
    return list(enumerate(past)), [(source, past[source] + 1)]


_RULES: dict[tuple[str, str], Rule] = {
    ("vector", "message"): _vector,
    ("monitor", "message"): _monitor,
    ("server", "message"): _server,
    ("fifo", "message"): _fifo,
    ("matrix", "message"): _rst,
    ("bounded", "message"): _bounded,
    ("bounded", "extra"): _extra,
    ("semantic", "message"): _semantics,
    ("pairs", "message"): _ses,
    ("optimal", "message"): _ks,
    ("predecessors", "message"): _prs,
    ("history", "message"): _isis,
}
