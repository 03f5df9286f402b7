"""The oracle of the SimPy program gives the verdicts of the plain one, event by event, and stays small."""

from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.simulate.oracle import Oracle
from bench import window
from bench.window import Window

SEEDS = st.integers(0, 2**32)
SWEEPS = [1, 5, 256]


def destinations(random: Random, n: int, sender: int) -> list[int]:
    """Nobody (for the sender itself), somebody, several or all."""
    others = [x for x in range(n) if x != sender]
    return random.sample(others, random.choice([0, 1, 1, 1, random.randint(0, n - 1), n - 1]))


def check_same(mine: Window, oracle: Oracle, n: int) -> None:
    """All verdicts about everything in flight."""
    undelivered = oracle.list_undelivered_messages()
    assert mine.undelivered() == undelivered
    for process, message in undelivered:
        assert isinstance(process, int)
        assert mine.named(mine.missing(process, message)) == oracle.list_missing_causes(process, message)
        assert mine.late(process, message) == oracle.is_late(process, message)
    pairs = set(undelivered)
    for message in range(mine.sent):
        assert [mine.expects(p, message) for p in range(n)] == [(p, message) in pairs for p in range(n)]


@pytest.mark.parametrize("sweep", SWEEPS)
@given(seed=SEEDS, n=st.integers(2, 5), steps=st.integers(1, 60))
def test_window_is_the_oracle(sweep: int, seed: int, n: int, steps: int) -> None:
    random = Random(seed)
    mine = Window(n)
    oracle = Oracle(range(n))
    eager = random.random()
    with patch.object(window, "SWEEP", sweep):
        for _ in range(steps):
            waiting = mine.undelivered()
            if waiting and random.random() < eager:
                process, message = random.choice(waiting)
                assert mine.named(
                    mine.deliver(process, message)
                ) == oracle.record_delivery_and_list_missing_causes(process, message)
            else:
                sender = random.randrange(n)
                to = destinations(random, n, sender)
                assert mine.send(sender, to) == oracle.record_send(sender, to)
            check_same(mine, oracle, n)


def test_memory_follows_what_is_in_flight_not_the_length_of_the_run() -> None:
    random = Random(7)
    n = 6
    most = 40
    mine = Window(6)
    waiting: list[tuple[int, int]] = []
    for _ in range(15_000):
        sender = random.randrange(n)
        to = destinations(random, n, sender)
        message = mine.send(sender, to)
        waiting += [(target, message) for target in to]
        while len(waiting) > most:
            mine.deliver(*waiting.pop(random.randrange(len(waiting))))
        assert len(mine.flights) <= most
    assert mine.sent == 15_000
    assert len(mine.messages) <= 2 * window.SWEEP + most
    pasts = [*mine.past, *mine.due, *(flight.past for flight in mine.flights.values())]
    assert max(past.bit_length() for past in pasts) <= len(mine.messages)


def test_a_violation_is_told_of_both_sides() -> None:
    mine = Window(3)
    first = mine.send(0, [2])
    second = mine.send(0, [1])
    assert mine.deliver(1, second) == 0
    third = mine.send(1, [2])
    assert mine.named(mine.missing(2, third)) == [first]
    assert not mine.late(2, first)
    assert mine.named(mine.deliver(2, third)) == [first]
    assert mine.late(2, first)
    assert mine.deliver(2, first) == 0
    assert mine.undelivered() == []
    assert mine.flights == {}
