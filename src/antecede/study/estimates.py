"""Means with 95 % intervals, and the costs table as something that can be asked.

An interval is Student's t over the seeds. It says nothing where all seeds gave the same value: then the value
stands alone, without "± 0"; and if it is a rate of which is known out of how many trials it is, Wilson's
interval is taken, so that "none of 4000" is not zero but 0 ± 0.001.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist, fmean, stdev
from typing import Any, NamedTuple

import pyarrow as pa

Texts = tuple[tuple[str, str], ...]
"""Parameters, as they stand in the table."""

CountTrials = Callable[[str, Mapping[str, Any]], float | None]
"""For a metric at some parameters: how many independent trials of one run it is a rate of; None if it is no
rate, or nobody knows."""

STUDENT_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Half the width of a 95 % interval in standard errors, by degrees of freedom from 1."""


def find_student_t(degrees_of_freedom: int) -> float:
    """The same for any degrees of freedom; beyond the table by the first terms of the usual expansion."""
    if degrees_of_freedom <= len(STUDENT_T):
        return STUDENT_T[degrees_of_freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / degrees_of_freedom + second / degrees_of_freedom**2


class Estimate(NamedTuple):
    """A mean and its 95 % interval, which is unknown (NaN) where there are fewer than two values."""

    mean: float
    half: float
    number: int

    @property
    def low(self) -> float:
        """Where the interval begins."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Where it ends."""
        return self.mean + self.half

    def is_below(self, other: Estimate) -> bool:
        """Whether the intervals are apart, this one below."""
        return self.high < other.low

    def __str__(self) -> str:
        if math.isnan(self.half) or self.half == 0:
            return format_digits(self.mean, 3)
        return f"{format_digits(self.mean, 3)} ± {format_digits(self.half, 2)}"


def format_digits(value: float, digits: int) -> str:
    """A number by its first digits; large ones as people write them, not as powers of ten."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e9 else f"{value:.{digits}g}"


def estimate_mean(values: Sequence[float]) -> Estimate:
    """The mean of independent values, by Student's t."""
    if not values:
        return Estimate(math.nan, math.nan, 0)
    if len(values) < 2:
        return Estimate(values[0], math.nan, 1)
    error = stdev(values) / math.sqrt(len(values))
    return Estimate(fmean(values), find_student_t(len(values) - 1) * error, len(values))


def estimate_rate(rates: Sequence[float], trials: float) -> Estimate:
    """The mean of rates with so many independent trials in all."""
    estimate = estimate_mean(rates)
    if estimate.half != 0 or not 0 <= estimate.mean <= 1:
        return estimate
    low, high = find_wilson_interval(estimate.mean, trials)
    return estimate._replace(half=max(high - estimate.mean, estimate.mean - low))


def find_wilson_interval(rate: float, trials: float) -> tuple[float, float]:
    """The rates under which so many trials give this one within the 95 % that are likely (Wilson 1927)."""
    z = NormalDist().inv_cdf(0.975)
    center = rate + z**2 / (2 * trials)
    reach = z * math.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2))
    shrink = 1 + z**2 / trials
    return (center - reach) / shrink, (center + reach) / shrink


def count_message_trials(metric: str, parameters: Mapping[str, Any]) -> float | None:
    """The trials of a metric whose name ends in `_rate`, where the parameter `messages` says how many there
    were. A message is a trial, not a copy of it: one that is slow makes trouble at many processes at once."""
    messages = parameters.get("messages")
    return float(messages) if metric.endswith("_rate") and messages else None


def compare_estimates(one: Estimate, other: Estimate) -> str:
    """Whether one is more than the other, by their intervals, as words before the other."""
    if other.is_below(one):
        return "more than"
    return "less than" if one.is_below(other) else "not distinguishable from"


def multiply_estimates(one: Estimate, other: Estimate) -> Estimate:
    """The product of two that are not negative, with all that the product of values in their intervals can
    be: they may depend on each other."""
    mean = one.mean * other.mean
    half = one.high * other.high - mean
    return Estimate(mean, half, min(one.number, other.number))


def format_share(share: Estimate) -> str:
    """A share of something, as words before that."""
    return "none" if share.mean == share.half == 0 else str(share)


class ResultPoint(NamedTuple):
    """A metric at one point of a grid, over all its seeds."""

    protocol: str
    parameters: dict[str, Any]
    estimate: Estimate


class Results:
    """The costs of a figure, to be asked for. Parameters are texts in the table, and here what they look
    like."""

    def __init__(
        self, rows: Iterable[dict[str, Any]], count_trials: CountTrials = count_message_trials
    ) -> None:
        self._values: dict[tuple[str, str, Texts], dict[int, float]] = defaultdict(dict)
        self._count_trials = count_trials
        self.failed = 0
        """How many cells have no results."""
        for row in rows:
            if row["value"] is None:
                self.failed += 1
            else:
                texts = tuple(row["parameters"].items())
                self._values[row["metric"], row["protocol"], texts][row["seed"]] = row["value"]

    @classmethod
    def of_figure(
        cls, costs: pa.Table, figure: str, count_trials: CountTrials = count_message_trials
    ) -> Results:
        """The results of one figure."""
        rows = costs.to_pylist(maps_as_pydicts="strict")
        return cls((row for row in rows if row["figure"] == figure), count_trials)

    @property
    def metrics(self) -> list[str]:
        """What was measured."""
        return list(dict.fromkeys(metric for metric, _, _ in self._values))

    def list_points(self, metric: str, protocol: str | None = None, **wanted: Any) -> list[ResultPoint]:
        """The points at which a metric was measured, in the order of the grid: all, or those with some
        protocol and some parameters."""
        return [
            ResultPoint(runner, parameters, self._estimate_over_points(metric, [(parameters, values)]))
            for runner, parameters, values in self._find_wanted_values(metric, protocol, wanted)
        ]

    def estimate(self, metric: str, protocol: str, **wanted: Any) -> Estimate:
        """The mean of a metric over everything measured at some parameters; unknown if nothing was. If that
        is at several points, the interval is that of their means, seed by seed: points share their seeds."""
        found = self._find_wanted_values(metric, protocol, wanted)
        return self._estimate_over_points(metric, [(parameters, values) for _, parameters, values in found])

    def _find_wanted_values(
        self, metric: str, protocol: str | None, wanted: Mapping[str, Any]
    ) -> Iterator[tuple[str, dict[str, Any], dict[int, float]]]:
        """The points of a metric that are wanted: protocol, parameters, and values by seed."""
        for (measured, runner, texts), values in self._values.items():
            parameters = {name: parse_parameter(text) for name, text in texts}
            is_wanted = all(parameters.get(name) == value for name, value in wanted.items())
            if measured == metric and protocol in (None, runner) and is_wanted:
                yield runner, parameters, values

    def _estimate_over_points(
        self, metric: str, points: list[tuple[dict[str, Any], dict[int, float]]]
    ) -> Estimate:
        by_seed: dict[int, list[float]] = defaultdict(list)
        trials = 0.0
        for parameters, values in points:
            trials += (self._count_trials(metric, parameters) or math.nan) * len(values)
            for seed, value in values.items():
                by_seed[seed].append(value)
        means = [fmean(values) for values in by_seed.values()]
        return estimate_mean(means) if math.isnan(trials) else estimate_rate(means, trials)


def format_parameter(value: Any) -> str:
    """A parameter as text: a number as short as it can be read back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    short = f"{value:g}" if isinstance(value, float) else ""
    return short if short and float(short) == value else str(value)


def parse_parameter(text: str) -> Any:
    """A parameter as what it looks like: a number, yes or no, or a text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
