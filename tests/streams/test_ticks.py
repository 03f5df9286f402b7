"""Ticks: what waits too long is given up also while nothing comes, exactly once; and back-pressure."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from antecede.core.errors import AntecedeError
from antecede.ordering.stream.give_up import GiveUp
from antecede.streams import ledger as ledger_module
from antecede.streams import marks
from antecede.streams.back_pressure import LONGEST, compute_batch_delay_seconds, split_batch_delay_into_pauses
from tests.message_rows import Row
from tests.streams.conversations import FORMS, converse, spoil
from tests.streams.driving import Driver, Tables, cut
from tests.streams.test_step import outcome_of

SEQUENCE = FORMS["sequence"]
POLICY = GiveUp("release", seconds=2)


def say(number: int, group: str = "g") -> Row:
    return {"group": group, "sender": "a", "id": f"{group}{number}", "text": "", "stamp": number}


def start(folder: Path, give_up: GiveUp = POLICY) -> Driver:
    return Driver(folder, SEQUENCE.schema, group="group", give_up=give_up)


def list_missed(rows: list[Row]) -> dict[str, Any]:
    return {row["id"]: row["missed"] for row in rows}


def test_what_waits_too_long_comes_out_though_nothing_comes(tmp_path: Path) -> None:
    driver = start(tmp_path)
    assert driver.ledger.give_up_expired_rows(0) is None
    driver.run_batch(0, [say(3), say(1, "h")], 1000)
    driver.run_batch(1, [say(6)], 2000)
    assert driver.ledger.give_up_expired_rows(2999) is None
    mark = driver.ledger.give_up_expired_rows(3000)
    assert mark is not None and (mark.batch, mark.tick, mark.totals.released, mark.held_rows) == (1, 1, 1, 1)
    tables = driver.read()
    assert list_missed(tables.ordered) == {"h1": None, "g3": ["messages 1 to 2 of a"]}
    assert [row["id"] for row in tables.waiting] == ["g6"]
    assert driver.ledger.give_up_expired_rows(3999) is None
    mark = driver.ledger.give_up_expired_rows(4000)
    assert mark is not None and (mark.tick, mark.totals.released, mark.held_rows) == (2, 2, 0)
    driver.run_batch(2, [say(1), say(4), say(7)], 5000)
    tables = driver.read()
    assert {row["id"]: row["position"] for row in tables.out} == {
        "h1": 0,
        "g3": 0,
        "g6": 1,
        "g1": 2,
        "g4": 3,
        "g7": 4,
    }
    assert {row["id"] for row in tables.late} == {"g1", "g4"}


@pytest.mark.parametrize("action", ["release", "divert"])
@pytest.mark.parametrize("form", ["vector by place", "parents"])
def test_a_tick_does_what_an_empty_batch_would_do(tmp_path: Path, form: str, action: str) -> None:
    random, chosen = Random(8), FORMS[form]
    batches = cut(random, spoil(random, chosen, converse(random, groups=4, count=20)), 6)
    policy = GiveUp(action, seconds=2)
    options: dict[str, Any] = {"group": "group", "give_up": policy, **chosen.options}
    ticking, batching = (Driver(tmp_path / name, chosen.schema, **options) for name in ("ticks", "batches"))
    ticks = 0
    for number, rows in enumerate(batches):
        time = 1000 * number
        ticking.run_batch(number, rows, time)
        batching.run_batch(2 * number, rows, time)
        ticks += ticking.ledger.give_up_expired_rows(time + 1000) is not None
        batching.run_batch(2 * number + 1, [], time + 1000)
    assert ticks
    assert strip_batches(ticking.read()) == strip_batches(batching.read())


def strip_batches(tables: Tables) -> dict[str, list[str]]:
    return {
        name: sorted(str({**row, "batch": None}) for row in rows)
        for name, rows in zip(Tables._fields, tables, strict=True)
    }


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("next_step", ["tick", "batch"])
def test_a_tick_that_was_begun_is_finished_as_it_was_begun(
    tmp_path: Path, moment: str, next_step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [say(3), say(5, "h")]

    def crash(checkpoint: Path, mark: marks.Mark) -> None:
        if moment == "after":
            marks.write_commit_mark(checkpoint, mark)
        raise KeyboardInterrupt

    undisturbed, crashed = start(tmp_path / "undisturbed"), start(tmp_path / "crashed")
    for driver in (undisturbed, crashed):
        driver.run_batch(0, rows, 1000)
        driver.run_batch(1, [say(9)], 2000)
    undisturbed.ledger.give_up_expired_rows(3000)
    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "write_commit_mark", crash)
        with pytest.raises(KeyboardInterrupt):
            crashed.ledger.give_up_expired_rows(3000)
    # Whoever goes on has another policy, and comes much later; what was begun is done as it was begun.
    found = []
    for name in ("undisturbed", "crashed"):
        driver = start(tmp_path / name, GiveUp("divert", seconds=1000))
        if next_step == "tick":
            driver.ledger.give_up_expired_rows(9000)
        driver.run_batch(2, [say(1)], 9000)
        found.append(driver.read())
    assert outcome_of(found[0]) == outcome_of(found[1])
    assert {row["id"] for row in found[0].waiting} == {"g9"}
    assert {row["id"] for row in found[0].late} == {"g1"}


def test_a_batch_that_was_begun_goes_first(tmp_path: Path) -> None:
    driver = start(tmp_path)
    driver.run_batch(0, [say(3)], 1000)
    assert driver.begin(1, 2000) is not None
    assert driver.ledger.give_up_expired_rows(9000) is None
    driver.run_batch(1, [say(4)], 9000)
    assert driver.read().waiting, "the batch decides by the time of its first try"
    assert driver.ledger.give_up_expired_rows(9000) is not None


def test_a_run_that_others_have_overtaken_does_not_count(tmp_path: Path) -> None:
    driver = start(tmp_path)
    driver.run_batch(0, [say(3)], 1000)
    turn = driver.begin(1, 2000)
    assert turn is not None
    reports = driver.run_tasks(turn, [say(4)])
    (tmp_path / "checkpoint" / "attempts" / "1.json").unlink()
    driver.ledger.give_up_expired_rows(3000)
    with pytest.raises(AntecedeError, match="another run of this stream has gone on meanwhile"):
        turn.commit_batch(reports, driver.schema)


def test_batches_are_put_off_in_proportion_to_what_waits(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    assert compute_batch_delay_seconds(checkpoint, 1) == 0
    driver = start(tmp_path)
    driver.run_batch(0, [say(3), say(5), say(7)], 1000)
    delays = [compute_batch_delay_seconds(checkpoint, limit) for limit in (None, 3, 2, 1)]
    assert delays == [0, 0, 0.5, 2]
    driver.run_batch(1, [say(number) for number in range(9, 99, 2)], 1000)
    assert compute_batch_delay_seconds(checkpoint, 1) == LONGEST
    pauses = split_batch_delay_into_pauses(checkpoint, 1)
    assert next(pauses) > 0
    driver.ledger.give_up_expired_rows(3000)  # what waited is out: no more pauses
    assert list(pauses) == []
