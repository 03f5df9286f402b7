"""The live code under virtual time, faults and crashes: a slice of the campaign, and nodes that are broken.

`make live-campaign` runs thousands; `python -m tests.live.campaign --seed 7` shows one again.
"""

import logging
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from antecede.core.channel import Channel
from antecede.core.errors import CallerError
from antecede.core.station import Station
from antecede.live.journal import Unit
from antecede.live.pipeline import CommitGroup, Pipeline
from tests.cases import OTHER, Case
from tests.live.schedules import CASES, Disk, DiskJournal, Outcome, judge_schedules, run_schedule

SLICE = 56
"""Two schedules for each way to run a protocol."""
FAULTS = {
    "broken connection", "dead connection", "partition", "crash", "repeated", "swapped", "in pieces",
    "dialled in vain",
}  # fmt: skip
(OPTIMAL,) = (case for case in CASES if case.name == "optimal")


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "antecede.live")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_nothing_is_late_lost_or_twice_in_any_schedule(part: int, tmp_path: Path) -> None:
    outcomes = [run_schedule(seed, tmp_path) for seed in range(part, SLICE, 4)]
    assert judge_schedules(outcomes) == []
    faults: Counter[str] = sum((outcome.faults for outcome in outcomes), Counter())
    assert set(faults) == FAULTS
    assert sum(1 for outcome in outcomes for row in outcome.events if row["kind"] == "deliver") > 1000


def test_a_seed_is_a_schedule_however_quick_the_disk_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_schedule(5, tmp_path)
    monkeypatch.setattr("antecede.live.thread.QUICK", 0.0)
    second = run_schedule(5, tmp_path)
    assert first.events == second.events and first.faults == second.faults
    assert len(first.events) > 100
    assert run_schedule(6, tmp_path).events != first.events


# -- broken nodes are found out -------------------------------------------------------------------------


def find_problem(tmp_path: Path, case: Case = OPTIMAL, journal: Any = DiskJournal) -> list[str]:
    """What the judges say of the first schedule in which something is wrong."""
    for seed in range(1000, 1040):
        try:
            outcome: Outcome = run_schedule(seed, tmp_path, case, journal)
        except CallerError as error:  # the events of a process tell more than its journal
            return [str(error)]
        problems = judge_schedules([outcome])
        if problems:
            return problems
    return []


def test_messages_in_no_order_are_found_out(tmp_path: Path) -> None:
    (unordered,) = (case for case in OTHER if case.name == "unordered")
    problems = find_problem(tmp_path, unordered)
    assert any("late" in problem for problem in problems)
    assert not any("lost" in problem or "twice" in problem for problem in problems)


class LyingJournal(DiskJournal):
    """Says that a commit is on disk when the one before it is."""

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk)
        self.cache: list[tuple[list[Unit], bytes | None]] = []

    def commit(self, units: list[Unit], snapshot: bytes | None) -> None:
        self.cache.append((units, snapshot))
        if len(self.cache) > 1:
            super().commit(*self.cache.pop(0))


def test_a_disk_that_lies_is_found_out(tmp_path: Path) -> None:
    assert find_problem(tmp_path, journal=LyingJournal) != []


def test_a_node_that_lets_out_before_it_has_written_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apply_before_commit(self: Pipeline) -> None:
        self._is_commit_planned = False
        if self._failure is None and self._has_group_to_commit():
            group = self._current = self._group
            self._group = CommitGroup()
            self._apply_group_and_take_due_snapshot(group)
            finish = partial(finish_commit, self, group)
            self._thread.queue_call(finish, self.journal.commit, group.list_units(), None)

    def finish_commit(pipeline: Pipeline, group: CommitGroup, *_: object) -> None:
        pipeline._current = None
        group.resolve_waiters(None)
        pipeline._begin_commit()

    monkeypatch.setattr(Pipeline, "_begin_commit", apply_before_commit)
    assert find_problem(tmp_path) != []


def test_a_node_that_forgets_acknowledgements_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_all_but_acknowledgements(self: CommitGroup) -> list[Unit]:
        return [entry.unit for entry in self.entries]

    monkeypatch.setattr(CommitGroup, "list_units", list_all_but_acknowledgements)
    assert any("after it had acknowledged it" in problem for problem in find_problem(tmp_path))


def test_a_node_that_sends_nothing_again_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin_behind_all(self: Channel, low: int, allowed: int) -> None:
        self.acknowledged += len(self.flying)
        self.flying.clear()
        self.allowed = allowed

    monkeypatch.setattr(Channel, "begin_connection", begin_behind_all)
    assert find_problem(tmp_path) != []


def test_a_snapshot_without_the_deliveries_of_the_queue_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Station.snapshot

    def forget_queue(self: Station) -> bytes:
        queue, handed = self.queue.copy(), self.handed.copy()
        self.queue.clear()
        self.handed.clear()
        try:
            return whole(self)
        finally:
            self.queue.extend(queue)
            self.handed.extend(handed)

    monkeypatch.setattr(Station, "snapshot", forget_queue)
    assert find_problem(tmp_path) != []


def test_a_channel_without_order_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Acknowledging what has not been applied: a crash then loses it."""
    honest = Channel.apply_acknowledgement

    def believe_too_much(self: Channel, low: int, allowed: int) -> None:
        honest(self, self.acknowledged + len(self.flying), allowed)

    monkeypatch.setattr(Channel, "apply_acknowledgement", believe_too_much)
    assert find_problem(tmp_path) != []
