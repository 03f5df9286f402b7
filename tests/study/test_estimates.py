"""Means, intervals, and results that are asked by parameters."""

import math

import numpy as np
import pytest

from antecede.study.estimates import (
    Estimate,
    Results,
    estimate_mean,
    estimate_rate,
    find_student_t,
    find_wilson_interval,
    format_parameter,
    format_share,
    parse_parameter,
)
from antecede.study.mostefaoui import count_broadcast_trials


def test_student_t_beyond_the_table_goes_on_smoothly_to_the_normal():
    values = [find_student_t(freedom) for freedom in range(1, 200)]
    assert values == sorted(values, reverse=True)
    assert find_student_t(31) == pytest.approx(2.0395, abs=2e-3)
    assert find_student_t(120) == pytest.approx(1.9799, abs=1e-3)
    assert find_student_t(10**6) == pytest.approx(1.95997, abs=1e-4)


def test_an_interval_of_95_percent_has_the_mean_in_95_of_100_cases():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(2000):
        estimate = estimate_mean(rng.normal(3, 2, 6).tolist())
        hits += estimate.low <= 3 <= estimate.high
    assert 0.93 < hits / 2000 < 0.97


def test_one_value_has_no_interval_and_none_has_no_mean():
    assert estimate_mean([2.0]).mean == 2
    assert math.isnan(estimate_mean([2.0]).half)
    assert math.isnan(estimate_mean([]).mean)
    assert str(estimate_mean([2.0])) == "2"


def test_estimates_are_apart_only_if_their_intervals_are():
    low, high = Estimate(1, 0.5, 3), Estimate(2, 0.4, 3)
    assert low.is_below(high)
    assert not high.is_below(low)
    assert not low.is_below(Estimate(2, 0.6, 3))
    assert not low.is_below(Estimate(2, math.nan, 1))


def make_row(protocol, value, seed=0, **parameters):
    texts = {name: format_parameter(one) for name, one in parameters.items()}
    return {"protocol": protocol, "metric": "y", "parameters": texts, "seed": seed, "value": value}


def test_results_are_found_by_some_of_their_parameters():
    rows = [
        make_row("a", 1.0, n=4, gap=0.5),
        make_row("a", 3.0, seed=1, n=4, gap=0.5),
        make_row("a", 9.0, n=8),
    ]
    results = Results([*rows, make_row("b", 7.0, n=4), make_row("b", None, n=5)])
    assert results.estimate("y", "a", n=4).mean == 2
    assert results.estimate("y", "a", n=4, gap=0.5).number == 2
    assert math.isnan(results.estimate("y", "a", n=5).mean)
    points = [(point.protocol, point.parameters, point.estimate.mean) for point in results.list_points("y")]
    assert points == [("a", {"n": 4, "gap": 0.5}, 2), ("a", {"n": 8}, 9), ("b", {"n": 4}, 7)]
    assert [point.estimate.mean for point in results.list_points("y", "b")] == [7]


def test_values_at_several_points_are_averaged_seed_by_seed():
    """The same cell under two names is not twice as much evidence."""
    once = [make_row("a", value, seed, n=4) for seed, value in enumerate([1.0, 2.0, 3.0])]
    twice = [make_row("a", value, seed, n=4, name="again") for seed, value in enumerate([1.0, 2.0, 3.0])]
    assert Results([*once, *twice]).estimate("y", "a", n=4) == estimate_mean([1.0, 2.0, 3.0])


# -- rates -------------------------------------------------------------------------------------------


def test_values_without_spread_have_no_interval_to_show():
    assert str(estimate_mean([2.0, 2.0, 2.0])) == "2"


def test_nothing_of_many_trials_is_not_surely_nothing():
    estimate = estimate_rate([0.0] * 4, 4000)
    assert estimate.mean == 0
    assert 3 / 4000 < estimate.high < 4 / 4000
    assert not estimate.is_below(Estimate(5e-4, 0, 4))
    assert estimate.is_below(Estimate(2e-3, 0, 4))
    assert str(estimate) == format_share(estimate) == "0 ± 0.00096"
    assert estimate_rate([1.0] * 4, 4000).low == pytest.approx(1 - estimate.high)


def test_rates_that_differ_keep_the_interval_of_their_seeds():
    rates = [1e-3, 3e-3, 2e-3]
    assert estimate_rate(rates, 1e6) == estimate_mean(rates)
    assert math.isnan(estimate_rate([0.5], 100).half)


@pytest.mark.parametrize(("rate", "trials"), [(0.001, 1000), (0.01, 300), (0.2, 50)])
def test_wilson_intervals_hold_the_rate_in_about_95_of_100_cases(rate, trials):
    """Counts are whole numbers: where one is expected, it is 92 of 100."""
    rng = np.random.default_rng(1)
    hits = 0
    for number in rng.binomial(trials, rate, 4000):
        low, high = find_wilson_interval(number / trials, trials)
        hits += low <= rate <= high
    assert hits / 4000 > 0.91


def test_rates_of_messages_are_known_by_their_name():
    rows = [make_row("a", 0.0, seed, messages=100) for seed in range(4)]
    plain = Results(rows).estimate("y", "a")
    rate = Results([row | {"metric": "early_rate"} for row in rows]).estimate("early_rate", "a")
    assert plain.half == 0
    assert rate == estimate_rate([0.0] * 4, 400)
    assert Results([make_row("a", 0.0, seed) for seed in range(4)]).estimate("y", "a").half == 0


def test_trials_of_a_broadcast_are_its_messages():
    point = {"N": 101, "deliveries": 10_000}
    assert count_broadcast_trials("early_rate", point) == 100
    assert count_broadcast_trials("wait", point) is None
    assert count_broadcast_trials("early_rate", {"N": 101}) is None


@pytest.mark.parametrize("value", [1, 2.5, True, False, "exponential:20", "", 1e-7, -3, 1 / 3, 1_234_567.5])
def test_parameters_survive_the_table(value):
    assert parse_parameter(format_parameter(value)) == value
