"""The compiled broadcasts do what real endpoints do and what the oracle says, delivery by delivery."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest

import antecede
from antecede.core.errors import CallerError
from antecede.kernels.shared_entries import BLOCK, FIRST_ALARM, IS_EARLY, IS_LATE
from antecede.protocols.detectors import DETECTORS
from antecede.simulate import shared_entries
from antecede.simulate.network import Network
from antecede.simulate.oracle import Oracle
from antecede.simulate.run import Plan, simulate
from antecede.simulate.shared_entries import (
    BroadcastPlan,
    Draws,
    Replacement,
    run_and_log_broadcasts,
    run_broadcasts,
)


class Logged(NamedTuple):
    message: int
    verdict: int


History = dict[int, list[Logged]]
"""For each process, what it delivered of the messages of others, in order."""


def run_kernel(plan: BroadcastPlan) -> tuple[History, Any]:
    """What the kernel delivered, and its summary."""
    log = np.zeros((2 * plan.messages * plan.processes, 3), np.int64)
    run = run_and_log_broadcasts(plan, log)
    history: History = {process: [] for process in range(plan.processes)}
    for process, message, verdict in log[: run.deliveries].tolist():
        history[process].append(Logged(message, verdict))
    return history, run


class Arrival(NamedTuple):
    time: float
    process: int
    message: int
    packet: Any


def run_endpoints(plan: BroadcastPlan) -> History:
    """The same draws through real endpoints, judged by the oracle."""
    draws = Draws(plan)
    numbers = {keys: number for number, keys in enumerate(combinations(range(plan.R), plan.K))}
    set_ids = [numbers[tuple(keys)] for keys in draws.draw_key_sets(plan.processes).tolist()]
    names = [f"p{i:03}" for i in range(plan.processes)]
    options: dict[str, Any] = {"R": plan.R, "K": plan.K, "memory": plan.messages}
    endpoints = [
        antecede.endpoint("probabilistic", process=name, group=names, set_id=set_id, **options)
        for name, set_id in zip(names, set_ids, strict=True)
    ]
    oracle = Oracle(range(plan.processes))
    history: History = {process: [] for process in range(plan.processes)}
    under_way: list[Arrival] = []

    def deliver(process: int, deliveries: list[Any]) -> None:
        for delivery in deliveries:
            message = int(delivery.payload)
            if oracle.sender[message] != process:
                verdict = IS_LATE * oracle.is_late(process, message)
                verdict += IS_EARLY * bool(oracle.record_delivery_and_list_missing_causes(process, message))
                if plan.detect:
                    verdict += sum(FIRST_ALARM << DETECTORS.index(alarm) for alarm in delivery.alarms)
                history[process].append(Logged(message, verdict))

    def receive_until(time: float) -> None:
        while under_way and under_way[0].time <= time:
            arrival = heappop(under_way)
            deliver(arrival.process, endpoints[arrival.process].receive(arrival.packet).deliveries)

    while draws.sent < plan.messages:
        block = draws.draw_message_block(min(BLOCK, plan.messages - draws.sent))
        for b, sender in enumerate(block.senders.tolist()):
            time = float(block.times[b])
            receive_until(time)
            others = [process for process in range(plan.processes) if process != sender]
            message = oracle.record_send(sender, others)
            effects = endpoints[sender].send(str(message).encode())
            deliver(sender, effects.deliveries)
            for packet in effects.packets:
                target = names.index(packet.target)
                when = time + float(block.delays[target, b])
                heappush(under_way, Arrival(when, target, message, packet))
    receive_until(float("inf"))
    return history


SMALL = {
    "crowded": BroadcastPlan(processes=9, R=5, K=2, gap=100, messages=250, detect=True, seed=1),
    "one entry": BroadcastPlan(processes=6, R=1, K=1, gap=80, messages=200, detect=True, seed=2),
    "roomy": BroadcastPlan(processes=12, R=30, K=3, gap=400, messages=250, detect=True, seed=3),
    "many in flight": BroadcastPlan(processes=5, R=8, K=2, gap=1, messages=700, seed=4),
    "long": BroadcastPlan(processes=7, R=6, K=2, gap=150, messages=1500, seed=5),
}


@pytest.mark.parametrize("name", SMALL)
def test_delivers_what_real_endpoints_deliver_and_judges_as_the_oracle(name):
    plan = SMALL[name]
    history, run = run_kernel(plan)
    assert history == run_endpoints(plan)
    assert run.deliveries == plan.messages * (plan.processes - 1)


def test_the_plans_above_have_errors_alarms_waits_and_a_ring_that_grows_and_turns():
    runs = {name: run_kernel(plan)[1] for name, plan in SMALL.items()}
    assert runs["crowded"].early and runs["crowded"].late and runs["crowded"].held
    alarms = runs["crowded"].alarms
    assert alarms["algorithm 4"] > alarms["algorithm 5"] > alarms["sharper"] > runs["crowded"].late
    assert runs["many in flight"].window > shared_entries.WORDS * BLOCK
    assert runs["long"].window < SMALL["long"].messages


def test_the_summary_counts_what_the_log_says():
    plan = SMALL["crowded"]
    history, run = run_kernel(plan)
    verdicts = [one.verdict for line in history.values() for one in line]
    assert run.early == sum(bool(verdict & IS_EARLY) for verdict in verdicts)
    assert run.late == sum(bool(verdict & IS_LATE) for verdict in verdicts)
    for place, detector in enumerate(DETECTORS):
        alarmed = [verdict for verdict in verdicts if verdict & FIRST_ALARM << place]
        assert run.alarms[detector] == len(alarmed)
        assert run.caught[detector] == sum(bool(verdict & IS_LATE) for verdict in alarmed)


class PlainProcess:
    """Algorithms 1 and 2 without any cleverness: what is held is looked at again after every delivery."""

    def __init__(self, entries: int) -> None:
        self.have = [0] * entries
        self.held: list[tuple[int, list[int], list[int]]] = []

    def copy(self) -> PlainProcess:
        twin = PlainProcess(0)
        twin.have, twin.held = list(self.have), list(self.held)
        return twin

    def release(self) -> list[int]:
        """What may be delivered now, in order."""
        released = []
        ready = self._find_ready()
        while ready is not None:
            message, _, keys = self.held.pop(ready)
            for key in keys:
                self.have[key] += 1
            released.append(message)
            ready = self._find_ready()
        return released

    def _find_ready(self) -> int | None:
        for at, (_, needs, _) in enumerate(self.held):
            if all(have >= need for have, need in zip(self.have, needs, strict=True)):
                return at
        return None


def run_plain_processes(plan: BroadcastPlan) -> History:
    """The same draws, with processes that are replaced, through plain processes and the oracle."""
    draws = Draws(plan)
    keys = [list(row) for row in draws.draw_key_sets(plan.processes).tolist()]
    processes = [PlainProcess(plan.R) for _ in range(plan.processes)]
    oracle = Oracle(range(plan.processes))
    history: History = {process: [] for process in range(plan.processes)}
    under_way: list[list[tuple[float, int, list[int], list[int]]]] = [[] for _ in processes]

    def deliver(process: int) -> None:
        for message in processes[process].release():
            late = IS_LATE * oracle.is_late(process, message)
            early = IS_EARLY * bool(oracle.record_delivery_and_list_missing_causes(process, message))
            history[process].append(Logged(message, early + late))

    def receive_until(time: float) -> None:
        for process in range(plan.processes):
            line = under_way[process]
            while line and line[0][0] <= time:
                _, message, needs, counts_on = heappop(line)
                processes[process].held.append((message, needs, counts_on))
                deliver(process)

    def replace(replacement: Replacement) -> None:
        newcomer, sponsor = replacement.process, replacement.sponsor
        processes[newcomer] = processes[sponsor].copy()
        under_way[newcomer] = list(under_way[sponsor])
        keys[newcomer] = replacement.keys.tolist()
        for what in (oracle.past, oracle.delivered, oracle.addressed):
            what[newcomer] = what[sponsor]

    while draws.sent < plan.messages:
        since = draws.now
        block = draws.draw_message_block(min(BLOCK, plan.messages - draws.sent))
        for b, sender in enumerate(block.senders.tolist()):
            time = float(block.times[b])
            receive_until(time)
            others = [process for process in range(plan.processes) if process != sender]
            message = oracle.record_send(sender, others)
            oracle.delivered[sender] |= 1 << message
            needs = list(processes[sender].have)
            for key in keys[sender]:
                processes[sender].have[key] += 1
            deliver(sender)
            for target in others:
                when = time + float(block.delays[target, b])
                heappush(under_way[target], (when, message, needs, list(keys[sender])))
        for replacement in draws.draw_replacements(since):
            replace(replacement)
    receive_until(float("inf"))
    return history


@pytest.mark.parametrize("churn", [0, 0.5, 20])
def test_processes_that_come_and_go_are_judged_as_by_the_oracle(churn):
    plan = BroadcastPlan(processes=7, R=6, K=2, gap=150, messages=900, churn=churn, seed=8)
    history, run = run_kernel(plan)
    assert history == run_plain_processes(plan)
    assert bool(run.replaced) == bool(churn)
    assert run.early and run.late


def test_room_at_the_beginning_changes_nothing(monkeypatch):
    plan = BroadcastPlan(processes=6, R=6, K=2, gap=3, messages=900, seed=9)
    few_words, few = run_kernel(plan)
    monkeypatch.setattr(shared_entries, "WORDS", 32)
    many_words, many = run_kernel(plan)
    assert few_words == many_words
    assert few.window < many.window


def test_memory_depends_on_what_is_in_flight_and_not_on_how_many_messages_there_are():
    windows = {
        run_broadcasts(BroadcastPlan(processes=20, gap=500, messages=messages)).window
        for messages in (1_000, 20_000)
    }
    assert windows == {shared_entries.WORDS * BLOCK}


def test_the_same_plan_gives_the_same_run_and_another_seed_another():
    plan = BroadcastPlan(processes=30, R=10, K=2, gap=200, messages=2000, detect=True)
    first, second = run_broadcasts(plan), run_broadcasts(plan)
    other = run_broadcasts(
        BroadcastPlan(processes=30, R=10, K=2, gap=200, messages=2000, detect=True, seed=1)
    )
    assert first == second
    assert first.early != other.early


def test_rates_are_those_of_the_event_simulator():
    """Other draws, the same model: rates agree within what chance allows."""
    processes, messages, gap = 12, 700, 200.0
    options: dict[str, Any] = {"R": 8, "K": 2}
    compiled = [
        run_broadcasts(BroadcastPlan(processes=processes, messages=messages, gap=gap, seed=seed, **options))
        for seed in range(20)
    ]
    simulated = [
        simulate(
            Plan(
                protocol="probabilistic", processes=processes, messages=messages, workload="broadcast",
                rate=1000 / gap, network=Network(delay="two-level:100,20,20"), seed=seed, options=options,
            )
        )
        for seed in range(6)
    ]  # fmt: skip
    rates = np.array([run.early / run.deliveries for run in compiled])
    others = np.array([run.verdict.early / run.costs.deliveries for run in simulated])
    spread = np.sqrt(rates.var(ddof=1) / len(rates) + others.var(ddof=1) / len(others))
    assert abs(rates.mean() - others.mean()) < 5 * spread


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"K": 9, "R": 8}, "K=9 keys cannot be chosen among R=8"),
        ({"processes": 1}, "processes"),
        ({"gap": 0}, "gap"),
        ({"messages": 0}, "messages"),
        ({"churn": -1}, "churn"),
    ],
)
def test_plans_that_mean_nothing_are_refused(wrong, words):
    with pytest.raises(CallerError, match=words):
        run_broadcasts(BroadcastPlan(**wrong))
