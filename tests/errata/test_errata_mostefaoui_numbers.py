"""Mostefaoui17 (probabilistic causal broadcast): the numbers of its analysis and of its experiments."""

from itertools import combinations, product
from math import comb, erfc, exp, factorial, log, sqrt

import pytest

from tests.harness import World, maker

EXACT = {2: 0.1105, 3: 0.0968, 4: 0.1008, 5: 0.1146, 6: 0.1358, 7: 0.1635, 8: 0.1971}
"""Probability that the K keys of a message are covered, R = 100, on average 20 messages in flight."""


def bounds(delivered: list[tuple[int, list[int]]]) -> tuple[int, int]:
    """eps_min and eps_max of section 5.4.1 at one receiver, from the senders and true vector stamps."""
    clock = [0] * len(delivered[0][1])
    wrong = 0
    dropped = 0
    for sender, stamp in delivered:
        if stamp[sender] <= clock[sender]:
            dropped += 1  # covered by a wrong delivery: in order for eps_min, out of order for eps_max
            continue
        before = [count - (x == sender) for x, count in enumerate(stamp)]
        wrong += any(count > have for count, have in zip(before, clock, strict=True))
        clock = [max(pair) for pair in zip(clock, stamp, strict=True)]
    return wrong, wrong + dropped


def test_eps_max_is_not_an_upper_bound() -> None:
    world = World(maker("scalar"), 4)
    m0 = world.send("p0")
    world.arrive_message(m0, "p1")
    effects = [world.send("p1") for _ in range(4)]
    x = world.send("p2")
    for message in (x, *effects, m0):
        world.arrive_message(message, "p3")
    assert world.order("p3") == [x, *effects, m0]
    assert sum(process == "p3" for process, _, _ in world.violations) == 4
    stamps = [(2, [0, 0, 1, 0]), *((1, [1, i, 0, 0]) for i in range(1, 5)), (0, [1, 0, 0, 0])]
    assert bounds(stamps) == (1, 2)


def test_a_message_each_second_is_not_the_load_of_the_figures() -> None:
    nodes, gap = 1000, 5.0  # lambda = 5000: milliseconds between messages, not messages
    assert nodes / gap == 200
    assert [n / 200 for n in (500, 1000, 1500, 2000)] == [2.5, 5, 7.5, 10]  # never one second


@pytest.mark.parametrize(("sd", "least", "most"), [(20, 5e-3, 7e-3), (sqrt(20), 0, 1e-27)])
def test_20_is_a_standard_deviation(sd: float, least: float, most: float) -> None:
    # An effect overtakes its cause at p_k when d(m, k) > d(m, j) + d(m', k); the mean of m is in both.
    spread = sqrt(2 * sd**2 + 2 * sd**2)
    assert least <= erfc(100 / spread / sqrt(2)) / 2 <= most


def bloom(K: int, X: float, R: int = 100) -> float:
    """The error of the analysis, with its bracket put back."""
    return float((1 - (1 - 1 / R) ** (K * X)) ** K)


def cover_probability(K: int, X: int, R: int = 100) -> float:
    """The same for K distinct keys, by inclusion and exclusion."""
    terms = ((-1) ** i * comb(K, i) * (comb(R - i, K) / comb(R, K)) ** X for i in range(K + 1))
    return float(sum(terms))


def test_error_probability_lacks_a_bracket() -> None:
    printed = [1 - ((1 - 1 / 100) ** (K * 20)) ** K for K in range(1, 9)]
    assert printed == sorted(printed)  # more keys would always be worse
    assert min(range(1, 9), key=lambda K: bloom(K, 20)) in (3, 4)


def test_error_probability_counts_keys_with_replacement() -> None:
    pairs = [set(pair) for pair in combinations(range(4), 2)]
    exact = sum({0, 1} <= a | b for a, b in product(pairs, pairs)) / len(pairs) ** 2
    assert cover_probability(2, 2, 4) == pytest.approx(exact)
    assert bloom(2, 2, 4) != pytest.approx(exact, rel=0.05)


def test_least_error_over_a_random_load() -> None:
    loads = [(X, exp(-20) * 20**X / factorial(X)) for X in range(100)]
    averages = {K: sum(weight * cover_probability(K, X) for X, weight in loads) for K in EXACT}
    assert averages == pytest.approx(EXACT, abs=5e-5)
    assert min(averages, key=averages.__getitem__) == 3
    assert [bloom(3, 20), bloom(4, 20)] == pytest.approx([0.0929, 0.0932], abs=5e-5)
    assert log(2) * 100 / 20 == pytest.approx(3.47, abs=0.01)
