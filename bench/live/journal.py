"""What durable nodes cost, beside the same commits on bare SQLite connections.

As in life, each node is a process of its own. Every statement that its journal runs is noted, with its bytes,
and run again afterwards in the same process, at the same time as those of the other nodes: on a new file in
the same folder, with the same pragmas. Both times are from when all are ready until the last is through.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from antecede.live import Node, open_node
from antecede.live.journal import SqliteJournal, Statement
from bench.live.group import (
    NAMES,
    NODES,
    OTHERS,
    PAYLOAD,
    PROTOCOLS,
    TO_ALL,
    count_copies,
    find_free_ports,
)
from bench.live.processes import Cost, Stopwatch, add_costs, make_pool
from bench.measure import count, verdict

BAR = 2.0
RECORD = "INSERT INTO antecede_records"
CARRIED = ("commits", "packets", "bytes")
COSTS = ("no journal", "journal", "SQLite", "ratio", "added")


class Task(NamedTuple):
    """What a node is to do."""

    protocol: str
    name: str
    addresses: dict[str, str]
    folder: Path | None
    messages: int
    at_once: bool


class Outcome(NamedTuple):
    """What it took one node, with its journal and SQLite alone."""

    node: Cost
    sqlite: Cost
    commits: int
    bytes: int


class NotedJournal(SqliteJournal):
    """A journal that notes what it asks of SQLite."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.statements: list[Statement] = []

    def _execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        self.statements.append((sql, parameters))
        return super()._execute(sql, parameters)


def run_node(task: Task) -> Outcome:
    """The work of one process."""
    if task.folder is None:
        return Outcome(asyncio.run(_exchange(task, None)), Cost(0, 0), 0, 0)
    journal = NotedJournal(task.folder / f"{task.name}.db")
    node = asyncio.run(_exchange(task, journal))
    records = [parameters for sql, parameters in journal.statements if sql.startswith(RECORD)]
    sqlite = _replay(task, journal.statements)
    return Outcome(node, sqlite, len(records), sum(len(parameters[1]) for parameters in records))


async def _exchange(task: Task, journal: NotedJournal | None) -> Cost:
    node = await open_node(
        task.protocol,
        process=task.name,
        listen=task.addresses[task.name],
        peers={other: task.addresses[other] for other in OTHERS[task.name]},
        journal=journal,
    )
    while not all(peer.connected for peer in node.status().peers.values()):
        await asyncio.sleep(0.01)
    loop = asyncio.get_running_loop()
    stopwatch = await loop.run_in_executor(None, Stopwatch)
    _, deliveries = count_copies(task.protocol)
    await asyncio.gather(_send(node, task), _take(node, task.messages * deliveries))
    cost = await loop.run_in_executor(None, stopwatch.stop)
    await node.close(linger=0)
    return cost


async def _send(node: Node, task: Task) -> None:
    """To all, or to each of the others in turn: so each gets as many as it sends."""
    futures = []
    others = OTHERS[task.name]
    for number in range(task.messages):
        to = None if task.protocol in TO_ALL else [others[number % len(others)]]
        if task.at_once:
            futures.append(await node.begin_send(PAYLOAD, to))
        else:
            await node.send(PAYLOAD, to)
    await asyncio.gather(*futures)


async def _take(node: Node, number: int) -> None:
    async for _ in node:
        number -= 1
        if not number:
            return


def _replay(task: Task, statements: list[Statement]) -> Cost:
    assert task.folder is not None
    begin = next(at for at, (sql, _) in enumerate(statements) if sql.startswith(RECORD))
    connection = sqlite3.connect(task.folder / f"{task.name}-bare.db", isolation_level=None)
    for sql, parameters in statements[:begin]:
        connection.execute(sql, parameters)
    stopwatch = Stopwatch()
    for sql, parameters in statements[begin:]:
        connection.execute(sql, parameters)
    cost = stopwatch.stop()
    connection.close()
    return cost


class Measured(NamedTuple):
    """What a group took without a journal, with one, and what SQLite took for the same commits."""

    costs: tuple[Cost, Cost, Cost]
    packets: int
    commits: int
    bytes: int


def measure_group(pool: Pool, protocol: str, messages: int, at_once: bool) -> Measured:
    """Each node in a process of its own."""
    copies, _ = count_copies(protocol)
    packets = messages * NODES * copies
    with tempfile.TemporaryDirectory(prefix="antecede-bench-") as folder:
        plain = run_nodes(pool, protocol, messages, at_once, None)
        durable = run_nodes(pool, protocol, messages, at_once, Path(folder))
    costs = (
        add_costs([one.node for one in plain]),
        add_costs([one.node for one in durable]),
        add_costs([one.sqlite for one in durable]),
    )
    return Measured(
        costs,
        packets,
        sum(one.commits for one in durable),
        sum(one.bytes for one in durable),
    )


def run_nodes(pool: Pool, protocol: str, messages: int, at_once: bool, folder: Path | None) -> list[Outcome]:
    ports = find_free_ports(NODES)
    addresses = {name: f"tcp://127.0.0.1:{port}" for name, port in zip(NAMES, ports, strict=True)}
    tasks = [Task(protocol, name, addresses, folder, messages, at_once) for name in NAMES]
    return pool.map(run_node, tasks, chunksize=1)


def tables(quick: bool) -> Iterator[Table]:
    walls = Table(title=f"Live: {NODES} nodes with journals, on the wall", title_justify="left")
    walls.caption = (
        "Each node is a process. Microseconds for a commit, until all were through; what a commit carried. "
        "SQLite alone runs the same statements, in as many processes. The ratio is that of nodes with "
        "journals to SQLite alone; `added` is what is more than without a journal, in times of SQLite. "
        "`one by one`: the application waits until a message is on disk before it sends the next."
    )
    processors = Table(title="Live: the same in processor time, all nodes together", title_justify="left")
    for table, columns in ((walls, (*CARRIED, *COSTS, "bar", "")), (processors, COSTS)):
        for name in ("protocol", "sends"):
            table.add_column(name, no_wrap=True)
        for name in columns:
            table.add_column(name, justify="right", no_wrap=True)
    for protocol, at_once, seen in _measure_all(quick):
        names = (protocol, "at once" if at_once else "one by one")
        carried = (seen.commits, seen.packets / seen.commits, seen.bytes / seen.commits)
        times = [cost.wall for cost in seen.costs]
        is_met = times[1] <= BAR * times[2]
        shown = _show_costs(times, seen.commits)
        walls.add_row(*names, *map(count, carried), *shown, f"{BAR:.0f} ×", verdict(is_met))
        processors.add_row(*names, *_show_costs([cost.processor for cost in seen.costs], seen.commits))
    yield walls
    yield processors


def _measure_all(quick: bool) -> Iterator[tuple[str, bool, Measured]]:
    """Each protocol in both ways, several times; of those the one in the middle."""
    repeats = 1 if quick else 3
    with make_pool(__name__) as pool:
        for protocol in PROTOCOLS:
            for at_once in (True, False):
                rounds = 2 if quick else (200 if at_once else 40)
                copies, _ = count_copies(protocol)
                messages = rounds * (NODES - 1) // copies
                runs = [measure_group(pool, protocol, messages, at_once) for _ in range(repeats)]
                runs.sort(key=lambda run: run.costs[1].wall / run.costs[2].wall)
                yield protocol, at_once, runs[repeats // 2]


def _show_costs(seconds: list[float], commits: int) -> list[str]:
    without, durable, sqlite = seconds
    times = [count(1e6 * each / commits) for each in seconds]
    return [*times, f"{durable / sqlite:.2f} ×", f"{(durable - without) / sqlite:.2f} ×"]
