"""One process of a campaign: a node with a journal, and an application with a ledger.

    python -m tests.live.worker FOLDER NAME SEED

Every line of the ledger is one write to the system, so it outlasts a kill: `sent M` when `send` has returned,
`got N M` at each hand-over, `done N` when an acknowledgement has returned. FOLDER/plan.json has protocol and
addresses; while FOLDER/quiet is not there the application sends. FOLDER/NAME.state says how the node does.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from random import Random

from antecede import live
from tests.harness import destinations


class Worker:
    """The application of one process."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        self.folder, self.name, self.random = folder, name, Random(seed)
        self.plan = json.loads((folder / "plan.json").read_text())
        self.names = sorted(self.plan["addresses"])
        self.ledger = os.open(folder / f"{name}.ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.answers: asyncio.Queue[bytes] = asyncio.Queue()
        self.is_sending = False

    def write(self, line: str) -> None:
        os.write(self.ledger, f"{line}\n".encode())

    async def run(self) -> None:
        addresses = self.plan["addresses"]
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        self.stopped = asyncio.Event()
        async with live.join(
            self.plan["protocol"],
            process=self.name,
            listen=addresses[self.name],
            peers=self.plan["routes"][self.name],
            journal=self.folder / f"{self.name}.db",
            events=self.folder / f"{self.name}.jsonl",
            key=self.plan["key"] and self.plan["key"].encode(),
            heartbeat=0.2,
            silence=1.0,
            handshake_time=2.0,
            snapshot_every=self.random.choice([50, 500, 10_000]),
            window=self.plan["window"],
            **self.plan["options"],
        ) as node:
            async with node.transaction() as tx:
                tx.execute("CREATE TABLE IF NOT EXISTS effects (message TEXT)")
            jobs = [self._take(node), self._tell(node), *(self._send(node) for _ in range(4))]
            tasks = [asyncio.create_task(job) for job in jobs]
            stopping = asyncio.create_task(self.stopped.wait())
            await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _stop(self) -> None:
        self.stopped.set()

    async def _send(self, node: live.Node) -> None:
        random = self.random
        while not (self.folder / "quiet").exists():
            await asyncio.sleep(random.expovariate(1 / self.plan["pause"]))
            data = b"m" if self.answers.empty() else self.answers.get_nowait()
            choice = random.randrange(999)
            to = destinations(self.names, self.names.index(self.name), choice, self.plan["kind"])
            message = await node.send(data * 50, to=to)
            self.write(f"sent {message}")
        await asyncio.Event().wait()

    async def _take(self, node: live.Node) -> None:
        random = self.random
        async for delivery in node:
            self.write(f"got {delivery.number} {delivery.message}")
            what = random.random()
            if what < 0.3:
                await delivery.done()
                self.write(f"done {delivery.number}")
            elif what < 0.6:
                async with node.transaction() as tx:
                    tx.execute("INSERT INTO effects VALUES (?)", (f"{delivery.number} {delivery.message}",))
                self.write(f"done {delivery.number}")
            if random.random() < 0.2:
                self.answers.put_nowait(b"answer")
            if random.random() < self.plan["laziness"]:
                await asyncio.sleep(random.expovariate(20))

    async def _tell(self, node: live.Node) -> None:
        """Say now and then whether there is anything left to do here, and what was refused."""
        file = self.folder / f"{self.name}.state"
        while True:
            station = node.station
            flying = any(channel.flying or channel.waiting for channel in station.channels.values())
            apart = any(not peer.connected or peer.unread for peer in node.status().peers.values())
            busy = flying or apart or station.queue or station.endpoint.backlog or station.endpoint.held()
            refused: Counter[str] = Counter()
            for (kind, _), number in node.status().refused.items():
                refused[kind] += number
            temporary = file.with_suffix(".part")
            temporary.write_text(json.dumps({"busy": bool(busy), "refused": refused}))
            temporary.rename(file)
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    asyncio.run(Worker(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])).run())
