"""Workloads: the number of messages, the rate and the destinations are those that were asked for."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from antecede import CallerError
from antecede.simulate.network import Network
from antecede.simulate.run import simulate
from antecede.simulate.workloads import WITH_FANOUT, WORKLOADS, Workload, make_workload
from tests.simulate.traced import Row, Traced, plan_of, talk

QUICK = Network(delay="exponential:1")
N, RATE, MESSAGES = 4, 50.0, 6000


def trace_workload(name: str, protocol: str = "unordered", **more: Any) -> Traced:
    plan = {"processes": N, "rate": RATE, "messages": MESSAGES, "network": QUICK, **more}
    return Traced(plan_of(protocol, workload=name, **plan))


def gaps(run: Traced, process: str) -> list[float]:
    """The times between two sends of a process."""
    times = [row["time"] for row in run.of("send") if row["process"] == process]
    return [later - earlier for earlier, later in pairwise(times)]


def receivers(run: Traced) -> Counter[tuple[str, str]]:
    """How often who wrote to whom."""
    return Counter((row["process"], to) for row in run.of("send") for to in row["receivers"])


@pytest.mark.parametrize("messages", [0, 1, 57])
@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("name", WORKLOADS)
def test_number_of_messages_is_exact(name: str, n: int, messages: int) -> None:
    run = trace_workload(name, processes=n, messages=messages)
    assert run.run.costs.messages == messages == len(run.of("send"))
    assert run.run.finished
    assert not run.run.verdict.lost
    assert not run.run.verdict.stuck
    assert {row["process"] for row in run.of("send")} <= set(run.plan.names)
    assert all(row["process"] not in row["receivers"] for row in run.of("send"))


@pytest.mark.parametrize("name", ["uniform", "ring", "hot-spot", "broadcast"])
def test_everybody_sends_at_random_times_at_the_rate(name: str) -> None:
    run = trace_workload(name)
    for process in run.plan.names:
        between = np.array(gaps(run, process))
        assert between.mean() == pytest.approx(1000 / RATE, rel=0.07)
        assert between.std() / between.mean() == pytest.approx(1, rel=0.08)  # Poisson
    assert run.run.time == pytest.approx(run.plan.span, rel=0.03)


def test_bursts_are_bursty_and_keep_the_rate() -> None:
    run = trace_workload("bursty", messages=12_000)
    between = np.concatenate([gaps(run, process) for process in run.plan.names])
    assert between.mean() == pytest.approx(1000 / RATE, rel=0.06)
    assert between.std() / between.mean() > 3
    assert (between > 8).mean() == pytest.approx(0.096, rel=0.08)  # ten messages in a burst, on average


def test_uniform_writes_to_all_others_alike() -> None:
    counts = receivers(trace_workload("uniform"))
    assert len(counts) == N * (N - 1)
    for count in counts.values():
        assert count == pytest.approx(MESSAGES / len(counts), rel=0.15)


def test_ring_writes_to_the_next_one() -> None:
    run = trace_workload("ring", messages=500)
    names = run.plan.names
    assert set(receivers(run)) == {(name, names[(i + 1) % N]) for i, name in enumerate(names)}


def test_broadcast_goes_to_all_others() -> None:
    run = trace_workload("broadcast", messages=300)
    for row in run.of("send"):
        assert row["receivers"] == [name for name in run.plan.names if name != row["process"]]
    assert run.run.costs.deliveries == 300 * (N - 1)


def test_hot_spot_follows_zipf() -> None:
    counts = receivers(trace_workload("hot-spot", processes=6, messages=20_000))
    for source in (3, 4, 5):
        first = counts[f"p{source}", "p0"]
        for rank in (1, 2):
            assert first / counts[f"p{source}", f"p{rank}"] == pytest.approx(rank + 1, rel=0.2)
    assert counts["p0", "p1"] / counts["p0", "p3"] == pytest.approx(2, rel=0.15)


@pytest.mark.parametrize("name", WITH_FANOUT)
@pytest.mark.parametrize("fanout", [2, 3, 4])
def test_fanout_is_the_number_of_different_destinations(name: str, fanout: int) -> None:
    run = trace_workload(name, processes=5, fanout=fanout, messages=2500)
    assert {(len(row["receivers"]), len(set(row["receivers"]))) for row in run.of("send")} == {
        (fanout, fanout)
    }
    counts = receivers(run)
    for source in run.plan.names:
        to = [count for (who, _), count in counts.items() if who == source]
        assert len(to) == 4
        assert name == "hot-spot" or max(to) < 1.4 * min(to)


def test_client_server_asks_and_answers() -> None:
    run = trace_workload("client-server")
    asked: Counter[str] = Counter()
    for row in run.events:
        if row["process"] == "p0" and row["kind"] == "deliver":
            asked[row["sender"]] += 1
        elif row["process"] == "p0" and row["kind"] == "send":
            asked[row["receivers"][0]] -= 1
            assert min(asked.values()) >= 0  # an answer follows a question
        elif row["kind"] == "send":
            assert row["receivers"] == ["p0"]
    for process in run.plan.names[1:]:
        assert np.mean(gaps(run, process)) == pytest.approx(1000 / RATE, rel=0.06)
    answers = sum(row["process"] == "p0" for row in run.of("send"))
    assert answers == pytest.approx(MESSAGES / 2, rel=0.02)


# -- conversation ------------------------------------------------------------------------------------


def test_answers_declare_the_delivery_that_they_depend_on() -> None:
    run, declared = talk("semantic", messages=2000, network=QUICK)
    own: dict[str, list[Row]] = {name: [] for name in run.plan.names}
    kinds: Counter[str] = Counter()
    depends = iter(declared)
    for row in run.events:
        if row["kind"] == "receive":
            continue
        events = own[row["process"]]
        if row["kind"] == "send" and (event := next(depends)):
            question = events[event - 1]  # own events are numbered from 1
            assert question["kind"] == "deliver"
            back = row["receivers"] == [question["sender"]]
            kinds["back" if back else "on"] += 1
        elif row["kind"] == "send":
            kinds["opening"] += 1
        events.append(row)
    deliveries = run.run.costs.deliveries
    assert kinds["back"] + kinds["on"] == pytest.approx(deliveries / 2, rel=0.06)
    assert kinds["back"] == pytest.approx(2 * kinds["on"], rel=0.15)  # a third of the third ones is the first
    assert kinds["opening"] == sum(event == 0 for event in declared) > 0
    assert None not in declared and not run.run.broken


def test_openings_come_at_the_rate() -> None:
    run, declared = talk("semantic", messages=8000, network=QUICK)
    sends = zip(run.of("send"), declared, strict=True)
    openings = [row["time"] for row, event in sends if event == 0]
    assert len(openings) / openings[-1] * 1000 == pytest.approx(N * RATE, rel=0.05)


@pytest.mark.parametrize("protocol", ["matrix", "vector"])
def test_what_is_declared_does_not_depend_on_the_protocol(protocol: str) -> None:
    run, declared = talk(protocol, messages=200, network=QUICK)
    events = [event or 0 for event in declared]
    assert not run.run.broken
    assert None not in declared
    assert 0 in events
    assert max(events) > 0
    for row, event in zip(run.of("send"), events, strict=True):
        own = [one for one in run.events if one["process"] == row["process"] and one["kind"] != "receive"]
        assert row["parents"] == ([own[event - 1]["event"]] if event else [])
        assert not event or own[event - 1]["kind"] == "deliver"


# -- dependent ---------------------------------------------------------------------------------------


def depths(declared: list[int | None], run: Traced) -> list[int]:
    """How many own events back each message names one, from 1; those that depend on nothing are left out."""
    own = dict.fromkeys(run.plan.names, 0)
    names = iter(declared)
    back = []
    for row in run.events:
        if row["kind"] == "receive":
            continue
        if row["kind"] == "send" and (event := next(names)):
            back.append(own[row["process"]] - event + 1)
        own[row["process"]] += 1
    return back


@pytest.mark.parametrize(("chance", "depth"), [(0.3, 5), (0.8, 1), (1, 50)])
def test_messages_depend_by_chance_on_one_of_the_latest_events(chance: float, depth: int) -> None:
    run, declared = talk("semantic", messages=4000, network=QUICK, workload=f"dependent:{chance},{depth}")
    back = depths(declared, run)
    assert None not in declared and not run.run.broken
    assert len(back) == pytest.approx(4000 * chance, rel=0.06)
    assert set(back) == set(range(1, depth + 1))
    assert np.mean(back) == pytest.approx((depth + 1) / 2, rel=0.06)


def test_depth_that_nobody_remembers_is_refused() -> None:
    with pytest.raises(CallerError, match="too long ago: only the latest 1024"):
        simulate(plan_of("semantic", workload="dependent:1,5000", messages=6000, processes=2, rate=50.0))


# -- bad plans ---------------------------------------------------------------------------------------

BAD: list[tuple[dict[str, Any], str]] = [
    ({"workload": "chat"}, "choose one of uniform, client-server"),
    ({"fanout": 0}, "1 to 3 of 4"),
    ({"fanout": 4}, "1 to 3 of 4"),
    ({"fanout": 2, "workload": "ring"}, "fanout is for uniform, hot-spot, bursty, dependent"),
    ({"workload": "dependent:0.5"}, "write dependent:CHANCE,DEPTH"),
    ({"workload": "dependent:often,3"}, "write dependent:CHANCE,DEPTH"),
    ({"workload": "ring:3"}, "workload 'ring:3': write ring"),
    ({"workload": "dependent:1.5,3"}, "a chance of 1.5 is not from 0 to 1"),
    ({"workload": "dependent:0.5,0"}, "a depth of 0 is not a number of events from 1 on"),
    ({"workload": "dependent:0.5,2.5"}, "a depth of 2.5 is not a number"),
    ({"workload": "dependent:nan,2"}, "a chance of nan is not from 0 to 1"),
    ({"protocol": "pairs", "fanout": 2}, "choose another workload, or another protocol, such as 'optimal'"),
    ({"protocol": "pairs", "workload": "broadcast"}, "choose another workload, or another protocol"),
    ({"rate": 0.0}, "> 0.0 - at `\\$.rate`"),
    ({"messages": -1}, ">= 0 - at `\\$.messages`"),
    ({"processes": 1}, ">= 2 - at `\\$.processes`"),
    ({"protocol": "nothing"}, "unknown protocol 'nothing'; choose one of"),
]


@pytest.mark.parametrize(("fields", "remedy"), BAD)
def test_bad_plans_are_refused_with_the_remedy(fields: dict[str, Any], remedy: str) -> None:
    with pytest.raises(CallerError, match=remedy):
        simulate(plan_of(**{"protocol": "optimal", **fields}))


@pytest.mark.parametrize("name", WORKLOADS)
def test_docstrings_name_the_workload(name: str) -> None:
    made = make_workload(name, 3, 1.0, np.random.default_rng(0), 1)
    assert isinstance(made, Workload) and (made.__doc__ or "").startswith(f"{name}:")
