"""A comparison as a table: every metric of every protocol, with its interval where there is one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from antecede.study.advice import Advice
from antecede.study.compare_candidates import Candidate, compute_shares_of_false_causality_avoided
from antecede.study.estimates import Estimate
from antecede.tables import COMPARISON


def build_comparison_table(advice: Sequence[Advice]) -> pa.Table:
    """All executions as COMPARISON."""
    rows = [row for one in advice for row in _list_comparison_rows(one)]
    return pa.Table.from_pylist(rows, schema=COMPARISON)


def _list_comparison_rows(advice: Advice) -> Iterator[dict[str, Any]]:
    avoided = compute_shares_of_false_causality_avoided(advice.candidates) if advice.facts.declares else {}
    for candidate in advice.candidates:
        metrics = list_candidate_metrics(candidate)
        if candidate.variant.name in avoided:
            metrics["false_causality_avoided"] = _make_estimate_without_interval(
                avoided[candidate.variant.name]
            )
        is_known = candidate.replay.finished
        for metric, estimate in metrics.items():
            yield {
                "execution": advice.facts.execution,
                "protocol": candidate.variant.protocol,
                "parameters": [(key, str(value)) for key, value in candidate.variant.options.items()],
                "metric": metric,
                "value": estimate.mean if is_known else None,
                "low": _replace_unknown_or_nan_with_none(estimate.low, is_known),
                "high": _replace_unknown_or_nan_with_none(estimate.high, is_known),
            }


def _replace_unknown_or_nan_with_none(value: float, is_known: bool) -> float | None:
    return value if is_known and not math.isnan(value) else None


def _make_estimate_without_interval(value: float) -> Estimate:
    return Estimate(value, math.nan, 1)


def list_candidate_metrics(candidate: Candidate) -> dict[str, Estimate]:
    """Every metric by name. Bytes and packets are for a message, delays for a copy, rates of all copies."""
    replay, estimates = candidate.replay, candidate.estimates
    copies = max(replay.copies, 1)
    plain = {
        "control_bytes": replay.control_bytes.mean,
        "control_bytes_p99": replay.control_bytes.p99,
        "extras": replay.extras,
        "acks": replay.acks,
        "delay_p99": replay.delay_p99,
        "needless_share": replay.needless,
        "waited_rate": replay.waited / copies,
        "peak_held": float(replay.peak_held),
        "early_rate": replay.verdict.early / copies,
        "late_rate": replay.verdict.late / copies,
    }
    for detector, alarms in replay.verdict.alarms.items():
        plain[f"alarm_rate_{detector.replace(' ', '_')}"] = alarms / copies
    metrics = {
        "total_bytes": estimates["bytes"],
        "control_packets": estimates["packets"],
        "delay": estimates["delay"],
    }
    return metrics | {name: _make_estimate_without_interval(value) for name, value in plain.items()}
