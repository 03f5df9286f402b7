"""The simulated network: delays as described, for the links that they are for, and faults at their rates."""

from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np
import pytest

from antecede import CallerError
from antecede.simulate.delays import KINDS, make_delay_draw, make_value_stream
from antecede.simulate.network import PRESETS, Network
from antecede.simulate.run import choose_resend_ms, simulate
from antecede.simulate.wires import Wires
from tests.simulate.traced import Traced, plan_of

SIZE = 200_000
NAMES = ["p0", "p1", "p2", "p3"]


def draws(text: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return make_delay_draw(text)(np.random.default_rng(1), SIZE)


def wires(network: Network, span: float = 1000.0, seed: int = 1, names: list[str] = NAMES) -> Wires:
    return Wires(network, names, np.random.default_rng(seed), span)


def truncated_moments(mean: float, sd: float) -> tuple[float, float]:
    """Mean and spread of a Gaussian without what is below 0."""
    alpha = -mean / sd
    ratio = exp(-(alpha**2) / 2) / sqrt(2 * pi) / (0.5 * (1 - erf(alpha / sqrt(2))))
    return mean + sd * ratio, sd * sqrt(1 + alpha * ratio - ratio**2)


# -- delays ------------------------------------------------------------------------------------------

MOMENTS = {
    "constant:7": (7.0, 0.0),
    "exponential:20": (20.0, 20.0),
    "gaussian:100,20": (100.0, 20.0),
    "gaussian:10,20": truncated_moments(10, 20),
    "pareto:5,10": (12.5, 10 * sqrt(5 / 3) / 4),
    "two-level:100,20,5": (100.0, 20.0),
}


@pytest.mark.parametrize("text", MOMENTS)
def test_mean_and_spread(text: str) -> None:
    mean, sd = MOMENTS[text]
    values = draws(text)
    assert values.mean() == pytest.approx(mean, rel=0.01)
    assert values.std() == pytest.approx(sd, rel=0.03)
    assert values.min() >= 0


def test_shapes() -> None:
    assert np.median(draws("exponential:20")) == pytest.approx(20 * np.log(2), rel=0.02)
    heavy = draws("pareto:1.5,10")
    assert heavy.min() >= 10
    assert heavy.min() == pytest.approx(10, rel=0.001)
    assert (heavy > 40).mean() == pytest.approx(4**-1.5, rel=0.02)
    cut = draws("gaussian:10,20")
    assert (cut < 10).mean() == pytest.approx(0.1915 / 0.6915, rel=0.02)


def test_a_stream_gives_the_draws_one_after_the_other_over_blocks() -> None:
    draw = make_delay_draw("exponential:5")
    after_each_other = make_value_stream(np.random.default_rng(3), draw)
    rng = np.random.default_rng(3)
    expected = [*draw(rng, 4096), *draw(rng, 4096)]
    assert [after_each_other() for _ in range(8192)] == expected


def test_two_levels_a_mean_per_message_and_a_delay_per_receiver() -> None:
    one = wires(Network(delay="two-level:100,20,5"))
    means, delays = [], []
    for _ in range(3000):
        mean = one.draw_mean_delay_of_message()
        assert mean is not None
        means.append(mean)
        delays.append([one.draw_arrival_time(0, target, 50.0, mean) - 50 for target in (1, 2, 3)])
    copies = np.array(delays)
    assert np.std(means) == pytest.approx(20, rel=0.05)
    assert copies.mean() == pytest.approx(100, rel=0.02)
    assert (copies - np.array(means)[:, None]).std() == pytest.approx(5, rel=0.05)


def test_two_level_copies_of_a_message_are_close_together_in_a_run() -> None:
    plan = plan_of("unordered", workload="broadcast", network=Network(delay="two-level:100,40,1"))
    latency = simulate(plan).costs.latency
    assert latency.mean == pytest.approx(100, rel=0.1)
    assert latency.p99 > 150


# -- which link has which delay ----------------------------------------------------------------------


def test_delays_of_single_links_are_for_those_links_only() -> None:
    one = wires(Network(delay="constant:1", links={"p0->p1": "constant:5", "p2->p0": "constant:9"}))
    taken = {(s, t): one.draw_arrival_time(s, t, 0.0) for s in range(4) for t in range(4) if s != t}
    special = {(0, 1): 5.0, (2, 0): 9.0}
    assert taken == {pair: special.get(pair, 1.0) for pair in taken}


def test_delays_by_region_with_processes_that_go_round_and_one_link_apart() -> None:
    matrix = {
        "eu": {"eu": "constant:1", "us": "constant:2"},
        "us": {"eu": "constant:3", "us": "constant:4"},
    }
    one = wires(Network(matrix=matrix, regions={"p1": "eu"}, links={"p3->p0": "constant:50"}))
    homes = ["eu", "eu", "eu", "us"]  # p1 is told, the others go round
    for source in range(4):
        for target in range(4):
            expected = float(matrix[homes[source]][homes[target]].removeprefix("constant:"))
            expected = 50.0 if (source, target) == (3, 0) else expected
            assert one.draw_arrival_time(source, target, 10.0) == 10.0 + expected


@pytest.mark.parametrize("name", PRESETS)
def test_presets_run(name: str) -> None:
    run = simulate(plan_of("optimal", messages=50, network=PRESETS[name]))
    assert run.finished and not run.broken and run.costs.messages == 50


# -- order -------------------------------------------------------------------------------------------


def series(network: Network, source: int, target: int) -> list[float]:
    one = wires(network)
    for now in range(100):
        one.draw_arrival_time(source, (target + 1) % 4, now + 500.0)  # another pair, later: of no influence
    return [one.draw_arrival_time(source, target, float(now)) for now in range(500)]


def test_fifo_keeps_the_order_of_a_pair_and_only_of_a_pair() -> None:
    arrivals = series(Network(delay="exponential:20", fifo=True), 0, 1)
    assert arrivals == sorted(arrivals)
    assert arrivals[0] < 500
    assert all(when >= now for now, when in enumerate(arrivals))


def test_without_fifo_packets_overtake_each_other() -> None:
    arrivals = series(Network(delay="exponential:20"), 0, 1)
    assert arrivals != sorted(arrivals)
    assert simulate(plan_of("unordered", rate=100.0)).faults["overtaken"] > 0
    fifo = plan_of("unordered", rate=100.0, network=Network(fifo=True))
    assert simulate(fifo).faults == {}


# -- faults ------------------------------------------------------------------------------------------


def test_loss_and_repetition_at_the_rates_asked_for() -> None:
    one = wires(Network(delay="constant:1", loss=0.2, duplicate=0.1))
    fates = [len(one.draw_frame_arrival_times(0, 1, 0.0, None)) for _ in range(50_000)]
    assert fates.count(0) / len(fates) == pytest.approx(0.2, rel=0.03)
    assert fates.count(2) / len(fates) == pytest.approx(0.08, rel=0.05)
    assert one.counts == {"lost": fates.count(0), "repeated": fates.count(2)}


def test_a_network_without_faults_brings_each_frame_once() -> None:
    one = wires(Network(delay="constant:1"))
    assert [one.draw_frame_arrival_times(0, 1, float(now), None) for now in range(100)] == [
        [now + 1.0] for now in range(100)
    ]
    assert not one.network.faulty and one.counts == {}


@pytest.mark.parametrize("seed", range(5))
def test_partitions_cut_exactly_between_their_sides_and_heal(seed: int) -> None:
    one = wires(Network(delay="constant:1", partitions=2, partition_time=300), seed=seed)
    assert len(one.partitions) == 2
    edges = [when for p in one.partitions for when in (p.start, p.end)]
    cut = 0
    for now in [*edges, *(when - 1e-6 for when in edges), *np.linspace(0, 3000, 50)]:
        for source in range(4):
            for target in range(4):
                between = [
                    p.start <= now < p.end and len({source, target} & p.inside) == 1 and source != target
                    for p in one.partitions
                ]
                assert (one.draw_frame_arrival_times(source, target, now, None) == []) == any(between)
                cut += any(between)
    assert one.counts["cut off"] == cut > 0
    assert one.draw_frame_arrival_times(0, 1, max(edges), None) != []


def test_partitions_have_two_sides_fall_into_the_run_and_last_as_long_as_asked() -> None:
    one = wires(Network(partitions=2000, partition_time=50), span=400.0)
    assert {len(p.inside) for p in one.partitions} == {1, 2, 3}
    starts = [p.start for p in one.partitions]
    assert min(starts) >= 0
    assert max(starts) <= 400
    assert np.mean(starts) == pytest.approx(200, rel=0.05)
    assert np.mean([p.end - p.start for p in one.partitions]) == pytest.approx(50, rel=0.1)


# -- bad descriptions --------------------------------------------------------------------------------

BAD_DELAYS = [
    "", "constant", "constant:", "constant:x", "constant:-1", "constant:1,2", "normal:1", "gaussian:1",
    "exponential:inf", "exponential:nan", "two-level:1,2", "pareto:1",
]  # fmt: skip


@pytest.mark.parametrize("text", BAD_DELAYS)
def test_a_delay_that_is_none_is_told_all_that_are(text: str) -> None:
    with pytest.raises(CallerError) as caught:
        wires(Network(delay=text))
    assert all(form in str(caught.value) for form in KINDS.values())


REMEDIES: dict[str, tuple[dict[str, Any], str]] = {
    "pareto of nothing": ({"delay": "pareto:0,10"}, "above 0"),
    "two levels for some": ({"delay": "two-level:1,1,1", "links": {"p0->p1": "constant:1"}}, "all links"),
    "hole in the matrix": ({"matrix": {"eu": {"us": "constant:1"}}}, "no delay from region 'eu' to 'eu'"),
    "unknown region": ({"matrix": {"eu": {"eu": "constant:1"}}, "regions": {"p1": "mars"}}, "'mars'"),
    "unknown link": ({"links": {"p0->p9": "constant:1"}}, "'p9'; write names such as 'p0'"),
    "unknown process": (
        {"matrix": {"eu": {"eu": "constant:1"}}, "regions": {"q": "eu"}},
        "'q'; write names such as 'p0'",
    ),
    "unknown process down": ({"outages": {"q": (1, 2)}}, "'q'; write names such as 'p0'"),
    "outage before the start": ({"outages": {"p0": (-1, 2)}}, ">= 0.0 - at `\\$.network.outages"),
    "outage without end": ({"outages": {"p0": (1, float("inf"))}}, "network.outages"),
    "regions without delays": ({"regions": {"p0": "eu"}}, "regions need a matrix"),
    "unused delay": ({"delay": "bogus:1", "matrix": {"eu": {"eu": "constant:1"}}}, "write one of constant"),
    "no end": ({"down_time": float("inf")}, "down_time"),
    "levels by link": ({"delay": "two-level:9,1,1", "links": {"p0->p1": "constant:1"}}, "for all links"),
    "certain loss": ({"loss": 1.0}, "< 1.0 - at `\\$.network.loss`"),
    "negative chance": ({"duplicate": -0.1}, ">= 0.0 - at `\\$.network.duplicate`"),
    "no time": ({"partition_time": 0.0}, "> 0.0 - at `\\$.network.partition_time`"),
}


@pytest.mark.parametrize("name", REMEDIES)
def test_bad_networks_are_refused_with_the_remedy(name: str) -> None:
    fields, remedy = REMEDIES[name]
    with pytest.raises(CallerError, match=remedy):
        simulate(plan_of("matrix", network=Network(**fields)))


def test_patience_follows_the_slowest_link() -> None:
    assert choose_resend_ms(Network(delay="constant:0")) == 4.0
    assert choose_resend_ms(Network(delay="constant:5", links={"p0->p1": "gaussian:30,1"})) == 120.0
    assert choose_resend_ms(PRESETS["regions"]) == 4 * 90


@pytest.mark.parametrize("duplicate", [0.0, 1e-9], ids=["direct", "linked"])
def test_copies_of_a_message_share_their_mean(duplicate: float) -> None:
    """Mostefaoui and Weiss 2017: a mean per message (sd 20), then a delay per receiver (sd 5)."""
    network = Network(delay="two-level:200,20,5", duplicate=duplicate)
    plan = plan_of("unordered", workload="broadcast", processes=8, messages=400, network=network)
    delays: dict[str, list[float]] = {}
    for row in Traced(plan).messages:
        delays.setdefault(row["message"], []).append(row["arrived"] - row["sent"])
    between = np.std([np.mean(copies) for copies in delays.values()])
    within = np.mean([np.std(copies, ddof=1) for copies in delays.values()])
    assert between == pytest.approx(20, rel=0.15)
    assert within == pytest.approx(5, rel=0.15)


def test_two_levels_keep_order_where_channels_do() -> None:
    network = Network(delay="two-level:100,40,40", fifo=True)
    run = simulate(plan_of("unordered", rate=200.0, network=network))
    assert run.faults == {} and run.verdict.out_of_turn == 0
