"""Section `compare`: a log replayed through every protocol that fits, beside plain simulated runs of the same
protocols under the same load, one after the other on one core."""

from collections.abc import Iterator
from time import perf_counter

import pyarrow as pa
from rich.table import Table

from antecede.events.graph import build_event_graph
from antecede.machine import count_cores
from antecede.simulate.run import Plan, simulate
from antecede.simulate.trace import RunTrace, TableCollector
from antecede.study.compare import Comparison, gather_comparisons, list_replay_cells, replay_cells
from antecede.tables import EVENTS, MESSAGES
from bench.measure import count, verdict

PROCESSES = 8
BAR = 3.0
"""Most that a comparison may take, in plain runs spread over all cores."""


def tables(quick: bool) -> Iterator[Table]:
    messages = 2_000 if quick else 100_000
    events = _trace_run(messages)
    compared, seconds = _compare(events)
    plain = sum(_time_plain_run(messages, row[0].protocol, row[0].options) for row in compared.rows)
    cores = count_cores()
    ratio = seconds / (plain / cores)
    table = Table(title="antecede compare", title_justify="left", caption_justify="left")
    table.caption = "Recordings made, replays on all cores, results gathered; without reading the file."
    for name in ("messages", "protocols", "compare, s", "plain runs, s", "cores", "ratio", "bar", ""):
        table.add_column(name, justify="right", no_wrap=True)
    figures = (f"{seconds:.1f}", f"{plain:.1f}", str(cores), f"{ratio:.2f} ×", f"{BAR:g} ×")
    table.add_row(count(messages), str(len(compared.rows)), *figures, verdict(ratio <= BAR))
    yield table


def _trace_run(messages: int) -> pa.Table:
    events = TableCollector(EVENTS)
    plan = Plan(protocol="unordered", processes=PROCESSES, messages=messages)
    simulate(plan, lambda queue, names: RunTrace(queue, "run", names, events, TableCollector(MESSAGES)))
    return events.build_table()


def _compare(events: pa.Table) -> tuple[Comparison, float]:
    start = perf_counter()
    cells = list(list_replay_cells(build_event_graph(events)))
    (comparison,) = gather_comparisons(replay_cells(cells))
    return comparison, perf_counter() - start


def _time_plain_run(messages: int, protocol: str, options: dict[str, object]) -> float:
    plan = Plan(protocol=protocol, processes=PROCESSES, messages=messages, options=options)
    start = perf_counter()
    simulate(plan)
    return perf_counter() - start
