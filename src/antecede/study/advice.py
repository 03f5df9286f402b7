"""Advice on recorded communication: which protocol is best here, by how much, and at what price.

A log is one run, so intervals come from batch means: the run is cut into up to 20 consecutive stretches, and
their means are taken for independent values (Student's t). Protocols were given the same messages, so they
are compared stretch by stretch: ratios of bytes, differences of delays. With fewer than 5 stretches there is
no interval and no winner; and a winner must be apart from every other candidate.

A candidate keeps causal order at every process that receives, came to an end, and is within the limits. One
that is inexact is a candidate only if a limit says how much disorder is borne (`early` or `late`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from antecede.core.errors import CallerError
from antecede.protocols.registry import list_protocols
from antecede.simulate.replay import Replay
from antecede.study.compare import Comparison, ExecutionFacts, Variant
from antecede.study.estimates import Estimate, estimate_mean

LEAST_STRETCHES = 5
"""With fewer there is no interval."""
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


class Candidate(NamedTuple):
    """A row of the table with its intervals. `reason` says why it cannot be recommended; empty if it can."""

    variant: Variant
    replay: Replay
    estimates: dict[str, Estimate]
    is_on_front: bool
    reason: str


class Advice(NamedTuple):
    """What is to be said of one execution. `best` are the candidates that nothing is apart from and below:
    one is the winner, several cannot be told apart, none means that there is no interval or no candidate."""

    facts: ExecutionFacts
    candidates: list[Candidate]
    best: list[Candidate]
    sentence: str
    others: list[str]
    use: str

    @property
    def winner(self) -> Candidate | None:
        """The one that is apart from all others."""
        return self.best[0] if len(self.best) == 1 else None


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


def give_advice(comparison: Comparison, preferences: Preferences) -> Advice:
    """The advice on one execution."""
    facts = comparison.facts
    _check_units(facts, preferences)
    front = _find_front([replay for _, replay in comparison.rows])
    candidates = []
    for (variant, outcome), is_on_front in zip(comparison.rows, front, strict=True):
        reason = _find_reason(variant, outcome, preferences)
        estimates = {name: _estimate(outcome, name) for name in WEIGHED}
        candidates.append(Candidate(variant, outcome, estimates, is_on_front, reason))
    eligible = _drop_repetitions([candidate for candidate in candidates if not candidate.reason])
    if not eligible:
        return Advice(facts, candidates, [], _explain_no_candidate(candidates), [], "")
    stretches = len(eligible[0].replay.bytes)
    if stretches < LEAST_STRETCHES:
        sentence = _explain_no_interval(facts, eligible)
        return Advice(facts, candidates, [], sentence, [], "")
    ranking = _rank_candidates(eligible, preferences.weights, facts.travel)
    sentence = _tell_best(ranking, facts)
    first = ranking.best[0]
    others = [_compare(first, other, facts.unit) for other in ranking.rest]
    return Advice(facts, candidates, ranking.best, sentence, others, show_use(first.variant, facts))


def _drop_repetitions(candidates: list[Candidate]) -> list[Candidate]:
    """Of variants of one protocol that did the same, as with bounds that were never reached, the first."""
    first: dict[tuple[Any, ...], Candidate] = {}
    for candidate in candidates:
        outcome = candidate.replay
        did = (outcome.protocol, *outcome.bytes, *outcome.packets, *outcome.delay)
        first.setdefault(did, candidate)
    return list(first.values())


def _check_units(facts: ExecutionFacts, preferences: Preferences) -> None:
    """Refuse a limit in milliseconds where the log has no times, and the other way around."""
    for name in ("delay", "delay_p99"):
        limit = preferences.limits.get(name)
        if limit is None or not limit.unit or not facts.messages:
            continue
        if (limit.unit == "steps") != (facts.unit == "steps"):
            where = facts.execution or "this log"
            raise CallerError(
                f"--limit {name}={limit.text}: delays of {where} are in {facts.unit}; give the limit so"
            )


def measure(replay: Replay, name: str) -> float:
    """One of the figures that limits know."""
    copies = max(replay.copies, 1)
    return {
        "bytes": replay.total_bytes,
        "delay": replay.delay_mean,
        "delay_p99": replay.delay_p99,
        "packets": replay.extras + replay.acks,
        "held": float(replay.peak_held),
        "early": replay.verdict.early / copies,
        "late": replay.verdict.late / copies,
    }[name]


def _estimate(replay: Replay, name: str) -> Estimate:
    """The figure of the whole run, and the interval that its stretches give."""
    values = _get_stretches(replay, name)
    half = estimate_mean(values).half if len(values) >= LEAST_STRETCHES else math.nan
    return Estimate(measure(replay, name), half, len(values))


def _get_stretches(replay: Replay, name: str) -> list[float]:
    return {"bytes": replay.bytes, "delay": replay.delay, "packets": replay.packets}[name]


def _find_reason(variant: Variant, outcome: Replay, preferences: Preferences) -> str:
    """Why a row is no candidate; empty if it is one."""
    facts = list_protocols()[variant.protocol]
    if not outcome.finished:
        return describe_standstill(outcome)
    if not variant.orders_all:
        return "orders at one process alone"
    bears_disorder = {"early", "late"} & preferences.limits.keys()
    if not facts.exact and not bears_disorder:
        return f"order: {facts.order}"
    for name, limit in preferences.limits.items():
        if measure(outcome, name) > limit.value:
            return f"beyond the limit {name}={limit.text}"
    return ""


def describe_standstill(outcome: Replay) -> str:
    """Where a protocol could not go on."""
    return f"came to a standstill: {outcome.unsent:,} of {outcome.messages:,} messages could not be sent"


def _find_front(replays: list[Replay]) -> list[bool]:
    """The Pareto front: rows than which none is better in something and worse in nothing.

    What counts is bytes, delay, packets and disorder; rows that did not come to an end do not count.
    """
    names = ("bytes", "delay", "packets", "early")
    points = [tuple(measure(replay, name) for name in names) for replay in replays]
    front = []
    for replay, point in zip(replays, points, strict=True):
        is_beaten = any(
            other.finished and rival != point and all(a <= b for a, b in zip(rival, point, strict=True))
            for other, rival in zip(replays, points, strict=True)
        )
        front.append(replay.finished and not is_beaten)
    return front


class _Ranking(NamedTuple):
    """Candidates by score: those that cannot be told apart from the first, and the rest."""

    best: list[Candidate]
    rest: list[Candidate]


def _rank_candidates(eligible: list[Candidate], weights: Mapping[str, float], travel: float) -> _Ranking:
    """By a weighted sum of figures, each in a unit of its own.

    Bytes are in medians of the candidates; delays in mean travel times, as what is added to a long way
    matters less; packets are what they are, since every message is a packet itself.
    """
    scores = np.zeros((len(eligible), len(eligible[0].replay.bytes)))
    for name, weight in weights.items():
        values = np.array([_get_stretches(candidate.replay, name) for candidate in eligible])
        means = values.mean(axis=1)
        units = {"bytes": float(np.median(means)), "delay": travel, "packets": 1.0}
        scores += weight * values / (units[name] or float(means.mean()) or 1.0)
    order = np.argsort(scores.mean(axis=1), kind="stable").tolist()
    first = order[0]
    best = [eligible[first]]
    rest: list[Candidate] = []
    for at in order[1:]:
        difference = estimate_mean((scores[at] - scores[first]).tolist())
        (rest if difference.low > 0 else best).append(eligible[at])
    return _Ranking(best, rest)


def _explain_no_candidate(candidates: list[Candidate]) -> str:
    reasons = sorted({candidate.reason for candidate in candidates if candidate.reason.startswith("beyond")})
    why = "; ".join(reasons) or "none of the protocols that fit keeps causal order to the end"
    return f"No protocol can be recommended: {why}."


def _explain_no_interval(facts: ExecutionFacts, eligible: list[Candidate]) -> str:
    fewest = min(eligible, key=lambda one: one.estimates["bytes"].mean)
    quickest = min(eligible, key=lambda one: (one.estimates["delay"].mean, one.estimates["bytes"].mean))
    return (
        f"No winner: {facts.messages:,} messages are too few for intervals (50 are enough). "
        f"Fewest bytes here: {fewest.variant.name}; least delay: {quickest.variant.name}."
    )


def _tell_best(ranking: _Ranking, facts: ExecutionFacts) -> str:
    """The winner with its reason and its price; or who cannot be told apart."""
    first = ranking.best[0]
    if len(ranking.best) > 1:
        names = [candidate.variant.name for candidate in ranking.best]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"No winner: {listed} cannot be told apart here; take any of them."
    if not ranking.rest:
        return f"{first.variant.name}: the only protocol here that can be recommended."
    clauses = [
        f"{first.variant.name}: {_compare(first, ranking.rest[0], facts.unit)} here",
        *_tell_delay_of_small_stamps(first, ranking.rest, facts.unit),
        _tell_price(first, ranking.rest, facts.unit),
    ]
    return "; ".join(clauses) + "."


def _tell_delay_of_small_stamps(first: Candidate, rest: list[Candidate], unit: str) -> list[str]:
    """What the other way costs: to say little on messages, and to wait for acknowledgements instead."""
    smallest = min(rest, key=lambda one: one.replay.control_bytes.mean)
    added = _estimate_difference(smallest, first, "delay")
    is_other_way = smallest.replay.control_bytes.mean < first.replay.control_bytes.mean
    if smallest is rest[0] or not is_other_way or added.low <= 0:
        return []
    return [f"{smallest.variant.name} adds {show_estimate(added)} {unit}"]


def _tell_price(first: Candidate, rest: list[Candidate], unit: str) -> str:
    """Where another candidate is better, by how much, and what that one costs."""
    prices = []
    for name in WEIGHED:
        rival = min(rest, key=lambda one: one.estimates[name].mean)
        gain = _estimate_difference(first, rival, name)
        if gain.low > 0:
            prices.append(f"{rival.variant.name} saves {_show_amount(gain, name, unit)}")
    if not prices:
        return "no other is better in bytes, delay or packets"
    return "its price: " + ", ".join(prices)


def _show_amount(amount: Estimate, name: str, unit: str) -> str:
    words = {"bytes": "bytes", "delay": f"{unit} of delay", "packets": "packets"}
    return f"{show_estimate(amount)} {words[name]}"


def _compare(first: Candidate, other: Candidate, unit: str) -> str:
    """What the first has over the other, in bytes and delay."""
    return f"{_compare_bytes(first, other)} {other.variant.name}, {_compare_delays(first, other, unit)}"


def _compare_bytes(first: Candidate, other: Candidate) -> str:
    mine, theirs = (np.array(one.replay.bytes) for one in (first, other))
    if (mine == theirs).all():
        return "the bytes of"
    if (mine > 0).all():
        ratio = estimate_mean((theirs / mine).tolist())
        if ratio.low > 1:
            return f"{show_estimate(ratio)} times fewer bytes than"
    difference = _estimate_difference(first, other, "bytes")
    if difference.high < 0:
        return f"{show_estimate(_negate(difference))} fewer bytes than"
    if difference.low > 0:
        return f"{show_estimate(difference)} more bytes than"
    return "about the bytes of"


def _compare_delays(first: Candidate, other: Candidate, unit: str) -> str:
    if first.replay.delay == other.replay.delay:
        return "same delays"
    difference = _estimate_difference(other, first, "delay")
    if difference.low > 0:
        return f"which adds {show_estimate(difference)} {unit}"
    if difference.high < 0:
        return f"which saves {show_estimate(_negate(difference))} {unit}"
    return "delays that cannot be told apart"


def _estimate_difference(first: Candidate, other: Candidate, name: str) -> Estimate:
    """How much more the first has, stretch by stretch."""
    mine, theirs = (_get_stretches(one.replay, name) for one in (first, other))
    return estimate_mean([a - b for a, b in zip(mine, theirs, strict=True)])


def _negate(estimate: Estimate) -> Estimate:
    return estimate._replace(mean=-estimate.mean)


def show_estimate(estimate: Estimate) -> str:
    """A mean and half its interval, to the digits that the interval leaves: 41 ± 3, 3.10 ± 0.12."""
    if math.isnan(estimate.half):
        return show_figure(estimate.mean)
    if estimate.half <= 0:
        return f"{show_figure(estimate.mean)} ± 0"
    digits = max(0, min(3, 1 - math.floor(math.log10(estimate.half))))
    digits = min(digits, 1 if abs(estimate.mean) >= 10 else 2 if abs(estimate.mean) >= 1 else 3)
    return f"{estimate.mean:,.{digits}f} ± {estimate.half:,.{digits}f}"


def show_figure(value: float) -> str:
    """A figure with as many digits as can matter."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def show_use(variant: Variant, facts: ExecutionFacts) -> str:
    """The line that makes an endpoint."""
    more = ", ..." if facts.processes > len(facts.group) else ""
    group = ", ".join(_quote(name) for name in facts.group)
    options = "".join(f", {key}={_quote(value)}" for key, value in variant.options.items())
    first = _quote(facts.group[0])
    return f"antecede.endpoint({_quote(variant.protocol)}, process={first}, group=[{group}{more}]{options})"


def _quote(value: Any) -> str:
    """A value as Python code, texts in double quotes as in JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def find_avoided_false_causality(candidates: list[Candidate]) -> dict[str, float]:
    """Of each row in semantic order, the share of needless waiting under causal order that it avoids.

    Known where the log declares what messages depend on. What causal order demands is seen in the protocols
    that delay no more than it does; `history` is one of them, but brings causes along and need not wait.
    """
    known = list_protocols()
    demanded, left = [], {}
    for candidate in candidates:
        facts = known[candidate.variant.protocol]
        needless = candidate.replay.needless * candidate.replay.delay_mean
        if not candidate.replay.finished:
            continue
        if facts.order == "semantic":
            left[candidate.variant.name] = needless
        elif facts.order == "causal" and facts.delay_optimal:
            demanded.append(needless)
    most = max(demanded, default=0.0)
    return {name: 1 - needless / most for name, needless in left.items()} if most > 0 else {}
