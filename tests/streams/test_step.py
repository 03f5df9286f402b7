"""The step of a micro-batch: however rows are cut, what is out and what waits is as batch has it."""

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.local.message_order import order
from antecede.ordering.stream.states import list_group_keys_of_states
from antecede.streams import bucket
from antecede.streams.files import read_group_states, read_waiting_rows
from antecede.streams.marks import read_newest_mark
from tests.message_rows import Row
from tests.streams.conversations import FORMS, StreamForm, converse, spoil
from tests.streams.driving import Driver, Tables, check_positions, cut


def count_ids(rows: list[Row]) -> Counter[str]:
    return Counter(row["id"] for row in rows)


def check_like_batch(tables: Tables, rows: list[Row], form: StreamForm) -> None:
    """Each table has the messages of the batch table, however their order may differ."""
    table = pa.Table.from_pylist(rows, form.schema)
    ordered, held, quarantine = (part.to_pylist() for part in order(table, group="group", **form.options))
    assert count_ids(tables.out) == count_ids(ordered)
    assert count_ids(tables.waiting) == count_ids(held)
    assert count_ids(tables.quarantine) == count_ids(quarantine)
    assert not tables.late and not tables.held


def check_causes(tables: Tables, causes: dict[str, set[str]]) -> None:
    """No row comes before one that caused it."""
    for line in check_positions(tables).values():
        place = {row["id"]: row["position"] for row in line}
        for row in line:
            assert all(place[cause] < row["position"] for cause in causes[row["id"]])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", FORMS)
def test_every_prefix_is_as_batch_has_it(tmp_path: Path, name: str, seed: int) -> None:
    random, form = Random(seed), FORMS[name]
    messages = converse(random, groups=3, count=12)
    rows = spoil(random, form, messages)
    causes = {message.id: form.find_causes(message, messages) for message in messages}
    driver = Driver(tmp_path, form.schema, group="group", **form.options)
    so_far: list[Row] = []
    for number, part in enumerate(cut(random, rows, random.choice((1, 3, 6)))):
        driver.run_batch(number, part)
        so_far += part
        tables = driver.read()
        assert len(tables.every_row()) == len(so_far)
        check_like_batch(tables, so_far, form)
        check_causes(tables, causes)


@pytest.mark.parametrize("name", FORMS)
def test_many_small_batches_merge_their_files_and_lose_nothing(tmp_path: Path, name: str) -> None:
    random, form = Random(7), FORMS[name]
    messages = converse(random, groups=2, count=24)
    rows = spoil(random, form, messages)
    driver = Driver(tmp_path, form.schema, group="group", **form.options)
    tables = driver.run_all([row] for row in rows)
    assert len(tables.every_row()) == len(rows) > 25
    check_like_batch(tables, rows, form)
    files = list((tmp_path / "checkpoint" / "state").rglob("*.parquet"))
    assert len(files) < 2 * 2 * 2 * (8 + 1)


def outcome_of(tables: Tables) -> dict[str, Any]:
    """The tables in a form that can be compared."""
    return {name: sorted(map(str, rows), key=str) for name, rows in zip(Tables._fields, tables, strict=True)}


@pytest.mark.parametrize("name", FORMS)
def test_rows_of_a_batch_may_come_in_any_order_and_waiting_rows_may_stay_where_they_are(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = FORMS[name]
    for seed in range(3):
        random = Random(seed)
        batches = cut(random, spoil(random, form, converse(random, groups=3, count=14)), 6)
        expected = None
        for how in ("as it is", "shuffled", "load everything"):
            shuffled = [random.sample(part, len(part)) for part in batches]
            with monkeypatch.context() as patch:
                if how == "load everything":
                    patch.setattr(bucket, "find_groups_to_load", load_everything)
                driver = Driver(tmp_path / f"{seed} {how}", form.schema, group="group", **form.options)
                found = outcome_of(driver.run_all(batches if how == "as it is" else shuffled))
            expected = expected or found
            assert found == expected, how


def load_everything(arriving, size, states, reading, give_up, time):
    keys = list_group_keys_of_states(states).combine_chunks()
    return keys.filter(pa.compute.greater(states["held"], 0).combine_chunks())


def test_waiting_rows_are_not_read_unless_one_can_wake_or_be_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = FORMS["sequence"]
    loaded: list[int] = []

    def count_loaded(checkpoint, files, states, *, exact_names):
        rows = read_waiting_rows(checkpoint, files, states, exact_names=exact_names)
        loaded.append(len(rows.filed))
        return rows

    monkeypatch.setattr(bucket, "read_waiting_rows", count_loaded)

    def row(number: int, text: str = "") -> Row:
        return {"group": "g", "sender": "a", "id": str(number), "text": text, "stamp": number}

    driver = Driver(tmp_path, form.schema, group="group")
    numbers = [[2, 3], [4], [7], [9, 8], [8], [6], [1], [5]]
    for number, batch in enumerate(numbers):
        driver.run_batch(number, [row(one) for one in batch])
    # 8 and 9 wait behind 7; the copy of 8 is told by looking; 1 lets 2 to 4 out, and 5 the rest.
    # 6 may be a copy, since it lies between 2 and 9.
    assert loaded == [0, 0, 0, 0, 6, 6, 7, 4]
    tables = driver.read()
    assert [row["id"] for row in check_positions(tables)["g"]] == list("123456789")
    assert [row["reason"] for row in tables.quarantine] == ["duplicate: message 8 of a came before"]


def test_states_of_groups_that_are_not_touched_stay_where_they_are(tmp_path: Path) -> None:
    form = FORMS["sequence"]

    def row(group: int, number: int) -> Row:
        return {"group": f"g{group}", "sender": "a", "id": "", "text": "", "stamp": number}

    driver = Driver(tmp_path, form.schema, group="group")
    batches = [[row(group, 1) for group in range(90)]]
    batches += [[row(batch % 7, batch // 7 + 2)] for batch in range(28)]
    tables = driver.run_all([*batches, [row(group, 6 if group < 7 else 2) for group in range(90)]])
    assert len(tables.ordered) == len(tables.every_row()) == 90 + 28 + 90
    check_positions(tables)

    shorter = Driver(tmp_path / "shorter", form.schema, group="group")
    shorter.run_all(batches)
    mark = read_newest_mark(shorter.ledger.checkpoint)
    assert mark is not None
    for files in mark.buckets.values():
        assert files.groups[0].path.startswith("state/0/") and len(files.groups) <= 8


def test_waiting_rows_that_wake_together_come_out_as_they_arrived(tmp_path: Path) -> None:
    form = FORMS["vector by name"]

    def row(sender: str, **past: int) -> Row:
        return {"group": "g", "sender": sender, "id": sender, "text": "", "stamp": list(past.items())}

    driver = Driver(tmp_path, form.schema, group="group")
    tables = driver.run_all([[row("d", a=1, d=1)], [row("c", a=1, c=1)], [row("b", a=1, b=1), row("a", a=1)]])
    (line,) = check_positions(tables).values()
    assert [one["id"] for one in line] == ["a", "d", "c", "b"]
    assert [one["arrival"] for one in line] == [2, 0, 1, 3]


def test_a_copy_of_what_is_out_is_told_from_something_new_for_ever(tmp_path: Path) -> None:
    form = FORMS["parents"]
    messages = converse(Random(3), groups=1, count=20)
    rows = [form.row(message) for message in messages]
    driver = Driver(tmp_path, form.schema, group="group", id="id")
    tables = driver.run_all([rows, rows[:5], rows[3:]])
    assert count_ids(tables.ordered) == count_ids(rows)
    assert len(tables.quarantine) == 5 + len(rows) - 3
    assert {row["reason"].split()[0] for row in tables.quarantine} == {"duplicate:"}


def test_a_horizon_bounds_the_ids_that_are_remembered(tmp_path: Path) -> None:
    schema = FORMS["parents"].schema

    def row(number: int) -> Row:
        parents = [str(number - 1)] if number else []
        return {"group": "g", "sender": "a", "id": str(number), "text": "", "stamp": parents}

    driver = Driver(tmp_path, schema, group="group", id="id", horizon=3)
    tables = driver.run_all([[row(number)] for number in range(20)])
    (line,) = check_positions(tables).values()
    assert [row["id"] for row in line] == [str(number) for number in range(20)]
    driver.run_batch(20, [row(19), row(18)])
    assert len(driver.read().quarantine) == 2
    mark = read_newest_mark(driver.ledger.checkpoint)
    assert mark is not None
    (files,) = mark.buckets.values()
    (state,) = read_group_states(driver.ledger.checkpoint, files, None).to_pylist()
    assert [slot["name"] for slot in state["slots"]] == ["17", "18", "19"]
