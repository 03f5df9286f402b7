"""Plain clocks: Lamport 1978, vector clocks, plausible clocks; all pairs of events of random executions."""

from itertools import permutations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from antecede.core.clocks import ClockStamp, LamportClock, PlausibleClock, VectorClock
from antecede.simulate.oracle import Oracle
from tests.cases import SCRIPTS, Script


class Run:
    """Events with their true pasts (bit e stands for event e) and the stamps of clocks with R entries."""

    def __init__(self, n: int, r: int, script: Script) -> None:
        self.n, self.script = n, script
        self.lamport = [LamportClock() for _ in range(n)]
        self.clocks = [VectorClock(p, n) if r == n else PlausibleClock(p, r) for p in range(n)]
        self.last = [0] * n
        self.pasts: list[int] = []
        self.where: list[int] = []
        self.times: list[int] = []
        self.stamps: list[ClockStamp] = []
        self.sends: list[int] = []
        self.oracle = Oracle(range(n))
        self._play()

    def _play(self) -> None:
        network: list[tuple[int, int]] = []
        for action, a, b in self.script:
            if action == 1 and network:
                self._receive(*network.pop(a % len(network)))
            elif action:
                network.append((len(self.sends), b % self.n))
                self.sends.append(self._event(a % self.n))
                self.oracle.record_send(a % self.n, [b % self.n])
            else:
                self._event(a % self.n)

    def _event(self, p: int) -> int:
        self.times.append(self.lamport[p].tick())
        self.stamps.append(self.clocks[p].tick())
        return self._add_event(p, 0)

    def _receive(self, message: int, p: int) -> None:
        sent = self.sends[message]
        self.times.append(self.lamport[p].receive(self.times[sent]))
        self.stamps.append(self.clocks[p].receive(self.stamps[sent]))
        self.oracle.record_delivery_and_list_missing_causes(p, message)
        self._add_event(p, self.pasts[sent] | 1 << sent)

    def _add_event(self, p: int, learned: int) -> int:
        event = len(self.pasts)
        self.pasts.append(self.last[p] | learned)
        self.where.append(p)
        self.last[p] = self.pasts[event] | 1 << event
        return event

    def pairs(self) -> list[tuple[int, int, bool]]:
        """(e, f, whether e happened before f) for all pairs of different events."""
        return [(e, f, bool(self.pasts[f] >> e & 1)) for e, f in permutations(range(len(self.pasts)), 2)]


def two_entries(a: ClockStamp, b: ClockStamp) -> bool:
    """The printed rule of plausible clocks: only the two entries that count."""
    if a.process == b.process:
        return a.entries[a.entry] < b.entries[a.entry]
    return a.entries[a.entry] <= b.entries[a.entry] and a.entries[b.entry] < b.entries[b.entry]


@given(n=st.integers(1, 5), script=SCRIPTS)
def test_lamport_time_is_a_total_order_that_contains_happened_before(n: int, script: Script) -> None:
    run = Run(n, n, script)
    order = list(zip(run.times, run.where, strict=True))
    assert len(set(order)) == len(order)
    assert all(order[e] < order[f] for e, f, before in run.pairs() if before)


@given(n=st.integers(1, 5), script=SCRIPTS)
def test_vector_clocks_are_exactly_happened_before(n: int, script: Script) -> None:
    run = Run(n, n, script)
    for e, f, before in run.pairs():
        assert run.stamps[e].is_before(run.stamps[f]) is before
        assert run.stamps[e].is_concurrent_with(run.stamps[f]) is not (before or bool(run.pasts[e] >> f & 1))


@given(n=st.integers(1, 5), script=SCRIPTS)
def test_vector_clocks_of_sends_agree_with_the_oracle(n: int, script: Script) -> None:
    run = Run(n, n, script)
    for m, m2 in permutations(range(len(run.sends)), 2):
        before = run.stamps[run.sends[m]].is_before(run.stamps[run.sends[m2]])
        assert before is bool(run.oracle.message_past[m2] >> m & 1)


@given(n=st.integers(2, 6), r=st.integers(1, 4), script=SCRIPTS)
def test_plausible_clocks_miss_no_order_and_invert_none(n: int, r: int, script: Script) -> None:
    run = Run(n, r, script)
    for e, f, before in run.pairs():
        if before:
            assert run.stamps[e].is_before(run.stamps[f])
            assert not run.stamps[f].is_before(run.stamps[e])


@given(n=st.integers(2, 6), r=st.integers(1, 4), script=SCRIPTS)
def test_plausible_clocks_order_no_pair_that_two_entries_would_not(n: int, r: int, script: Script) -> None:
    run = Run(n, r, script)
    for e, f, _ in run.pairs():
        assert two_entries(run.stamps[e], run.stamps[f]) or not run.stamps[e].is_before(run.stamps[f])


def test_plausible_clocks_comparing_all_entries_orders_fewer_concurrent_pairs() -> None:
    random = Random(8)
    script = [(random.randrange(4), random.randrange(99), random.randrange(99)) for _ in range(400)]
    run = Run(9, 3, script)
    concurrent = [
        (run.stamps[e], run.stamps[f])
        for e, f, before in run.pairs()
        if not (before or run.pasts[e] >> f & 1)
    ]
    full, two = (sum(rule(a, b) for a, b in concurrent) for rule in (ClockStamp.is_before, two_entries))
    assert 0 < full < two < len(concurrent) / 2


def test_plausible_clocks_with_one_entry_order_by_its_value() -> None:
    one, two = PlausibleClock(0, 1), PlausibleClock(1, 1)
    first, second = one.tick(), two.tick()
    assert first.is_concurrent_with(second) and first.is_before(two.tick())  # the latter is a false ordering
