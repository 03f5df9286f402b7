"""Mostefaoui and Weiss 2017: how often is probabilistic causal broadcast wrong, exactly?

The paper counted errors between two bounds, which are none (docs/errata.md): after a wrong delivery, others
that depend on the same missing message are counted by neither. Here every delivery is judged exactly, at the
paper's scale, by the compiled kernel of `simulate/shared_entries.py`. The base is that of section 5.4: N =
1000 processes that broadcast every 5 seconds, R = 100 entries, K = 4 keys; a message's delay is Gaussian with
mean 100 ms and standard deviation 20 ms, and around it each receiver's, with 20 ms again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import comb, exp
from typing import Any

from antecede.protocols.detectors import DETECTORS
from antecede.simulate.network import PRESETS
from antecede.simulate.run import Plan
from antecede.simulate.shared_entries import BroadcastPlan, BroadcastRun, run_broadcasts
from antecede.study.estimates import (
    Estimate,
    ResultPoint,
    Results,
    compare_estimates,
    multiply_estimates,
)
from antecede.study.experiment import Cell, Figure, Metrics, Plot, Point, Scale, Study, fill_grid
from antecede.study.simulated import measure_plan

PROTOCOL = "probabilistic"
TOTAL_RATE = 200
"""Messages per second of all processes together, where the paper keeps that constant."""
DELAY = 100.0
DELIVERIES: dict[Scale, int] = {"quick": 1_000_000, "paper": 10_000_000}
"""Of one cell."""
SEEDS: dict[Scale, int] = {"quick": 4, "paper": 10}
"""Of the paper's figures: 10^8 deliveries for each of their points."""
FEWER_SEEDS: dict[Scale, int] = {"quick": 4, "paper": 4}
"""Of what goes beyond the paper."""


def measure_error_rates(cell: Cell) -> Metrics:
    """Run a cell: N, K, R, gap, churn, detect and deliveries are its parameters."""
    plan = make_plan(cell)
    run = run_broadcasts(plan)
    metrics = {
        "early_rate": run.early / run.deliveries,
        "late_rate": run.late / run.deliveries,
        "held_rate": run.held / run.deliveries,
        "wait": run.wait,
        "most_held": run.most_held,
        "window": run.window,
        "deliveries": run.deliveries,
    }
    return metrics | (_list_detector_metrics(run) if plan.detect else {})


def make_plan(cell: Cell) -> BroadcastPlan:
    """What the kernel is to run for a cell."""
    chosen: dict[str, Any] = dict(cell.parameters)
    processes, deliveries = chosen.pop("N"), chosen.pop("deliveries")
    messages = max(1, round(deliveries / (processes - 1)))
    return BroadcastPlan(processes=processes, messages=messages, seed=cell.seed, **chosen)


def _list_detector_metrics(run: BroadcastRun) -> Metrics:
    metrics: Metrics = {}
    for detector in DETECTORS:
        name = detector.replace(" ", "_")
        alarms, caught = run.alarms[detector], run.caught[detector]
        metrics[f"{name}_alarm_rate"] = alarms / run.deliveries
        if alarms:
            metrics[f"{name}_precision"] = caught / alarms
        if run.late:
            metrics[f"{name}_recall"] = caught / run.late
    return metrics


def count_broadcast_trials(metric: str, parameters: Mapping[str, Any]) -> float | None:
    """The trials of a rate: messages, of which each goes to N - 1 others."""
    if not metric.endswith("_rate") or "deliveries" not in parameters:
        return None
    return float(parameters["deliveries"]) / (int(parameters["N"]) - 1)


def list_points_around_base(scale: Scale, **parameters: Any) -> Iterator[Point]:
    """A grid over the base; what is not named is as in the paper."""
    chosen: dict[str, Any] = {"N": [1000], "R": [100], "K": [4], "deliveries": [DELIVERIES[scale]]}
    yield from fill_grid([PROTOCOL], **chosen | parameters)


def set_gaps_for_one_total_rate(points: Iterator[Point]) -> Iterator[Point]:
    """The same points, at 200 messages per second of all together."""
    for point in points:
        gap = 1000 * int(point.parameters["N"]) / TOTAL_RATE
        yield Point(point.protocol, point.parameters | {"gap": gap})


# Figure 3: the error rate over K


def list_points_by_key_count(scale: Scale) -> Iterator[Point]:
    """K from 1 to 8 for four group sizes, at 200 messages per second."""
    return set_gaps_for_one_total_rate(
        list_points_around_base(scale, N=[500, 1000, 1500, 2000], K=range(1, 9))
    )


def summarize_best_key_count(results: Results) -> str:
    """Where the minimum is, and which K cannot be told from it."""
    points = results.list_points("early_rate", N=1000)
    best = min(points, key=lambda point: point.estimate.mean)
    alike = _list_indistinguishable_key_counts(best, points)
    also = f"K = {_join_with_and(alike)} cannot be told from it" if alike else "all other K are worse"
    return (
        f"With N = 1000 the early rate is least at K = {best.parameters['K']}: {best.estimate}. "
        f"Within the intervals, {also}. The paper's theory puts the minimum at K = ln 2 R / X = 3.5 for the "
        "X = 20 messages that are in flight, and its measurement at 4."
    )


def _list_indistinguishable_key_counts(best: ResultPoint, points: list[ResultPoint]) -> list[int]:
    """The other K whose rate the intervals do not tell from the best."""
    others = [point for point in points if point.parameters["K"] != best.parameters["K"]]
    return [point.parameters["K"] for point in others if not best.estimate.is_below(point.estimate)]


FIGURE_3 = Figure(
    name="figure_3",
    title="Early deliveries over the number of keys",
    question="How many keys should a process have? (Figure 3: 200 messages per second in all, R = 100)",
    grid=list_points_by_key_count,
    measure=measure_error_rates,
    plots=(
        Plot("Early rate", metric="early_rate", x="K", series="N", log_y=True),
        Plot("Late rate", metric="late_rate", x="K", series="N", log_y=True),
    ),
    conclude=summarize_best_key_count,
    seeds=SEEDS,
    count_trials=count_broadcast_trials,
)


# Figures 4 to 6: the error rate over load and size


def list_points_by_gap(scale: Scale) -> Iterator[Point]:
    """The mean time between two messages of a process, from 1 to 10 seconds."""
    gaps = [1000.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0, 8000.0, 10_000.0]
    return list_points_around_base(scale, gap=gaps)


def summarize_error_rates_by_gap(results: Results) -> str:
    """How steep it is."""
    words = [
        f"{{}} with a message every {gap / 1000:g} s of each process, {1000 * DELAY / gap:g} in flight"
        for gap in (10_000, 5000, 1000)
    ]
    rates = [results.estimate("early_rate", PROTOCOL, gap=gap) for gap in (10_000, 5000, 1000)]
    return f"The early rate of stamps with R = 100 entries is {_describe_successive_rates(words, rates)}."


def _describe_successive_rates(templates: list[str], rates: list[Estimate]) -> str:
    """Rates one after the other, each compared with the one before; `templates` have a place for the rate."""
    parts = [templates[0].format(rates[0])]
    for before, rate, text in zip(rates, rates[1:], templates[1:], strict=False):
        parts.append(f"{text.format(rate)}, which is {compare_estimates(rate, before)} the rate before")
    return "; ".join(parts)


FIGURE_4 = Figure(
    name="figure_4",
    title="Early deliveries over the time between messages",
    question="How much load does a fixed stamp bear? (Figure 4: N = 1000, R = 100, K = 4)",
    grid=list_points_by_gap,
    measure=measure_error_rates,
    plots=(Plot("Early rate", metric="early_rate", x="gap", series="protocol", unit="ms", log_y=True),),
    conclude=summarize_error_rates_by_gap,
    seeds=SEEDS,
    count_trials=count_broadcast_trials,
)


def list_points_by_group_size(scale: Scale) -> Iterator[Point]:
    """Groups of 250 to 2000, each process with a message every 5 seconds: the load grows with the group."""
    return list_points_around_base(scale, N=[250, 500, 750, 1000, 1250, 1500, 2000], gap=[5000.0])


def summarize_error_rates_by_group_size(results: Results) -> str:
    """From the smallest group to the largest."""
    rates = [results.estimate("early_rate", PROTOCOL, N=size) for size in (250, 1000, 2000)]
    words = ["{} with N = 250", "{} with N = 1000", "{} with N = 2000"]
    return f"The early rate of stamps with R = 100 entries is {_describe_successive_rates(words, rates)}."


FIGURE_5 = Figure(
    name="figure_5",
    title="Early deliveries over the number of processes, load growing with it",
    question="How large may a group grow? (Figure 5: each process sends every 5 s, R = 100, K = 4)",
    grid=list_points_by_group_size,
    measure=measure_error_rates,
    plots=(Plot("Early rate", metric="early_rate", x="N", series="protocol", log_y=True),),
    conclude=summarize_error_rates_by_group_size,
    seeds=SEEDS,
    count_trials=count_broadcast_trials,
)


def list_points_by_group_size_at_one_rate(scale: Scale) -> Iterator[Point]:
    """Groups of 50 to 2000, at 200 messages per second of all together."""
    return set_gaps_for_one_total_rate(
        list_points_around_base(scale, N=[50, 100, 200, 400, 700, 1000, 1500, 2000])
    )


def summarize_error_rates_by_group_size_at_one_rate(results: Results) -> str:
    """From the smallest group to the largest."""
    rates = [results.estimate("early_rate", PROTOCOL, N=size) for size in (50, 1000, 2000)]
    words = ["{} with N = 50", "{} with N = 1000", "{} with N = 2000"]
    return f"At one total load the early rate is {_describe_successive_rates(words, rates)}."


FIGURE_6 = Figure(
    name="figure_6",
    title="Early deliveries over the number of processes, at one total load",
    question="Is it the size of the group or the load? (Figure 6: 200 messages per second in all)",
    grid=list_points_by_group_size_at_one_rate,
    measure=measure_error_rates,
    plots=(Plot("Early rate", metric="early_rate", x="N", series="protocol", log_y=True),),
    conclude=summarize_error_rates_by_group_size_at_one_rate,
    seeds=SEEDS,
    count_trials=count_broadcast_trials,
)


# Theory, and the detectors


BLOOM, DISTINCT = "theory: keys may coincide", "theory: K different keys"
"""The paper's form, which is that of a Bloom filter, and the exact one for K different keys."""


def list_points_of_theory_and_measurement(scale: Scale) -> Iterator[Point]:
    """K from 1 to 8 at N = 1000: measured with all detectors, and both forms of the theory."""
    yield from set_gaps_for_one_total_rate(list_points_around_base(scale, K=range(1, 9), detect=[True]))
    yield from fill_grid([BLOOM, DISTINCT], N=[1000], R=[100], K=range(1, 9))


def measure_or_compute_coverage(cell: Cell) -> Metrics:
    """The chance that a message's keys are all covered by others: alarms of Algorithm 4, or the theory."""
    if cell.protocol == PROTOCOL:
        return measure_error_rates(cell)
    R, K = int(cell.parameters["R"]), int(cell.parameters["K"])
    in_flight = TOTAL_RATE * DELAY / 1000
    compute_chance = compute_chance_that_distinct_keys_are_covered
    if cell.protocol == BLOOM:
        compute_chance = compute_chance_that_bloom_keys_are_covered
    return {"algorithm_4_alarm_rate": average_over_poisson(in_flight, lambda X: compute_chance(R, K, X))}


def compute_chance_that_bloom_keys_are_covered(R: int, K: int, X: int) -> float:
    """The paper's P_error, with its missing bracket: K keys are covered by X other messages."""
    return float((1 - (1 - 1 / R) ** (K * X)) ** K)


def compute_chance_that_distinct_keys_are_covered(R: int, K: int, X: int) -> float:
    """The same where each message counts on K different entries, by inclusion and exclusion."""
    terms = [(-1) ** i * comb(K, i) * (comb(R - i, K) / comb(R, K)) ** X for i in range(K + 1)]
    return float(sum(terms))


def average_over_poisson(mean: float, function_of_count: Any) -> float:
    """The mean of a function of a Poisson number."""
    chance, total = exp(-mean), 0.0
    for number in range(int(mean + 12 * mean**0.5) + 10):
        total += chance * function_of_count(number)
        chance *= mean / (number + 1)
    return total


def compare_theory_with_measurement(results: Results) -> str:
    """Measured, and both forms."""
    measured = results.estimate("algorithm_4_alarm_rate", PROTOCOL, K=4)
    bloom = results.estimate("algorithm_4_alarm_rate", BLOOM, K=4)
    distinct = results.estimate("algorithm_4_alarm_rate", DISTINCT, K=4)
    held = results.estimate("held_rate", PROTOCOL, K=4)
    early = results.estimate("early_rate", PROTOCOL, K=4)
    product = multiply_estimates(held, measured)
    return (
        f"At K = 4 a message finds all its keys covered with chance {measured}; theory says {bloom.mean:.4f} "
        f"with the paper's form and {distinct.mean:.4f} with the exact one, both averaged over a Poisson "
        f"number of messages in flight. A message must wait with chance {held}. The measured early rate, "
        f"{early}, is {compare_estimates(early, product)} the product of the two, {product}."
    )


THEORY = Figure(
    name="theory",
    title="How often a message's keys are covered by others: theory and measurement",
    question="Is P_error right, and in which form?",
    grid=list_points_of_theory_and_measurement,
    measure=measure_or_compute_coverage,
    plots=(Plot("Alarms of Algorithm 4 per delivery", metric="algorithm_4_alarm_rate", x="K"),),
    conclude=compare_theory_with_measurement,
    seeds=FEWER_SEEDS,
    count_trials=count_broadcast_trials,
)


def list_points_with_detectors(scale: Scale) -> Iterator[Point]:
    """All detectors under light, usual and heavy load."""
    return list_points_around_base(scale, gap=[2000.0, 3500.0, 5000.0, 10_000.0], detect=[True])


def summarize_alarms_by_detector(results: Results) -> str:
    """How often each raises an alarm, how often rightly, and how much it misses."""
    sentences = []
    for detector in DETECTORS:
        name = detector.replace(" ", "_")
        alarms = results.estimate(f"{name}_alarm_rate", PROTOCOL, gap=5000)
        precision = results.estimate(f"{name}_precision", PROTOCOL, gap=5000)
        recall = results.estimate(f"{name}_recall", PROTOCOL, gap=5000)
        sentences.append(
            f"{detector} raises an alarm for {alarms} of all deliveries; {precision} of its alarms are about "
            f"late messages, and of all late messages it finds {recall}."
        )
    return " ".join(sentences)


DETECTION = Figure(
    name="detectors",
    title="Precision and recall of the three detectors",
    question="How far can an alarm be trusted? (N = 1000, R = 100, K = 4)",
    grid=list_points_with_detectors,
    measure=measure_error_rates,
    plots=tuple(
        Plot(f"Precision of {detector}", metric=f"{detector.replace(' ', '_')}_precision", x="gap", unit="ms")
        for detector in DETECTORS
    ),
    conclude=summarize_alarms_by_detector,
    seeds=FEWER_SEEDS,
    count_trials=count_broadcast_trials,
)


# What the paper left open


LOADS = [1500.0, 2500.0, 5000.0, 10_000.0, 20_000.0]


def list_points_by_key_count_and_load(scale: Scale) -> Iterator[Point]:
    """K from 1 to 8 under five loads."""
    return list_points_around_base(scale, K=range(1, 9), gap=LOADS)


def summarize_safest_key_count_for_unknown_load(results: Results) -> str:
    """The K whose worst case, against the best K of each load, is the least."""
    sentences = []
    ratios_of_key: dict[int, list[float]] = defaultdict(list)
    for gap in LOADS:
        points = results.list_points("early_rate", gap=gap)
        best = min(points, key=lambda point: point.estimate.mean)
        alike = _list_indistinguishable_key_counts(best, points)
        also = f" (not distinguishable from it: {_join_with_and(alike)})" if alike else ""
        sentences.append(f"{best.parameters['K']} at {gap / 1000:g} s{also}")
        if best.estimate.mean > 0:
            for point in points:
                ratios_of_key[point.parameters["K"]].append(point.estimate.mean / best.estimate.mean)
    by_load = f"The K with the least mean, by time between messages: {', '.join(sentences)}."
    if not ratios_of_key:
        return f"{by_load} At each of these loads some K made no error, so their ratios are unknown."
    loads = max(len(ratios) for ratios in ratios_of_key.values())
    worst_of_key = {key: max(ratios) for key, ratios in ratios_of_key.items() if len(ratios) == loads}
    choice = min(worst_of_key, key=lambda key: worst_of_key[key])
    left_out = ""
    if loads < len(LOADS):
        left_out = f" (where some K made no error, {len(LOADS) - loads} of them, there is no ratio)"
    return (
        f"{by_load} If the load is unknown, K = {choice} is the safest choice by these means: its rate is at "
        f"most {worst_of_key[choice]:.2g} times that of the best K at each of these loads{left_out}."
    )


UNKNOWN_LOAD = Figure(
    name="unknown_load",
    title="Early deliveries over K under five loads",
    question="Which K is best when nobody knows the load? (N = 1000, R = 100)",
    grid=list_points_by_key_count_and_load,
    measure=measure_error_rates,
    plots=(Plot("Early rate", metric="early_rate", x="K", series="gap", log_y=True),),
    conclude=summarize_safest_key_count_for_unknown_load,
    seeds=FEWER_SEEDS,
    count_trials=count_broadcast_trials,
)


ENTRIES = [25, 50, 100, 200, 400]
TARGETS = (1e-2, 1e-3, 1e-4)


def list_points_by_entry_count(scale: Scale) -> Iterator[Point]:
    """Stamps of 25 to 400 entries, with 2, 4 and 8 keys."""
    return list_points_around_base(scale, R=ENTRIES, K=[2, 4, 8])


def summarize_smallest_stamps_for_target_rates(results: Results) -> str:
    """The smallest stamp for each target."""
    sentences = []
    for target in TARGETS:
        points = results.list_points("early_rate")
        reached = [point for point in points if point.estimate.high < target]
        if reached:
            smallest = min(reached, key=lambda point: (point.parameters["R"], point.estimate.mean))
            R, K = smallest.parameters["R"], smallest.parameters["K"]
            sentences.append(f"surely below {target:g} with R = {R} and K = {K} ({smallest.estimate})")
        else:
            sentences.append(f"surely below {target:g} with none of these stamps")
    return f"With 20 messages in flight the early rate is {'; '.join(sentences)}."


SIZE_OF_STAMP = Figure(
    name="entries",
    title="Early deliveries over the number of entries",
    question="How large must a stamp be for a target rate? (N = 1000, every 5 s)",
    grid=list_points_by_entry_count,
    measure=measure_error_rates,
    plots=(Plot("Early rate", metric="early_rate", x="R", series="K", log_x=True, log_y=True),),
    conclude=summarize_smallest_stamps_for_target_rates,
    seeds=FEWER_SEEDS,
    count_trials=count_broadcast_trials,
)


def list_points_by_churn(scale: Scale) -> Iterator[Point]:
    """Up to 20 processes of 1000 replaced each second."""
    return list_points_around_base(scale, churn=[0.0, 0.1, 1.0, 5.0, 20.0])


def summarize_error_rates_by_churn(results: Results) -> str:
    """Whether newcomers do harm."""
    calm = results.estimate("early_rate", PROTOCOL, churn=0)
    wild = results.estimate("early_rate", PROTOCOL, churn=20)
    return (
        f"When 20 of 1000 processes are replaced each second, each newcomer with the state of another "
        f"process, the early rate is {wild}, {compare_estimates(wild, calm)} the {calm} of a fixed group."
    )


CHURN = Figure(
    name="churn",
    title="Early deliveries over churn",
    question="Does a group whose members come and go err more often? (N = 1000, R = 100, K = 4)",
    grid=list_points_by_churn,
    measure=measure_error_rates,
    plots=(Plot("Early rate", metric="early_rate", x="churn", unit="processes per second"),),
    conclude=summarize_error_rates_by_churn,
    seeds=FEWER_SEEDS,
    count_trials=count_broadcast_trials,
)


# The exact rivals


RIVALS = ("vector", "flood")
"""A number for each process; and a broadcast over links that keep order, with one number on a message."""
RIVAL_SIZES: dict[Scale, list[int]] = {"quick": [8, 16, 32], "paper": [8, 16, 32, 64]}
RIVAL_MESSAGES: dict[Scale, int] = {"quick": 60, "paper": 300}


def list_points_by_protocol_and_group_size(scale: Scale) -> Iterator[Point]:
    """Small groups in the event simulator, at the paper's load: 20 messages in flight."""
    common: dict[str, Any] = {"N": RIVAL_SIZES[scale], "messages": [RIVAL_MESSAGES[scale]]}
    yield from fill_grid([PROTOCOL], R=[25, 100], K=[4], **common)
    yield from fill_grid(RIVALS, **common)


def measure_simulated_endpoints(cell: Cell) -> Metrics:
    """Run real endpoints."""
    processes = int(cell.parameters["N"])
    options: dict[str, Any] = {name: cell.parameters[name] for name in "RK" if name in cell.parameters}
    plan = Plan(
        protocol=cell.protocol,
        processes=processes,
        workload="broadcast",
        messages=int(cell.parameters["messages"]),
        rate=TOTAL_RATE / processes,
        network=PRESETS["mostefaoui17"],
        seed=cell.seed,
        options=options,
    )
    return measure_plan(plan)


def summarize_costs_by_protocol(results: Results) -> str:
    """What exactness costs."""
    n = max(point.parameters["N"] for point in results.list_points("control_bytes"))
    sentences = []
    for name, parameters in ((PROTOCOL, {"R": 25}), (PROTOCOL, {"R": 100}), ("vector", {}), ("flood", {})):
        stamp = results.estimate("control_bytes", name, N=n, **parameters)
        packets = results.estimate("packets", name, N=n, **parameters)
        latency = results.estimate("latency", name, N=n, **parameters)
        early = results.estimate("early_rate", name, N=n, **parameters)
        called = f"{name} with R = {parameters['R']}" if parameters else name
        sentences.append(
            f"{called}: stamps of {stamp} bytes, {packets} packets a message, {latency} ms from send to "
            f"delivery, early rate {early}"
        )
    return f"With N = {n}. {'; '.join(sentences)}."


EXACT_RIVALS = Figure(
    name="rivals",
    title="Exact broadcasts beside the probabilistic one",
    question="What does it cost to be right always?",
    grid=list_points_by_protocol_and_group_size,
    measure=measure_simulated_endpoints,
    plots=(
        Plot("Bytes of a stamp", metric="control_bytes", x="N", log_x=True, log_y=True),
        Plot("Packets per message", metric="packets", x="N", log_x=True, log_y=True),
        Plot("From send to delivery, ms", metric="latency", x="N", log_x=True),
    ),
    conclude=summarize_costs_by_protocol,
    seeds=FEWER_SEEDS,
)


def _join_with_and(values: list[Any]) -> str:
    """3, 4 and 5."""
    texts = [str(value) for value in values]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


STUDY = Study(
    name="mostefaoui",
    title="Mostefaoui, Weiss 2017: probabilistic causal broadcast",
    about=(
        "Broadcasts carry R shared entries instead of one for each process. The paper estimates how often "
        "that is wrong; here every delivery is judged exactly. Early: delivered before something that caused "
        "it. Late: delivered after something that it caused."
    ),
    figures=(
        FIGURE_3,
        FIGURE_4,
        FIGURE_5,
        FIGURE_6,
        THEORY,
        DETECTION,
        UNKNOWN_LOAD,
        SIZE_OF_STAMP,
        CHURN,
        EXACT_RIVALS,
    ),
)
