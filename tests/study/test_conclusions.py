"""What the studies conclude follows from their results: other numbers, other words."""

from collections.abc import Callable

import pytest

from antecede.study.experiment import Figure, Point
from antecede.study.hoogerwoord import BUFFER, COST
from antecede.study.mattern import MULTICAST
from antecede.study.mostefaoui import (
    BLOOM,
    CHURN,
    DISTINCT,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    SIZE_OF_STAMP,
    THEORY,
    UNKNOWN_LOAD,
)
from antecede.study.sanchez import EXTRAS, MIXED, OWN_ROW, PENALTY
from tests.study.cells import make_results

SPREAD = (0.99, 1.01)
"""What the seeds make of a value: intervals of about ± 13 %."""


def conclude(figure: Figure, choose: Callable[[Point], dict[str, float]]) -> str:
    """What a figure says if its points have these metrics, with a little chance about them."""

    def spread(point: Point) -> dict[str, tuple[float, ...]]:
        return {metric: tuple(value * by for by in SPREAD) for metric, value in choose(point).items()}

    return figure.conclude(make_results(spread, figure))


def by_parameter(metric: str, name: str, values: dict[object, float], other: float = 1.0):
    """A metric that depends on one parameter."""
    return lambda point: {metric: values.get(point.parameters.get(name), other)}


# -- Sanchez and Alvarez -----------------------------------------------------------------------------


@pytest.mark.parametrize(("extras", "words"), [(4.6, "4.6 ± 0.58 with n = 8"), (1.0, "1 ± 0.13 with n = 8")])
def test_extras_are_said_as_measured(extras, words):
    text = conclude(EXTRAS, by_parameter("extras", "traffic", {"uniform": extras, "ring": 0.0}, 9.0))
    assert words in text
    assert "ring none, less than uniform" in text
    assert "hot-spot 9 ± 1.1, more than uniform" in text


def test_who_pays_follows_the_extras_that_were_sent():
    def alone(point):
        small = point.parameters["mixture"] == "one small"
        return {
            "extras_of_the_first": 5.0 if small else 0.0,
            "extras_of_the_others": 0.0 if small else 4.0,
            "stamp_bytes_of_the_first": 20.0,
            "stamp_bytes_of_the_others": 60.0,
        }

    def together(point):
        return {
            "extras_of_the_first": 4.0,
            "extras_of_the_others": 4.0,
            "stamp_bytes_of_the_first": 60.0,
            "stamp_bytes_of_the_others": 20.0,
        }

    text = conclude(MIXED, alone)
    assert "more than the others, which send none" in text
    assert "less than those of the others" in text
    text = conclude(MIXED, together)
    assert text.count("not distinguishable from the others, which send 4 ± 0.51") == 2
    assert "more than those of the others" in text
    assert "alone" not in text


def test_the_time_penalty_is_against_matrix_as_measured():
    def slower(point):
        return {"wait": 3.0 if point.protocol == "bounded" else 2.0, "needless": 1.0}

    def faster(point):
        return {"wait": 1.0 if point.protocol == "bounded" else 2.0, "needless": 0.0}

    assert conclude(PENALTY, slower).count("more than matrix") == 3
    text = conclude(PENALTY, faster)
    assert text.count("less than matrix") == text.count("none needlessly") == 3


@pytest.mark.parametrize(("uncounted", "words"), [(1.0, "less than"), (5.0, "more than")])
def test_the_own_row_is_compared_as_measured(uncounted, words):
    def choose(point):
        value = 3.0 if point.parameters["own_row"] else uncounted
        return dict.fromkeys(("extras", "entries", "total_bytes"), value)

    assert conclude(OWN_ROW, choose).count(words) == 3


# -- Hoogerwoord, Mattern ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "words"), [(1.0, "less than"), (2.0, "not distinguishable from"), (9.0, "more than")]
)
def test_the_wait_at_the_monitor_is_compared_as_measured(wait, words):
    def choose(point):
        return {"control_bytes": 8.0, "wait_at_monitor": wait if point.protocol == "monitor" else 2.0}

    assert f"{words} the 2 ± 0.25 ms under matrix" in conclude(COST, choose)


@pytest.mark.parametrize(("wide", "words"), [(1.0, "less than the 5"), (20.0, "more than the 5")])
def test_the_buffer_is_compared_as_measured(wide, words):
    def choose(point):
        return {"buffer_mean": wide if point.parameters["spread"] == 20 else 5.0, "buffer_peak": 7.0}

    assert conclude(BUFFER, choose).count(words) == 3


def test_acknowledgements_of_each_repair_are_its_own():
    def choose(point):
        acks = 6.0 if point.parameters["way"] == "hold" else 9.0
        return {"added": 1.0, "wait": 1.0, "acks": acks}

    assert "two-phase takes 9 ± 1.1 acknowledgements and releases, hold 6 ± 0.76" in conclude(
        MULTICAST, choose
    )


# -- Mostefaoui and Weiss ----------------------------------------------------------------------------


def test_the_best_keys_are_those_measured():
    alone = conclude(FIGURE_3, by_parameter("early_rate", "K", {6: 1e-4}, 1e-2))
    assert "least at K = 6" in alone
    assert "all other K are worse" in alone
    several = conclude(FIGURE_3, by_parameter("early_rate", "K", {2: 1e-4, 3: 1.1e-4}, 1e-2))
    assert "least at K = 2" in several
    assert "K = 3 cannot be told from it" in several


@pytest.mark.parametrize(
    ("figure", "name", "places"),
    [
        (FIGURE_4, "gap", (10_000.0, 5000.0, 1000.0)),
        (FIGURE_5, "N", (250, 1000, 2000)),
        (FIGURE_6, "N", (50, 1000, 2000)),
    ],
)
@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ((1e-4, 1e-3, 1e-2), ("more than", "more than")),
        ((1e-2, 1e-3, 1e-3), ("less than", "not distinguishable from")),
    ],
)
def test_rates_are_compared_in_turn(figure, name, places, rates, words):
    text = conclude(figure, by_parameter("early_rate", name, dict(zip(places, rates, strict=True))))
    first, second, third = text.split(";")
    assert "which is" not in first
    assert f"which is {words[0]} the rate before" in second
    assert f"which is {words[1]} the rate before" in third


@pytest.mark.parametrize(
    ("early", "words"), [(1e-4, "less than"), (1e-3, "not distinguishable from"), (1e-1, "more than")]
)
def test_theory_bounds_the_early_rate_only_if_it_does(early, words):
    def choose(point):
        if point.protocol in (BLOOM, DISTINCT):
            return {"algorithm_4_alarm_rate": 0.1}
        return {"algorithm_4_alarm_rate": 0.1, "held_rate": 0.01, "early_rate": early}

    assert f"{words} the product of the two, 0.001" in conclude(THEORY, choose)


def test_keys_for_an_unknown_load_are_those_with_the_least_worst_case():
    def choose(point):
        light = point.parameters["gap"] > 3000
        rates = {2: 1e-4, 5: 2e-4} if light else {2: 9e-4, 5: 2e-4, 7: 1e-4}
        return {"early_rate": rates.get(point.parameters["K"], 9e-3)}

    text = conclude(UNKNOWN_LOAD, choose)
    assert "7 at 1.5 s, 7 at 2.5 s, 2 at 5 s" in text
    assert "K = 5 is the safest choice by these means: its rate is at most 2 times" in text


def test_keys_without_an_error_have_no_ratio():
    def choose(point):
        silent = point.parameters["gap"] == 20_000 and point.parameters["K"] == 3
        return {"early_rate": 0.0 if silent else {6: 1e-4}.get(point.parameters["K"], 1e-3)}

    text = conclude(UNKNOWN_LOAD, choose)
    assert "3 at 20 s" in text
    assert "1 of them, there is no ratio" in text
    assert "K = 6 is the safest choice" in text
    nothing = conclude(UNKNOWN_LOAD, lambda point: {"early_rate": 0.0})
    assert "At each of these loads some K made no error" in nothing


def test_targets_that_no_stamp_reaches_are_said():
    def choose(point):
        return {"early_rate": 5e-4 if point.parameters["R"] >= 200 else 0.5, "deliveries": 1e6}

    text = conclude(SIZE_OF_STAMP, choose)
    assert "surely below 0.01 with R = 200" in text
    assert "surely below 0.001 with R = 200" in text
    assert "surely below 0.0001 with none of these stamps" in text


@pytest.mark.parametrize(
    ("wild", "words"), [(1e-2, "more than"), (1e-3, "not distinguishable from"), (1e-4, "less than")]
)
def test_churn_does_harm_only_if_it_does(wild, words):
    text = conclude(CHURN, by_parameter("early_rate", "churn", {20.0: wild}, 1e-3))
    assert f"{words} the 0.001" in text
