"""Hoogerwoord: causal delivery at one monitor. What does it cost as the group grows, and how much is
buffered?

The paper derives the protocol and measures nothing. Here processes report to a monitor, half of all messages,
and write to each other; the monitor must see causes before effects, the others receive in any order. A
message waits at the monitor until what its sender knew to be under way has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from antecede.core.packet import Packet
from antecede.simulate.network import Network
from antecede.simulate.queue import Queue
from antecede.simulate.run import Plan, run_with_recorder
from antecede.simulate.trace import Recorder
from antecede.study.estimates import Results, compare_estimates
from antecede.study.experiment import Cell, Figure, Metrics, Plot, Point, Scale, Study, fill_grid
from antecede.study.simulated import EXPONENTIAL, find_rate_for_load, list_run_metrics

PROTOCOL = "monitor"
FULL_ORDER = ("matrix", "optimal")
"""Protocols that keep causal order everywhere, and so at the monitor too."""
MESSAGES: dict[Scale, int] = {"quick": 600, "paper": 6000}
SEEDS: dict[Scale, int] = {"quick": 4, "paper": 20}
SIZES: dict[Scale, list[int]] = {"quick": [4, 8, 16], "paper": [4, 8, 16, 32, 64]}
MONITOR = 0
"""The process to which the others report."""


class BufferRecorder(Recorder):
    """Sees a run, and keeps count of what has arrived at the monitor and waits there."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.held = 0
        self.peak = 0
        self.reports = 0
        self.waited = 0
        self.total_wait = 0.0
        self.held_time = 0.0
        """The number of held messages, summed over time."""
        self.last_change = 0.0
        """When that number last changed."""
        self.arrived: dict[int, float] = {}

    @property
    def mean_held(self) -> float:
        """How many wait there, on average over time."""
        return self.held_time / max(self.last_change, 1e-9)

    def on_receive(self, process: int, packet: Packet, message: int | None) -> None:
        """Something arrives."""
        if process == MONITOR and message is not None:
            self._add_held_time()
            self.held += 1
            self.arrived[message] = self.queue.now

    def on_deliver(self, process: int, source: int, message: int) -> None:
        """Something is delivered, and leaves the buffer."""
        if process == MONITOR:
            self._add_held_time()
            self.held -= 1
            wait = self.queue.now - self.arrived.pop(message)
            self.reports += 1
            self.waited += wait > 0
            self.total_wait += wait
            # What is delivered on arrival was never held, and counts for an instant only.
            self.peak = max(self.peak, self.held)

    def _add_held_time(self) -> None:
        self.held_time += self.held * (self.queue.now - self.last_change)
        self.last_change = self.queue.now


def measure_monitor_buffer(cell: Cell) -> Metrics:
    """Run a cell: n, delay, load and messages are its parameters."""
    parameters = cell.parameters
    plan = Plan(
        protocol=cell.protocol,
        processes=int(parameters["n"]),
        workload="monitored",
        messages=int(parameters["messages"]),
        rate=find_rate_for_load(float(parameters.get("load", 2))),
        network=Network(delay=str(parameters.get("delay", EXPONENTIAL))),
        seed=cell.seed,
    )
    buffer, run = run_with_recorder(plan, BufferRecorder)
    metrics = list_run_metrics(run)
    reports = max(buffer.reports, 1)
    shown = ("control_bytes", "entries", "total_bytes", "early_rate", "late_rate")
    return {
        "buffer_mean": buffer.mean_held,
        "buffer_peak": buffer.peak,
        "wait_at_monitor": buffer.total_wait / reports,
        "waited_at_monitor": buffer.waited / reports,
        **{name: metrics[name] for name in shown},
    }


# The cost as the group grows


def list_points_by_group_size(scale: Scale) -> Iterator[Point]:
    """Groups of several sizes under `monitor`, and under protocols that keep order everywhere."""
    return fill_grid([PROTOCOL, *FULL_ORDER], n=SIZES[scale], messages=[MESSAGES[scale]])


def summarize_costs_by_group_size(results: Results) -> str:
    """Bytes and waiting, from the smallest group to the largest."""
    sizes = sorted({point.parameters["n"] for point in results.list_points("control_bytes")})
    sentences = []
    for protocol in (PROTOCOL, *FULL_ORDER):
        small = results.estimate("control_bytes", protocol, n=sizes[0])
        large = results.estimate("control_bytes", protocol, n=sizes[-1])
        sentences.append(f"{protocol} {small} bytes with n = {sizes[0]}, {large} with n = {sizes[-1]}")
    wait = results.estimate("wait_at_monitor", PROTOCOL, n=sizes[-1])
    full = results.estimate("wait_at_monitor", "matrix", n=sizes[-1])
    return (
        f"Control information on a message: {'; '.join(sentences)}. A report waits {wait} ms at the monitor "
        f"with n = {sizes[-1]}, {compare_estimates(wait, full)} the {full} ms under matrix."
    )


COST = Figure(
    name="cost",
    title="Control information and waiting over the number of processes",
    question="What does order at one process cost, against order at all?",
    grid=list_points_by_group_size,
    measure=measure_monitor_buffer,
    plots=(
        Plot("Control bytes per message", metric="control_bytes", x="n", log_x=True, log_y=True),
        Plot("Mean wait of a report", metric="wait_at_monitor", x="n", log_x=True),
    ),
    conclude=summarize_costs_by_group_size,
    seeds=SEEDS,
)


# The buffer


SPREADS = {
    "constant:20": 0.0,
    "gaussian:20,1": 1.0,
    "gaussian:20,2": 2.0,
    "gaussian:20,5": 5.0,
    "gaussian:20,10": 10.0,
    "exponential:20": 20.0,
}
"""Delays with about the same mean, and their standard deviation in milliseconds."""


def list_points_by_delay_spread(scale: Scale) -> Iterator[Point]:
    """Delays that are more and more spread, under three loads."""
    for delay, spread in SPREADS.items():
        parameters: dict[str, Any] = {"n": [8], "load": [0.5, 2.0, 8.0], "messages": [MESSAGES[scale]]}
        yield from fill_grid([PROTOCOL], delay=[delay], spread=[spread], **parameters)


def summarize_buffer_by_delay_spread(results: Results) -> str:
    """From delays that are all alike to delays that are spread."""
    sentences = []
    for load in (0.5, 2.0, 8.0):
        narrow = results.estimate("buffer_mean", PROTOCOL, load=load, spread=2)
        wide = results.estimate("buffer_mean", PROTOCOL, load=load, spread=20)
        peak = results.estimate("buffer_peak", PROTOCOL, load=load, spread=20)
        sentences.append(
            f"with {load:g} messages of each process under way the monitor holds {wide} messages on average "
            f"if delays spread by 20 ms, {compare_estimates(wide, narrow)} the {narrow} if by 2 ms; the most "
            f"that a run with 20 ms holds at once is {peak} on average"
        )
    least = results.estimate("buffer_peak", PROTOCOL, load=8, spread=0)
    return f"{'; '.join(sentences).capitalize()}. With equal delays and the last load it is {least}."


BUFFER = Figure(
    name="buffer",
    title="What the monitor holds over the spread of delays",
    question="How large must the monitor's buffer be? (n = 8, mean delay 20 ms)",
    grid=list_points_by_delay_spread,
    measure=measure_monitor_buffer,
    plots=(
        Plot("Held on average", metric="buffer_mean", x="spread", series="load", unit="ms"),
        Plot("Held at most", metric="buffer_peak", x="spread", series="load", unit="ms"),
        Plot("Share of reports that wait", metric="waited_at_monitor", x="spread", series="load", unit="ms"),
    ),
    conclude=summarize_buffer_by_delay_spread,
    seeds=SEEDS,
)


STUDY = Study(
    name="hoogerwoord",
    title="Hoogerwoord: causal delivery at one monitor",
    about=(
        "Messages to a monitor carry one number for each process, and wait there for what caused them. The "
        "paper proves it right; here is what it costs."
    ),
    figures=(COST, BUFFER),
)
