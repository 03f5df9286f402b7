"""Mostefaoui17 (probabilistic causal broadcast): keys, detectors, joining, and plausible clocks."""

from itertools import combinations
from math import comb
from random import Random

import pytest

import antecede
from antecede.core.clocks import ClockStamp, PlausibleClock, VectorClock
from antecede.protocols.detectors import ALGORITHM_4, ALGORITHM_5, SHARPER
from antecede.protocols.keys import unrank_key_set
from antecede.protocols.membership import Probabilistic
from antecede.protocols.probabilistic import Plausible
from antecede.protocols.registry import build_endpoint
from tests.errata.scene import cast, copies, send, texts
from tests.mutants import probabilistic as mutants
from tests.mutants.bounded import EndlessError

FIGURE = {"p_i": 0, "p_j": 3, "p_k": 5, "p_1": 2, "p_2": 4}
"""Set ids of {0,1}, {1,2}, {2,3}, {0,3} and {1,3} among the pairs of four entries."""


def test_example_uses_an_entry_that_does_not_exist() -> None:
    drawn = [unrank_key_set(set_id, 2, 4) for set_id in range(comb(4, 2))]
    assert (3, 4) not in drawn and (2, 3) in drawn


@pytest.mark.parametrize("repaired", [False, True])
@pytest.mark.parametrize(("R", "K"), [(4, 2), (5, 3), (6, 2)])
def test_algorithm_3_never_yields_a_proper_set(R: int, K: int, repaired: bool) -> None:
    for set_id in range(comb(R, K)):
        assert not _is_proper(set_id, K, R, repaired)


def _is_proper(set_id: int, K: int, R: int, repaired: bool) -> bool:
    try:
        drawn = mutants.printed_entries(set_id, K, R, repaired)
    except EndlessError:
        return False
    return len(set(drawn)) == K and max(drawn) < R


@pytest.mark.parametrize(("R", "K"), [(4, 2), (5, 3), (6, 2), (7, 1)])
def test_unranking_as_shipped_is_a_bijection(R: int, K: int) -> None:
    assert [unrank_key_set(set_id, K, R) for set_id in range(comb(R, K))] == [*combinations(range(R), K)]


def test_set_ids_start_at_0() -> None:
    with pytest.raises(antecede.CallerError, match="from 0 to 5"):
        cast(Probabilistic, 2, R=4, K=2, set_id=6)  # the text draws from 1 to 6


def figure_2(kind: type[Probabilistic]) -> list[antecede.Delivery]:
    """m1 and m2 cover the entries of m, so that its effect m' is delivered before it; then m comes."""
    processes = {
        name: build_endpoint(kind, process=name, group=[*FIGURE], R=4, K=2, set_id=set_id)
        for name, set_id in FIGURE.items()
    }
    m = {packet.target: packet for packet in processes["p_i"].send(b"m").packets}
    processes["p_j"].receive(m["p_j"])
    effect, m1, m2 = (processes[name].send(name.encode()).packets for name in ("p_j", "p_1", "p_2"))
    late = [packet for packet in (*m1, *m2, *effect, m["p_k"]) if packet.target == "p_k"]
    return [delivery for packet in late for delivery in processes["p_k"].receive(packet).deliveries]


def test_alarm_is_on_the_late_message_not_on_the_early_one() -> None:
    *_, early, late = figure_2(Probabilistic)
    assert (early.payload, early.alarms) == (b"p_j", ())
    assert (late.payload, late.alarms) == (b"m", (ALGORITHM_4, ALGORITHM_5, SHARPER))


def test_algorithm_5_as_printed_misses_figure_2() -> None:
    assert ALGORITHM_5 not in figure_2(mutants.StrictDetector)[-1].alarms


def test_algorithm_4_after_the_increment_always_alarms() -> None:
    for kind, alarmed in ((Plausible, ()), (mutants.LateDetector, (ALGORITHM_4,))):
        p0, p1 = cast(kind, 2, R=2)
        assert p1.receive(send(p0, "m")).deliveries[0].alarms == alarmed


@pytest.mark.parametrize(("kind", "delivered"), [(Plausible, "m m2"), (mutants.SelfCopy, "m")])
def test_own_copy_must_not_go_through_algorithm_2(kind: type[Plausible], delivered: str) -> None:
    p0, p1 = cast(kind, 2, R=2)
    assert texts(p1, send(p0, "m"), send(p0, "m2")) == delivered


@pytest.mark.parametrize(("sets", "delivered"), [((0, 1, 2, 3), "x m m'"), ((0, 1, 2, 0), "x m' m")])
def test_one_concurrent_message_is_enough_when_set_ids_collide(sets: tuple[int, ...], delivered: str) -> None:
    names = ["p0", "p1", "p2", "p3"]
    made = [
        build_endpoint(Probabilistic, process=f"p{i}", group=names, R=4, K=2, set_id=sets[i])
        for i in range(4)
    ]
    m = copies(made[0], "m")
    x = copies(made[3], "x")
    texts(made[1], m[0])
    effect = copies(made[1], "m'")
    assert texts(made[2], x[2], effect[1], m[1]) == delivered


@pytest.mark.parametrize(
    ("kind", "delivered"),
    [(Probabilistic, "next"), (mutants.JoinsWithoutSet, "m next"), (mutants.JoinsWithoutEntries, "")],
)
def test_newcomer_needs_the_entries_and_the_delivered_set(kind: type[Probabilistic], delivered: str) -> None:
    def make(name: str, group: list[str], set_id: int) -> Probabilistic:
        made = build_endpoint(kind, process=name, group=group, R=3, K=1, set_id=set_id)
        assert isinstance(made, Probabilistic)
        return made

    a = make("a", ["a", "b"], 0)
    b = make("b", ["a", "b"], 1)
    c = make("c", ["a", "b", "c"], 2)
    sent = {"a": a.admit("c"), "b": b.admit("c")}
    m = {packet.target: packet for packet in b.send(b"m").packets}
    a.receive(m["a"])
    c.join(a.welcome("c", sent))
    following = next(packet for packet in a.send(b"next").packets if packet.target == "c")
    assert texts(c, m["c"], following) == delivered


def test_plausible_clocks_miss_and_invert_nothing() -> None:
    pairs = [pair for seed in range(10) for pair in combinations(_history(Random(seed)), 2)]
    for (true_a, a), (true_b, b) in pairs:
        assert not true_a.is_before(true_b) or a.is_before(b)
        assert not true_b.is_before(true_a) or b.is_before(a)
        assert not (a.is_before(b) and true_b.is_before(true_a))
    assert any(a.is_before(b) and true_a.is_concurrent_with(true_b) for (true_a, a), (true_b, b) in pairs)


def _history(random: Random) -> list[tuple[ClockStamp, ClockStamp]]:
    """Events of six processes, each with its vector time and its plausible time of three entries."""
    exact = [VectorClock(p, 6) for p in range(6)]
    plausible = [PlausibleClock(p, 3) for p in range(6)]
    events: list[tuple[ClockStamp, ClockStamp]] = []
    for _ in range(60):
        p = random.randrange(6)
        if events and random.random() < 0.5:
            true, stamp = random.choice(events)
            events.append((exact[p].receive(true), plausible[p].receive(stamp)))
        else:
            events.append((exact[p].tick(), plausible[p].tick()))
    return events
