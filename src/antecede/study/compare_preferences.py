"""What matters to whoever asks for advice: weights, and limits that nothing may go beyond."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from antecede.core.errors import CallerError

WEIGHED = ("bytes", "delay", "packets")
"""What weights can be given to."""
DEFAULT_WEIGHTS = {"bytes": 1.0, "delay": 1.0}
LIMITED = ("bytes", "delay", "delay_p99", "packets", "held", "early", "late")
"""What limits can be given to."""
_UNITS = {
    "delay": {"": 1.0, "us": 1e-3, "ms": 1.0, "s": 1e3, "steps": 1.0},
    "early": {"": 1.0, "%": 0.01},
    "bytes": {"": 1.0, "B": 1.0, "kB": 1e3},
    "packets": {"": 1.0},
}
_SAME_UNITS = {"delay_p99": "delay", "late": "early", "held": "packets"}


class Limit(NamedTuple):
    """At most so much, as the user wrote it, and the unit of time if it has one."""

    value: float
    text: str
    unit: str


class Preferences(NamedTuple):
    """What matters to the user."""

    weights: dict[str, float]
    limits: dict[str, Limit]


def parse_preferences(weights: str | None, limits: list[str]) -> Preferences:
    """Weights as bytes=1,delay=2 and limits as delay=50ms, from the command line."""
    chosen = None if weights is None else _split_name_value_pairs(weights)
    bounds = [pair for text in limits for pair in _split_name_value_pairs(text)]
    return _build_preferences(chosen, bounds, "--weights", "--limit")


def make_preferences(
    weights: Mapping[str, float] | None, limits: Mapping[str, float | str] | None
) -> Preferences:
    """The same in Python: weights as numbers, limits as numbers or texts with a unit."""
    chosen = None if weights is None else [(name, str(weight)) for name, weight in weights.items()]
    bounds = [(name, str(limit)) for name, limit in (limits or {}).items()]
    return _build_preferences(chosen, bounds, "weights", "limits")


def _build_preferences(
    weights: list[tuple[str, str]] | None,
    limits: list[tuple[str, str]],
    weights_option: str,
    limits_option: str,
) -> Preferences:
    """Read names and values; the options are named where one of them is wrong."""
    chosen = dict(DEFAULT_WEIGHTS)
    if weights is not None:
        _check_names_and_values(weights_option, weights, WEIGHED)
        chosen = {name: _parse_weight(weights_option, name, text) for name, text in weights}
        if not any(chosen.values()):
            listed = ",".join(f"{name}={text}" for name, text in weights)
            raise CallerError(f"{weights_option} {listed}: at least one must be more than 0")
    _check_names_and_values(limits_option, limits, LIMITED)
    bounds = {name: _parse_limit(limits_option, name, text) for name, text in limits}
    return Preferences(chosen, bounds)


def _split_name_value_pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _check_names_and_values(option: str, pairs: Iterable[tuple[str, str]], known: tuple[str, ...]) -> None:
    """Refuse names that nobody knows or that come twice, and names without a value."""
    seen = set()
    for name, value in pairs:
        if name not in known:
            raise CallerError(f"{option} {name}: unknown {name!r}; choose of {', '.join(known)}")
        if not value:
            raise CallerError(f"{option} {name}: write it as {name}=NUMBER")
        if name in seen:
            raise CallerError(f"{option} {name}={value}: {name} is given twice; leave one of them out")
        seen.add(name)


def _parse_weight(option: str, name: str, text: str) -> float:
    number = _parse_number(text)
    if number is None or number < 0:
        raise CallerError(f"{option} {name}={text}: a weight is a number that is not below 0")
    return number


def _parse_limit(option: str, name: str, text: str) -> Limit:
    units = _UNITS[_SAME_UNITS.get(name, name)]
    match = re.fullmatch(r"([-+.\deE]*\d)\s*([a-zA-Z%]*)", text)
    number = _parse_number(match[1]) if match else None
    if match is None or number is None or number < 0 or match[2] not in units:
        known = ", ".join(unit for unit in units if unit)
        remedy = f" with one of the units {known}, or without" if known else ""
        raise CallerError(f"{option} {name}={text}: a limit is a number that is not below 0{remedy}")
    return Limit(number * units[match[2]], text, match[2])


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
