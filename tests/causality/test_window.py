"""The oracle for long runs gives the verdicts of the plain ones, event by event, and stays small."""

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.causality import window
from antecede.causality.oracle import Oracle, bits
from antecede.causality.semantic_oracle import SemanticOracle
from antecede.causality.window import SemanticWindow, Window

SEEDS = st.integers(0, 2**32)
SWEEPS = [1, 5, 256]


def destinations(random: Random, n: int, sender: int) -> list[int]:
    """Nobody (for the sender itself), somebody, several or all."""
    others = [x for x in range(n) if x != sender]
    return random.sample(others, random.choice([0, 1, 1, 1, random.randint(0, n - 1), n - 1]))


def check_same(mine: Window, oracle: Oracle, n: int) -> None:
    """All verdicts about everything in flight."""
    undelivered = oracle.undelivered()
    assert mine.undelivered() == undelivered
    for process, message in undelivered:
        assert isinstance(process, int)
        assert mine.named(mine.missing(process, message)) == oracle.missing(process, message)
        assert mine.late(process, message) == oracle.late(process, message)
    pairs = set(undelivered)
    for message in range(mine.sent):
        assert [mine.expects(p, message) for p in range(n)] == [(p, message) in pairs for p in range(n)]


@pytest.mark.parametrize("sweep", SWEEPS)
@given(seed=SEEDS, n=st.integers(2, 5), steps=st.integers(1, 60))
def test_window_is_the_oracle(sweep: int, seed: int, n: int, steps: int) -> None:
    random, mine, oracle = Random(seed), Window(n), Oracle(range(n))
    eager = random.random()
    with patch.object(window, "SWEEP", sweep):
        for _ in range(steps):
            waiting = mine.undelivered()
            if waiting and random.random() < eager:
                process, message = random.choice(waiting)
                assert mine.named(mine.deliver(process, message)) == oracle.deliver(process, message)
            else:
                sender = random.randrange(n)
                to = destinations(random, n, sender)
                assert mine.send(sender, to) == oracle.send(sender, to)
            check_same(mine, oracle, n)


class Declared:
    """Both oracles of declared dependence, told the same."""

    def __init__(self, n: int, memory: int) -> None:
        self.n, self.mine, self.oracle = n, SemanticWindow(n, memory), SemanticOracle(range(n))

    def send(self, process: int, to: list[int], depends_on: int | None) -> None:
        events = self.oracle.events[process]
        if depends_on is None:  # on everything: for a moment there is an event that does
            events.append(self.everything(process))
            sent = self.oracle.send(process, to, len(events) - 1)
            del events[-2]
        else:
            sent = self.oracle.send(process, to, depends_on)
        assert self.mine.send_after(process, to, depends_on) == sent

    def deliver(self, process: int, message: int) -> None:
        early = self.mine.deliver(process, message)
        assert self.mine.named(early) == self.oracle.deliver(process, message)

    def everything(self, process: int) -> int:
        past = 0
        for event in self.oracle.events[process]:
            past |= event
        return past

    def check(self) -> None:
        mine, oracle = self.mine, self.oracle
        left = {p: bits(oracle.addressed[p] & ~oracle.delivered[p]) for p in range(self.n)}
        assert mine.undelivered() == [(p, m) for p in range(self.n) for m in left[p]]
        for p, m in mine.undelivered():
            assert mine.named(mine.missing(p, m)) == [x for x in left[p] if oracle.message_past[m] >> x & 1]
            assert mine.late(p, m) == bool(self.everything(p) >> m & 1)
        assert mine.counts == [len(oracle.events[p]) - 1 for p in range(self.n)]


@pytest.mark.parametrize("sweep", SWEEPS)
@given(seed=SEEDS, n=st.integers(2, 4), memory=st.sampled_from([1, 4, 1024]))
def test_semantic_window_is_the_semantic_oracle(sweep: int, seed: int, n: int, memory: int) -> None:
    random, both = Random(seed), Declared(n, memory)
    with patch.object(window, "SWEEP", sweep):
        for _ in range(50):
            waiting = both.mine.undelivered()
            if waiting and random.random() < 0.6:
                both.deliver(*random.choice(waiting))
            else:
                sender = random.randrange(n)
                events = both.mine.counts[sender]
                known = range(max(events - memory, 0) + 1, events + 1)
                depends_on = random.choice([None, 0, *random.sample(known, min(4, len(known)))])
                both.send(sender, destinations(random, n, sender), depends_on)
            both.check()


@pytest.mark.parametrize("kind", [Window, SemanticWindow])
def test_memory_follows_what_is_in_flight_not_the_length_of_the_run(kind: type[Window]) -> None:
    random, n, most = Random(7), 6, 40
    mine = SemanticWindow(n, memory=20) if kind is SemanticWindow else Window(n)
    waiting: list[tuple[int, int]] = []
    for _ in range(15_000):
        sender = random.randrange(n)
        to = destinations(random, n, sender)
        if isinstance(mine, SemanticWindow):
            message = mine.send_after(sender, to, random.choice([None, 0]))
        else:
            message = mine.send(sender, to)
        waiting += [(target, message) for target in to]
        while len(waiting) > most:
            mine.deliver(*waiting.pop(random.randrange(len(waiting))))
        assert len(mine.flights) <= most
    assert mine.sent == 15_000
    assert len(mine.messages) <= 2 * window.SWEEP + most
    pasts = [*mine.past, *mine.due, *(flight.past for flight in mine.flights.values())]
    if isinstance(mine, SemanticWindow):
        assert all(len(events) <= 20 for events in mine.events)
        pasts += [past for events in mine.events for past in events.values()]
    assert max(past.bit_length() for past in pasts) <= len(mine.messages)


def test_a_violation_is_told_of_both_sides() -> None:
    mine = Window(3)
    first, second = mine.send(0, [2]), mine.send(0, [1])
    assert mine.deliver(1, second) == 0
    third = mine.send(1, [2])
    assert mine.named(mine.missing(2, third)) == [first]
    assert not mine.late(2, first)
    assert mine.named(mine.deliver(2, third)) == [first]
    assert mine.late(2, first)
    assert mine.deliver(2, first) == 0 and mine.undelivered() == [] and mine.flights == {}
