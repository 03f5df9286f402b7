"""Giving up: who has waited too long comes out flagged or is put aside; what comes after all is late."""

import math
from pathlib import Path
from random import Random

import pytest

from antecede.core.errors import CallerError
from antecede.ordering.stream.give_up import GiveUp
from tests.message_rows import Row
from tests.streams.conversations import FORMS, converse, spoil
from tests.streams.driving import Driver, check_positions, cut

SEQUENCE = FORMS["sequence"].schema


def say(sender: str, number: int, group: str = "g") -> Row:
    return {"group": group, "sender": sender, "id": f"{sender}{number}", "text": "", "stamp": number}


def know(sender: str, **past: int) -> Row:
    message = {"group": "g", "sender": sender, "id": f"{sender}{past[sender]}", "text": ""}
    return {**message, "stamp": list(past.items())}


VECTOR = FORMS["vector by name"].schema
SECONDS = GiveUp("release", seconds=10)


def test_a_row_that_waited_too_long_comes_out_with_what_it_missed(tmp_path: Path) -> None:
    driver = Driver(tmp_path, VECTOR, group="group", give_up=SECONDS)
    driver.run_batch(0, [know("a", a=1), know("b", a=3, b=1)], 0)
    driver.run_batch(1, [know("a", a=4)], 9_000)
    assert [row["id"] for row in driver.read_waiting()] == ["b1", "a4"]
    mark = driver.run_batch(2, [know("c", c=1)], 10_000)
    assert mark is not None and mark.counts.released == 2
    tables = driver.read()
    (line,) = check_positions(tables).values()
    told = [(row["id"], row["missed"]) for row in line]
    # What is given up is given up once: a4 lacks the same, and does not wait for itself.
    assert told == [
        ("a1", None),
        ("c1", None),
        ("b1", ["messages 2 to 3 of a"]),
        ("a4", ["messages 2 to 3 of a"]),
    ]
    assert not tables.late and not tables.waiting


def test_what_was_given_up_is_late_when_it_comes_and_its_copy_a_duplicate(tmp_path: Path) -> None:
    driver = Driver(tmp_path, VECTOR, group="group", give_up=SECONDS)
    driver.run_batch(0, [know("a", a=1), know("b", a=3, b=1)], 0)
    driver.run_batch(1, [know("c", c=1)], 10_000)
    driver.run_batch(2, [know("a", a=3), know("a", a=4)], 11_000)
    driver.run_batch(3, [know("a", a=2), know("a", a=3)], 12_000)
    driver.run_batch(4, [know("a", a=2), know("a", a=5)], 13_000)
    tables = driver.read()
    (line,) = check_positions(tables).values()
    assert [row["id"] for row in line] == ["a1", "c1", "b1", "a3", "a4", "a2", "a5"]
    assert [row["id"] for row in tables.late] == ["a3", "a2"] or [row["id"] for row in tables.late] == [
        "a2",
        "a3",
    ]
    assert sorted(row["id"] for row in tables.quarantine) == ["a2", "a3"]
    assert {row["id"]: row["missed"] for row in tables.ordered}["b1"] == ["messages 2 to 3 of a"]


def test_of_what_a_row_waits_for_only_what_is_not_there_is_given_up(tmp_path: Path) -> None:
    driver = Driver(tmp_path, VECTOR, group="group", give_up=SECONDS)
    driver.run_batch(0, [know("b", a=2, b=1)], 0)
    driver.run_batch(1, [know("a", a=2)], 9_000)
    driver.run_batch(2, [know("c", c=1)], 10_000)
    (line,) = check_positions(driver.read()).values()
    assert [(row["id"], row["missed"]) for row in line] == [
        ("c1", None),
        ("a2", ["message 1 of a"]),
        ("b1", ["message 1 of a"]),
    ]


def test_a_bucket_without_new_rows_gives_up_as_well(tmp_path: Path) -> None:
    driver = Driver(tmp_path, SEQUENCE, group="group", give_up=SECONDS)
    groups = [f"g{n}" for n in range(8)]
    driver.run_batch(0, [say("a", 2, group) for group in groups], 0)
    driver.run_batch(1, [say("a", 1, "other")], 10_000)
    tables = driver.read()
    assert {row["group"]: row["missed"] for row in tables.ordered} == {
        **{group: ["message 1 of a"] for group in groups},
        "other": None,
    }


def test_diverted_rows_are_put_aside_with_what_they_lack(tmp_path: Path) -> None:
    driver = Driver(tmp_path, VECTOR, group="group", give_up=GiveUp("divert", seconds=10))
    driver.run_batch(0, [know("b", a=1, b=1)], 0)
    driver.run_batch(1, [know("b", a=1, b=2)], 10_000)
    tables = driver.read()
    assert [(row["id"], row["missing"]) for row in tables.held] == [("b1", ["message 1 of a"])]
    assert [row["id"] for row in tables.waiting] == ["b2"]
    # The cause frees what waits for it; what was put aside may be sent again.
    driver.run_batch(2, [know("a", a=1)], 11_000)
    driver.run_batch(3, [know("b", a=1, b=1)], 12_000)
    tables = driver.read()
    (line,) = check_positions(tables).values()
    assert [row["id"] for row in line] == ["a1", "b1", "b2"]
    assert not tables.late and not tables.waiting


@pytest.mark.parametrize("limit", [{"rows": 2}, {"bytes": 100}])
def test_the_oldest_rows_go_when_a_group_holds_too_much(tmp_path: Path, limit: dict[str, int]) -> None:
    driver = Driver(tmp_path, SEQUENCE, group="group", give_up=GiveUp("divert", **limit))
    driver.run_batch(0, [say("a", 2), say("a", 2, "h")])
    driver.run_batch(1, [say("a", 3)])
    assert not driver.read().held
    driver.run_batch(2, [say("a", 4), say("a", 5)])
    tables = driver.read()
    assert sorted(row["id"] for row in tables.held) == ["a2", "a3"]
    assert sorted(row["id"] for row in tables.waiting) == ["a2", "a4", "a5"]


def test_rows_that_wait_for_each_other_are_put_aside(tmp_path: Path) -> None:
    schema = FORMS["parents"].schema
    rows = [
        {"group": "g", "sender": "a", "id": one, "text": "", "stamp": [other]}
        for one, other in (("x", "y"), ("y", "x"), ("z", "w"))
    ]
    driver = Driver(tmp_path, schema, group="group", id="id", give_up=GiveUp("release", rows=0))
    tables = driver.run_all([rows])
    assert [(row["id"], row["missed"]) for row in tables.ordered] == [("z", ["w"])]
    assert sorted(row["id"] for row in tables.held) == ["x", "y"]
    assert all("a cycle: " in row["missing"][-1] for row in tables.held)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("action", ["release", "divert"])
def test_every_row_ends_in_one_table_and_what_is_passed_is_late(
    tmp_path: Path, action: str, seed: int
) -> None:
    random = Random(seed)
    form = FORMS[random.choice(list(FORMS))]
    messages = converse(random, groups=2, count=12)
    rows = spoil(random, form, messages)
    give_up = random.choice(
        (GiveUp(action, seconds=2), GiveUp(action, rows=2), GiveUp(action, seconds=1, rows=3))
    )
    driver = Driver(tmp_path, form.schema, group="group", give_up=give_up, **form.options)
    tables = driver.run_all(cut(random, rows, 6))
    assert len(tables.every_row()) == len(rows)
    causes = {message.id: form.find_causes(message, messages) for message in messages}
    if "id" in form.options:  # what a parent that is given up was caused by, nobody can tell
        causes = {row["id"]: set(row["stamp"]) for row in rows}
    late = {row["id"] for row in tables.late}
    for line in check_positions(tables).values():
        place = {row["id"]: row["position"] for row in line}
        assert len(place) == len(line)
        for row in line:
            passed = {cause for cause in causes[row["id"]] if place.get(cause, -1) > row["position"]}
            assert passed <= late
            is_told = row["missed"] is not None or row["id"] in late
            lacks = any(cause not in place for cause in causes[row["id"]])
            assert action == "release" or (not lacks and not is_told)
    assert action == "release" or not late


def test_rules_that_make_no_sense_are_refused() -> None:
    for give_up, words in (
        (GiveUp("drop"), "give_up='drop': choose one of hold, release, divert"),
        (GiveUp("hold", seconds=3), "'hold' waits for ever: leave out after_seconds="),
        (GiveUp("release"), "'release' needs a limit"),
        (GiveUp("divert", rows=-1), "after_rows= must not be below 0"),
        (GiveUp("release", seconds=math.nan), "after_seconds= must not be below 0, and is nan"),
    ):
        with pytest.raises(CallerError, match=words):
            give_up.check_action_and_limits()


def test_rows_of_the_receiver_that_others_took_to_be_there_are_late(tmp_path: Path) -> None:
    schema = VECTOR.append(VECTOR.field("sender").with_name("receiver"))
    driver = Driver(tmp_path, schema, group="group", receiver="receiver")

    def at_b(sender: str, **past: int) -> Row:
        return {**know(sender, **past), "receiver": "b"}

    driver.run_batch(0, [at_b("a", a=1, b=2)])
    driver.run_batch(1, [at_b("b", b=2), at_b("b", b=3)])
    driver.run_batch(2, [at_b("b", b=2), at_b("b", b=1)])
    tables = driver.read()
    (line,) = check_positions(tables).values()
    assert [row["id"] for row in line] == ["a1", "b2", "b3", "b1"]
    assert sorted(row["id"] for row in tables.late) == ["b1", "b2"]
    assert [row["id"] for row in tables.quarantine] == ["b2"]
