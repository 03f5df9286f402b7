"""Sentences about candidates: the winner with its reason and its price, or why there is none."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from antecede.study.compare import ExecutionFacts, Variant
from antecede.study.compare_candidates import Candidate, Ranking, estimate_cost_difference
from antecede.study.compare_preferences import WEIGHED
from antecede.study.estimates import Estimate, estimate_mean

MANY_DIGITS = 1e15
"""From here on figures are shown in powers of ten: all their digits would fill the screen."""


def explain_no_candidate(candidates: list[Candidate]) -> str:
    reasons = sorted({candidate.reason for candidate in candidates if candidate.reason.startswith("beyond")})
    why = "; ".join(reasons) or "none of the protocols that fit keeps causal order to the end"
    return f"No protocol can be recommended: {why}."


def explain_too_few_messages(facts: ExecutionFacts, eligible: list[Candidate]) -> str:
    by_bytes = sorted(eligible, key=lambda one: one.estimates["bytes"].mean)
    quickest = min(by_bytes, key=lambda one: one.estimates["delay"].mean)
    return (
        f"No winner: {facts.messages:,} messages are too few for intervals (50 are enough). "
        f"Fewest bytes here: {by_bytes[0].variant.name}; least delay: {quickest.variant.name}."
    )


def describe_winner_or_tie(ranking: Ranking, facts: ExecutionFacts) -> str:
    """The winner with its reason and its price; or who cannot be told apart."""
    first = ranking.best[0]
    if len(ranking.best) > 1:
        names = [candidate.variant.name for candidate in ranking.best]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"No winner: {listed} cannot be told apart here; take any of them."
    if not ranking.rest:
        return f"{first.variant.name}: the only protocol here that can be recommended."
    clauses = [
        f"{first.variant.name}: {describe_difference_of_candidates(first, ranking.rest[0], facts.unit)} here",
        *_describe_delay_added_by_smallest_stamps(first, ranking.rest, facts.unit),
        _describe_savings_of_others(first, ranking.rest, facts.unit),
    ]
    return "; ".join(clauses) + "."


def _describe_delay_added_by_smallest_stamps(first: Candidate, rest: list[Candidate], unit: str) -> list[str]:
    """What the other way costs: to say little on messages, and to wait for acknowledgements instead."""
    smallest = min(rest, key=lambda one: one.replay.control_bytes.mean)
    added = estimate_cost_difference(smallest, first, "delay")
    is_other_way = smallest.replay.control_bytes.mean < first.replay.control_bytes.mean
    if smallest is rest[0] or not is_other_way or added.low <= 0:
        return []
    return [f"{smallest.variant.name} adds {format_estimate(added)} {unit}"]


def _describe_savings_of_others(first: Candidate, rest: list[Candidate], unit: str) -> str:
    """Where another candidate is better, by how much, and what that one costs."""
    prices = []
    for name in WEIGHED:
        rival = min(rest, key=lambda one: one.estimates[name].mean)
        gain = estimate_cost_difference(first, rival, name)
        if gain.low > 0:
            prices.append(f"{rival.variant.name} saves {_format_amount_with_unit(gain, name, unit)}")
    if not prices:
        return "no other is measurably better in bytes, delay or packets"
    return "its price: " + ", ".join(prices)


def _format_amount_with_unit(amount: Estimate, name: str, unit: str) -> str:
    words = {"bytes": "bytes", "delay": f"{unit} of delay", "packets": "packets"}
    return f"{format_estimate(amount)} {words[name]}"


def describe_difference_of_candidates(first: Candidate, other: Candidate, unit: str) -> str:
    """What the first has over the other, in bytes and delay."""
    bytes_than = _describe_byte_difference(first, other)
    delays = _describe_delay_difference(first, other, unit)
    return f"{bytes_than} {other.variant.name}, {delays}"


def _describe_byte_difference(first: Candidate, other: Candidate) -> str:
    mine, theirs = (np.array(one.replay.bytes) for one in (first, other))
    if (mine == theirs).all():
        return "the bytes of"
    if (mine > 0).all():
        ratio = estimate_mean((theirs / mine).tolist())
        if ratio.low > 1:
            return f"{format_estimate(ratio)} times fewer bytes than"
    difference = estimate_cost_difference(first, other, "bytes")
    if difference.high < 0:
        return f"{format_estimate(_negate_estimate(difference))} fewer bytes than"
    if difference.low > 0:
        return f"{format_estimate(difference)} more bytes than"
    return "about the bytes of"


def _describe_delay_difference(first: Candidate, other: Candidate, unit: str) -> str:
    if first.replay.delay == other.replay.delay:
        return "same delays"
    difference = estimate_cost_difference(other, first, "delay")
    if difference.low > 0:
        return f"which adds {format_estimate(difference)} {unit}"
    if difference.high < 0:
        return f"which saves {format_estimate(_negate_estimate(difference))} {unit}"
    return "delays that cannot be told apart"


def _negate_estimate(estimate: Estimate) -> Estimate:
    return estimate._replace(mean=-estimate.mean)


def format_estimate(estimate: Estimate) -> str:
    """A mean and half its interval, to the digits that the interval leaves: 41 ± 3, 3.10 ± 0.12."""
    if math.isnan(estimate.half):
        return format_figure(estimate.mean)
    if max(abs(estimate.mean), estimate.half) >= MANY_DIGITS:
        return f"{estimate.mean:.3g} ± {estimate.half:.3g}"
    if estimate.half <= 0:
        return f"{format_figure(estimate.mean)} ± 0"
    digits = max(0, min(3, 1 - math.floor(math.log10(estimate.half))))
    if abs(estimate.mean) >= 10:
        digits = min(digits, 1)
    elif abs(estimate.mean) >= 1:
        digits = min(digits, 2)
    return f"{estimate.mean:,.{digits}f} ± {estimate.half:,.{digits}f}"


def format_figure(value: float) -> str:
    """A figure with as many digits as can matter."""
    if abs(value) >= MANY_DIGITS:
        return f"{value:.3g}"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def format_endpoint_call(variant: Variant, facts: ExecutionFacts) -> str:
    """The line that makes an endpoint."""
    more = ", ..." if facts.processes > len(facts.group) else ""
    group = ", ".join(_to_python_literal(name) for name in facts.group)
    options = "".join(f", {key}={_to_python_literal(value)}" for key, value in variant.options.items())
    protocol, first = _to_python_literal(variant.protocol), _to_python_literal(facts.group[0])
    return f"antecede.endpoint({protocol}, process={first}, group=[{group}{more}]{options})"


def _to_python_literal(value: Any) -> str:
    """A value as Python code, texts in double quotes as in JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
