"""Section `simulator`: packet arrivals per second of simulated runs, their growth, and SimPy beside them."""

from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec

from rich.table import Table

from antecede.simulate.network import Network
from antecede.simulate.run import Plan, simulate
from bench.measure import count, least, verdict
from bench.simpy_program import Program

SPEEDS = (
    ("fifo", 16, "broadcast", 100_000),
    ("fifo", 16, "uniform", None),
    ("vector", 16, "broadcast", 100_000),
    ("matrix", 32, "uniform", 20_000),
    ("optimal", 32, "uniform", 20_000),
)
"""Protocol, processes, workload, and the arrivals per second it should reach."""
GROWTH = 1.3
"""Most that an arrival may cost, ten times as many messages against one time, where cost is linear."""
DELAY = 20.0
LOADS = ((16, 5.0), (16, 100.0), (16, 400.0), (16, 1000.0))
"""Processes and messages per second of each, for SimPy: one every 12 ms, every 0.6 ms, 6 a ms, 16 a ms."""


def tables(quick: bool) -> Iterator[Table]:
    yield _speeds(quick)
    yield _beside_simpy(quick)


def _plan(protocol: str, n: int, workload: str, messages: int, rate: float = 10.0) -> Plan:
    network = Network(delay=f"exponential:{DELAY:g}")
    return Plan(
        protocol=protocol, processes=n, workload=workload, messages=messages, rate=rate, network=network
    )


def _rate(plan: Plan) -> float:
    seconds, run = least(partial(simulate, plan))
    assert not run.verdict.broken(plan.facts) and run.finished
    return run.costs.arrivals / seconds


def _speeds(quick: bool) -> Table:
    table = Table(
        title="Simulated runs, on one core", caption=f"Exponential delay of {DELAY:g} ms, 10 messages/s each."
    )
    names = (
        "protocol",
        "n",
        "workload",
        "messages",
        "arrivals/s",
        "bar",
        "10 × messages:\ncost per arrival",
        "",
    )
    _head(table, names)
    for protocol, n, workload, bar in SPEEDS:
        messages = (200 if quick else 3000) if workload == "broadcast" else (2000 if quick else 30_000)
        small = _rate(_plan(protocol, n, workload, messages // 10))
        large = _rate(_plan(protocol, n, workload, messages))
        met = (bar is None or large >= bar) and small / large <= GROWTH
        figures = (count(large), count(bar) if bar else "none", f"{small / large:.2f} ×")
        table.add_row(protocol, str(n), workload, count(messages), *figures, verdict(met))
    return table


def _beside_simpy(quick: bool) -> Table:
    name = f"SimPy {version('simpy')}" if find_spec("simpy") else "SimPy: not installed"
    caption = (
        "Same job: causal broadcast by vector clocks, every delivery shown to an oracle with the same "
        "verdicts (in plain Python there, compiled here), same figures (control bytes, waits, needless "
        "waits, latency, most held, what went wrong). The SimPy program goes through its queue of held "
        "messages, as programs of this kind do, and hands stamps over as lists; ours drives real endpoints: "
        "packets checked, stamps encoded and decoded."
    )
    table = Table(title=f"Beside a {name} program", caption=caption)
    _head(
        table,
        (
            "n",
            "messages/s each",
            "messages",
            "SimPy arrivals/s",
            "ours arrivals/s",
            "ours / SimPy",
            "bar",
            "",
        ),
    )
    if not find_spec("simpy"):
        return table
    for n, rate in LOADS:
        messages = 100 if quick else 1500
        seconds, figures = least(lambda n=n, m=messages, r=rate: Program(n, m, r / 1000, DELAY).run())  # type: ignore[misc]
        arrivals = figures["arrivals"]
        ours = _rate(_plan("vector", n, "broadcast", messages, rate))
        ratio = ours * seconds / arrivals
        cells = (count(arrivals / seconds), count(ours), f"{ratio:.1f} ×", "10 ×")
        table.add_row(str(n), f"{rate:g}", count(messages), *cells, verdict(ratio >= 10))
    return table


def _head(table: Table, names: tuple[str, ...]) -> None:
    table.title_justify = table.caption_justify = "left"
    for name in names:
        table.add_column(name, justify="left" if name in ("protocol", "workload") else "right", no_wrap=True)
