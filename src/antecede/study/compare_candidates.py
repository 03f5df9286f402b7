"""The rows of a comparison: what each comes to, which can be recommended, which is best.

A candidate keeps causal order at every process that receives, came to an end, and is within the limits. One
that is inexact is a candidate only if a limit says how much disorder is borne (`early` or `late`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from antecede.protocols.registry import list_protocols
from antecede.simulate.replay import Replay
from antecede.study.compare import Variant
from antecede.study.compare_preferences import Preferences
from antecede.study.estimates import Estimate, estimate_mean

LEAST_STRETCHES = 5
"""With fewer there is no interval."""


class Candidate(NamedTuple):
    """A row of the table with its intervals. `reason` says why it cannot be recommended; empty if it can."""

    variant: Variant
    replay: Replay
    estimates: dict[str, Estimate]
    is_on_front: bool
    reason: str


def get_cost_figure(replay: Replay, name: str) -> float:
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


def estimate_cost_figure(replay: Replay, name: str) -> Estimate:
    """The figure of the whole run, and the interval that its stretches give."""
    values = list_cost_figures_by_stretch(replay, name)
    half = estimate_mean(values).half if len(values) >= LEAST_STRETCHES else math.nan
    return Estimate(get_cost_figure(replay, name), half, len(values))


def list_cost_figures_by_stretch(replay: Replay, name: str) -> list[float]:
    return {"bytes": replay.bytes, "delay": replay.delay, "packets": replay.packets}[name]


def explain_exclusion(variant: Variant, outcome: Replay, preferences: Preferences) -> str:
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
        if get_cost_figure(outcome, name) > limit.value:
            return f"beyond the limit {name}={limit.text}"
    return ""


def describe_standstill(outcome: Replay) -> str:
    """Where a protocol could not go on."""
    if outcome.is_overgrown:
        done = outcome.messages - outcome.unsent
        return f"stopped after {done:,} of {outcome.messages:,} messages: its stamps grow without end"
    return f"came to a standstill: {outcome.unsent:,} of {outcome.messages:,} messages could not be sent"


def mark_rows_on_pareto_front(rows: list[tuple[Variant, Replay]]) -> list[bool]:
    """The Pareto front: rows than which none is better in something and worse in nothing.

    What counts is bytes, delay, packets, disorder, and whether order is promised: without a promise it may be
    luck. Rows that did not come to an end do not count.
    """
    points = [_list_pareto_costs(variant, outcome) for variant, outcome in rows]
    rivals = [point for point, (_, outcome) in zip(points, rows, strict=True) if outcome.finished]
    front = []
    for point, (_, outcome) in zip(points, rows, strict=True):
        is_beaten = any(_dominates(rival, point) for rival in rivals)
        front.append(outcome.finished and not is_beaten)
    return front


def _list_pareto_costs(variant: Variant, outcome: Replay) -> list[float]:
    is_promised = list_protocols()[variant.protocol].exact and variant.orders_all
    figures = [get_cost_figure(outcome, name) for name in ("bytes", "delay", "packets", "early")]
    return [*figures, 0.0 if is_promised else 1.0]


def _dominates(rival: list[float], point: list[float]) -> bool:
    """Better in something, worse in nothing."""
    return rival != point and all(a <= b for a, b in zip(rival, point, strict=True))


class Ranking(NamedTuple):
    """Candidates by score: those that cannot be told apart from the first, and the rest."""

    best: list[Candidate]
    rest: list[Candidate]


def rank_candidates(eligible: list[Candidate], weights: Mapping[str, float], mean_travel: float) -> Ranking:
    """By a weighted sum of figures, each in a unit of its own.

    Bytes are in medians of the candidates; delays in mean travel times, as what is added to a long way
    matters less; packets are what they are, since every message is a packet itself.
    """
    scores = np.zeros((len(eligible), len(eligible[0].replay.bytes)))
    for name, weight in weights.items():
        values = np.array([list_cost_figures_by_stretch(candidate.replay, name) for candidate in eligible])
        means = values.mean(axis=1)
        units = {"bytes": float(np.median(means)), "delay": mean_travel, "packets": 1.0}
        scores += weight * values / (units[name] or float(means.mean()) or 1.0)
    order = np.argsort(scores.mean(axis=1), kind="stable").tolist()
    first = order[0]
    best = [eligible[first]]
    rest: list[Candidate] = []
    for at in order[1:]:
        difference = estimate_mean((scores[at] - scores[first]).tolist())
        (rest if difference.low > 0 else best).append(eligible[at])
    return Ranking(best, rest)


def keep_first_of_equal_variants_per_protocol(candidates: list[Candidate]) -> list[Candidate]:
    """Of variants of one protocol that did the same, as with bounds that were never reached, the first."""
    first: dict[tuple[Any, ...], Candidate] = {}
    for candidate in candidates:
        outcome = candidate.replay
        did = (outcome.protocol, *outcome.bytes, *outcome.packets, *outcome.delay)
        first.setdefault(did, candidate)
    return list(first.values())


def estimate_cost_difference(first: Candidate, other: Candidate, name: str) -> Estimate:
    """How much more the first has, stretch by stretch."""
    mine, theirs = (list_cost_figures_by_stretch(one.replay, name) for one in (first, other))
    return estimate_mean([a - b for a, b in zip(mine, theirs, strict=True)])


def compute_shares_of_false_causality_avoided(candidates: list[Candidate]) -> dict[str, float]:
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
