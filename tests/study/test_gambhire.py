"""The study of Gambhire and Kshemkalyani: every figure runs, and what is known comes out."""

from typing import Any

import pytest

from antecede import Packet, endpoint
from antecede.simulate.queue import Queue
from antecede.study.experiment import Figure
from antecede.study.gambhire import (
    DELAYS,
    PRINTED,
    RESIDUE,
    STAMPS,
    STUDY,
    WaitingRecorder,
    make_plan,
    run_and_record_waiting,
)
from tests.study.cells import check_figure, check_grids, make_cell, measure


def test_grids_have_points() -> None:
    check_grids(STUDY)


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.name)
def test_figures_run_and_conclude(figure: Figure) -> None:
    check_figure(figure)


# -- waiting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_dependence_on_everything_before_is_causal_order(seed: int) -> None:
    common: dict[str, Any] = {"chance": 1.0, "depth": 1, "messages": 500}
    own = measure(DELAYS, "semantic", seed, **common)
    matrix = measure(DELAYS, "matrix", seed, **common)
    assert own["wait"] == matrix["wait"] > 0 and own["saved"] == 0
    assert own["peak_held"] == matrix["peak_held"]


def test_without_dependences_nothing_waits_on_channels_that_keep_order() -> None:
    metrics = measure(DELAYS, "semantic", chance=0.0, depth=5, messages=500)
    assert metrics["wait"] == metrics["peak_held"] == 0 and metrics["saved"] == 1


def test_fewer_and_older_dependences_save_more() -> None:
    def saved(chance: float, depth: int) -> float:
        return measure(DELAYS, "semantic", chance=chance, depth=depth, messages=1500)["saved"]

    assert saved(0.1, 5) > saved(0.5, 5) > saved(1.0, 5) >= 0
    assert saved(0.5, 50) > saved(0.5, 1)


@pytest.mark.parametrize("chance", [0.1, 0.5, 1.0])
def test_ideal_never_waits_longer(chance: float) -> None:
    common: dict[str, Any] = {"chance": chance, "depth": 1, "messages": 800}
    ideal = measure(DELAYS, "ideal", **common)
    own = measure(DELAYS, "semantic", **common)
    assert 0 <= ideal["wait"] <= own["wait"] - own["false_wait"] + 1e-9
    assert chance < 1 or ideal["wait"] > 0


@pytest.mark.parametrize("seed", range(4))
def test_account_of_false_waiting_is_that_of_the_judge(seed: int) -> None:
    """The judge of a run of `semantic` knows the declared order, and was written apart from this account."""
    cell = make_cell(DELAYS, "semantic", seed, chance=0.7, depth=2, messages=600)
    recorder, run = run_and_record_waiting(make_plan(cell, "semantic"))
    sums = recorder.sums
    assert sums["false_wait"] / sums["deliveries"] == pytest.approx(run["needless"]) and run["needless"] > 0
    assert sums["wait"] / sums["deliveries"] == pytest.approx(run["wait"])
    assert sums["waited"] / sums["deliveries"] == pytest.approx(run["waited_rate"])
    assert sums["delayed"] / sums["deliveries"] == pytest.approx(run["needless_rate"])
    assert run["early_rate"] == run["late_rate"] == 0


# -- false causes ------------------------------------------------------------------------------------


class Triangle:
    """M1: 0 to 2, M2: 0 to 1, M3: 1 to 2; M3 arrives before M1. Each message may depend on the one before."""

    def __init__(self, second_depends: bool, third_depends: bool, horizon: float) -> None:
        self.queue = Queue()
        names = ["p0", "p1", "p2"]
        self.ends = [endpoint("semantic", process=name, group=names) for name in names]
        self.recorder = WaitingRecorder(self.queue, 3, "semantic", horizon)
        first = self.send(0, 2, 0, at=0.0)
        second = self.send(0, 1, int(second_depends), at=10.0)
        self.arrive(second, 1, at=20.0)
        third = self.send(1, 2, int(third_depends), at=30.0)
        self.arrive(third, 2, at=40.0)
        self.arrive(first, 2, at=100.0)

    def send(self, i: int, to: int, depends_on: int, at: float) -> Packet:
        self.queue.now = at
        message = len(self.recorder.past)
        self.recorder.on_send(i, message, [to], depends_on)
        packets = self.ends[i].send(message.to_bytes(8, "little"), to=[f"p{to}"], depends_on=depends_on)
        return packets.packets[0]

    def arrive(self, packet: Packet, i: int, at: float) -> None:
        self.queue.now = at
        self.recorder.on_receive(i, packet, int.from_bytes(packet.payload, "little"))
        for delivery in self.ends[i].receive(packet).deliveries:
            self.recorder.on_deliver(i, int(delivery.sender[1]), int.from_bytes(delivery.payload, "little"))


def test_independent_message_waits_for_nothing() -> None:
    sums = Triangle(second_depends=False, third_depends=False, horizon=20).recorder.sums
    assert sums["wait"] == sums["false_wait"] == sums["near_pairs"] == sums["distant_pairs"] == 0


def test_message_waits_for_what_it_depends_on() -> None:
    recorder = Triangle(second_depends=True, third_depends=True, horizon=20).recorder
    sums = recorder.sums
    assert sums["wait"] == recorder.ideal.total_wait == 60 and sums["false_wait"] == 0
    assert sums["near_pairs"] == sums["distant_pairs"] == 0


@pytest.mark.parametrize(("second", "third"), [(True, False), (False, True)])
@pytest.mark.parametrize(("horizon", "part"), [(20, "distant"), (50, "near")])
def test_false_cause_is_found_and_is_near_or_distant(
    second: bool, third: bool, horizon: float, part: str
) -> None:
    """One dependence of the two: M3 waits for M1 all the same, which was sent 30 ms before it."""
    recorder = Triangle(second, third, horizon).recorder
    sums = recorder.sums
    assert sums["wait"] == sums["false_wait"] == sums[f"{part}_wait"] == 60
    assert recorder.ideal.total_wait == 0
    assert sums[f"{part}_pairs"] == sums[f"{part}_costly_pairs"] == 1
    assert sums["near_pairs"] + sums["distant_pairs"] == 1


def test_horizon_splits_what_there_is() -> None:
    runs = [
        measure(RESIDUE, "semantic", chance=0.5, depth=5, horizon=horizon, messages=500)
        for horizon in (1, 2, 5, 10)
    ]
    pairs = [run["near_pairs"] + run["distant_pairs"] for run in runs]
    waits = [run["near_wait"] + run["distant_wait"] for run in runs]
    near = [run["near_pairs"] for run in runs]
    assert pairs == pytest.approx([pairs[0]] * 4) and pairs[0] > 0
    assert waits == pytest.approx([runs[0]["delayed_rate"] * runs[0]["delay"]] * 4)
    assert near == sorted(near) and near[0] < near[-1]
    assert all(run["distant_cost"] < run["near_cost"] for run in runs)


# -- the rules as printed, and other stamps ----------------------------------------------------------


def rate_of_early(variant: str, channels: str, destinations: str) -> float:
    where: dict[str, Any] = {"variant": variant, "channels": channels, "destinations": destinations}
    return measure(PRINTED, "semantic", chance=0.5, messages=800, **where)["early_rate"]


def test_printed_rules_break_the_declared_order_where_the_errata_say() -> None:
    assert rate_of_early("printed", "FIFO", "one destination") == 0
    assert rate_of_early("printed", "any order", "one destination") > 0
    assert rate_of_early("printed", "FIFO", "three destinations") > 0


@pytest.mark.parametrize("channels", ["FIFO", "any order"])
@pytest.mark.parametrize("destinations", ["one destination", "three destinations"])
def test_corrected_rules_never_do(channels: str, destinations: str) -> None:
    assert rate_of_early("corrected", channels, destinations) == 0


def test_smaller_stamps_wait_as_long_as_the_matrix() -> None:
    common: dict[str, Any] = {"n": 8, "chance": 0.25, "messages": 600}
    optimal, matrix = (measure(STAMPS, name, **common) for name in ("optimal", "matrix"))
    assert optimal["wait"] == matrix["wait"] > 0 and optimal["false_share"] == matrix["false_share"]
    assert optimal["control_bytes"] < matrix["control_bytes"]
