"""Mattern and Fünfrocken 1995: buffers and acknowledgements instead of timestamps. When does that cost time?

In the paper a message leaves its sender only when the one before it has been acknowledged. That "should be
barely noticeable" where acknowledgements are quick, the authors expect, and add that they "lack experimental
demonstrations which would support that claim". Here they are: a packet takes 20 ms, drawn from an exponential
distribution, so that a message and its acknowledgement take 40 ms; processes send more and more often.

Also asked: what the protocol's variants change, what it does when a receiver is down, and which programs
block under buffers that do not block under matrix clocks. Besides the protocol of the paper (`buffered`)
there are those that it led to, if this version has them: `release` keeps a message back only while messages
to *other* destinations are not acknowledged, `eager` sends at once and lets whoever receives a message wait
with its own, and `acknowledged` has the stamps of `optimal` made smaller by acknowledgements of deliveries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from string import ascii_lowercase
from typing import Any

import numpy as np

from antecede.protocols.registry import list_protocols
from antecede.simulate.explorer import explore
from antecede.simulate.network import Network
from antecede.simulate.oracle import Oracle
from antecede.simulate.programs import Instruction, Program, Receive, Send
from antecede.simulate.queue import Queue
from antecede.simulate.run import Plan, run_with_recorder
from antecede.simulate.trace import Recorder
from antecede.study.estimates import Results, compare_estimates, format_share
from antecede.study.experiment import Cell, Figure, Metrics, Plot, Point, Scale, Study, fill_grid
from antecede.study.simulated import EXCHANGE, EXPONENTIAL, list_run_metrics

PROTOCOL = "buffered"
RIVALS = ("matrix", "optimal")
MESSAGES: dict[Scale, int] = {"quick": 800, "paper": 8000}
SEEDS: dict[Scale, int] = {"quick": 4, "paper": 20}
N = 8
ROUND_TRIP = 2 * EXCHANGE
"""Milliseconds from a message to its acknowledgement, on average."""
RATIOS: dict[Scale, list[float]] = {
    "quick": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
    "paper": [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0],
}
"""Round trip over the gap between two messages of a process: at 1 a process sends every 40 ms."""


SUCCESSORS = {
    "release": "keeps a message back only while messages to other destinations are not acknowledged",
    "eager": "sends at once, and whoever receives a message may have to wait with its own",
}
"""Protocols without causes on the wire that came after, and what they do."""


def select_known_protocols(*names: str) -> list[str]:
    """Those protocols that this version has."""
    return [name for name in names if name in list_protocols()]


def make_plan(cell: Cell, **more: Any) -> Plan:
    """The plan of a cell: its ratio says how often processes send."""
    gap = ROUND_TRIP / float(cell.parameters["ratio"])
    settings = {
        "processes": N,
        "messages": int(cell.parameters.get("messages", 0)),
        "network": Network(delay=str(cell.parameters.get("delay", EXPONENTIAL))),
        **more,
    }
    return Plan(protocol=cell.protocol, rate=1000 / gap, seed=cell.seed, **settings)


class ThroughputRecorder(Recorder):
    """Counts the copies that are delivered until the last message is sent."""

    def __init__(self) -> None:
        self.sent = 0
        self.delivered = 0
        self.delivered_at_last_send = 0

    @property
    def share_delivered_while_sending(self) -> float:
        """The share of all copies that was delivered while the applications still sent."""
        return self.delivered_at_last_send / max(self.sent, 1)

    def on_send(self, process: int, message: int, targets: list[int], depends_on: int | None) -> None:
        """A process sends; perhaps it is the last time."""
        self.sent += len(targets)
        self.delivered_at_last_send = self.delivered

    def on_deliver(self, process: int, source: int, message: int) -> None:
        """A copy is delivered."""
        self.delivered += 1


def measure_speed(plan: Plan) -> Metrics:
    """Run a plan: latency, the part of it that order adds, and how much of what is sent gets through."""
    recorder, run = run_with_recorder(plan, lambda queue: ThroughputRecorder())
    metrics = list_run_metrics(run)
    shown = ("held_back", "wait", "latency_p99", "control_bytes", "acks", "total_bytes", "early_rate")
    return {
        "latency": metrics["latency"],
        # A message takes its time on the wire in any case; the rest is what the protocol adds.
        "added": metrics["held_back"] + metrics["wait"] + metrics["blocked"],
        "throughput": recorder.share_delivered_while_sending,
        **{name: metrics[name] for name in shown},
    }


def list_measured_ratios(results: Results) -> list[float]:
    """The ratios at which something was measured."""
    return sorted({point.parameters["ratio"] for point in results.list_points("added")})


def find_onset_ratio(holds_at_ratio: dict[float, bool]) -> float | None:
    """The least ratio from which on something holds, at all larger ones too; None if there is none."""
    onset = None
    for ratio in sorted(holds_at_ratio, reverse=True):
        if not holds_at_ratio[ratio]:
            break
        onset = ratio
    return onset


# The claim of the paper


def list_points_by_round_trip_ratio(scale: Scale) -> Iterator[Point]:
    """All protocols, from a network that is much faster than the processes to one that is much slower."""
    protocols = [PROTOCOL, *RIVALS, *select_known_protocols("release", "eager", "acknowledged")]
    delays = [EXPONENTIAL] if scale == "quick" else [EXPONENTIAL, "gaussian:20,4"]
    return fill_grid(protocols, ratio=RATIOS[scale], delay=delays, messages=[MESSAGES[scale]])


def measure_speed_at_ratio(cell: Cell) -> Metrics:
    """Run a cell of uniform traffic."""
    return measure_speed(make_plan(cell))


def summarize_added_time_by_ratio(results: Results) -> str:
    """Where the delay begins to be noticed, and where messages pile up."""
    sentences: list[str] = []
    noticed: dict[float, bool] = {}
    piled_up: dict[float, bool] = {}
    for ratio in list_measured_ratios(results):
        own = results.estimate("added", PROTOCOL, ratio=ratio, delay=EXPONENTIAL)
        matrix = results.estimate("added", "matrix", ratio=ratio, delay=EXPONENTIAL)
        through = results.estimate("throughput", PROTOCOL, ratio=ratio, delay=EXPONENTIAL)
        rival = results.estimate("throughput", "matrix", ratio=ratio, delay=EXPONENTIAL)
        sentences.append(f"{ratio:g}: {own} ms, {compare_estimates(own, matrix)} matrix with {matrix}")
        noticed[ratio] = own.low > 0.1 * EXCHANGE
        piled_up[ratio] = through.is_below(rival)
    least = min(list_measured_ratios(results))
    own = results.estimate("latency", PROTOCOL, ratio=least, delay=EXPONENTIAL)
    matrix = results.estimate("latency", "matrix", ratio=least, delay=EXPONENTIAL)
    words = [
        f"At the least ratio, {least:g}, a message takes {own} ms under {PROTOCOL}, "
        f"{compare_estimates(own, matrix)} {matrix} ms under matrix. What order adds to the "
        f"{EXCHANGE:g} ms on the wire, by round trip over gap: {'; '.join(sentences)}."
    ]
    if (onset := find_onset_ratio(noticed)) is not None:
        words.append(
            f"From a ratio of {onset:g} on buffers add, by the whole interval, more than a tenth of "
            f"the {EXCHANGE:g} ms."
        )
    if (onset := find_onset_ratio(piled_up)) is not None:
        largest = max(piled_up)
        most = results.estimate("throughput", PROTOCOL, ratio=largest, delay=EXPONENTIAL)
        words.append(
            f"From a ratio of {onset:g} on less gets through than with matrix clocks: messages pile up at "
            f"their senders as long as the run lasts (at a ratio of {largest:g} {most} of what is sent is "
            "delivered before the last message is sent)."
        )
    words += describe_later_protocols(results)
    return " ".join(words)


def describe_later_protocols(results: Results) -> Iterator[str]:
    """The protocols that came after, where they were measured."""
    ratio = 0.3
    own = results.estimate("added", PROTOCOL, ratio=ratio, delay=EXPONENTIAL)
    for name, what_it_does in SUCCESSORS.items():
        other = results.estimate("added", name, ratio=ratio, delay=EXPONENTIAL)
        if other.number:
            relation = f"{compare_estimates(other, own)} {PROTOCOL} with {own}"
            yield f"At a ratio of {ratio:g} {name}, which {what_it_does}, adds {other} ms, {relation}."
    small = results.estimate("control_bytes", "acknowledged", ratio=ratio, delay=EXPONENTIAL)
    large = results.estimate("control_bytes", "optimal", ratio=ratio, delay=EXPONENTIAL)
    if small.number:
        yield (
            f"The stamps of acknowledged (optimal with acknowledgements of deliveries) have {small} bytes "
            f"there, {compare_estimates(small, large)} those of optimal with {large}."
        )


RATIO = Figure(
    name="ratio",
    title="Time that order adds, over round trip / gap between messages",
    question="Is the delay of the buffers barely noticeable where acknowledgements are quick?",
    grid=list_points_by_round_trip_ratio,
    measure=measure_speed_at_ratio,
    plots=(
        Plot("Time added to a message, ms", metric="added", x="ratio", log_x=True, log_y=True),
        Plot("Latency of a message, ms", metric="latency", x="ratio", log_x=True, log_y=True),
        Plot("Share delivered while there is sending", metric="throughput", x="ratio", log_x=True),
    ),
    conclude=summarize_added_time_by_ratio,
    seeds=SEEDS,
)


# Pipelining


PIPELINED = {"one at a time": False, "pipelined": True}
TRAFFIC = ("uniform", "bursty", "ring")


def list_points_with_and_without_pipelining(scale: Scale) -> Iterator[Point]:
    """With and without footnote 4, over channels that keep order, for three kinds of traffic."""
    for way in PIPELINED:
        for traffic in TRAFFIC:
            common: dict[str, Any] = {"ratio": RATIOS[scale], "messages": [MESSAGES[scale]]}
            yield from fill_grid(
                [PROTOCOL], way=[way], traffic=[traffic], case=[f"{traffic}, {way}"], **common
            )


def measure_speed_over_fifo_channels(cell: Cell) -> Metrics:
    """Run a cell over FIFO channels."""
    plan = make_plan(
        cell,
        workload=str(cell.parameters["traffic"]),
        network=Network(delay=EXPONENTIAL, fifo=True),
        options={"pipelined": PIPELINED[str(cell.parameters["way"])]},
    )
    return measure_speed(plan)


def summarize_latency_saved_by_pipelining(results: Results) -> str:
    """What footnote 4 saves, by traffic."""
    sentences = []
    for traffic in TRAFFIC:
        one = results.estimate("latency", PROTOCOL, ratio=0.3, case=f"{traffic}, one at a time")
        several = results.estimate("latency", PROTOCOL, ratio=0.3, case=f"{traffic}, pipelined")
        sentences.append(f"{traffic}: {several} ms, {compare_estimates(several, one)} {one} one at a time")
    return (
        "How long a message takes with pipelining, waiting in its channel included, at a round trip of "
        f"0.3 gaps: {'; '.join(sentences)}. "
        "Only messages that follow each other to one destination need not wait: in a ring all, in the other "
        f"traffic, bursts or not, one in {N - 1}."
    )


PIPELINES = Figure(
    name="pipelining",
    title="Not waiting between messages to one destination (footnote 4)",
    question="How much of the delay does pipelining take away?",
    grid=list_points_with_and_without_pipelining,
    measure=measure_speed_over_fifo_channels,
    plots=(
        # Not `added`, which leaves out waiting in the channel: that is where pipelined messages wait.
        Plot("Latency of a message, ms", metric="latency", x="ratio", series="case", log_x=True, log_y=True),
        Plot(
            "Share delivered while there is sending",
            metric="throughput",
            x="ratio",
            series="case",
            log_x=True,
        ),
    ),
    conclude=summarize_latency_saved_by_pipelining,
    seeds=SEEDS,
)


# A receiver that is down


DOWN = 0
"""The process that crashes, and comes back."""
START = 500.0
AFTER = 2000.0
UNDISTURBED = 1000.0
"""How long messages are watched where nobody is down."""
STALLED = 10 * EXCHANGE
"""A message between two others that takes longer than this is stalled: ten times the mean delay."""


class StallRecorder(Recorder):
    """Notes, in a run in which a process is down for a time, how long messages between the others stall."""

    def __init__(self, queue: Queue, end_ms: float) -> None:
        self.queue = queue
        self.end = end_ms
        self.sent: dict[int, tuple[int, float]] = {}
        """Sender and time of each message between others that was sent in that time."""
        self.stalls: dict[int, list[float]] = {}
        """For each sender, how long each of its stalled messages took."""
        self.resumed: dict[int, float] = {}
        """For each sender, how long after the end the last of them was delivered."""

    def on_send(self, process: int, message: int, targets: list[int], depends_on: int | None) -> None:
        """A process that is up writes to another one, while one is down."""
        if START <= self.queue.now < self.end and DOWN not in (process, *targets):
            self.sent[message] = (process, self.queue.now)

    def on_deliver(self, process: int, source: int, message: int) -> None:
        """Such a message is delivered."""
        if message not in self.sent:
            return
        sender, sent_at = self.sent[message]
        duration = self.queue.now - sent_at
        if duration > STALLED:
            self.stalls.setdefault(sender, []).append(duration)
            self.resumed[sender] = self.queue.now - self.end


def list_points_by_outage(scale: Scale) -> Iterator[Point]:
    """A process is never down, for a short and for a long time."""
    protocols = [PROTOCOL, *RIVALS, *select_known_protocols("release", "eager", "acknowledged")]
    outages = [0.0, 300.0, 1000.0, 3000.0]
    if scale == "paper":
        outages.append(10000.0)
    return fill_grid(protocols, outage=outages, ratio=[0.3])


def measure_stalls_in_outage(cell: Cell) -> Metrics:
    """Run a cell in which the first process goes down and comes back; the others know nothing of that."""
    outage = float(cell.parameters["outage"])
    watched = outage or UNDISTURBED
    outages = {f"p{DOWN}": (START, outage)} if outage else {}
    network = Network(delay=EXPONENTIAL, outages=outages)
    plan = make_plan(cell, network=network)
    messages = int(plan.rate * N * (START + watched + AFTER) / 1000)
    plan = make_plan(cell, network=network, messages=messages)
    recorder, run = run_with_recorder(plan, lambda queue: StallRecorder(queue, START + watched))
    run_metrics = list_run_metrics(run)
    durations = [duration for of_sender in recorder.stalls.values() for duration in of_sender]
    stalled_senders = len(recorder.stalls)
    metrics = {
        "stalled_senders": stalled_senders / (N - 1),
        "stalled_messages": len(durations) / max(len(recorder.sent), 1),
        "early_rate": run_metrics["early_rate"],
        "stuck": run_metrics["stuck"],
    }
    if durations:
        metrics["stall"] = sum(durations) / len(durations)
        metrics["resumed_after"] = sum(recorder.resumed.values()) / stalled_senders
    return metrics


def summarize_stalls_in_outages(results: Results) -> str:
    """Who stalls, and for how long."""
    protocols = list(dict.fromkeys(point.protocol for point in results.list_points("stalled_senders")))
    longest = max(point.parameters["outage"] for point in results.list_points("stalled_senders"))
    sentences = []
    for protocol in protocols:
        senders = results.estimate("stalled_senders", protocol, outage=longest)
        messages = results.estimate("stalled_messages", protocol, outage=longest)
        words = f"{protocol}: {format_share(senders)} of the other senders"
        stall = results.estimate("stall", protocol, outage=longest)
        resumed = results.estimate("resumed_after", protocol, outage=longest)
        if stall.number:
            words += (
                f", {messages} of their messages to each other, for {stall} ms; the last of them is "
                f"delivered {resumed} ms after the crashed one is back"
            )
        sentences.append(words)
    short = results.estimate("stalled_senders", PROTOCOL, outage=300)
    undisturbed = results.estimate("stalled_messages", PROTOCOL, outage=0)
    return (
        f"While one of {N} processes is down for {longest / 1000:g} s, messages between the others are "
        f"stalled (they take more than {STALLED:g} ms, ten times the mean). {'; '.join(sentences)}. If it is "
        f"down for 0.3 s, {format_share(short)} of the other senders stall under {PROTOCOL}; while nobody is "
        f"down, {format_share(undisturbed)} of the messages do. To go on also takes "
        "until the link has tried again, which it does more and more seldom while nobody answers."
    )


OUTAGE = Figure(
    name="outage",
    title="A receiver that is down for a time",
    question="If a receiver crashes and comes back, who stalls, and for how long? (round trip 0.3 gaps)",
    grid=list_points_by_outage,
    measure=measure_stalls_in_outage,
    plots=(
        Plot("Share of the other senders that stall", metric="stalled_senders", x="outage", unit="ms"),
        Plot("Share of messages between others that stall", metric="stalled_messages", x="outage", unit="ms"),
    ),
    conclude=summarize_stalls_in_outages,
    seeds=SEEDS,
)


# Several destinations


WAYS = {"two-phase": (PROTOCOL, {"multicast": "two-phase"}), "hold": (PROTOCOL, {"multicast": "hold"})}
"""The repairs for several destinations: a copy is delivered after its sender's release, which comes when all
have a copy; or it is delivered at once, and its receiver sends nothing until the release."""
FANOUT = 3


def list_points_by_multicast_repair(scale: Scale) -> Iterator[Point]:
    """Both repairs, and protocols that need none, as processes send more often."""
    common: dict[str, Any] = {"ratio": RATIOS[scale][:-1], "messages": [MESSAGES[scale] // 2]}
    for way, (protocol, _) in WAYS.items():
        yield from fill_grid([protocol], way=[way], **common)
    for protocol in (*RIVALS, *select_known_protocols("eager", "acknowledged")):
        yield from fill_grid([protocol], way=[protocol], **common)


def measure_multicast_speed(cell: Cell) -> Metrics:
    """Run a cell in which a message goes to three processes."""
    _, options = WAYS.get(str(cell.parameters["way"]), ("", {}))
    return measure_speed(make_plan(cell, fanout=FANOUT, options=options))


def summarize_multicast_repairs(results: Results) -> str:
    """Which repair adds less."""
    sentences = []
    for ratio in (0.01, 0.1, 0.3):
        two_phase = results.estimate("added", PROTOCOL, way="two-phase", ratio=ratio)
        hold = results.estimate("added", PROTOCOL, way="hold", ratio=ratio)
        matrix = results.estimate("added", "matrix", ratio=ratio)
        words = f"{ratio:g}: hold {hold} ms, {compare_estimates(hold, two_phase)} two-phase with {two_phase}"
        words += f" (matrix {matrix}"
        eager = results.estimate("added", "eager", ratio=ratio)
        if eager.number:
            words += f", eager {eager}"
        sentences.append(f"{words})")
    two_phase = results.estimate("wait", PROTOCOL, way="two-phase", ratio=0.01)
    acks_of_two_phase = results.estimate("acks", PROTOCOL, way="two-phase", ratio=0.1)
    acks_of_hold = results.estimate("acks", PROTOCOL, way="hold", ratio=0.1)
    return (
        f"What order adds to a message to {FANOUT} processes, by round trip over gap: "
        f"{'; '.join(sentences)}. "
        f"Under two-phase a message waits for its release after it has arrived, {two_phase} ms at the least "
        f"ratio. For a message two-phase takes {acks_of_two_phase} acknowledgements and releases, hold "
        f"{acks_of_hold}."
    )


MULTICAST = Figure(
    name="multicast",
    title="Two repairs for several destinations",
    question="Which of the two repairs for messages to several processes costs less time?",
    grid=list_points_by_multicast_repair,
    measure=measure_multicast_speed,
    plots=(
        Plot("Time added to a message, ms", metric="added", x="ratio", series="way", log_x=True, log_y=True),
        Plot(
            "Share delivered while there is sending", metric="throughput", x="ratio", series="way", log_x=True
        ),
    ),
    conclude=summarize_multicast_repairs,
    seeds=SEEDS,
)


# Programs that block


def draw_program_from_causal_execution(
    rng: np.random.Generator, processes: int, messages: int, selective_share: float
) -> Program:
    """A program written down from a causally ordered execution, so that it can complete.

    The execution is drawn step by step: somebody sends to somebody else, or receives something that causal
    order allows. With the chance `selective_share` a receive then names the sender.
    """
    names = [f"P{number}" for number in range(1, processes + 1)]
    code: list[list[Instruction]] = [[] for _ in names]
    oracle = Oracle(range(processes))
    under_way: list[tuple[int, int]] = []
    sent = 0
    while sent < messages or under_way:
        ready = [(to, message) for to, message in under_way if oracle.is_ready(to, message)]
        choices = len(ready) + (sent < messages)
        choice = int(rng.integers(choices))
        if choice < len(ready):
            to, message = ready[choice]
            source = int(str(oracle.sender[message]))
            is_selective = bool(rng.random() < selective_share)
            code[to].append(Receive(names[source] if is_selective else None))
            oracle.record_delivery_and_list_missing_causes(to, message)
            under_way.remove((to, message))
        else:
            source, to = (int(one) for one in rng.permutation(processes)[:2])
            code[source].append(Send(ascii_lowercase[sent], (names[to],)))
            under_way.append((to, oracle.record_send(source, [to])))
            sent += 1
    return Program(tuple(names), tuple(map(tuple, code)))


def measure_share_of_blocking_programs(programs: Iterable[Program | str], protocol: str) -> Metrics:
    """Of some programs, the share that can block under a protocol, and that cannot under matrix clocks."""
    counts = dict.fromkeys(("may_block", "matrix_may_block", "only_here", "always_only_here"), 0)
    number = 0
    for program in programs:
        here, matrix = explore(program, protocol), explore(program, "matrix")
        is_sound = not matrix.blocked
        number += 1
        counts["may_block"] += bool(here.blocked)
        counts["matrix_may_block"] += not is_sound
        counts["only_here"] += is_sound and bool(here.blocked)
        counts["always_only_here"] += is_sound and not here.outcomes
    return {name: count / max(number, 1) for name, count in counts.items()}


def list_points_by_selective_share(scale: Scale) -> Iterator[Point]:
    """More and more receives that name their sender."""
    lengths = [4] if scale == "quick" else [3, 4, 5]
    programs = [12] if scale == "quick" else [25]
    protocols = [PROTOCOL, *select_known_protocols("release", "eager")]
    chances = [0.0, 0.5, 1.0] if scale == "quick" else [0.0, 0.25, 0.5, 0.75, 1.0]
    return fill_grid(protocols, messages=lengths, selective=chances, programs=programs)


def measure_blocking_of_drawn_programs(cell: Cell) -> Metrics:
    """Draw programs of three processes and explore every execution of each."""
    parameters = cell.parameters
    rng = np.random.default_rng([cell.seed, int(parameters["messages"])])
    programs = [
        draw_program_from_causal_execution(
            rng, 3, int(parameters["messages"]), float(parameters["selective"])
        )
        for _ in range(int(parameters["programs"]))
    ]
    return measure_share_of_blocking_programs(programs, cell.protocol)


def count_program_trials(metric: str, parameters: Mapping[str, Any]) -> float:
    """The trials: all that is measured here are shares of the programs."""
    return float(parameters["programs"])


def summarize_blocking_programs(results: Results) -> str:
    """How many programs block for the sake of the buffers."""
    length = max(point.parameters["messages"] for point in results.list_points("only_here"))
    sentences = []
    for chance in (0.0, 0.5, 1.0):
        only = results.estimate("only_here", PROTOCOL, selective=chance, messages=length)
        always = results.estimate("always_only_here", PROTOCOL, selective=chance, messages=length)
        matrix = results.estimate("matrix_may_block", PROTOCOL, selective=chance, messages=length)
        sentences.append(
            f"if {chance:.0%} of the receives name their sender, {format_share(only)} of the programs can "
            f"block under buffers and never under matrix clocks, {format_share(always)} always block there; "
            f"{format_share(matrix)} can block under matrix clocks"
        )
    own = results.estimate("only_here", PROTOCOL, selective=1, messages=length)
    for name in SUCCESSORS:
        other = results.estimate("only_here", name, selective=1, messages=length)
        if other.number:
            sentences.append(
                f"under {name} {format_share(other)} can block then and never under matrix clocks, which is "
                f"{compare_estimates(other, own)} {PROTOCOL}"
            )
    return (
        f"Programs of three processes and {length} messages, every execution explored: "
        f"{'; '.join(sentences)}. Under buffers only the head of the input buffer can be received, so a "
        "receive that names another sender waits for ever."
    )


PROGRAMS = Figure(
    name="programs",
    title="Programs that block under buffers and not under matrix clocks",
    question="How many programs with selective receives block only because of the buffers?",
    grid=list_points_by_selective_share,
    measure=measure_blocking_of_drawn_programs,
    plots=(
        Plot("Can block here, never under matrix clocks", metric="only_here", x="selective"),
        Plot("Always block here, never under matrix clocks", metric="always_only_here", x="selective"),
    ),
    conclude=summarize_blocking_programs,
    seeds={"quick": 6, "paper": 20},
    count_trials=count_program_trials,
)


STUDY = Study(
    name="mattern",
    title="Mattern, Fünfrocken 1995: buffers and acknowledgements instead of timestamps",
    about=(
        "Messages carry no control information; a sender waits for the acknowledgement of one message before "
        "it transmits the next. When is that noticed, who stalls if a receiver is down, and what blocks?"
    ),
    figures=(RATIO, PIPELINES, OUTAGE, MULTICAST, PROGRAMS),
)
