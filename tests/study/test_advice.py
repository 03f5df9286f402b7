"""Advice: who fits, who can be recommended, who wins and at what price; and wishes that make no sense."""

import math
from typing import Any

import pytest

from antecede.core.errors import CallerError
from antecede.protocols.registry import list_protocols
from antecede.simulate.costs import CostFigure
from antecede.simulate.replay import Replay
from antecede.simulate.watch import Verdict
from antecede.study.advice import Advice, advise_on_execution
from antecede.study.compare import Comparison, ExecutionFacts, Variant, list_applicable_protocols
from antecede.study.compare_candidates import Candidate, compute_shares_of_false_causality_avoided
from antecede.study.compare_preferences import parse_preferences
from antecede.study.compare_sentences import format_endpoint_call, format_estimate
from antecede.study.compare_table import build_comparison_table
from antecede.study.estimates import Estimate
from tests.simulate.test_replay import HANDED, TRIANGLE, A, B, C, record, triangle

NO_WISHES = parse_preferences(None, [])
STRETCHES = 10


def outcome(
    protocol: str, bytes: float, delay: float, packets: float = 0.0, noise: float = 0.0, **more: Any
) -> Replay:
    """An outcome whose stretches swing around the means."""
    swings = [1 + noise * (-1) ** at for at in range(more.pop("stretches", STRETCHES))]
    verdict = Verdict(
        early=more.pop("early", 0), late=0, out_of_turn=0, duplicated=0, stuck=0, lost=0,
        alarms={}, missed={}, examples=[],
    )  # fmt: skip
    usual: dict[str, Any] = {
        "options": {}, "messages": 100, "copies": 100, "unsent": 0, "undelivered": 0, "is_overgrown": False,
        "control_bytes": CostFigure(bytes, bytes), "extras": 0.0, "acks": packets, "delay_p99": delay,
        "needless": 0.0, "waited": 0, "peak_held": 3,
    }  # fmt: skip
    return Replay(
        protocol=protocol, total_bytes=bytes, delay_mean=delay, verdict=verdict,
        bytes=[bytes * swing for swing in swings], packets=[packets] * len(swings),
        delay=[delay * swing for swing in swings], **usual | more,
    )  # fmt: skip


def advise(*replays: Replay, wishes=NO_WISHES, **facts: Any) -> Advice:
    usual: dict[str, Any] = {
        "execution": "run",
        "processes": 4,
        "messages": 100,
        "copies": 100,
        "group": ["a", "b", "c"],
    }
    rows = [(Variant(one.protocol, one.options), one) for one in replays]
    return advise_on_execution(Comparison(ExecutionFacts(**usual | facts), rows), wishes)


def test_a_winner_has_its_reason_its_price_and_the_line_to_use_it() -> None:
    matrix, optimal = outcome("matrix", 60, 5), outcome("optimal", 20, 5)
    history = outcome("history", 200, 0)
    buffered = outcome("buffered", 40, 46, packets=1, control_bytes=CostFigure(0, 0))
    advice = advise(matrix, optimal, history, buffered)
    assert advice.winner is not None and advice.winner.variant.name == "optimal"
    assert advice.sentence == (
        "optimal: 3.0 ± 0 times fewer bytes than matrix, same delays here; buffered adds 41.0 ± 0 ms; "
        "its price: history saves 5.0 ± 0 ms of delay."
    )
    assert advice.others[1:] == [
        "10.0 ± 0 times fewer bytes than history, which saves 5.0 ± 0 ms",
        "2.0 ± 0 times fewer bytes than buffered, which adds 41.0 ± 0 ms",
    ]
    assert advice.use == 'antecede.endpoint("optimal", process="a", group=["a", "b", "c", ...])'


def test_weights_say_what_matters() -> None:
    rows = outcome("optimal", 20, 5), outcome("history", 60, 0), outcome("matrix", 60, 5)
    for text, winner in (("bytes=1", "optimal"), ("delay=1", "history"), ("bytes=1,delay=4", "history")):
        advice = advise(*rows, wishes=parse_preferences(text, []))
        assert advice.winner is not None and advice.winner.variant.name == winner


def test_limits_leave_out_and_say_so() -> None:
    rows = outcome("optimal", 20, 60), outcome("matrix", 60, 40)
    advice = advise(*rows, wishes=parse_preferences(None, ["delay=50ms"]))
    assert advice.winner is not None and advice.winner.variant.name == "matrix"
    assert [one.reason for one in advice.candidates] == ["beyond the limit delay=50ms", ""]
    assert advice.sentence == "matrix: the only protocol here that can be recommended."
    nobody = advise(*rows, wishes=parse_preferences(None, ["delay=0.01s", "bytes=1kB"]))
    assert nobody.winner is None and nobody.use == ""
    assert nobody.sentence == "No protocol can be recommended: beyond the limit delay=0.01s."


def test_intervals_that_touch_name_no_winner() -> None:
    """Both swing, against each other: who is below changes from stretch to stretch."""
    steady, swinging = outcome("matrix", 21, 0), outcome("optimal", 20, 0, noise=0.5)
    advice = advise(steady, swinging)
    assert advice.winner is None
    assert advice.sentence == "No winner: optimal and matrix cannot be told apart here; take any of them."


def test_what_swings_together_is_told_apart() -> None:
    """The same swings, but in both: stretch by stretch one is always below."""
    advice = advise(outcome("matrix", 21, 0, noise=0.5), outcome("optimal", 20, 0, noise=0.5))
    assert advice.winner is not None and advice.winner.variant.name == "optimal"
    estimates = [one.estimates["bytes"] for one in advice.candidates]
    assert not estimates[1].is_below(estimates[0])


def test_variants_of_a_protocol_that_did_the_same_are_one_candidate() -> None:
    rows = [outcome("bounded", 9, 5, options={"k": k}) for k in (4, 8)]
    advice = advise(*rows, outcome("matrix", 60, 5))
    assert advice.winner is not None and advice.winner.variant.name == "bounded k=4"
    assert len(advice.candidates) == 3 and len(advice.others) == 1


def test_too_few_messages_have_no_interval_and_no_winner() -> None:
    rows = outcome("matrix", 60, 5, stretches=4), outcome("optimal", 20, 5, stretches=4)
    advice = advise(*rows, messages=40)
    assert advice.winner is None and advice.use == ""
    assert advice.sentence == (
        "No winner: 40 messages are too few for intervals (50 are enough). "
        "Fewest bytes here: optimal; least delay: optimal."
    )
    assert math.isnan(advice.candidates[0].estimates["bytes"].half)


def test_inexact_protocols_are_candidates_only_if_disorder_is_borne() -> None:
    rows = outcome("scalar", 3, 1, early=2), outcome("vector", 10, 5)
    assert advise(*rows).winner == advise(*rows).candidates[1]
    assert advise(*rows).candidates[0].reason == "order: probably causal"
    bearing = advise(*rows, wishes=parse_preferences(None, ["early=5%"]))
    assert bearing.winner == bearing.candidates[0]
    strict = advise(*rows, wishes=parse_preferences(None, ["early=1%"]))
    assert strict.winner == strict.candidates[1]


def test_whose_stamps_grow_without_end_is_no_candidate() -> None:
    advice = advise(outcome("history", 900, 0, unsent=90, is_overgrown=True), outcome("matrix", 60, 5))
    assert advice.candidates[0].reason == "stopped after 10 of 100 messages: its stamps grow without end"


def test_who_came_to_a_standstill_is_no_candidate() -> None:
    advice = advise(outcome("sync", 0, 0, unsent=90), outcome("matrix", 60, 5))
    assert advice.candidates[0].reason == ("came to a standstill: 90 of 100 messages could not be sent")
    assert not advice.candidates[0].is_on_front
    values = {row["metric"]: row["value"] for row in build_comparison_table([advice]).to_pylist()[:5]}
    assert set(values.values()) == {None}


def test_the_front_has_what_nothing_beats() -> None:
    advice = advise(
        outcome("unordered", 0, 0, early=9),
        outcome("matrix", 60, 5),
        outcome("optimal", 20, 5),
        outcome("history", 200, 0),
        outcome("buffered", 20, 46, packets=1),
    )
    front = {one.variant.name for one in advice.candidates if one.is_on_front}
    assert front == {"unordered", "optimal", "history"}


def test_luck_does_not_beat_a_promise() -> None:
    """Nothing was early here; but nothing would have kept it from being so."""
    advice = advise(outcome("unordered", 0, 0), outcome("fifo", 1, 0), outcome("matrix", 60, 0))
    assert [one.is_on_front for one in advice.candidates] == [True, False, True]


def test_false_causality_that_is_avoided() -> None:
    def make_candidate(protocol: str, delay: float, needless: float) -> Candidate:
        replay = outcome(protocol, 1, delay, needless=needless)
        return Candidate(Variant(protocol), replay, {}, False, "")

    rows = [make_candidate("matrix", 10, 0.8), make_candidate("semantic", 4, 0.5)]
    assert compute_shares_of_false_causality_avoided(rows) == {"semantic": 0.75}
    assert compute_shares_of_false_causality_avoided(rows[1:]) == {}


@pytest.mark.parametrize(
    ("weights", "limits", "reason"),
    [
        ("speed=1", [], "unknown 'speed'; choose of bytes, delay, packets"),
        ("bytes", [], "write it as bytes=NUMBER"),
        ("bytes=-1", [], "not below 0"),
        ("bytes=nan", [], "a weight is a number"),
        ("bytes=0,delay=0", [], "at least one must be more than 0"),
        (None, ["colour=1"], "unknown 'colour'"),
        (None, ["delay=50parsecs"], "us, ms, s, steps"),
        (None, ["delay=ms"], "a limit is a number"),
        (None, ["packets=1ms"], "a limit is a number"),
    ],
)
def test_wishes_that_make_no_sense_are_refused(weights, limits, reason) -> None:
    with pytest.raises(CallerError, match=r"^--(weights|limit) .*") as refused:
        parse_preferences(weights, limits)
    assert reason in str(refused.value)


def test_a_limit_in_milliseconds_needs_times() -> None:
    with pytest.raises(CallerError, match="delays of run are in steps"):
        advise(outcome("matrix", 1, 1), wishes=parse_preferences(None, ["delay=5ms"]), unit="steps")
    for limit, unit in (("delay=5steps", "steps"), ("delay=5", "steps"), ("delay=5", "ms")):
        assert advise(outcome("matrix", 1, 1), wishes=parse_preferences(None, [limit]), unit=unit).winner


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(3.1234, 0.1234, 20), "3.12 ± 0.12"),
        (Estimate(41.4, 3.2, 20), "41.4 ± 3.2"),
        (Estimate(1234.5, 87.0, 20), "1,234 ± 87"),
        (Estimate(0.0, 0.0, 20), "0 ± 0"),
        (Estimate(2.5, math.nan, 1), "2.5"),
    ],
)
def test_figures_have_the_digits_that_the_interval_leaves(estimate, text) -> None:
    assert format_estimate(estimate) == text


def test_the_line_to_use_runs() -> None:
    facts = ExecutionFacts(execution="", processes=3, group=['a"b', "it's", "ü"])
    line = format_endpoint_call(Variant("bounded", {"k": 6}), facts)
    assert line == 'antecede.endpoint("bounded", process="a\\"b", group=["a\\"b", "it\'s", "ü"], k=6)'
    assert eval(line, {"antecede": __import__("antecede")}).group == sorted(facts.group)


def name_variants(recording) -> set[str]:
    return {variant.name for variant in list_applicable_protocols(recording).variants}


def test_fitting_follows_the_facts() -> None:
    """What sends to one fits where all messages go to one; nothing that sends to all does."""
    recording = triangle()
    fitting = list_applicable_protocols(recording)
    protocols = {variant.protocol for variant in fitting.variants}
    for name, facts in list_protocols().items():
        expected = facts.unicast and not facts.monitor and facts.order != "semantic"
        assert (name in protocols) == expected, name
        assert (name in fitting.left_out) != expected, name
    assert {"bounded k=3", "bounded k=6", "bounded k=12", "sync", "sync form=site"} <= name_variants(
        recording
    )


def test_broadcasts_are_for_those_that_send_to_all() -> None:
    sends = [(A, 0.0, {B: 5.0, C: 50.0}), (B, 10.0, {A: 5.0, C: 5.0})]
    fitting = list_applicable_protocols(record(sends, [[2], [0], [3, 1]], [0, 1]))
    protocols = {variant.protocol for variant in fitting.variants}
    assert {"vector", "probabilistic", "plausible", "scalar", "matrix", "buffered"} <= protocols
    assert "one process at a time" in fitting.left_out["pairs"]


def test_some_of_all_excludes_both() -> None:
    sends = [(A, 0.0, {B: 5.0, C: 50.0}), (B, 10.0, {C: 5.0})]
    fitting = list_applicable_protocols(record(sends, [[], [0], [2, 1]], [0, 1]))
    assert "pairs" in fitting.left_out and "vector" in fitting.left_out
    assert "optimal" in {variant.protocol for variant in fitting.variants}


def test_one_process_at_an_end_is_the_server() -> None:
    to_one = record([(A, 0.0, {C: 5.0}), (B, 10.0, {C: 5.0})], [[], [], [0, 1]], [0, 0])
    (monitor,) = (one for one in list_applicable_protocols(to_one).variants if one.protocol == "monitor")
    assert monitor == Variant("monitor", {"monitor": "c"}, True)
    and_back = record([(A, 0.0, {C: 5.0}), (C, 10.0, {B: 5.0})], [[], [1], [0]], [0, 1])
    (server,) = (one for one in list_applicable_protocols(and_back).variants if one.protocol == "server")
    assert server == Variant("server", {"server": "c"}, False)


def test_declared_dependence_is_for_semantic() -> None:
    declared = record(TRIANGLE, HANDED, [0, 0, 1], [-1, -1, -1])
    assert "semantic" in name_variants(declared)
