"""A soak: nodes in processes of their own over TCP, millions of messages, and memory that must stay flat.

    python -m tests.live.soak --messages 10000000
    python -m tests.live.soak --messages 1000000 --journal --protocol vector

Every process notes how much memory it has after each hundredth of its messages; with a journal, how large its
files are. The first tenth is warming up. Exit code 1 if the last tenth needs more than the second one, by a
tenth and a little.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from antecede import live
from tests.live.cluster import find_free_port

NAMES = ["p0", "p1", "p2"]
ROOT = Path(__file__).resolve().parents[2]
PAYLOAD = b"x" * 100
SENDERS = 64
"""With a journal a send waits for its commit: so many wait together."""
SPARE_MEMORY = 2 * 2**20
SPARE_DISK = 8 * 2**20
"""By how many bytes figures may differ and mean nothing: pages of allocators, a snapshot in the WAL."""
PARTS = 100


class SoakProcess:
    """One node: sends its share, in turn to the others, and takes what comes."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.plan = json.loads((folder / "plan.json").read_text())
        self.taken = 0
        self.unsent = self.share = choose_share(self.plan["messages"])
        self.samples: list[tuple[int, int, int]] = []

    async def run(self) -> None:
        addresses = self.plan["addresses"]
        journal = self.folder / f"{self.name}.db" if self.plan["journal"] else None
        async with live.join(
            self.plan["protocol"],
            process=self.name,
            listen=addresses[self.name],
            peers={name: address for name, address in addresses.items() if name != self.name},
            journal=journal,
            linger=60.0,
        ) as node:
            senders = SENDERS if journal else 1
            tasks = [asyncio.create_task(self._send(node)) for _ in range(senders)]
            await self._take(node)
            await asyncio.gather(*tasks)
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.samples))

    async def _send(self, node: live.Node) -> None:
        others = [name for name in NAMES if name != self.name]
        is_broadcast = self.plan["protocol"] == "vector"
        while self.unsent:
            self.unsent -= 1
            to = None if is_broadcast else [others[self.unsent % len(others)]]
            await node.send(PAYLOAD, to=to)

    async def _take(self, node: live.Node) -> None:
        """Take as many as there are for this process, and note how large it is."""
        copies = len(NAMES) if self.plan["protocol"] == "vector" else 1
        expected = self.share * copies
        step = max(expected // PARTS, 1)
        async for _ in node:
            self.taken += 1
            if self.taken % step == 0:
                self.samples.append((self.taken, read_memory(), self._measure_files()))
            if self.taken == expected:
                return

    def _measure_files(self) -> int:
        return sum(file.stat().st_size for file in self.folder.glob(f"{self.name}.db*"))


def choose_share(messages: int) -> int:
    """What each process sends: even, so that both others get the same."""
    return messages // (2 * len(NAMES)) * 2


def read_memory() -> int:
    """The resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def judge_growth(what: str, figures: list[int], spare: int) -> str | None:
    """What is wrong with figures that should not grow, taken at equal distances."""
    tenth = len(figures) // 10
    early, late = max(figures[tenth : 2 * tenth]), max(figures[-tenth:])
    if late <= early * 1.1 + spare:
        return None
    return f"{what} grows: {early / 2**20:.1f} MB in the second tenth, {late / 2**20:.1f} MB in the last"


def run_soak(folder: Path, messages: int, protocol: str, journal: bool) -> list[str]:
    """Run the processes to their end; prints what they needed, returns what is wrong with that."""
    plan: dict[str, Any] = {
        "addresses": {name: f"tcp://127.0.0.1:{find_free_port()}" for name in NAMES},
        "messages": messages,
        "protocol": protocol,
        "journal": journal,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    begin = time.monotonic()
    command = [sys.executable, "-m", "tests.live.soak", "--folder", str(folder), "--process"]
    processes = [subprocess.Popen([*command, name], cwd=ROOT) for name in NAMES]
    codes = [process.wait() for process in processes]
    if any(codes):
        return [f"the processes ended with {codes}"]
    seconds = time.monotonic() - begin
    kind = "with journals" if journal else "without journals"
    print(f"{messages:,} messages of {protocol}, {kind}: {seconds:.0f} s", flush=True)
    problems = []
    for name in NAMES:
        samples = json.loads((folder / f"{name}.json").read_text())
        memory, files = [sample[1] for sample in samples], [sample[2] for sample in samples]
        print_figures(f"{name} memory", memory)
        problems.append(judge_growth(f"the memory of {name}", memory, SPARE_MEMORY))
        if journal:
            print_figures(f"{name} journal", files)
            problems.append(judge_growth(f"the journal of {name}", files, SPARE_DISK))
    return [problem for problem in problems if problem]


def print_figures(title: str, figures: list[int]) -> None:
    """The largest of each tenth."""
    tenth = len(figures) // 10
    largest = [max(figures[at * tenth : (at + 1) * tenth]) for at in range(10)]
    print(f"  {title}, MB by tenths:", *(f"{size / 2**20:.1f}" for size in largest), flush=True)


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--messages", type=int, default=10_000_000, help="in all")
    parser.add_argument("--protocol", default="optimal")
    parser.add_argument("--journal", action="store_true")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--process", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.process:
        asyncio.run(SoakProcess(arguments.folder, arguments.process).run())
        return 0
    with tempfile.TemporaryDirectory() as folder:
        problems = run_soak(Path(folder), arguments.messages, arguments.protocol, arguments.journal)
    for problem in problems:
        print(f"  {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
