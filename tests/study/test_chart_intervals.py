"""A logarithmic axis has no zero: intervals end at the least mean, and means of zero are left out."""

from typing import Any

from antecede.study.estimates import Results
from antecede.study.experiment import Plot
from antecede.study.result import make_chart
from tests.study.cells import make_row


def draw(log_y: bool, *values: list[float]) -> Any:
    rows = [
        make_row("wait", "matrix", {"n": str(n)}, seed, value)
        for n, several in enumerate(values)
        for seed, value in enumerate(several)
    ]
    plot = Plot("Wait", metric="wait", x="n", log_y=log_y)
    return make_chart(plot, Results(rows)).rows


def test_interval_that_reaches_zero_ends_at_the_least_mean() -> None:
    wide, narrow = draw(True, [1.0, 9.0], [2.0, 2.1])
    assert wide["low"] == narrow["wait"] == 2.05
    assert narrow["low"] == 2.05


def test_a_mean_of_zero_is_not_drawn() -> None:
    drawn = draw(True, [1.0, 9.0], [0.0, 0.0])
    assert [row["wait"] for row in drawn] == [5]
    assert drawn[0]["low"] == 5


def test_other_axes_keep_their_intervals_and_zeros() -> None:
    wide, nothing = draw(False, [1.0, 9.0], [0.0, 0.0])
    assert wide["low"] < 0
    assert nothing["wait"] == 0
