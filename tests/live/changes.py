"""Schedules in which the group changes while there is trouble: links of `flood`, members of `probabilistic`.

As in schedules.py, a seed stands for all of it. Whoever changes something does it as an application would,
through crashes: it asks again until it has an answer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from antecede import CallerError, live
from tests.cases import EXACT, Case
from tests.live.schedules import CHAOS, Outcome, Process, Schedule, judge_schedules
from tests.live.virtual import run_virtually

(LINE,) = (case for case in EXACT if case.name == "flood-line")
OWN_ENTRIES = Case("own entries", "probabilistic", {"R": 8, "K": 1}, ("broadcast",))
"""Every process counts on an entry of its own, so causal order is exact."""
LONGEST_CHANGE = 150.0
"""Virtual seconds for one to join and one to leave: much longer than the trouble lasts."""
T = TypeVar("T")


class LinkSchedule(Schedule):
    """Processes in a line, between which other links come and go."""

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(seed, folder, LINE)

    def list_jobs(self, end: float) -> list[Coroutine[Any, Any, None]]:
        return [*super().list_jobs(end), self._change_links(end)]

    async def _change_links(self, end: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < end:
            await asyncio.sleep(self.random.expovariate(1.0))
            at = self.random.randrange(len(self.names))
            far = [name for place, name in enumerate(self.names) if abs(place - at) > 1]
            node = self.processes[self.names[at]].node
            if far and node is not None:
                await self._change_link(node, self.random.choice(far))

    async def _change_link(self, node: live.Node, peer: str) -> None:
        """Remove a link that is there, add one that is not; a crash may come before it is done."""
        try:
            if peer in node.links:
                await node.remove_link(peer)
                self.network.counts["link removed"] += 1
            else:
                await node.add_link(peer)
                self.network.counts["link added"] += 1
        except live.NodeClosedError:
            self.network.counts["crashed meanwhile"] += 1
        except CallerError:
            self.network.counts["link that was being opened"] += 1


class Member(Process):
    """A process that may have joined later, or have left."""

    welcome: bytes | None = None
    group: tuple[str, ...] = ("p0", "p1", "p2")
    has_left = False

    def choose_options(self) -> dict[str, Any]:
        peers = {other: f"memory://{other}" for other in self.group if other != self.name}
        options = self.world.case.options_for(len(self.group))
        return {"peers": peers, "welcome": self.welcome, "set_id": int(self.name[1:]), **options}

    async def start(self) -> None:
        if not self.has_left:
            await super().start()

    def crash(self) -> None:
        if not self.has_left:
            super().crash()


class MemberSchedule(Schedule):
    """Three found a group; one joins with the first as its sponsor, another one leaves, in any order."""

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(seed, folder, OWN_ENTRIES)
        self.names = [*Member.group]
        self.processes = {name: Member(self, name) for name in self.names}
        self.sponsored = 0

    def list_jobs(self, end: float) -> list[Coroutine[Any, Any, None]]:
        return [*super().list_jobs(end), self._change_in_time()]

    async def _change_in_time(self) -> None:
        await asyncio.sleep(self.random.uniform(0.0, CHAOS / 2))
        try:
            await asyncio.wait_for(self._change_members(), LONGEST_CHANGE)
        except TimeoutError:
            self.broken.append("the members could not change in time")

    async def _change_members(self) -> None:
        if self.random.random() < 0.5:
            await self._let_join("p3")
            await self._let_leave("p2")
        else:
            await self._let_leave("p2")
            await self._let_join("p3")

    async def _let_join(self, name: str) -> None:
        """All admit the newcomer, one after the other, and it begins with the state of p0."""
        members = [member for member in self.names if not self._get(member).has_left]
        self.random.shuffle(members)
        sent = {}
        for member in members:
            sent[member] = await self._ask(member, lambda node: node.admit(name, f"memory://{name}"))
            await asyncio.sleep(self.random.expovariate(1.0))
        invitation = await self._ask("p0", lambda node: node.welcome(name, sent))
        await asyncio.sleep(self.random.expovariate(1.0))
        self.names = [*self.names, name]
        self.sponsored = invitation.delivered
        newcomer = Member(self, name)
        newcomer.welcome, newcomer.group = invitation.state, tuple(members)
        self.processes[name] = newcomer
        await newcomer.start()
        self.network.counts["joined"] += 1

    async def _let_leave(self, name: str) -> None:
        sent = await self._ask(name, lambda node: node.leave())
        leaver = self._get(name)
        leaver.has_left = True
        for task in leaver.tasks:
            task.cancel()
        for member in self.names:
            if member != name:
                await self._ask(member, lambda node: node.dismiss(name, sent))
        self.network.counts["left"] += 1

    def _get(self, name: str) -> Member:
        process = self.processes[name]
        assert isinstance(process, Member)
        return process

    async def _ask(self, name: str, question: Callable[[live.Node], Awaitable[T]]) -> T:
        """Ask a node until it answers, through its crashes."""
        while True:
            node = self._get(name).node
            if node is not None:
                try:
                    return await question(node)
                except live.NodeClosedError:
                    self.network.counts["asked again"] += 1
            await asyncio.sleep(0.1)

    def _is_quiet(self, process: Process) -> bool:
        assert isinstance(process, Member)
        return process.has_left or super()._is_quiet(process)

    def _check_promises(self, outcome: Outcome) -> None:
        """What a founder that stays sent or got, all that stay have; the newcomer has it from its sponsor."""
        rows = outcome.events
        got: dict[str, list[str]] = {name: [] for name in self.names}
        for row in rows:
            if row["kind"] == "deliver":
                got[row["process"]].append(row["message"])
        sends = {row["message"] for row in rows if row["kind"] == "send"}
        promised = {message for process in self.processes.values() for message in process.sent}
        outcome.broken += [f"{message} was sent, and is not written down" for message in promised - sends]
        for name in [name for name in self.names if name != "p2"]:
            brought = got["p0"][: self.sponsored] if name == "p3" else []
            both = [*brought, *got[name]]
            outcome.broken += [f"{name} has {message} twice" for message in set(brought) & set(got[name])]
            outcome.broken += [f"{message} is lost at {name}" for message in sends - set(both)]


def run_change(schedule: type[LinkSchedule] | type[MemberSchedule], seed: int, folder: Path) -> Outcome:
    """Run what a seed stands for; the same seed is the same schedule."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.jsonl"):
        file.unlink()

    async def main() -> Outcome:
        return await schedule(seed, folder).run()

    return run_virtually(main(), seed)


def judge_changes(outcomes: list[Outcome]) -> list[str]:
    """As `judge_schedules`; what a newcomer has from its sponsor, and a leaver does not get, is not lost."""
    excused = {outcome.seed for outcome in outcomes if outcome.case is OWN_ENTRIES}
    return [
        problem
        for problem in judge_schedules(outcomes)
        if not any(problem.startswith(f"seed {seed}: lost: ") for seed in excused)
    ]
