"""The study of Mattern and Fünfrocken: every figure runs, and what is known comes out."""

from typing import Any

import numpy as np
import pytest

from antecede.simulate.explorer import explore
from antecede.simulate.programs import Program, Receive, Send
from antecede.study.estimates import Estimate, compare_estimates, format_share
from antecede.study.experiment import Figure
from antecede.study.mattern import (
    MULTICAST,
    OUTAGE,
    PIPELINES,
    RATIO,
    STUDY,
    draw_program_from_causal_execution,
    find_onset_ratio,
    measure_share_of_blocking_programs,
    select_known_protocols,
)
from tests.papers.programs_mattern import (
    FIG_1,
    FIG_4_1_2,
    FIG_4_2_1,
    FIG_7_SELECTIVE,
    FIG_8_SELECTIVE,
    TWO_SENDERS,
)
from tests.study.cells import check_figure, check_grids, measure


def test_grids_have_points() -> None:
    check_grids(STUDY)


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.name)
def test_figures_run_and_conclude(figure: Figure) -> None:
    check_figure(figure)


def test_only_known_protocols_are_run() -> None:
    assert select_known_protocols("matrix", "no such protocol") == ["matrix"]


# -- delay over round trip ---------------------------------------------------------------------------


def test_buffers_add_more_the_more_often_processes_send() -> None:
    ratios = [0.01, 0.1, 0.3, 1.0, 3.0]
    own = [measure(RATIO, "buffered", ratio=ratio, messages=600) for ratio in ratios]
    matrix = [measure(RATIO, "matrix", ratio=ratio, messages=600) for ratio in ratios]
    added = [metrics["added"] for metrics in own]
    assert added == sorted(added) and added[0] < 1 < 100 < added[-1]
    assert all(a["added"] > b["added"] for a, b in zip(own, matrix, strict=True))
    assert own[0]["throughput"] > 0.99 and own[-1]["throughput"] < 0.5 < matrix[-1]["throughput"]
    assert all(metrics["control_bytes"] == 0 and metrics["acks"] == 1 for metrics in own)


def test_added_time_is_latency_without_the_wire() -> None:
    metrics = measure(RATIO, "buffered", ratio=0.5, messages=4000)
    assert metrics["latency"] - metrics["added"] == pytest.approx(20, rel=0.05)


def test_messages_to_one_destination_never_wait_if_pipelined() -> None:
    common: dict[str, Any] = {"traffic": "ring", "ratio": 1.0, "messages": 400}
    assert measure(PIPELINES, "buffered", way="pipelined", **common)["added"] == 0
    assert measure(PIPELINES, "buffered", way="one at a time", **common)["added"] > 20


# -- outages -----------------------------------------------------------------------------------------


def test_receiver_that_is_down_stalls_buffers_and_not_matrix_clocks() -> None:
    buffered = measure(OUTAGE, "buffered", outage=3000.0, ratio=0.3)
    matrix = measure(OUTAGE, "matrix", outage=3000.0, ratio=0.3)
    assert buffered["stalled_senders"] > 0.7 and buffered["stall"] > 500
    assert matrix["stalled_senders"] == matrix["stalled_messages"] == 0 and "stall" not in matrix
    assert buffered["stuck"] == matrix["stuck"] == buffered["early_rate"] == matrix["early_rate"] == 0


def test_nobody_stalls_while_nobody_is_down() -> None:
    metrics = measure(OUTAGE, "buffered", outage=0.0, ratio=0.1)
    assert metrics["stalled_senders"] == metrics["stalled_messages"] == metrics["stuck"] == 0


# -- several destinations ----------------------------------------------------------------------------


def test_two_phase_waits_for_its_release_and_hold_does_not() -> None:
    common: dict[str, Any] = {"ratio": 0.01, "messages": 200}
    two_phase = measure(MULTICAST, "buffered", way="two-phase", **common)
    hold = measure(MULTICAST, "buffered", way="hold", **common)
    assert two_phase["wait"] > 40 and hold["wait"] == 0
    assert two_phase["acks"] == hold["acks"] == 6  # an acknowledgement and a release for each of three
    assert two_phase["early_rate"] == hold["early_rate"] == 0


# -- programs ----------------------------------------------------------------------------------------

KNOWN = {
    "completes everywhere": (FIG_1, (0, 0, 0, 0)),
    "completes everywhere, selective": (FIG_4_1_2, (0, 0, 0, 0)),
    "blocks everywhere": (FIG_4_2_1, (1, 1, 0, 0)),
    "may block under buffers": (TWO_SENDERS, (1, 0, 1, 0)),
    "Figure 7": (FIG_7_SELECTIVE, (1, 0, 1, 0)),
    "Figure 8": (FIG_8_SELECTIVE, (1, 0, 1, 1)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_programs_of_the_paper_are_counted_as_it_says(name: str) -> None:
    program, expected = KNOWN[name]
    assert tuple(measure_share_of_blocking_programs([program], "buffered").values()) == expected


def test_shares_are_over_all_programs() -> None:
    shares = measure_share_of_blocking_programs([FIG_1, FIG_4_2_1, TWO_SENDERS, FIG_1], "buffered")
    assert shares == {"may_block": 0.5, "matrix_may_block": 0.25, "only_here": 0.25, "always_only_here": 0}


def draw(seed: int, selective: float, messages: int = 4) -> Program:
    return draw_program_from_causal_execution(np.random.default_rng(seed), 3, messages, selective)


@pytest.mark.parametrize("seed", range(20))
def test_drawn_programs_can_complete_and_receive_all(seed: int) -> None:
    program = draw(seed, 0.5)
    instructions = [one for code in program.instructions for one in code]
    sends = [one for one in instructions if isinstance(one, Send)]
    assert len(sends) == 4 == len(instructions) - len(sends)
    assert explore(program, "matrix").outcomes
    assert program == draw(seed, 0.5)


def test_selective_receives_are_as_many_as_asked_for() -> None:
    for chance in (0.0, 0.3, 1.0):
        programs = [draw(seed, chance, messages=6) for seed in range(100)]
        receives = [
            one for program in programs for code in program.instructions for one in code
            if isinstance(one, Receive)
        ]  # fmt: skip
        share = sum(one.sender is not None for one in receives) / len(receives)
        assert share == pytest.approx(chance, abs=0.06)


# -- words -------------------------------------------------------------------------------------------


def test_words_follow_the_intervals() -> None:
    low, high, wide = Estimate(1, 0.5, 4), Estimate(3, 0.5, 4), Estimate(2, 5, 4)
    assert compare_estimates(low, high) == "less than" and compare_estimates(high, low) == "more than"
    assert compare_estimates(low, wide) == compare_estimates(wide, low) == "not distinguishable from"


def test_onset_is_where_it_holds_from_then_on() -> None:
    assert find_onset_ratio({0.1: True, 0.3: False, 1.0: True, 3.0: True}) == 1.0
    assert find_onset_ratio({0.1: True, 1.0: True}) == 0.1
    assert find_onset_ratio({0.1: True, 1.0: False}) is None


def test_nothing_of_something_is_none() -> None:
    assert format_share(Estimate(0, 0, 4)) == "none" and format_share(Estimate(0.5, 0.1, 4)) == "0.5 ± 0.1"
