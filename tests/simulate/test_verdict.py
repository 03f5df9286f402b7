"""The judge gives the verdicts of the plain oracles, wherever blocks are cut, and stays small."""

from collections.abc import Iterator
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.simulate.oracle import Oracle, list_set_bits
from antecede.simulate.verdict import judge as judges
from antecede.simulate.verdict.judge import Example, Judge
from antecede.simulate.verdict.layout import DELIVER, EARLY, HOLD, LATE, SEND, TRANSMIT, Block
from tests.semantic_oracle import SemanticOracle

SEEDS = st.integers(0, 2**32)


def destinations(random: Random, n: int, sender: int) -> list[int]:
    """Nobody (for the sender itself), somebody, several or all."""
    others = [x for x in range(n) if x != sender]
    return random.sample(others, random.choice([0, 1, 1, 1, random.randint(0, n - 1), n - 1]))


class Expected:
    """Everything that the judge should find, by the oracle and by definition."""

    def __init__(self, oracle: Oracle | SemanticOracle, promised: list[bool]) -> None:
        self.oracle, self.promised = oracle, promised
        self.orders: list[int] = []
        self.latencies: list[float] = []
        self.waits: list[float] = []
        self.needless: list[float] = []
        self.backs: list[float] = []
        self.examples: list[Example] = []
        self.out_of_turn = self.peak = 0
        self.wrong = {EARLY: 0, LATE: 0}
        self.sent: list[tuple[int, float]] = []
        self.held: dict[tuple[int, int], list[float]] = {}
        self.got: dict[int, list[int]] = {i: [] for i in range(len(promised))}

    def missing(self, i: int, message: int) -> list[int]:
        oracle = self.oracle
        return list_set_bits(oracle.message_past[message] & oracle.addressed[i] & ~oracle.delivered[i])

    def late(self, i: int, message: int) -> bool:
        if isinstance(self.oracle, Oracle):
            return self.oracle.is_late(i, message)
        return any(event >> message & 1 for event in self.oracle.events[i])

    def hold(self, i: int, message: int, now: float) -> None:
        self.held[i, message] = [now, *([] if self.missing(i, message) else [now])]
        self.peak = max(self.peak, sum(place == i for place, _ in self.held))

    def transmit(self, message: int, now: float) -> None:
        if now > self.sent[message][1]:
            self.backs.append(now - self.sent[message][1])

    def deliver(self, i: int, message: int, now: float) -> None:
        sender, sent = self.sent[message]
        late = self.late(i, message)
        missing = self.oracle.record_delivery_and_list_missing_causes(i, message)
        self.orders.append(EARLY * bool(missing) + LATE * late)
        self.latencies.append(now - sent)
        if self.promised[i]:
            self.wrong[EARLY] += bool(missing)
            self.wrong[LATE] += late
            self.out_of_turn += any(m > message for m in self.got[i] if self.sent[m][0] == sender)
            self.examples += [Example(i, message, missing)] if missing else []
        self.got[i].append(message)
        if (i, message) in self.held:
            arrived, *ready = self.held.pop((i, message))
            self.waits += [now - arrived] * (now > arrived)
            self.needless += [now - since for since in ready if now > since]
        for (place, other), since in self.held.items():
            if place == i and len(since) == 1 and not self.missing(i, other):
                since.append(now)


class Script:
    """A run that is made up on the way: told to the judge as records, and to the oracle as it happens."""

    def __init__(self, random: Random, n: int, declared: bool, memory: int) -> None:
        self.random, self.n, self.declared, self.memory, self.now = random, n, declared, memory, 0.0
        promised = [random.random() < 0.8 for _ in range(n)]
        self.judge = Judge(promised, memory if declared else 0, examples=3)
        oracle = SemanticOracle(range(n)) if declared else Oracle(range(n))
        self.expected = Expected(oracle, promised)
        self.left: list[tuple[int, int]] = []
        self.records: list[tuple[float, int, int]] = []
        self.sends: list[tuple[int, int]] = []
        self.targets: list[int] = []
        self.found: dict[str, list[Any]] = {}

    def step(self, eager: float) -> None:
        self.now += self.random.choice([0.0, 0.5, 1.0])
        if self.left and self.random.random() < eager:
            i, message = self.random.choice(self.left)
            what = self.random.choice([DELIVER, DELIVER, HOLD, TRANSMIT])
            self.records.append((self.now, what * self.n + i, message))
            if what == DELIVER:
                self.left.remove((i, message))
                self.expected.deliver(i, message, self.now)
            elif what == HOLD:
                self.expected.hold(i, message, self.now)
            else:
                self.expected.transmit(message, self.now)
        else:
            self.send(self.random.randrange(self.n))

    def send(self, i: int) -> None:
        to = destinations(self.random, self.n, i)
        parent = self.parent(i)
        message = self.tell_oracle(i, to, parent)
        self.expected.sent.append((i, self.now))
        self.left += [(target, message) for target in to]
        self.records.append((self.now, SEND * self.n + i, message))
        self.sends.append((len(to), parent))
        self.targets += to

    def parent(self, i: int) -> int:
        oracle = self.expected.oracle
        if not isinstance(oracle, SemanticOracle):
            return -1
        events = len(oracle.events[i]) - 1
        known = range(max(events - self.memory, 0) + 1, events + 1)
        return self.random.choice([-1, 0, *self.random.sample(known, min(4, len(known)))])

    def tell_oracle(self, i: int, to: list[int], parent: int) -> int:
        oracle = self.expected.oracle
        if isinstance(oracle, Oracle):
            return oracle.record_send(i, to)
        if parent >= 0:
            return oracle.record_send(i, to, parent)
        events = oracle.events[i]  # on everything: for a moment there is an event that does
        events.append(int(np.bitwise_or.reduce(np.array(events, object))))
        message = oracle.record_send(i, to, len(events) - 1)
        del events[-2]
        return message

    def block(self) -> None:
        """Hand over what there is."""
        columns = list(zip(*self.records, strict=True)) or [(), (), ()]
        times, what, messages = (np.array(column, kind) for column, kind in zip(columns, "dqq", strict=True))
        sends = np.array(self.sends, np.int64).reshape(-1, 2)
        judged = self.judge.judge(Block(times, what, messages, sends, np.array(self.targets, np.int64)))
        judged = judged._replace(orders=judged.orders[what // self.n == DELIVER])
        for name, values in judged._asdict().items():
            self.found.setdefault(name, []).extend(values)
        self.records, self.sends, self.targets = [], [], []

    def check(self) -> None:
        expected, judge = self.expected, self.judge
        assert self.found["orders"] == expected.orders
        for name in ("latencies", "waits", "needless", "backs"):
            assert self.found[name] == getattr(expected, name), name
        assert self.found["examples"] == expected.examples[:3]
        assert (judge.early, judge.late) == (expected.wrong[EARLY], expected.wrong[LATE])
        assert judge.out_of_turn == expected.out_of_turn
        assert (judge.peak_held, judge.held) == (expected.peak, len(expected.held))


@pytest.mark.parametrize("declared", [False, True])
@given(
    seed=SEEDS, n=st.integers(2, 5), steps=st.integers(1, 400), memory=st.sampled_from([1, 5, 1024]),
    room=st.sampled_from([1, 2, 64]),
)  # fmt: skip
def test_judge_is_the_oracle(declared: bool, seed: int, n: int, steps: int, memory: int, room: int) -> None:
    random = Random(seed)
    eager = random.uniform(0.3, 0.95)
    cut = random.choice([0.0, 0.02, 0.5])
    with patch.multiple(judges, HELD=room, EVENTS=room):
        script = Script(random, n, declared, memory)
        for _ in range(steps):
            script.step(eager)
            if random.random() < cut:
                script.block()
        script.block()
    script.check()


def test_scripts_go_wrong_in_every_way_and_outgrow_the_room() -> None:
    script = Script(Random(1), 4, True, 1024)
    for eager in (0.2, 0.9):
        for _ in range(1500):
            script.step(eager)
    script.block()
    script.check()
    found, judge = script.found, script.judge
    assert {0, EARLY, LATE, EARLY | LATE} == set(found["orders"])
    assert judge.out_of_turn and found["waits"] and found["needless"] and found["backs"]
    state = judge.state
    assert len(state.free) > 64
    assert len(state.places) > 64
    assert state.events.shape[1] > 64


def steady(judge: Judge, declared: bool) -> Iterator[None]:
    """A long run with little in flight, a block every now and then."""
    random, n, most = Random(7), 6, 40
    script = Script(random, n, declared, 20)
    script.judge = judge
    for message in range(15_000):
        sender = random.randrange(n)
        to = destinations(random, n, sender)
        script.records.append((float(message), SEND * n + sender, message))
        script.sends.append((len(to), random.choice([-1, 0])))
        script.targets += to
        script.left += [(target, message) for target in to]
        while len(script.left) > most:
            i, old = script.left.pop(random.randrange(len(script.left)))
            script.records.append((float(message), DELIVER * n + i, old))
        if message % 1000 == 999:
            script.block()
            yield


@pytest.mark.parametrize("declared", [False, True])
def test_memory_follows_what_is_in_flight_not_the_length_of_the_run(declared: bool) -> None:
    judge = Judge([True] * 6, 20 if declared else 0)
    for _ in steady(judge, declared):
        assert len(judge.state.free) <= 256
        assert judge.state.events.shape[1] <= 20
    assert judge.state.flights[:, 0].max() > 14_000


def test_what_depends_on_an_event_that_is_forgotten_is_refused() -> None:
    judge = Judge([True, True], memory=3)
    rows = [(0.0, 0, m) for m in range(5)]
    times, what, messages = (np.array(column) for column in zip(*rows, strict=True))
    sends = np.array([[1, 0], [1, 0], [1, 0], [1, 1], [1, 1]])
    with pytest.raises(CallerError, match=r"message 4 .* process 0 .* latest 3"):
        judge.judge(Block(times, what, messages, sends, np.ones(5, np.int64)))
