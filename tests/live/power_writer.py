"""The program whose writes power_loss.py records: two nodes that send to each other, both with journals.

    python -m tests.live.power_writer FOLDER SEED killed|closed [careless]

Of the node `a`, FOLDER/ledger tells what its application was promised, when it was: `sent N` when `send` has
returned for its Nth message, `done N` when delivery N is acknowledged, and for comparison `record N HASH`
when the journal has written its Nth record. Every third delivery has an effect, in one transaction with its
acknowledgement. A careless journal does not sync its commits: the tests must find that out.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path
from random import Random

from antecede import live
from antecede.live.journal import SqliteJournal, Unit

MESSAGES = 60
SIZES = [10, 4_000, 60_000]
"""Of messages, in bytes: together enough for SQLite to move its log to its file, and begin it again."""


class ToldJournal(SqliteJournal):
    """A journal that tells of its records."""

    ledger = -1
    is_careless = False

    def _configure_and_lock_database(self) -> None:
        super()._configure_and_lock_database()
        if self.is_careless:
            self._execute("PRAGMA synchronous = NORMAL")

    def _insert_record_of_units(self, units: list[Unit]) -> None:
        super()._insert_record_of_units(units)
        write_line(self.ledger, f"record {self.number} {self._chain.hex()}")


def write_line(file: int, line: str) -> None:
    os.write(file, f"{line}\n".encode())


class Writer:
    """The two nodes and their applications."""

    def __init__(self, folder: Path, seed: int, is_careless: bool) -> None:
        self.folder, self.random, self.is_careless = folder, Random(seed), is_careless
        self.ledger = os.open(folder / "ledger", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    async def run(self, is_closed: bool) -> None:
        journal = ToldJournal(self.folder / "a.db")
        journal.ledger, journal.is_careless = self.ledger, self.is_careless
        places = {name: f"memory://{name}" for name in "ab"}
        snapshot_every = self.random.choice([20, 60])
        async with (
            live.join("vector", process="b", listen=places["b"], peers={"a": places["a"]},
                      journal=self.folder / "b.db") as b,
            live.join("vector", process="a", listen=places["a"], peers={"b": places["b"]},
                      journal=journal, snapshot_every=snapshot_every) as a,
        ):  # fmt: skip
            async with a.transaction() as tx:
                tx.execute("CREATE TABLE IF NOT EXISTS effects (delivery INTEGER)")
            taking = [asyncio.create_task(self._take(a)), asyncio.create_task(drain(b))]
            await asyncio.gather(*(self._send(a, "sent") for _ in range(3)), self._send(b, ""))
            await asyncio.sleep(0.2)
            if not is_closed:
                os.kill(os.getpid(), signal.SIGKILL)
            for task in taking:
                task.cancel()
            await asyncio.gather(*taking, return_exceptions=True)

    async def _send(self, node: live.Node, word: str) -> None:
        for _ in range(MESSAGES // 4):
            name = await node.send(self.random.randbytes(self.random.choice(SIZES)))
            if word:
                write_line(self.ledger, f"{word} {name.partition('#')[2]}")

    async def _take(self, node: live.Node) -> None:
        while True:
            delivery = await node.take()
            write_line(self.ledger, f"got {delivery.number} {delivery.message}")
            if delivery.number % 3 == 0:
                async with node.transaction() as tx:
                    tx.execute("INSERT INTO effects VALUES (?)", (delivery.number,))
                write_line(self.ledger, f"done {delivery.number}")
            elif delivery.number % 3 == 1:
                await delivery.done()
                write_line(self.ledger, f"done {delivery.number}")


async def drain(node: live.Node) -> None:
    async for _ in node:
        pass


if __name__ == "__main__":
    writer = Writer(Path(sys.argv[1]), int(sys.argv[2]), "careless" in sys.argv[4:])
    asyncio.run(writer.run(sys.argv[3] == "closed"))
