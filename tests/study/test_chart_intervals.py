"""Intervals on a logarithmic axis end at the least mean, as there is no zero on it."""

from antecede.study.estimates import Results
from antecede.study.experiment import Plot
from antecede.study.result import make_chart


def draw(log_y: bool, *values: list[float]) -> list[dict[str, object]]:
    rows = [
        {"metric": "wait", "protocol": "matrix", "parameters": {"n": str(n)}, "value": value}
        for n, several in enumerate(values)
        for value in several
    ]
    plot = Plot("Wait", metric="wait", x="n", log_y=log_y)
    return make_chart(plot, Results(rows)).rows


def test_interval_that_reaches_zero_ends_at_the_least_mean() -> None:
    wide, narrow = draw(True, [1.0, 9.0], [2.0, 2.1])
    assert wide["low"] == narrow["wait"] == 2.05
    assert narrow["low"] == 2.05


def test_interval_ends_at_zero_if_that_is_the_least_mean() -> None:
    assert [row["low"] for row in draw(True, [1.0, 9.0], [0.0, 0.0])] == [0, 0]


def test_other_axes_and_numbers_below_zero_keep_their_intervals() -> None:
    assert draw(False, [1.0, 9.0], [2.0, 2.1])[0]["low"] < 0  # type: ignore[operator]
    assert draw(True, [1.0, 9.0], [-1.0, -2.0])[0]["low"] < -1.5  # type: ignore[operator]
