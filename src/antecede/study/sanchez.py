"""Sanchez and Alvarez: matrix clocks kept small by extra messages. What do the extras cost?

The paper gives a bound on the size of a stamp, threshold k, and leaves open how many extra messages that
takes, what different processes with different k do to each other, and how much time it costs. Here `bounded`
runs over the simulated network: two messages of each process are under way on average, and a packet takes
20 ms, drawn from an exponential distribution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from antecede.core.packet import Packet
from antecede.simulate.network import Network
from antecede.simulate.run import Plan, run_with_recorder
from antecede.simulate.trace import Recorder
from antecede.study.estimates import Estimate, Results, compare_estimates, format_share
from antecede.study.experiment import Cell, Figure, Metrics, Plot, Point, Scale, Study, fill_grid
from antecede.study.simulated import EXPONENTIAL, find_rate_for_load, list_run_metrics, measure_plan

PROTOCOL = "bounded"
RIVALS = ("matrix", "pairs", "optimal", "predecessors")
MESSAGES: dict[Scale, int] = {"quick": 400, "paper": 4000}
SEEDS: dict[Scale, int] = {"quick": 4, "paper": 20}
SIZES: dict[Scale, list[int]] = {"quick": [4, 8, 12], "paper": [4, 8, 16, 32]}
TRAFFIC = ("uniform", "client-server", "ring", "hot-spot", "bursty")
LOAD = 2.0


def list_thresholds_by_name(n: int) -> dict[str, int]:
    """The thresholds that are tried, by name, from the least that ends to one that never fires."""
    return {
        "n + 1": n + 1,
        "1.5 n": max(n + 1, 3 * n // 2),
        "2 n": 2 * n,
        "n^2 / 4": max(n + 1, n * n // 4),
        "n^2 / 2": max(n + 1, n * n // 2),
        "never": (n - 1) ** 2 + 1,
    }


def make_plan(cell: Cell, **options: Any) -> Plan:
    """The plan of a cell: n, traffic, messages and delay are its parameters."""
    parameters = cell.parameters
    return Plan(
        protocol=cell.protocol,
        processes=int(parameters["n"]),
        workload=str(parameters.get("traffic", "uniform")),
        messages=int(parameters["messages"]),
        rate=find_rate_for_load(LOAD),
        network=Network(delay=str(parameters.get("delay", EXPONENTIAL))),
        seed=cell.seed,
        options=options,
    )


def measure_costs_at_threshold(cell: Cell) -> Metrics:
    """Run a cell with its threshold; protocols without one have none."""
    options = {name: cell.parameters[name] for name in ("k", "rule", "own_row") if name in cell.parameters}
    return measure_plan(make_plan(cell, **options))


# How many extras


def list_points_by_threshold_and_traffic(scale: Scale) -> Iterator[Point]:
    """Every threshold, for groups of several sizes and five kinds of traffic."""
    sizes = SIZES[scale] if scale == "paper" else [8]
    for n in sizes:
        for name, k in list_thresholds_by_name(n).items():
            yield from fill_grid(
                [PROTOCOL], n=[n], k=[k], threshold=[name], traffic=TRAFFIC, messages=[MESSAGES[scale]]
            )


def summarize_extra_messages(results: Results) -> str:
    """How many there are at the least threshold, by the size of the group and by traffic."""
    sizes = sorted({point.parameters["n"] for point in results.list_points("extras")})
    sentences = []
    for n in sizes:
        extras = results.estimate("extras", PROTOCOL, n=n, threshold="n + 1", traffic="uniform")
        sentences.append(f"{format_share(extras)} with n = {n}")
    n = sizes[-1]
    uniform = results.estimate("extras", PROTOCOL, n=n, threshold="n + 1", traffic="uniform")
    others = []
    for traffic in TRAFFIC[1:]:
        extras = results.estimate("extras", PROTOCOL, n=n, threshold="n + 1", traffic=traffic)
        others.append(f"{traffic} {format_share(extras)}, {compare_estimates(extras, uniform)} uniform")
    return (
        f"Extra messages per message at k = n + 1, uniform traffic: {'; '.join(sentences)}. Other "
        f"traffic, n = {n}: {'; '.join(others)}."
    )


EXTRAS = Figure(
    name="extras",
    title="Extra messages over the threshold",
    question="How many extra messages does a threshold cost, and under which traffic?",
    grid=list_points_by_threshold_and_traffic,
    measure=measure_costs_at_threshold,
    plots=(
        Plot("Extra messages per message", metric="extras", x="k", series="traffic"),
        Plot("Entries in a stamp", metric="entries", x="k", series="traffic"),
    ),
    conclude=summarize_extra_messages,
    seeds=SEEDS,
)


# All control information, against the rivals


def list_points_by_group_size(scale: Scale) -> Iterator[Point]:
    """All thresholds, and the protocols that send no extras, over the size of the group."""
    for n in SIZES[scale]:
        common: dict[str, Any] = {"n": [n], "messages": [MESSAGES[scale]]}
        for name, k in list_thresholds_by_name(n).items():
            yield from fill_grid([PROTOCOL], k=[k], threshold=[name], **common)
        yield from fill_grid(RIVALS, **common)


def summarize_control_bytes_by_group_size(results: Results) -> str:
    """Which threshold is best, and whether it beats the rivals."""
    sentences = []
    for n in sorted({point.parameters["n"] for point in results.list_points("total_bytes")}):
        own = results.list_points("total_bytes", PROTOCOL, n=n)
        best = min(own, key=lambda point: point.estimate.mean)
        rivals = {name: results.estimate("total_bytes", name, n=n) for name in RIVALS}
        beaten = [name for name, rival in rivals.items() if best.estimate.is_below(rival)]
        better = [name for name, rival in rivals.items() if rival.is_below(best.estimate)]
        alike = [name for name in RIVALS if name not in (*beaten, *better)]
        relations = {"less than": beaten, "not distinguishable from": alike, "more than": better}
        compared = [f"{words} {', '.join(names)}" for words, names in relations.items() if names]
        sentences.append(
            f"n = {n}: least at k = {best.parameters['threshold']} with {best.estimate} bytes per message, "
            f"{'; '.join(compared)}."
        )
    return "All control information, extras included. " + " ".join(sentences)


TOTAL = Figure(
    name="total_size",
    title="All control information per message, against protocols without extras",
    question="Is there a k at which extras pay? Where do the curves cross?",
    grid=list_points_by_group_size,
    measure=measure_costs_at_threshold,
    plots=(
        Plot("Control bytes per message, extras included", metric="total_bytes", x="n", series="protocol"),
        Plot("The same for each threshold", metric="total_bytes", x="n", series="threshold", log_y=True),
    ),
    conclude=summarize_control_bytes_by_group_size,
    seeds=SEEDS,
)


# Different thresholds in one group


MIXTURES = ("all small", "one small", "one large", "all large")


def list_points_by_mixture(scale: Scale) -> Iterator[Point]:
    """One process that differs from the rest, and groups in which none does."""
    return fill_grid([PROTOCOL], n=[8], mixture=MIXTURES, messages=[MESSAGES[scale]])


def measure_extras_in_mixture(cell: Cell) -> Metrics:
    """Run a group whose first process may have another k than the rest; and count who sends extras."""
    n = int(cell.parameters["n"])
    small = n + 1
    large = (n - 1) ** 2 + 1
    first, rest = {
        "all small": (small, small),
        "one small": (small, large),
        "one large": (large, small),
        "all large": (large, large),
    }[str(cell.parameters["mixture"])]
    plan = make_plan(cell, k=rest)
    plan = plan.with_own_options({plan.names[0]: {"k": first}})
    counter, run = run_with_recorder(plan, lambda queue: PacketCounter())
    metrics = list_run_metrics(run)
    own = max(counter.sent[0], 1)
    others = max(counter.sent.total() - counter.sent[0], 1)
    name = plan.names[0]
    extras = counter.extras
    stamp_bytes = counter.stamp_bytes
    return {
        "extras": metrics["extras"],
        "wait": metrics["wait"],
        "extras_of_the_first": extras[name] / own,
        "extras_of_the_others": (extras.total() - extras[name]) / others,
        "stamp_bytes_of_the_first": stamp_bytes[name] / own,
        "stamp_bytes_of_the_others": (stamp_bytes.total() - stamp_bytes[name]) / others,
    }


class PacketCounter(Recorder):
    """Counts, for each process, the messages and extras that it sends, and the bytes of its stamps."""

    def __init__(self) -> None:
        self.sent: Counter[int] = Counter()
        self.extras: Counter[str] = Counter()
        self.stamp_bytes: Counter[str] = Counter()

    def on_send(self, process: int, message: int, targets: list[int], depends_on: int | None) -> None:
        """A process sends."""
        self.sent[process] += 1

    def on_receive(self, process: int, packet: Packet, message: int | None) -> None:
        """A packet arrives: count it for its source."""
        if packet.kind == "extra":
            self.extras[packet.source] += 1
        else:
            self.stamp_bytes[packet.source] += packet.control_bytes


def summarize_extras_in_mixtures(results: Results) -> str:
    """Who pays."""
    sentences = []
    for mixture, k, other_k in (
        ("one small", "k = n + 1", "k = (n - 1)^2 + 1"),
        ("one large", "k = (n - 1)^2 + 1", "k = n + 1"),
    ):
        first = results.estimate("extras_of_the_first", PROTOCOL, mixture=mixture)
        others = results.estimate("extras_of_the_others", PROTOCOL, mixture=mixture)
        sentences.append(
            f"One process with {k} among others with {other_k} sends {format_share(first)}, "
            f"{compare_estimates(first, others)} the others, which send {format_share(others)}."
        )
    small = results.estimate("stamp_bytes_of_the_first", PROTOCOL, mixture="one small")
    beside = results.estimate("stamp_bytes_of_the_others", PROTOCOL, mixture="one small")
    alone = results.estimate("stamp_bytes_of_the_others", PROTOCOL, mixture="all large")
    everywhere = results.estimate("extras_of_the_others", PROTOCOL, mixture="all small")
    return (
        f"Extras per message of the process. {' '.join(sentences)} (If all have k = n + 1, each sends "
        f"{format_share(everywhere)}.) The stamps of the one with a small k have {small} bytes, "
        f"{compare_estimates(small, beside)} those of the others with {beside}, which is "
        f"{compare_estimates(beside, alone)} the {alone} of a group in which all have a large k."
    )


MIXED = Figure(
    name="mixed_thresholds",
    title="Processes with different thresholds in one group",
    question="If processes choose different k, who pays?",
    grid=list_points_by_mixture,
    measure=measure_extras_in_mixture,
    plots=(
        Plot(
            "Extras of the first process, per message of its own", metric="extras_of_the_first", x="mixture"
        ),
        Plot("Extras of the others, per message of theirs", metric="extras_of_the_others", x="mixture"),
    ),
    conclude=summarize_extras_in_mixtures,
    seeds=SEEDS,
)


# Time


def list_points_by_threshold_and_delay(scale: Scale) -> Iterator[Point]:
    """Thresholds under three networks, and `matrix`, which never delays needlessly."""
    delays = [EXPONENTIAL, "gaussian:20,4", "pareto:1.5,6.7"]
    common: dict[str, Any] = {"n": [8], "delay": delays, "messages": [MESSAGES[scale]]}
    for name, k in list_thresholds_by_name(8).items():
        yield from fill_grid([PROTOCOL], k=[k], threshold=[name], **common)
    yield from fill_grid(["matrix"], **common)


def summarize_needless_waiting_by_delay(results: Results) -> str:
    """What waiting is the extras' fault."""
    sentences = []
    for delay in (EXPONENTIAL, "gaussian:20,4", "pareto:1.5,6.7"):
        wait = results.estimate("wait", PROTOCOL, threshold="n + 1", delay=delay)
        needless = results.estimate("needless", PROTOCOL, threshold="n + 1", delay=delay)
        least = results.estimate("wait", "matrix", delay=delay)
        sentences.append(
            f"{delay}: {wait} ms with k = n + 1, of which {format_share(needless)} needlessly, "
            f"{compare_estimates(wait, least)} matrix with {least} ms"
        )
    return (
        f"How long a message waits after its arrival (n = 8). {'; '.join(sentences)}. A message waits "
        "needlessly for an extra if all that caused it is there already; what else it waits, it waits for "
        "messages that may have waited themselves."
    )


PENALTY = Figure(
    name="time_penalty",
    title="Waiting after arrival over the threshold",
    question="What do extras cost in time?",
    grid=list_points_by_threshold_and_delay,
    measure=measure_costs_at_threshold,
    plots=(
        Plot("Mean wait after arrival", metric="wait", x="k", series="delay", unit=""),
        Plot("Needless part of it", metric="needless", x="k", series="delay"),
    ),
    conclude=summarize_needless_waiting_by_delay,
    seeds=SEEDS,
)


# The own row


def list_points_that_count_or_ignore_own_row(scale: Scale) -> Iterator[Point]:
    """Thresholds that count the own row of the matrix, and that do not."""
    sizes = SIZES[scale] if scale == "paper" else [8]
    for n in sizes:
        for name, k in list_thresholds_by_name(n).items():
            common: dict[str, Any] = {"n": [n], "threshold": [name], "messages": [MESSAGES[scale]]}
            yield from fill_grid([PROTOCOL], k=[k], own_row=[True], **common)
            # The same room for what others say: the own row has n - 1 entries once all have been written to.
            yield from fill_grid([PROTOCOL], k=[k - n + 1], own_row=[False], **common)
            yield from fill_grid([PROTOCOL], k=[k], own_row=[False], **common)


def summarize_effect_of_counting_own_row(results: Results) -> str:
    """A change of names, or of substance."""
    n = max(point.parameters["n"] for point in results.list_points("extras"))

    def estimate_at_least_threshold(metric: str, own_row: bool) -> Estimate:
        return results.estimate(metric, PROTOCOL, n=n, k=n + 1, threshold="n + 1", own_row=own_row)

    counted = estimate_at_least_threshold("extras", own_row=True)
    uncounted = estimate_at_least_threshold("extras", own_row=False)
    bytes_counted = estimate_at_least_threshold("total_bytes", own_row=True)
    bytes_uncounted = estimate_at_least_threshold("total_bytes", own_row=False)
    entries_counted = estimate_at_least_threshold("entries", own_row=True)
    entries_uncounted = estimate_at_least_threshold("entries", own_row=False)
    return (
        f"A process's own row never shrinks: with k = n + 1 a stamp has room for one entry besides it. With "
        f"n = {n} and k = n + 1, if the own row does not count, extras per message are "
        f"{format_share(uncounted)}, "
        f"{compare_estimates(uncounted, counted)} the {counted} if it counts; a stamp has "
        f"{entries_uncounted} entries, {compare_estimates(entries_uncounted, entries_counted)} the "
        f"{entries_counted}; and all control information of a message is {bytes_uncounted} bytes, "
        f"{compare_estimates(bytes_uncounted, bytes_counted)} the {bytes_counted}."
    )


OWN_ROW = Figure(
    name="own_row",
    title="Not counting the own row against the threshold",
    question="Is it better not to count the process's own row, which can never be cleared?",
    grid=list_points_that_count_or_ignore_own_row,
    measure=measure_costs_at_threshold,
    plots=(
        Plot("Extra messages per message", metric="extras", x="k", series="own_row"),
        Plot("All control bytes per message", metric="total_bytes", x="k", series="own_row"),
    ),
    conclude=summarize_effect_of_counting_own_row,
    seeds=SEEDS,
)


STUDY = Study(
    name="sanchez",
    title="Sanchez, Alvarez: matrix clocks kept small by extra messages",
    about=(
        "A process that knows of k or more constraints sends extra messages until it knows of fewer. "
        "Stamps stay small; what does that cost in messages, bytes and time?"
    ),
    figures=(EXTRAS, TOTAL, MIXED, PENALTY, OWN_ROW),
)
