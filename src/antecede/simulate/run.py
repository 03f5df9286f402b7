"""A run: a plan goes in, what it cost and whether it kept its promises comes out. Same plan, same run."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from antecede.core.errors import CallerError
from antecede.core.facts import Facts
from antecede.protocols.registry import endpoint, list_protocols
from antecede.simulate.applications import Applications
from antecede.simulate.costs import Costs
from antecede.simulate.delays import parse_delay
from antecede.simulate.direct import DirectCarrier
from antecede.simulate.linked import LinkedCarrier
from antecede.simulate.network import Network
from antecede.simulate.queue import Queue
from antecede.simulate.trace import Recorder
from antecede.simulate.watch import Verdict, Watch
from antecede.simulate.wires import Wires
from antecede.simulate.workloads import SECOND, make_workload

Progress = Callable[[int], None]
Tracing = Callable[[Queue, list[str]], Recorder]
AnyRecorder = TypeVar("AnyRecorder", bound=Recorder)
STEP = 20_000
"""Events between two reports of progress."""
MOST_EVENTS_PER_MESSAGE_AND_PROCESS = 1000
"""A run with more events than that will not come to an end."""


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that determines a run. `rate`: messages per second that each process sends by itself."""

    protocol: str
    processes: Annotated[int, msgspec.Meta(ge=2)] = 4
    workload: str = "uniform"
    messages: Annotated[int, msgspec.Meta(ge=0)] = 1000
    rate: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    fanout: int = 1
    network: Network = msgspec.field(default_factory=Network)
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    options: dict[str, Any] = {}
    own_options: dict[str, dict[str, Any]] = {}
    """Options of single processes, by name, where they differ from those of all."""

    def with_own_options(self, own_options: dict[str, dict[str, Any]]) -> "Plan":
        """The same plan, in which some processes have options of their own."""
        return msgspec.structs.replace(self, own_options=own_options)

    @property
    def names(self) -> list[str]:
        """The processes: p0, p1, ..., of one length, so that ids follow names."""
        width = len(str(self.processes - 1))
        return [f"p{i:0{width}}" for i in range(self.processes)]

    @property
    def facts(self) -> Facts:
        """The facts of the protocol."""
        known = list_protocols()
        if self.protocol not in known:
            raise CallerError(f"unknown protocol {self.protocol!r}; choose one of {', '.join(known)}")
        return known[self.protocol]

    @property
    def span(self) -> float:
        """How long the messages would take to be sent, in milliseconds."""
        return self.messages / self.rate / self.processes * SECOND


class Run(msgspec.Struct, frozen=True):
    """The outcome. `faults` counts what went wrong in the network and with processes, by kind.

    `time` is that of the last send, arrival or delivery, in milliseconds.
    """

    plan: Plan
    costs: Costs
    verdict: Verdict
    faults: dict[str, int]
    finished: bool
    time: float

    @property
    def unsent(self) -> int:
        """Messages that the applications never could send."""
        return self.plan.messages - self.costs.messages

    @property
    def broken(self) -> bool:
        """Whether the protocol broke a promise, or the run did not come to an end."""
        return not self.finished or self.unsent > 0 or self.verdict.broken(self.plan.facts)


class Simulation:
    """The parts of a run, put together from its plan."""

    def __init__(self, plan: Plan, tracing: Tracing | None = None) -> None:
        check_plan_values(plan)
        facts, names = plan.facts, plan.names
        check_workload_fits(plan, facts)
        seeds = np.random.SeedSequence(plan.seed).spawn(3)
        traffic, network, crashes = (np.random.default_rng(seed) for seed in seeds)
        options = {**choose_defaults_of_required_options(plan), **plan.options}
        refuse_options_of_unknown_processes(plan)
        endpoints = [
            endpoint(plan.protocol, process=name, group=names, **options | plan.own_options.get(name, {}))
            for name in names
        ]
        wires = Wires(plan.network, names, network, plan.span)
        model = make_workload(plan.workload, plan.processes, plan.rate, traffic, plan.fanout)
        self.plan, self.queue = plan, Queue()
        self.trace = tracing(self.queue, names) if tracing else None  # only now, when all is in order
        special_one = options.get("server", options.get("monitor"))
        promised = [special_one in (None, name) for name in names]
        self.watch = Watch(self.queue, names, facts, promised, self.trace)
        self.applications = Applications(self.queue, model, facts, plan.messages, self.watch)
        parts = (self.queue, wires, endpoints, self.watch, self.applications)
        self.carrier: DirectCarrier | LinkedCarrier
        if plan.network.faulty:
            ordered = plan.network.fifo or bool(options.get("pipelined"))
            self.carrier = LinkedCarrier(*parts, choose_resend_ms(plan.network), ordered)
            self.carrier.schedule_random_crashes(
                plan.network.crashes, plan.span, plan.network.down_time, crashes
            )
            self.carrier.schedule_outages(plan.network.outages)
        else:
            self.carrier = DirectCarrier(*parts)
        self.applications.carrier = self.carrier

    def run(self, progress: Progress | None = None) -> Run:
        """Let everything happen."""
        self.applications.start_sending()
        events_left = MOST_EVENTS_PER_MESSAGE_AND_PROCESS * (self.plan.messages + 1) * self.plan.processes
        finished = False
        while events_left > 0 and not finished:
            finished = self.queue.run(STEP)
            events_left -= STEP
            self.watch.judge_records()
            if progress:
                progress(self.watch.messages)
        if self.trace is not None:
            self.trace.on_end()
        faults = {kind: count for kind, count in sorted(self.carrier.counts.items()) if count}
        costs = self.watch.tally.summarize_costs(self.watch.messages)
        return Run(self.plan, costs, self.watch.make_verdict(), faults, finished, self.watch.last)


def simulate(
    plan: Plan,
    tracing: Tracing | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run a plan."""
    return Simulation(plan, tracing).run(progress)


def run_with_recorder(
    plan: Plan,
    make_recorder: Callable[[Queue], AnyRecorder],
) -> tuple[AnyRecorder, Run]:
    """Run a plan with a recorder that gets the queue, whose time is that of the run."""
    recorders: list[AnyRecorder] = []

    def start_recording(queue: Queue, names: list[str]) -> AnyRecorder:
        recorders.append(make_recorder(queue))
        return recorders[0]

    run = simulate(plan, start_recording)
    return recorders[0], run


def choose_defaults_of_required_options(plan: Plan) -> dict[str, Any]:
    """Options that a protocol cannot do without, where the plan names none."""
    needed = {"server": plan.names[0], "monitor": plan.names[0], "k": 2 * plan.processes}
    return {name: value for name, value in needed.items() if name in plan.facts.options}


def check_plan_values(plan: Plan) -> None:
    """Refuse numbers that mean nothing, such as a chance above 1."""
    try:
        msgspec.convert(msgspec.to_builtins(plan), Plan)
    except msgspec.ValidationError as error:
        raise CallerError(f"plan: {error}") from None


def refuse_options_of_unknown_processes(plan: Plan) -> None:
    """Refuse options of a process that is not there."""
    unknown = sorted(plan.own_options.keys() - set(plan.names))
    if unknown:
        raise CallerError(f"options of {unknown[0]!r}: there are {plan.names[0]} to {plan.names[-1]}")


def check_workload_fits(plan: Plan, facts: Facts) -> None:
    """Refuse a workload that the protocol cannot carry."""
    several = plan.workload == "broadcast" or plan.fanout > 1
    if several and not (facts.multicast or facts.broadcast):
        raise CallerError(
            f"{plan.protocol!r} sends to one process at a time, workload {plan.workload!r} with fanout "
            f"{plan.fanout} to several: choose another workload, or another protocol, such as 'optimal'"
        )
    if plan.options.get("pipelined") and not (plan.network.fifo or plan.network.faulty):
        raise CallerError("pipelined=true needs channels that keep order: add --fifo (Network(fifo=True))")


def choose_resend_ms(network: Network) -> float:
    """When to send again: after a few times the usual delay of the slowest link."""
    return 4 * max(1.0, *(max(parse_delay(text)[1]) for text in network.delay_texts))
