"""Real processes, killed with SIGKILL at random moments under load, paused, and started again.

The verdict has three judges: our audit on the events of all nodes; the ledgers of the applications, which say
what they were promised; and their own tables, in which every effect must be there once at most.
"""

import json
import re
import signal
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


class KillCampaign:
    """One group of processes in one folder."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        protocol: str,
        kind: str,
        options: dict[str, Any],
        addresses: dict[str, str] | None = None,
    ) -> None:
        self.folder, self.random = folder, Random(seed)
        self.counts: Counter[str] = Counter()
        plan = {
            "protocol": protocol,
            "kind": kind,
            "options": options,
            "addresses": addresses or {name: f"tcp://127.0.0.1:{find_free_port()}" for name in NAMES},
            "pause": 0.02,
            "laziness": self.random.choice([0.0, 0.05]),
            "window": self.random.choice([64, 1024]),
        }
        (folder / "plan.json").write_text(json.dumps(plan))
        self.workers: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        seed = str(self.random.randrange(2**32))
        command = [sys.executable, "-m", "tests.live.worker", str(self.folder), name, seed]
        log = (self.folder / f"{name}.log").open("ab")
        self.workers[name] = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    def run(self, kills: int) -> list[str]:
        """Kill that often; returns what is wrong afterwards."""
        try:
            for name in NAMES:
                self.start(name)
            self._wait_for_traffic()
            while self.counts["killed"] < kills:
                self._disturb()
            (self.folder / "quiet").touch()
            problems = self._wait_for_quiet()
            problems += self._stop_all()
        finally:
            for worker in self.workers.values():
                worker.kill()
                worker.wait()
        return problems + self.judge()

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

    def _disturb(self) -> None:
        """Kill one or two processes, or let one stand still."""
        time.sleep(self.random.uniform(0.0, 0.4))
        victims = self.random.sample(NAMES, self.random.choice([1, 1, 1, 2]))
        if self.random.random() < 0.2:
            self._pause(victims[0])
            return
        for name in victims:
            worker = self.workers[name]
            if worker.poll() is not None:
                raise AssertionError(f"{name} ended by itself: {self._read(f'{name}.log')[-2000:]}")
            worker.send_signal(signal.SIGKILL)
            self.counts["killed"] += 1
        time.sleep(self.random.choice([0.0, 0.0, 0.5]))
        for name in victims:
            self.workers[name].wait()
            self.start(name)

    def _pause(self, name: str) -> None:
        worker = self.workers[name]
        worker.send_signal(signal.SIGSTOP)
        self.counts["paused"] += 1
        time.sleep(self.random.choice([0.3, 1.5]))  # the second is longer than its peers wait
        worker.send_signal(signal.SIGCONT)

    def _wait_for_quiet(self) -> list[str]:
        end = time.monotonic() + 90
        in_a_row = 0
        while time.monotonic() < end and in_a_row < 5:
            time.sleep(0.3)
            now = time.time()
            files = [self.folder / f"{name}.quiet" for name in NAMES]
            fresh = all(file.exists() and now - file.stat().st_mtime < 5 for file in files)
            quiet = fresh and all(file.read_text() == "quiet" for file in files)
            in_a_row = in_a_row + 1 if quiet else 0
        return [] if in_a_row >= 5 else ["not all had arrived in time"]

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
        problems = [
            f"{kind}: {findings[kind]}" for kind in ("late", "lost", "twice", "orphan") if findings[kind]
        ]
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        self.counts.update(row["kind"] for row in rows)
        sends = {row["message"]: row["receivers"] for row in rows if row["kind"] == "send"}
        delivered = {(row["process"], row["message"]) for row in rows if row["kind"] == "deliver"}
        for name in NAMES:
            problems += self._judge_ledger(name, sends, delivered)
            problems += self._judge_effects(name)
        return problems

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
