"""One schedule: live nodes with journals, on a faulty network, whose processes crash and come back.

A seed stands for all of it: the protocol, the traffic, the faults, the crashes. At the end everything heals;
then all that was sent must be everywhere, once, in order. Two judges: the events that the nodes wrote, under
our audit, and the applications themselves, who know what they were promised.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import antecede
from antecede import live
from antecede.live.inputs import NodeInput, encode_inputs, read_inputs
from antecede.live.journal import JournalHeader, Statement, Stored, Unit
from antecede.tables import EVENTS
from tests.cases import EXACT, Case
from tests.harness import destinations
from tests.live.network import FaultyNetwork
from tests.live.virtual import run_virtually

CASES = [case for case in EXACT if case.name != "sync-rendezvous" and case.watch is None]
CHAOS = 30.0
"""How long there is trouble, in virtual seconds."""
PATIENCE = 900.0
"""How long everything may take to arrive after that."""


class Disk:
    """What of a journal outlasts a crash. Inputs are kept as bytes, as on a real disk."""

    def __init__(self) -> None:
        self.header: JournalHeader | None = None
        self.snapshot = b""
        self.records: list[bytes] = []


class DiskJournal:
    """A journal on such a disk, until its process crashes."""

    def __init__(self, disk: Disk) -> None:
        self.disk, self.is_down = disk, False

    def open(self, header: JournalHeader, snapshot: bytes) -> Stored:
        if self.disk.header is None:
            self.disk.header, self.disk.snapshot = header, snapshot
        records: list[list[NodeInput]] = [read_inputs(record) for record in self.disk.records]
        return Stored(self.disk.header.incarnation, self.disk.snapshot, records)

    def commit(self, units: list[Unit], snapshot: bytes | None) -> None:
        if self.is_down:
            return
        if snapshot is not None:
            self.disk.snapshot = snapshot
            self.disk.records.clear()
        self.disk.records.append(encode_inputs([one for unit in units for one in unit.inputs]))

    def query(self, statement: Statement) -> list[tuple[Any, ...]]:
        return []

    def close(self) -> None:
        pass


@dataclass
class Outcome:
    """What came of a schedule: faults that happened, and promises that were broken."""

    seed: int
    case: Case
    faults: Counter[str]
    broken: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


class Process:
    """An application: sends, takes, answers; remembers what it was promised, as no process does."""

    def __init__(self, world: "Schedule", name: str) -> None:
        self.world, self.name = world, name
        self.disk = Disk()
        self.journal: Any = None
        self.node: live.Node | None = None
        self.tasks: list[asyncio.Task[None]] = []
        self.wishes: asyncio.Queue[bytes] = asyncio.Queue()
        self.sent: dict[str, list[str]] = {}
        self.settled = 0
        self.is_sending = False

    async def start(self) -> None:
        world = self.world
        self.journal = world.make_journal(self.disk)
        self.node = await live.open_node(
            world.case.protocol,
            process=self.name,
            listen=f"memory://{self.name}",
            journal=self.journal,
            transports={"memory": world.network.port(self.name)},
            events=world.folder / f"{self.name}.jsonl",
            window=world.window,
            snapshot_every=world.snapshot_every,
            **self.choose_options(),
        )
        self.tasks = [asyncio.create_task(self._send()), asyncio.create_task(self._take())]

    def choose_options(self) -> dict[str, Any]:
        """The peers and the options of its node."""
        names = self.world.names
        peers = {other: f"memory://{other}" for other in names if other != self.name}
        return {"peers": peers, **self.world.case.options_for(len(names))}

    def crash(self) -> None:
        """Nothing of it is left but its disk."""
        if self.node is None:
            return
        self.journal.is_down = True
        if self.world.random.random() < 0.5:
            self.world.network.silence(self.name)
        self.node.abort()
        for task in self.tasks:
            task.cancel()
        self.node = None

    async def _send(self) -> None:
        random, world = self.world.random, self.world
        while True:
            self.is_sending = False
            data = await self.wishes.get()
            self.is_sending = True
            to = destinations(world.names, world.names.index(self.name), random.randrange(999), world.kind)
            assert self.node is not None
            message = await self.node.send(data, to=to)
            self.sent[message] = world.names if to is None else to

    async def _take(self) -> None:
        random, node = self.world.random, self.node
        assert node is not None
        async for delivery in node:
            if delivery.number <= self.settled:
                self.world.broken.append(f"{self.name} got {delivery.message} after it had acknowledged it")
            if random.random() < self.world.laziness:
                await asyncio.sleep(random.expovariate(2))
            if random.random() < 0.3:
                await delivery.done()
                self.settled = max(self.settled, delivery.number)
            if random.random() < self.world.eagerness and len(delivery.payload) < 4:
                self.wishes.put_nowait(delivery.payload + b"+")


class Schedule:
    """All that a seed stands for."""

    def __init__(self, seed: int, folder: Path, case: Case | None = None, journal: Any = DiskJournal) -> None:
        self.random = Random(seed)
        self.seed, self.folder = seed, folder
        self.case = case or CASES[seed % len(CASES)]
        self.kind = self.random.choice(self.case.kinds)
        self.names = [f"p{i}" for i in range(self.random.choice([3, 3, 4, 5]))]
        self.network = FaultyNetwork(self.random)
        self.window = self.random.choice([4, 16, 64, 1024])
        self.snapshot_every = self.random.choice([15, 60, 1000])
        self.laziness = self.random.choice([0.0, 0.1, 0.5])
        self.eagerness = 0.5 if self.kind == "unicast" else 0.8 / len(self.names)
        self.make_journal = journal
        self.processes = {name: Process(self, name) for name in self.names}
        self.broken: list[str] = []

    async def run(self) -> Outcome:
        """Trouble, then peace; then the verdict of the applications."""
        for process in self.processes.values():
            await process.start()
        end = asyncio.get_running_loop().time() + CHAOS
        await asyncio.gather(*self.list_jobs(end))
        self.network.trouble = self.laziness = 0.0
        self.network.heal()
        await self._wait_for_peace()
        for process in self.processes.values():
            process.crash()
        await asyncio.sleep(1.0)
        outcome = Outcome(self.seed, self.case, self.network.counts, self.broken, self._read_events())
        self._check_promises(outcome)
        return outcome

    def list_jobs(self, end: float) -> list[Coroutine[Any, Any, None]]:
        """What goes on until the end of all trouble."""
        return [self._make_wishes(end), self._make_crashes(end), self._make_partitions(end)]

    async def _make_wishes(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        pause = self.random.choice([0.2, 0.5, 1.0])
        while loop.time() < end:
            await asyncio.sleep(self.random.expovariate(1 / pause))
            self.processes[self.random.choice(self.names)].wishes.put_nowait(b"m")

    async def _make_crashes(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        pause = self.random.choice([2.0, 8.0, 1000.0])
        restarts = []
        while loop.time() < end:
            await asyncio.sleep(min(self.random.expovariate(1 / pause), end - loop.time() + 0.1))
            process = self.processes[self.random.choice(self.names)]
            if process.node is not None and loop.time() < end:
                self.network.counts["crash"] += 1
                process.crash()
                restarts.append(asyncio.create_task(self._restart(process)))
        await asyncio.gather(*restarts)

    async def _restart(self, process: Process) -> None:
        await asyncio.sleep(self.random.expovariate(1 / 2.0))
        await process.start()

    async def _make_partitions(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        pause = self.random.choice([5.0, 1000.0])
        while loop.time() < end:
            await asyncio.sleep(min(self.random.expovariate(1 / pause), end - loop.time() + 0.1))
            if loop.time() < end:
                self.network.part(self.names)
                await asyncio.sleep(self.random.expovariate(1 / 5.0))
                self.network.heal()

    async def _wait_for_peace(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while loop.time() < end:
            await asyncio.sleep(1.0)
            if all(self._is_quiet(process) for process in self.processes.values()):
                return
        self.broken.append("not all had arrived in time")

    def _is_quiet(self, process: Process) -> bool:
        node = process.node
        if node is None or process.is_sending or not process.wishes.empty():
            return False
        station = node.station
        flying = any(channel.flying or channel.waiting for channel in station.channels.values())
        return not (flying or station.queue or station.endpoint.backlog or station.endpoint.held())

    def _read_events(self) -> list[dict[str, Any]]:
        rows = []
        for name in self.names:
            for line in (self.folder / f"{name}.jsonl").read_text().splitlines():
                row = json.loads(line)
                del row["time"]  # that of the wall, which is not virtual
                rows.append({"execution": str(self.seed), **row})
        return rows

    def _check_promises(self, outcome: Outcome) -> None:
        """Whatever `send` has returned for is everywhere; this does not trust the audit."""
        delivered = {(row["process"], row["message"]) for row in outcome.events if row["kind"] == "deliver"}
        for process in self.processes.values():
            for message, receivers in process.sent.items():
                for receiver in receivers:
                    if (receiver, message) not in delivered:
                        outcome.broken.append(f"{message} was sent, and never delivered at {receiver}")


def run_schedule(seed: int, folder: Path, case: Case | None = None, journal: Any = DiskJournal) -> Outcome:
    """Run what a seed stands for; the same seed is the same schedule.

    To see one again: `python -m tests.live.campaign --seed SEED`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.jsonl"):
        file.unlink()

    async def main() -> Outcome:
        return await Schedule(seed, folder, case, journal).run()

    with suppress(asyncio.CancelledError):
        return run_virtually(main(), seed)
    raise AssertionError(f"schedule {seed} was cancelled")


def judge_schedules(outcomes: list[Outcome]) -> list[str]:
    """What is wrong with some schedules, by the applications and by the audit; each sentence has its seed."""
    problems = [f"seed {outcome.seed}: {text}" for outcome in outcomes for text in outcome.broken]
    rows = [row for outcome in outcomes for row in outcome.events]
    result = antecede.audit(pa.Table.from_pylist(rows, schema=EVENTS))
    for finding in result.findings.to_pylist():
        if finding["kind"] in ("late", "lost", "twice", "orphan", "fifo"):
            problems.append(f"seed {finding['execution']}: {finding['kind']}: {finding['sentence']}")
    return problems
