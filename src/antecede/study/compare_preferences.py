"""What matters to whoever asks for advice: weights, and limits that nothing may go beyond."""

from __future__ import annotations

import math
import re
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
    """Weights as bytes=1,delay=2 and limits as delay=50ms."""
    chosen = dict(DEFAULT_WEIGHTS)
    if weights is not None:
        chosen = {name: _parse_weight(name, text) for name, text in _split_pairs("--weights", weights)}
        if not any(chosen.values()):
            raise CallerError(f"--weights {weights}: at least one must be more than 0")
    bounds = {}
    for text in limits:
        for name, value in _split_pairs("--limit", text):
            bounds[name] = _parse_limit(name, value)
    return Preferences(chosen, bounds)


def _split_pairs(option: str, text: str) -> list[tuple[str, str]]:
    known = WEIGHED if option == "--weights" else LIMITED
    pairs = []
    for part in text.split(","):
        name, sign, value = part.strip().partition("=")
        if name not in known:
            raise CallerError(f"{option} {part.strip()}: unknown {name!r}; choose of {', '.join(known)}")
        if not sign or not value:
            raise CallerError(f"{option} {part.strip()}: write it as {name}=NUMBER")
        pairs.append((name, value.strip()))
    return pairs


def _parse_weight(name: str, text: str) -> float:
    number = _parse_number(text)
    if number is None or number < 0:
        raise CallerError(f"--weights {name}={text}: a weight is a number that is not below 0")
    return number


def _parse_limit(name: str, text: str) -> Limit:
    units = _UNITS[_SAME_UNITS.get(name, name)]
    match = re.fullmatch(r"([-+.\deE]*\d)\s*([a-zA-Z%]*)", text)
    number = _parse_number(match[1]) if match else None
    if match is None or number is None or number < 0 or match[2] not in units:
        known = ", ".join(unit for unit in units if unit)
        remedy = f" with one of the units {known}, or without" if known else ""
        raise CallerError(f"--limit {name}={text}: a limit is a number that is not below 0{remedy}")
    return Limit(number * units[match[2]], text, match[2])


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
