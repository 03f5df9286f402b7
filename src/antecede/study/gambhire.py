"""Gambhire and Kshemkalyani 2000: causal order only where the application depends on it. What does that save?

Causal order delays a message for everything that happened before it, also for what it has nothing to do with:
false causality. The paper's protocol (`semantic`) asks the application which own event a message depends on,
and keeps its stamps simple: it still orders some messages that no dependence demands. Those were sent in the
distant past, the authors expect, so that this rarely delays anything, and then not for long. They measure
nothing; here it is measured, against matrix clocks (Raynal, Schiper, Toueg) and against the ideal: deliver a
message as soon as it and everything that it was declared to depend on has arrived.

Traffic is uniform. With some chance a message depends on one of the latest `depth` events of its sender
(sends and deliveries), else on nothing. Two messages of each process are under way on average, a packet takes
20 ms, drawn from an exponential distribution, and channels are FIFO, as in the paper, unless said otherwise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from antecede.core.packet import Packet
from antecede.protocols.semantic import Semantic
from antecede.simulate.network import Network
from antecede.simulate.oracle import list_set_bits
from antecede.simulate.queue import Queue
from antecede.simulate.run import Plan, run_with_recorder
from antecede.simulate.trace import Recorder
from antecede.study.estimates import Results, compare_estimates, format_share
from antecede.study.experiment import Cell, Figure, Metrics, Plot, Point, Scale, Study, fill_grid
from antecede.study.simulated import EXCHANGE, EXPONENTIAL, find_rate_for_load, list_run_metrics, measure_plan

PROTOCOL = "semantic"
BASE = "matrix"
IDEAL = "ideal"
"""Not a protocol: what could be done with the declared dependences of a run of `semantic`."""
MESSAGES: dict[Scale, int] = {"quick": 800, "paper": 4000}
SEEDS: dict[Scale, int] = {"quick": 4, "paper": 20}
N = 8
"""The processes of a group, where a point does not say."""
LOAD = 2.0
"""Messages of each process that are under way on average."""
DEPTH = 5
"""A dependence is on one of so many latest events of the sender, where a point does not say."""


def make_plan(cell: Cell, protocol: str, **more: Any) -> Plan:
    """The plan of a cell: chance, depth, n and messages are its parameters."""
    parameters = cell.parameters
    settings = {
        "processes": int(parameters.get("n", N)),
        "network": Network(delay=EXPONENTIAL, fifo=True),
        **more,
    }
    return Plan(
        protocol=protocol,
        workload=f"dependent:{parameters['chance']:g},{parameters.get('depth', DEPTH)}",
        messages=int(parameters["messages"]),
        rate=find_rate_for_load(LOAD),
        seed=cell.seed,
        **settings,
    )


class IdealDelivery:
    """Delivers each message as soon as it and all that it was declared to depend on has arrived."""

    def __init__(self, n: int) -> None:
        self.arrived = [0] * n
        """For each process, the messages that have arrived, as bits."""
        self.held: list[list[int]] = [[] for _ in range(n)]
        """For each process, what has arrived and lacks a declared cause that has not."""
        self.arrivals: dict[tuple[int, int], float] = {}
        self.total_wait = 0.0
        self.waited = 0

    def receive_message(
        self,
        process: int,
        message: int,
        messages_for_process: int,
        causes_by_message: list[int],
        now_ms: float,
    ) -> None:
        """A message arrives: deliver everything that lacks nothing now.

        Sets of messages are bits; `causes_by_message` has the declared causes of each message.
        """
        self.arrivals[process, message] = now_ms
        self.arrived[process] |= 1 << message
        under_way = messages_for_process & ~self.arrived[process]
        still_held = []
        for held in (*self.held[process], message):
            if causes_by_message[held] & under_way:
                still_held.append(held)
                continue
            wait = now_ms - self.arrivals.pop((process, held))
            self.total_wait += wait
            self.waited += wait > 0
        self.held[process] = still_held


class WaitingRecorder(Recorder):
    """Adds up how long messages wait in a run, for declared causes and for false ones.

    Sets of messages are whole numbers with a bit for each message. What a message depends on is closed: with
    a message it contains what that one depends on. A *forced* cause of a message is one that `semantic` makes
    it wait for; a *false* one is forced, not declared, and from another sender, since order among messages
    from one sender is kept by the channel. A cause is *near* if it was sent less than `horizon_ms` before the
    message, and *distant* otherwise.
    """

    def __init__(self, queue: Queue, n: int, protocol: str, horizon_ms: float) -> None:
        self.queue = queue
        self.n = n
        self.horizon_ms = horizon_ms
        self.is_semantic = protocol == PROTOCOL
        self.events: list[list[int]] = [[0] for _ in range(n)]
        """For each process, what its own events depend on, by their number from 1; number 0 is no event."""
        self.past: list[int] = []
        """What each message depends on."""
        self.sender: list[int] = []
        self.sent: list[float] = []
        self.sent_by = [0] * n
        self.addressed = [0] * n
        self.delivered = [0] * n
        self.channels: dict[tuple[int, int], list[int]] = defaultdict(list)
        """From whom to whom: the messages, in the order of their sends."""
        self.places: dict[tuple[int, int], int] = {}
        """A process and a message for it: how many came before that one on its channel."""
        self.arrivals: dict[tuple[int, int], float] = {}
        self.deliveries: dict[tuple[int, int], float] = {}
        self.missing: dict[tuple[int, int], tuple[int, list[int]]] = {}
        """Of what has arrived: the declared causes that were undelivered then, and the false ones."""
        self.ideal = IdealDelivery(n)
        self.sums: dict[str, float] = defaultdict(float)

    def on_send(self, process: int, message: int, targets: list[int], depends_on: int | None) -> None:
        """A process sends."""
        past = self.events[process][depends_on or 0]
        self.past.append(past)
        self.sender.append(process)
        self.sent.append(self.queue.now)
        self.sent_by[process] |= 1 << message
        self.events[process].append(past | 1 << message)
        for target in targets:
            channel = self.channels[process, target]
            self.places[target, message] = len(channel)
            channel.append(message)
            self.addressed[target] |= 1 << message

    def on_receive(self, process: int, packet: Packet, message: int | None) -> None:
        """A message arrives: which of its causes are not there?"""
        if message is None:
            return
        self.arrivals[process, message] = self.queue.now
        undelivered = self.addressed[process] & ~self.delivered[process] & ~(1 << message)
        false_causes: list[int] = []
        if self.is_semantic:
            needs = self._read_needed_message_counts(process, packet, message)
            self._count_false_causes(process, message, needs)
            false_causes = self._list_undelivered_false_causes(process, message, needs, undelivered)
            for cause in false_causes:
                self.sums[f"{self._classify_cause_by_age(message, cause)}_costly_pairs"] += 1
        self.missing[process, message] = (self.past[message] & undelivered, false_causes)
        self.ideal.receive_message(process, message, self.addressed[process], self.past, self.queue.now)

    def on_deliver(self, process: int, source: int, message: int) -> None:
        """A message is delivered: how long did it wait, and for what?"""
        now = self.queue.now
        arrival = self.arrivals[process, message]
        declared_causes, false_causes = self.missing.pop((process, message))
        self.deliveries[process, message] = now
        self.delivered[process] |= 1 << message
        self.events[process].append(self.past[message] | 1 << message)
        # A protocol that breaks the declared order delivers a message before some of its causes.
        delivered_causes = list_set_bits(declared_causes & self.delivered[process])
        cause_delivery_times = [self.deliveries[process, cause] for cause in delivered_causes]
        ready = max([arrival, *cause_delivery_times])
        self.sums["deliveries"] += 1
        self.sums["waited"] += now > arrival
        self.sums["wait"] += now - arrival
        self.sums["delayed"] += now > ready
        self.sums["false_wait"] += now - ready
        if false_causes and now > ready:
            # The wait ended with the last delivery, so all of it counts for that false cause.
            last = max(false_causes, key=lambda cause: self.deliveries[process, cause])
            self.sums[f"{self._classify_cause_by_age(message, last)}_wait"] += now - ready

    def _read_needed_message_counts(self, process: int, packet: Packet, message: int) -> Sequence[int]:
        """From its stamp, how many messages of each process a message waits for."""
        source = self.sender[message]
        stamp = Semantic.read_stamp(packet.kind, packet.stamp, source, process, self.n)
        needs, _ = Semantic.find_needs_and_gains(stamp, source, process)
        return needs

    def _list_undelivered_false_causes(
        self, process: int, message: int, needs: Sequence[int], undelivered: int
    ) -> list[int]:
        """The false causes of a message that are still undelivered."""
        from_others = ~self.sent_by[self.sender[message]]
        candidates = list_set_bits(undelivered & ~self.past[message] & from_others)
        return [cause for cause in candidates if self.places[process, cause] < needs[self.sender[cause]]]

    def _count_false_causes(self, process: int, message: int, needs: Sequence[int]) -> None:
        """Count all false causes of a message, delivered or not, near and distant."""
        for other, number in enumerate(needs):
            if other != self.sender[message]:
                self._count_false_causes_from(other, process, message, number)

    def _count_false_causes_from(self, other: int, process: int, message: int, needed_count: int) -> None:
        """Count those among the first `number` messages from another process, all of which are forced.

        All causes from there that are declared are among them, as the protocol keeps the declared order.
        """
        past = self.past[message]
        channel = self.channels[other, process]
        near_since = self.sent[message] - self.horizon_ms
        first_near = bisect_left(channel, near_since, hi=needed_count, key=lambda cause: self.sent[cause])
        near = channel[first_near:needed_count]
        near_declared = sum(past >> cause & 1 for cause in near)
        declared = (past & self.sent_by[other] & self.addressed[process]).bit_count()
        self.sums["near_pairs"] += len(near) - near_declared
        self.sums["distant_pairs"] += first_near - (declared - near_declared)

    def _classify_cause_by_age(self, message: int, cause: int) -> str:
        """Where a cause comes from: the near or the distant past."""
        return "near" if self.sent[message] - self.sent[cause] < self.horizon_ms else "distant"


def run_and_record_waiting(plan: Plan, horizon_ms: float = 0) -> tuple[WaitingRecorder, Metrics]:
    """Run a plan: the record of its waiting, and what any run measures."""
    recorder, run = run_with_recorder(
        plan,
        lambda queue: WaitingRecorder(queue, plan.processes, plan.protocol, horizon_ms),
    )
    return recorder, list_run_metrics(run)


def measure_waiting(cell: Cell) -> Metrics:
    """Run a cell, and judge its waiting by what was declared.

    The ideal is computed from a run of `semantic`.
    """
    if cell.protocol == IDEAL:
        recorder, run_metrics = run_and_record_waiting(make_plan(cell, PROTOCOL))
        ideal = recorder.ideal
        return _list_waiting_metrics_with_saving_against_matrix(
            cell, recorder, run_metrics["time"], ideal.total_wait, ideal.waited
        )
    recorder, run_metrics = run_and_record_waiting(make_plan(cell, cell.protocol))
    sums = recorder.sums
    metrics = _list_waiting_metrics_with_saving_against_matrix(
        cell, recorder, run_metrics["time"], sums["wait"], sums["waited"]
    )
    metrics["false_wait"] = sums["false_wait"] / max(sums["deliveries"], 1)
    if sums["wait"]:
        metrics["false_share"] = sums["false_wait"] / sums["wait"]
    return metrics | {name: run_metrics[name] for name in ("peak_held", "control_bytes", "early_rate")}


def _list_waiting_metrics_with_saving_against_matrix(
    cell: Cell, recorder: WaitingRecorder, run_ms: float, total_wait: float, waited: float
) -> Metrics:
    """The metrics of protocols and of the ideal.

    `saved` is the share of the waiting under `matrix` that is avoided: with the same seed `matrix` has the
    same messages, and they arrive at the same times.
    """
    deliveries = max(recorder.sums["deliveries"], 1)
    metrics = {
        "wait": total_wait / deliveries,
        "waited_rate": waited / deliveries,
        "buffer_mean": total_wait / recorder.n / run_ms,
    }
    base, _ = run_and_record_waiting(make_plan(cell, BASE))
    if base.sums["wait"]:
        metrics["saved"] = 1 - total_wait / base.sums["wait"]
    return metrics


def measure_remaining_false_causality(cell: Cell) -> Metrics:
    """What `semantic` orders without a dependence: the share of such pairs that costs time, and how much."""
    horizon_ms = float(cell.parameters["horizon"]) * EXCHANGE
    recorder, _ = run_and_record_waiting(make_plan(cell, PROTOCOL), horizon_ms)
    sums = recorder.sums
    deliveries = max(sums["deliveries"], 1)
    metrics = {
        "near_cost": sums["near_costly_pairs"] / max(sums["near_pairs"], 1),
        "distant_cost": sums["distant_costly_pairs"] / max(sums["distant_pairs"], 1),
        "near_wait": sums["near_wait"] / deliveries,
        "distant_wait": sums["distant_wait"] / deliveries,
        "delayed_rate": sums["delayed"] / deliveries,
    }
    if sums["delayed"]:
        metrics["distant_share"] = sums["distant_wait"] / sums["false_wait"]
        metrics["delay"] = sums["false_wait"] / sums["delayed"]
    return metrics | {name: sums[name] / deliveries for name in ("near_pairs", "distant_pairs")}


# Delays and buffers


DEPTHS: dict[Scale, list[int]] = {"quick": [1, 5, 50], "paper": [1, 2, 5, 10, 50]}
CHANCES: dict[Scale, list[float]] = {
    "quick": [0.0, 0.1, 0.25, 0.5, 1.0],
    "paper": [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0],
}


def list_points_by_dependence_chance_and_depth(scale: Scale) -> Iterator[Point]:
    """From no dependence to one in every message, from the latest event to one long ago."""
    common: dict[str, Any] = {"chance": CHANCES[scale], "messages": [MESSAGES[scale]]}
    yield from fill_grid([BASE], depth=[DEPTH], case=[BASE], **common)
    for depth in DEPTHS[scale]:
        for protocol in (PROTOCOL, IDEAL):
            yield from fill_grid([protocol], depth=[depth], case=[f"{protocol}, depth {depth}"], **common)


def summarize_saved_waiting(results: Results) -> str:
    """What is saved, and what could be."""
    depths = sorted({point.parameters["depth"] for point in results.list_points("wait", PROTOCOL)})
    sentences = []
    for chance in (0.0, 0.1, 0.5, 1.0):
        words = []
        for depth in depths:
            own = results.estimate("saved", PROTOCOL, chance=chance, depth=depth)
            ideal = results.estimate("saved", IDEAL, chance=chance, depth=depth)
            words.append(f"{own} with depth {depth} (the ideal {ideal})")
        sentences.append(f"chance {chance:g}: {', '.join(words)}")
    wait = results.estimate("wait", BASE, chance=0.1)
    held = results.estimate("buffer_mean", PROTOCOL, chance=0.1, depth=DEPTH)
    held_by_matrix = results.estimate("buffer_mean", BASE, chance=0.1)
    return (
        f"Under matrix a message waits {wait} ms after its arrival. Of that, {PROTOCOL} saves this share, on "
        f"the same messages and arrivals. {'; '.join(sentences)}. What a process holds follows the "
        f"waiting: with a chance of 0.1 and a depth of {DEPTH}, {held} messages on average, {held_by_matrix} "
        "under matrix."
    )


DELAYS = Figure(
    name="delays",
    title="Waiting and buffers over the chance of a dependence",
    question="How much waiting and buffering is saved, against causal order and against the ideal?",
    grid=list_points_by_dependence_chance_and_depth,
    measure=measure_waiting,
    plots=(
        Plot("Mean wait after arrival, ms", metric="wait", x="chance", series="case"),
        Plot("Share of matrix's waiting that is saved", metric="saved", x="chance", series="case"),
        Plot("Messages held by a process, on average", metric="buffer_mean", x="chance", series="case"),
    ),
    conclude=summarize_saved_waiting,
    seeds=SEEDS,
)


# What false causality is left, and where


HORIZONS = [1, 2, 5, 10]
RESIDUE_CHANCES = (0.1, 0.5, 1.0)


def list_points_by_horizon(scale: Scale) -> Iterator[Point]:
    """Where the distant past begins: so many mean delays before a message was sent."""
    return fill_grid(
        [PROTOCOL], chance=RESIDUE_CHANCES, horizon=HORIZONS, depth=[DEPTH], messages=[MESSAGES[scale]]
    )


def summarize_remaining_false_causality(results: Results) -> str:
    """Whether the distant part costs."""
    sentences = []
    for chance in RESIDUE_CHANCES:
        where = {"chance": chance, "horizon": 2}
        near = results.estimate("near_cost", PROTOCOL, **where)
        distant = results.estimate("distant_cost", PROTOCOL, **where)
        share = results.estimate("distant_share", PROTOCOL, **where)
        delayed = results.estimate("delayed_rate", PROTOCOL, **where)
        delay = results.estimate("delay", PROTOCOL, **where)
        near_number = results.estimate("near_pairs", PROTOCOL, **where)
        distant_number = results.estimate("distant_pairs", PROTOCOL, **where)
        sentences.append(
            f"With a chance of {chance:g}, {near} of the near pairs make a message wait, and {distant} of "
            f"the distant ones, which is {compare_estimates(distant, near)} the former; a message has "
            f"{near_number} near and {distant_number} distant ones; the distant ones cause {share} of all "
            f"needless waiting. {delayed} of the messages wait needlessly, {delay} ms on average."
        )
    by_horizon = ", ".join(
        f"{results.estimate('distant_share', PROTOCOL, chance=0.1, horizon=horizon)} at {horizon}"
        for horizon in HORIZONS
    )
    return (
        "Pairs of messages that the protocol orders and no dependence does; near is what was sent less than "
        f"two mean delays before the message. {' '.join(sentences)} How much of the needless "
        "waiting the distant past causes depends on where it begins; with a chance of 0.1, by mean delays "
        f"before the message: {by_horizon}."
    )


RESIDUE = Figure(
    name="residue",
    title="The false causality that is left, in the near and in the distant past",
    question="Is what is left of false causality in the distant past, and does it rarely cost anything?",
    grid=list_points_by_horizon,
    measure=measure_remaining_false_causality,
    plots=(
        Plot(
            "Distant pairs that cost", metric="distant_cost", x="horizon", series="chance", unit="mean delays"
        ),
        Plot(
            "Wait for the distant past, ms",
            metric="distant_wait",
            x="horizon",
            series="chance",
            unit="mean delays",
        ),
        Plot(
            "Wait for the near past, ms", metric="near_wait", x="horizon", series="chance", unit="mean delays"
        ),
    ),
    conclude=summarize_remaining_false_causality,
    seeds=SEEDS,
)


# The rules as printed, and corrected


CHANNELS = {"FIFO": True, "any order": False}
FANOUTS = {"one destination": 1, "three destinations": 3}
VARIANTS = ("printed", "corrected")


def list_points_by_variant_and_channels(scale: Scale) -> Iterator[Point]:
    """Figure 3 of the paper and its correction, where the paper says that it works and where it does not."""
    for variant in VARIANTS:
        for channels in CHANNELS:
            for destinations in FANOUTS:
                yield from fill_grid(
                    [PROTOCOL],
                    variant=[variant],
                    channels=[channels],
                    destinations=[destinations],
                    case=[f"{variant}, {destinations}"],
                    chance=[0.5],
                    messages=[MESSAGES[scale]],
                )


def measure_deliveries_under_variant(cell: Cell) -> Metrics:
    """Run a cell with its rules over its channels; deliveries are judged by what was declared."""
    parameters = cell.parameters
    plan = make_plan(
        cell,
        PROTOCOL,
        fanout=FANOUTS[str(parameters["destinations"])],
        network=Network(delay=EXPONENTIAL, fifo=CHANNELS[str(parameters["channels"])]),
        options={"variant": parameters["variant"]},
    )
    metrics = measure_plan(plan)
    shown = ("early_rate", "late_rate", "stuck", "wait", "needless", "needless_rate", "control_bytes")
    return {name: metrics[name] for name in shown}


def summarize_order_by_variant(results: Results) -> str:
    """Where the printed rules break order, and what the correction costs."""
    sentences = []
    for channels in CHANNELS:
        for destinations in FANOUTS:
            where = {"channels": channels, "destinations": destinations}
            early = results.estimate("early_rate", PROTOCOL, variant="printed", **where)
            early_corrected = results.estimate("early_rate", PROTOCOL, variant="corrected", **where)
            wait = results.estimate("wait", PROTOCOL, variant="printed", **where)
            wait_corrected = results.estimate("wait", PROTOCOL, variant="corrected", **where)
            sentences.append(
                f"{channels}, {destinations}: {format_share(early)} of the deliveries as printed, "
                f"{format_share(early_corrected)} as corrected; wait {wait} ms and {wait_corrected} ms"
            )
    return (
        "Deliveries before something that the message was declared to depend on (chance 0.5, depth "
        f"{DEPTH}). {'; '.join(sentences)}. The corrected rules also keep the messages of a channel "
        "in order, which is part of their wait where channels do not."
    )


PRINTED = Figure(
    name="printed",
    title="The rules as printed and as corrected",
    question="How often do the printed rules break the declared order, and what does the correction cost?",
    grid=list_points_by_variant_and_channels,
    measure=measure_deliveries_under_variant,
    plots=(
        Plot("Deliveries against the declared order", metric="early_rate", x="channels", series="case"),
        Plot("Mean wait after arrival, ms", metric="wait", x="channels", series="case"),
    ),
    conclude=summarize_order_by_variant,
    seeds=SEEDS,
)


# The same idea on smaller stamps


SIZES: dict[Scale, list[int]] = {"quick": [4, 8, 16], "paper": [4, 8, 16, 32]}


def list_points_by_group_size(scale: Scale) -> Iterator[Point]:
    """Protocols with causal order, `semantic` and the ideal, over the size of the group."""
    return fill_grid(
        ["matrix", "optimal", PROTOCOL, IDEAL], n=SIZES[scale], chance=[0.25], messages=[MESSAGES[scale]]
    )


def summarize_waiting_that_optimal_could_save(results: Results) -> str:
    """What there is to win for Kshemkalyani and Singhal."""
    sentences = []
    for n in sorted({point.parameters["n"] for point in results.list_points("wait")}):
        wait = results.estimate("wait", "optimal", n=n)
        false = results.estimate("false_share", "optimal", n=n)
        saved = results.estimate("saved", PROTOCOL, n=n)
        most = results.estimate("saved", IDEAL, n=n)
        small = results.estimate("control_bytes", "optimal", n=n)
        large = results.estimate("control_bytes", PROTOCOL, n=n)
        if false.number:
            words = (
                f"{false} of it is demanded by no dependence; the ideal saves {most} of the waiting, "
                f"{PROTOCOL} {saved}"
            )
        else:
            words = "nothing could be saved"
        sentences.append(
            f"n = {n}: of {wait} ms of waiting under optimal {words}; stamps of {PROTOCOL} have {large} "
            f"bytes, {compare_estimates(large, small)} those of optimal with {small}"
        )
    return (
        "There is no protocol here that applies the idea to the smaller stamps of Kshemkalyani and Singhal "
        "(optimal). Measured is what there is to save: how much of optimal's waiting no declared dependence "
        f"demanded, and what the ideal would save (chance 0.25, depth {DEPTH}). {'; '.join(sentences)}."
    )


STAMPS = Figure(
    name="smaller_stamps",
    title="What the idea could save on the stamps of Kshemkalyani and Singhal",
    question="Would the idea pay on stamps smaller than a matrix?",
    grid=list_points_by_group_size,
    measure=measure_waiting,
    plots=(
        Plot("Waiting that no dependence demands, ms", metric="false_wait", x="n"),
        Plot("Control bytes per message", metric="control_bytes", x="n", log_y=True),
    ),
    conclude=summarize_waiting_that_optimal_could_save,
    seeds=SEEDS,
)


STUDY = Study(
    name="gambhire",
    title="Gambhire, Kshemkalyani 2000: causal order where the application depends on it",
    about=(
        "Messages declare which event of their sender they depend on, and wait for less. How much waiting "
        "and buffering does that save, how much false causality is left, and are the printed rules right?"
    ),
    figures=(DELAYS, RESIDUE, PRINTED, STAMPS),
)
