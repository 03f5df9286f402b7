"""Advice on recorded communication: which protocol is best here, by how much, and at what price.

A log is one run, so intervals come from batch means: the run is cut into up to 20 consecutive stretches, and
their means are taken for independent values (Student's t). Protocols were given the same messages, so they
are compared stretch by stretch: ratios of bytes, differences of delays. With fewer than 5 stretches there is
no interval and no winner; and a winner must be apart from every other candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from antecede.core.errors import CallerError
from antecede.study.compare import Comparison, ExecutionFacts
from antecede.study.compare_candidates import (
    LEAST_STRETCHES,
    Candidate,
    estimate_cost_figure,
    explain_exclusion,
    keep_first_of_equal_variants_per_protocol,
    mark_rows_on_pareto_front,
    rank_candidates,
)
from antecede.study.compare_preferences import WEIGHED, Preferences
from antecede.study.compare_sentences import (
    describe_difference_of_candidates,
    describe_winner_or_tie,
    explain_no_candidate,
    explain_too_few_messages,
    format_endpoint_call,
)


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


def advise_on_execution(comparison: Comparison, preferences: Preferences) -> Advice:
    """The advice on one execution."""
    facts = comparison.facts
    if not comparison.rows:
        return Advice(facts, [], [], f"Nothing to compare: {'; '.join(facts.notes)}", [], "")
    _check_limit_units(facts, preferences)
    front = mark_rows_on_pareto_front(comparison.rows)
    candidates = []
    for (variant, outcome), is_on_front in zip(comparison.rows, front, strict=True):
        reason = explain_exclusion(variant, outcome, preferences)
        estimates = {name: estimate_cost_figure(outcome, name) for name in WEIGHED}
        candidates.append(Candidate(variant, outcome, estimates, is_on_front, reason))
    eligible = keep_first_of_equal_variants_per_protocol(
        [candidate for candidate in candidates if not candidate.reason]
    )
    if not eligible:
        return Advice(facts, candidates, [], explain_no_candidate(candidates), [], "")
    stretches = len(eligible[0].replay.bytes)
    if stretches < LEAST_STRETCHES:
        sentence = explain_too_few_messages(facts, eligible)
        return Advice(facts, candidates, [], sentence, [], "")
    ranking = rank_candidates(eligible, preferences.weights, facts.travel)
    sentence = describe_winner_or_tie(ranking, facts)
    first = ranking.best[0]
    others = [describe_difference_of_candidates(first, other, facts.unit) for other in ranking.rest]
    return Advice(
        facts, candidates, ranking.best, sentence, others, format_endpoint_call(first.variant, facts)
    )


def advise_on_all_executions(comparisons: Sequence[Comparison], preferences: Preferences) -> list[Advice]:
    """The advice on all executions; refuses logs in which nothing was sent, with the reason."""
    if not comparisons:
        raise CallerError("nothing to compare: the logs have no events")
    if not any(comparison.rows for comparison in comparisons):
        reasons = dict.fromkeys(note for comparison in comparisons for note in comparison.facts.notes)
        raise CallerError(f"nothing to compare: {'; '.join(list(reasons)[:3])}")
    return [advise_on_execution(comparison, preferences) for comparison in comparisons]


def _check_limit_units(facts: ExecutionFacts, preferences: Preferences) -> None:
    """Refuse a limit in milliseconds where the log has no times, and the other way around."""
    for name in ("delay", "delay_p99"):
        limit = preferences.limits.get(name)
        if limit is None or not limit.unit:
            continue
        if (limit.unit == "steps") != (facts.unit == "steps"):
            where = facts.execution or "this log"
            raise CallerError(
                f"limit {name}={limit.text}: delays of {where} are in {facts.unit}; give the limit so"
            )
