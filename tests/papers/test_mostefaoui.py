"""Mostefaoui and Weiss 2017: R entries and K keys. Figures 1 and 2, sets of keys, special cases."""

from itertools import combinations, islice
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Packet
from antecede.protocols.detectors import (
    ALGORITHM_4,
    ALGORITHM_5,
    SHARPER,
    Recent,
    find_detectors_suspecting_lateness,
)
from antecede.protocols.keys import count_key_sets, derive_key_set_id, unrank_key_set
from antecede.protocols.membership import Probabilistic
from antecede.protocols.registry import build_endpoint
from tests.cases import SCRIPTS, Script
from tests.harness import Make, World, maker
from tests.papers.stage import have, stamp, words

FIGURE_KEYS = {"i": (0, 1), "j": (1, 2), "k": (2, 3), "one": (0, 3), "two": (1, 3)}


def figure() -> dict[str, Probabilistic]:
    """The processes of Figures 1 and 2; the paper gives p_k the keys 3 and 4 of entries 0 to 3."""
    ids = {keys: number for number, keys in enumerate(combinations(range(4), 2))}
    made = {
        name: build_endpoint(Probabilistic, process=name, group=list(FIGURE_KEYS), R=4, K=2, set_id=ids[keys])
        for name, keys in FIGURE_KEYS.items()
    }
    return {name: p for name, p in made.items() if isinstance(p, Probabilistic)}


def broadcast(endpoint: Probabilistic, text: str, to: str) -> Packet:
    """Broadcast; the copy for one process."""
    effects = endpoint.send(text.encode())
    assert words(effects) == text  # the own copy is delivered at once, outside Algorithm 2
    return next(packet for packet in effects.packets if packet.target == to)


def test_mostefaoui_figure_1_the_wait_for_m() -> None:
    p = figure()
    assert {name: endpoint.keys for name, endpoint in p.items()} == FIGURE_KEYS
    copies = {packet.target: packet for packet in p["i"].send(b"m").packets}
    assert stamp(copies["k"])[2] == [1, 1, 0, 0]
    p["j"].receive(copies["j"])
    assert have(p["j"], 4) == [1, 1, 0, 0]
    m2 = broadcast(p["j"], "m'", "k")
    assert stamp(m2)[2] == [1, 2, 1, 0]
    assert words(p["k"].receive(m2)) == ""
    assert have(p["k"], 4) == [0, 0, 0, 0]
    assert words(p["k"].receive(copies["k"])) == "m m'"
    assert have(p["k"], 4) == [1, 2, 1, 0]


def test_mostefaoui_figure_2_the_wrong_delivery_and_its_alarms() -> None:
    p = figure()
    copies = {packet.target: packet for packet in p["i"].send(b"m").packets}
    p["j"].receive(copies["j"])
    m2 = broadcast(p["j"], "m'", "k")
    first = broadcast(p["one"], "m1", "k")
    second = broadcast(p["two"], "m2", "k")
    assert (stamp(first)[2], stamp(second)[2]) == ([1, 0, 0, 1], [0, 1, 0, 1])
    p["k"].receive(first)
    p["k"].receive(second)
    assert have(p["k"], 4) == [1, 1, 0, 2]
    wrong = p["k"].receive(m2)
    assert words(wrong) == "m'"
    assert have(p["k"], 4) == [1, 2, 1, 2]
    assert wrong.deliveries[0].alarms == ()  # the alarm is on the late message, not on the early one
    late = p["k"].receive(copies["k"])
    assert words(late) == "m"
    assert late.deliveries[0].alarms == (ALGORITHM_4, ALGORITHM_5, SHARPER)


def test_mostefaoui_figure_2_algorithm_5_as_printed_misses_it_before_the_increment() -> None:
    before = {0: 1, 1: 2, 2: 1, 3: 2}
    m = [1, 1, 0, 0]
    assert not all(before[x] > m[x] for x in FIGURE_KEYS["i"])
    assert ALGORITHM_5 in find_detectors_suspecting_lateness(
        FIGURE_KEYS["i"], m, before, [Recent(FIGURE_KEYS["j"], [1, 2, 1, 0])]
    )


def test_mostefaoui_figure_2_one_concurrent_message_is_not_enough() -> None:
    p = figure()
    copies = {packet.target: packet for packet in p["i"].send(b"m").packets}
    p["j"].receive(copies["j"])
    m2 = broadcast(p["j"], "m'", "k")
    p["k"].receive(broadcast(p["one"], "m1", "k"))
    assert [words(p["k"].receive(packet)) for packet in (m2, copies["k"])] == ["", "m m'"]


def test_mostefaoui_section_4_with_equal_sets_one_concurrent_message_suffices() -> None:
    ids = {"p0": 0, "p1": 1, "p2": 0, "p3": 5}
    world = World(lambda p, g: maker("probabilistic", R=4, K=2, set_id=ids[p])(p, g), 4)
    m = world.send("p0")
    world.arrive_message(m, "p1")
    effect = world.send("p1")
    world.arrive_message(world.send("p2"), "p3")
    world.arrive_message(effect, "p3")
    assert world.violations == [("p3", effect, [m])]


def test_mostefaoui_algorithm_4_alarms_where_everything_was_covered_by_others() -> None:
    """m1 and m2 cover the keys of m; nothing that depends on m was delivered: the longer rules see that."""
    p = figure()
    m = broadcast(p["i"], "m", "k")
    for name in ("one", "two"):
        p["k"].receive(broadcast(p[name], name, "k"))
    assert p["k"].receive(m).deliveries[0].alarms == (ALGORITHM_4,)


@pytest.mark.parametrize(
    ("old", "keys", "expected"),
    [
        ([1, 2, 1, 0], (1, 2), {ALGORITHM_4, ALGORITHM_5, SHARPER}),
        ([1, 1, 1, 0], (1, 2), {ALGORITHM_4, ALGORITHM_5}),
        ([1, 2, 1, 0], (2, 3), {ALGORITHM_4, ALGORITHM_5}),
        ([0, 2, 1, 0], (1, 2), {ALGORITHM_4}),
    ],
    ids=["may-follow", "too-few-on-the-own-keys", "other-keys", "not-covering"],
)
def test_mostefaoui_section_4_2_what_the_detectors_see_in_the_list(
    old: list[int], keys: tuple[int, int], expected: set[str]
) -> None:
    assert (
        set(find_detectors_suspecting_lateness((0, 1), [1, 1, 0, 0], {0: 1, 1: 1}, [Recent(keys, old)]))
        == expected
    )


@pytest.mark.parametrize(("r", "k"), [(1, 1), (4, 1), (4, 2), (5, 3), (6, 2), (7, 7), (9, 4)])
def test_mostefaoui_algorithm_3_sets_are_the_combinations_in_order(r: int, k: int) -> None:
    assert [unrank_key_set(number, k, r) for number in range(count_key_sets(k, r))] == list(
        combinations(range(r), k)
    )


def test_mostefaoui_algorithm_3_at_the_size_of_the_evaluation() -> None:
    assert [unrank_key_set(number, 4, 100) for number in range(500)] == list(
        islice(combinations(range(100), 4), 500)
    )
    assert unrank_key_set(comb(100, 4) - 1, 4, 100) == (96, 97, 98, 99)
    assert all(0 <= derive_key_set_id(f"p{i}", 4, 100) < comb(100, 4) for i in range(99))


def printed_entries(set_id: int, k: int, r: int, base: int | None) -> list[int] | None:
    """Algorithm 3 as printed, with the constant R in t (base), or with r meant for it (None)."""
    a, kk, rest = [0] * k, k - 1, r - 1
    t = saved = comb(base or rest, kk)
    for i in range(k):
        for _ in range(50):
            if set_id < t:
                break
            a[i], rest, saved = a[i] + 1, rest - 1, t
            t = comb(base or max(rest, 0), max(kk, 0))
        else:
            return None  # the loop does not end
        t = saved
        if i < k - 1:
            a[i + 1] = a[i]
        kk -= 1
    return a


@pytest.mark.parametrize("constant", [True, False], ids=["R", "r"])
@pytest.mark.parametrize(("r", "k"), [(4, 2), (5, 3), (6, 2)])
def test_mostefaoui_algorithm_3_as_printed_never_yields_a_set(r: int, k: int, constant: bool) -> None:
    found = [printed_entries(number, k, r, r if constant else None) for number in range(comb(r, k))]
    assert not any(a is not None and len(set(a)) == k for a in found)


def test_mostefaoui_section_5_4_eps_max_is_not_an_upper_bound() -> None:
    world = World(maker("scalar"), 4)
    m0 = world.send("p0")
    world.arrive_message(m0, "p1")
    effects = [world.send("p1") for _ in range(4)]
    for message in (world.send("p2"), *effects, m0):
        world.arrive_message(message, "p3")
    assert world.violations == [("p3", message, [m0]) for message in effects]
    clocks = [[1, 0, 0, 0], *([1, i, 0, 0] for i in range(1, 5)), [0, 0, 1, 0]]
    assert papers_bounds([clocks[5], *clocks[1:5], clocks[0]], [2, 1, 1, 1, 1, 0]) == (1, 2)


def papers_bounds(clocks: list[list[int]], senders: list[int]) -> tuple[int, int]:
    """eps_min and eps_max: the auxiliary clock takes the maximum, what it already covers is dropped."""
    v, wrong, dropped = [0] * 4, 0, 0
    for clock, sender in zip(clocks, senders, strict=True):
        dropped += clock[sender] <= v[sender]
        ready = all(c <= v[x] + (x == sender) for x, c in enumerate(clock))
        wrong += not ready
        v = [max(pair) for pair in zip(v, clock, strict=True)]
    return wrong, wrong + dropped


def distinct(process: str, group: list[str]) -> Probabilistic:
    """R = n, K = 1, a bijection of processes and entries."""
    made = maker("probabilistic", R=len(group), K=1, set_id=group.index(process))(process, group)
    assert isinstance(made, Probabilistic)
    return made


@pytest.mark.parametrize(
    "make", [distinct, lambda p, g: maker("plausible", R=len(g))(p, g)], ids=["K=1", "plausible"]
)
@given(n=st.integers(2, 5), script=SCRIPTS)
def test_mostefaoui_section_3_with_an_entry_each_it_is_the_vector_clock(
    make: Make, n: int, script: Script
) -> None:
    worlds = World(make, n), World(maker("vector"), n)
    for action, a, _ in script:
        for world in worlds:
            if action % 2 and world.network:
                world.arrive(a % len(world.choices()))
            else:
                world.send(f"p{a % n}")
        assert worlds[0].deliveries == worlds[1].deliveries


@given(n=st.integers(2, 4), script=SCRIPTS)
def test_mostefaoui_section_3_all_keys_for_everybody_is_the_scalar(n: int, script: Script) -> None:
    worlds = World(maker("probabilistic", R=3, K=3), n), World(maker("scalar"), n)
    for action, a, _ in script:
        for world in worlds:
            if action % 2 and world.network:
                world.arrive(a % len(world.choices()))
            else:
                world.send(f"p{a % n}")
        assert worlds[0].deliveries == worlds[1].deliveries


def test_mostefaoui_algorithm_1_the_own_copy_does_not_count_twice() -> None:
    p = figure()
    for number in (1, 2):
        packet = broadcast(p["i"], "m", "k")
        assert stamp(packet)[2] == [number, number, 0, 0]
        assert words(p["k"].receive(packet)) == "m"
