"""Loss of power: from any disk that it may leave behind, a node comes back with all that it had promised."""

import os
from pathlib import Path
from random import Random

import pytest

from tests.live.power_loss import (
    RUNS,
    Operation,
    RecordedFile,
    choose_moments,
    find_obstacle,
    judge_losses,
    record_runs,
)

SEED = 1


@pytest.fixture(scope="module", autouse=True)
def _with_strace() -> None:
    obstacle = find_obstacle()
    if obstacle and not (os.environ.get("CI") and os.geteuid() == 0):
        pytest.skip(obstacle)
    assert obstacle == ""


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    folder: Path = tmp_path_factory.mktemp("recorded")
    return record_runs(folder, SEED, RUNS)


@pytest.mark.slow
def test_no_loss_of_power_breaks_a_promise(operations: list[Operation]) -> None:
    problems, counts = judge_losses(operations, SEED, 150)
    assert problems == []
    assert counts["with something unsynced"] > 100
    assert counts["after promises"] > 50


def test_what_is_recorded_has_all_that_a_journal_does(operations: list[Operation]) -> None:
    begins_of_log = [one for one in operations if (one.kind, one.name, one.at) == ("write", "a.db-wal", 0)]
    assert len(begins_of_log) > len(RUNS)  # SQLite has begun it again within a run
    assert any(one.kind == "write" and one.name == "a.db" and one.at > 4096 for one in operations)
    kinds = {one.kind for one in operations}
    assert kinds == {"create", "rename", "remove", "write", "cut", "sync", "sync folder", "promise"}
    moments = choose_moments(operations, Random(1), 200)
    assert {operations[moment - 1].kind for moment in moments} == kinds


def test_a_journal_that_does_not_sync_is_found_out(tmp_path: Path) -> None:
    careless = record_runs(tmp_path, SEED, ["killed"], "careless")
    problems, _ = judge_losses(careless, SEED, 200)  # one in twenty shows it
    assert any("messages were sent" in problem for problem in problems)


def test_a_file_after_a_loss_of_power() -> None:
    file = RecordedFile(bytearray(b"a" * 1024))
    file.changes = [(0, b"b" * 1024), (1024, b"c" * 512)]
    seen = {file.build(Random(seed))[:1536] for seed in range(300)}
    zeros = {content.replace(b"\0" * 512, b"0") for content in seen if len(content) in (1024, 1536)}
    for first in b"ab":
        for second in b"ab":
            whole = bytes([first]) * 512 + bytes([second]) * 512
            assert {whole, whole + b"c" * 512, whole + b"0"} <= zeros
    file.sync()
    assert {file.build(Random(seed)) for seed in range(20)} == {b"b" * 1024 + b"c" * 512}
