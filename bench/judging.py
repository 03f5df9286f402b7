"""Section `judging`: the event graph of a log and its audit, in one process, on one core.

The traffic of `bench.traffic`, as each node logged it and as it happened; and a smaller one with vector
clocks and nothing else that tells the order of a process.
"""

from collections.abc import Iterator

import pyarrow as pa
from rich.table import Table

from antecede.auditing.judge import judge
from antecede.events.add_clocks import add_clocks_if_none_are_given
from antecede.events.graph import build_event_graph
from bench import traffic
from bench.measure import count, least, verdict

PROCESSES = 200
CLOCKED_PROCESSES = 20
BAR = 400_000
"""Events that are to be judged in a second."""


def tables(quick: bool) -> Iterator[Table]:
    size = 40_000 if quick else 2_000_000
    by_process = traffic.traffic_table(size, PROCESSES)
    table = Table(title="Event graph and judging in one process", title_justify="left")
    table.caption, table.caption_justify = "Processor time, best of up to three.", "left"
    for name in ("log", "events", "graph", "judging", "events/s", "bar", ""):
        table.add_column(name, justify="left" if name == "log" else "right", no_wrap=True)
    _add_log(table, f"messages of {PROCESSES} processes, process by process", by_process, BAR)
    _add_log(table, "the same, by time", by_process.sort_by("time"), BAR)
    clocked = add_clocks_if_none_are_given(traffic.traffic_table(size // 5, CLOCKED_PROCESSES))
    only_clocks = clocked.drop_columns(["index", "sender", "receivers", "parents"])
    _add_log(table, f"with vector clocks of {CLOCKED_PROCESSES} processes", only_clocks, None)
    yield table


def _add_log(table: Table, name: str, events: pa.Table, bar: int | None) -> None:
    judge(build_event_graph(events.slice(0, 10_000)))  # loads what is compiled
    graph_time, graph = least(lambda: build_event_graph(events))
    judge_time, _ = least(lambda: judge(graph))
    rate = len(events) / (graph_time + judge_time)
    met = "" if bar is None else verdict(rate >= bar)
    wanted = "" if bar is None else count(bar)
    times = f"{graph_time:.2f} s", f"{judge_time:.2f} s"
    table.add_row(name, count(len(events)), *times, count(rate), wanted, met)
