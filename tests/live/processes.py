"""A group of real processes over TCP, each a node with a journal and an application; somebody makes trouble.

What trouble, a subclass says: kills.py, wires.py, proxied.py. The verdict has three judges: our audit on the
events of all nodes; the ledgers of the applications, which say what they were promised; and their own tables,
in which every effect must be there once at most.
"""

import json
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.live.cluster import audit_events, find_free_port

NAMES = ["p0", "p1", "p2", "p3"]
ROOT = Path(__file__).resolve().parents[2]
WRONG = ("late", "fifo", "lost", "twice", "orphan")
"""What the audit must not find."""


class ProcessCampaign:
    """One group of processes in one folder; `unit` is the kind of trouble that `run` counts."""

    unit = ""

    def __init__(
        self,
        folder: Path,
        seed: int,
        protocol: str,
        kind: str,
        options: dict[str, Any],
        addresses: dict[str, str] | None = None,
    ) -> None:
        self.folder, self.seed, self.random = folder, seed, Random(seed)
        self.counts: Counter[str] = Counter()
        addresses = addresses or self.choose_addresses()
        self.plan: dict[str, Any] = {
            "protocol": protocol,
            "kind": kind,
            "options": options,
            "addresses": addresses,
            "routes": self.choose_routes(addresses),
            "key": self.choose_key(),
            "pause": 0.02,
            "laziness": self.random.choice([0.0, 0.05]),
            "window": self.random.choice([64, 1024]),
        }
        (folder / "plan.json").write_text(json.dumps(self.plan))
        self.workers: dict[str, subprocess.Popen[bytes]] = {}

    # -- what a subclass may change ----------------------------------------------------------------------

    def choose_addresses(self) -> dict[str, str]:
        """Where each process listens."""
        return {name: f"tcp://127.0.0.1:{find_free_port()}" for name in NAMES}

    def choose_routes(self, addresses: dict[str, str]) -> dict[str, dict[str, str]]:
        """Under which address each process reaches each other one."""
        return {name: {other: addresses[other] for other in NAMES if other != name} for name in NAMES}

    def choose_key(self) -> str | None:
        """The key of the group."""
        return "the key of the campaign"

    def wrap_command(self, name: str, command: list[str]) -> list[str]:
        """How the command of a process is run."""
        return command

    def disturb(self) -> None:
        """Make some trouble, and count it."""
        raise NotImplementedError

    def heal(self) -> None:
        """Make an end to all trouble."""

    def clean_up(self) -> None:
        """All processes have ended."""

    # -- the run -----------------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        seed = str(self.random.randrange(2**32))
        command = [sys.executable, "-m", "tests.live.worker", str(self.folder), name, seed]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.workers[name] = subprocess.Popen(
                self.wrap_command(name, command), cwd=ROOT, stdout=log, stderr=log
            )

    def run(self, trouble: int) -> list[str]:
        """Make that much trouble; returns what is wrong afterwards."""
        try:
            for name in NAMES:
                self.start(name)
            self._wait_for_traffic()
            while self.counts[self.unit] < trouble:
                self.disturb()
                self._check_workers()
            (self.folder / "quiet").touch()
            self.heal()
            problems = self._wait_for_quiet()
            problems += self._stop_all()
        finally:
            for worker in self.workers.values():
                worker.kill()
                worker.wait()
            self.clean_up()
        return problems + self.judge()

    def _check_workers(self) -> None:
        for name, worker in self.workers.items():
            if worker.poll() is not None:
                raise AssertionError(f"{name} ended by itself: {self._read(f'{name}.log')[-2000:]}")

    def _wait_for_traffic(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if all(" p" in self._read(f"{name}.ledger") for name in NAMES):
                return
            time.sleep(0.05)
        raise AssertionError(f"the processes do not begin: {self._read('p0.log')}")

    def _read(self, file: str) -> str:
        path = self.folder / file
        return path.read_text() if path.exists() else ""

    def _wait_for_quiet(self) -> list[str]:
        end = time.monotonic() + 90
        in_a_row = 0
        while time.monotonic() < end and in_a_row < 5:
            time.sleep(0.3)
            in_a_row = in_a_row + 1 if all(map(self._is_quiet, NAMES)) else 0
        return [] if in_a_row >= 5 else ["not all had arrived in time"]

    def _is_quiet(self, name: str) -> bool:
        file = self.folder / f"{name}.state"
        if not file.exists() or time.time() - file.stat().st_mtime > 5:
            return False
        return not json.loads(file.read_text())["busy"]

    def _stop_all(self) -> list[str]:
        problems = []
        for name, worker in self.workers.items():
            worker.terminate()
            if worker.wait(30) != 0:
                problems.append(f"{name} did not end well: {self._read(f'{name}.log')[-2000:]}")
        return problems

    # -- the verdict -------------------------------------------------------------------------------------

    def judge(self) -> list[str]:
        """What is wrong, by all three judges."""
        files = [self.folder / f"{name}.jsonl" for name in NAMES]
        findings = audit_events(files)
        problems = [f"{kind}: {findings[kind]}" for kind in WRONG if findings[kind]]
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        self.counts.update(row["kind"] for row in rows)
        sends = {row["message"]: row["receivers"] for row in rows if row["kind"] == "send"}
        delivered = {(row["process"], row["message"]) for row in rows if row["kind"] == "deliver"}
        for name in NAMES:
            self.counts["held for an earlier one"] += count_held(
                [row for row in rows if row["process"] == name]
            )
            self._count_refusals(name)
            problems += self._judge_ledger(name, sends, delivered)
            problems += self._judge_effects(name)
        return problems

    def _count_refusals(self, name: str) -> None:
        self.counts["sessions lost"] += self._read(f"{name}.log").count("lost its connection with")
        for kind, number in json.loads(self._read(f"{name}.state"))["refused"].items():
            self.counts[f"refused: {kind}"] += number

    def _judge_ledger(self, name: str, sends: dict[str, Any], delivered: set[tuple[str, str]]) -> list[str]:
        problems = []
        done = 0
        handed: dict[int, str] = {}
        for line in self._read(f"{name}.ledger").splitlines():
            word, *rest = line.split()
            if word == "sent" and any((to, rest[0]) not in delivered for to in sends.get(rest[0], ["?"])):
                problems.append(f"{rest[0]} was sent and is not with all its receivers")
            if word == "done":
                done = int(rest[0])
            if word == "got":
                number = int(rest[0])
                self.counts["handed again"] += number in handed
                if number <= done:
                    problems.append(f"{name} got delivery {number} again, after it had acknowledged {done}")
                if handed.setdefault(number, rest[1]) != rest[1]:
                    problems.append(f"{name} got {rest[1]} as delivery {number}, which was {handed[number]}")
        return problems

    def _judge_effects(self, name: str) -> list[str]:
        connection = sqlite3.connect(self.folder / f"{name}.db")
        rows = connection.execute("SELECT message, count(*) FROM effects GROUP BY message").fetchall()
        connection.close()
        self.counts["effects"] += len(rows)
        numbers = {int(re.match(r"\d+", message).group()) for message, _ in rows}  # type: ignore[union-attr]
        if len(numbers) != len(rows):
            return [f"{name} has two effects of one delivery"]
        return [f"{name} has the effect of {message} {times} times" for message, times in rows if times > 1]


def count_held(rows: list[dict[str, Any]]) -> int:
    """How many messages came to one process before one that it delivered earlier: they were reordered."""
    arrivals: dict[str, int] = {}
    for row in rows:
        if row["kind"] == "receive":
            arrivals.setdefault(row["message"], row["index"])
    held = 0
    latest = -1
    for row in rows:
        if row["kind"] == "deliver" and row["message"] in arrivals:
            arrival = arrivals[row["message"]]
            held += arrival < latest
            latest = max(latest, arrival)
    return held
