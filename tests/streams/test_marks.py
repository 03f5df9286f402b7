"""Marks: a batch counts once, however often it is tried, and what would corrupt the state is refused."""

import shutil
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from antecede.core.errors import AntecedeError, CallerError, InputError
from antecede.ordering.stream.give_up import GiveUp
from antecede.streams import ledger as ledger_module
from antecede.streams import marks
from tests.message_rows import Row
from tests.streams.conversations import FORMS, converse, spoil
from tests.streams.driving import Driver, cut
from tests.streams.test_step import outcome_of

FORM = FORMS["vector by name"]
POLICY = GiveUp("release", seconds=2)


def make_batches(seed: int = 5) -> list[list[Row]]:
    random = Random(seed)
    return cut(random, spoil(random, FORM, converse(random, groups=4, count=14)), 6)


def start(folder: Path, **options: Any) -> Driver:
    return Driver(folder, FORM.schema, group="group", give_up=POLICY, **options)


@pytest.fixture
def undisturbed(tmp_path: Path) -> dict[str, Any]:
    tables = outcome_of(start(tmp_path / "undisturbed").run_all(make_batches()))
    assert tables["waiting"] or tables["late"]
    return tables


def test_a_batch_that_was_tried_before_is_tried_again_with_the_same_result(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    random = Random(1)
    driver = start(tmp_path / "tried")
    for number, rows in enumerate(make_batches()):
        for again in range(3):
            turn = driver.begin(number, 1000 * number + 77_777 * again)  # the first try tells the time
            assert turn is not None
            shuffled = random.sample(rows, len(rows))
            driver.run_tasks(turn, shuffled[: len(rows) * (again + 1) // 3])
        driver.run_batch(number, rows, 999_999)
        assert driver.run_batch(number, rows) is None
    assert outcome_of(driver.read()) == undisturbed


def test_a_zombie_changes_nothing(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    """Whoever began a batch and slept does its work again when others have done it, or are far ahead."""
    driver = start(tmp_path / "zombie")
    zombies = []
    for number, rows in enumerate(make_batches()):
        zombie = driver.begin(number)
        assert zombie is not None
        zombies.append((zombie, driver.run_tasks(zombie, rows), rows))
        driver.run_batch(number, rows)
        driver.run_tasks(zombie, rows)
        zombie.commit_batch(zombies[-1][1], driver.schema)
    for zombie, reports, rows in zombies[:-2]:
        with suppress(FileNotFoundError):  # what it starts from is no longer kept
            driver.run_tasks(zombie, rows)
        zombie.commit_batch(reports, driver.schema)
        assert outcome_of(driver.read()) == undisturbed


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_around_the_mark(
    tmp_path: Path, undisturbed: dict[str, Any], moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = start(tmp_path / "crashed")

    def crash(checkpoint: Path, mark: marks.Mark) -> None:
        if moment == "after":
            marks.write_commit_mark(checkpoint, mark)
        raise KeyboardInterrupt

    for number, rows in enumerate(make_batches()):
        with monkeypatch.context() as patch:
            patch.setattr(ledger_module, "write_commit_mark", crash)
            with pytest.raises(KeyboardInterrupt):
                driver.run_batch(number, rows)
        assert (driver.run_batch(number, rows) is None) == (moment == "after")
    assert outcome_of(driver.read()) == undisturbed


def test_a_copy_of_the_checkpoint_goes_on_where_it_was_taken(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    batches = make_batches()
    driver = start(tmp_path / "one")
    for number, rows in enumerate(batches[:3]):
        driver.run_batch(number, rows)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    driver.run_batch(3, batches[4])
    shutil.rmtree(tmp_path / "one")
    other = start(tmp_path / "other")
    for number, rows in enumerate(batches):
        other.run_batch(number, rows)
    assert outcome_of(other.read()) == undisturbed


def test_what_an_earlier_try_wrote_and_the_last_did_not_is_removed(tmp_path: Path) -> None:
    driver = start(tmp_path)
    rows = [row for part in make_batches() for row in part]
    turn = driver.begin(0)
    assert turn is not None
    driver.run_tasks(turn, rows)
    driver.run_batch(0, [row for row in rows if row["group"] == "g1"])
    assert {row["group"] for row in driver.read().every_row()} == {"g1"}


def test_only_files_that_count_are_kept(tmp_path: Path) -> None:
    driver = start(tmp_path)
    for number, rows in enumerate(make_batches()):
        driver.run_batch(number, rows)
    checkpoint = tmp_path / "checkpoint"
    named = set[str]()
    for batch in marks.list_marked_batches(checkpoint)[-2:]:
        named |= marks.read_mark(checkpoint, batch).list_state_files()
    found = {str(file.relative_to(checkpoint)) for file in (checkpoint / "state").rglob("*.*")}
    last = f"state/{marks.list_marked_batches(checkpoint)[-1]}/"
    assert {path for path in found if not path.startswith(last)} <= named <= found


def test_a_row_that_is_lost_keeps_the_batch_from_counting(tmp_path: Path) -> None:
    driver = start(tmp_path)
    turn = driver.begin(0)
    assert turn is not None
    (report, *others) = driver.run_tasks(turn, make_batches()[0])
    counts = replace(report.counts, input=report.counts.input + 1)
    wrong = replace(report, counts=counts)
    with pytest.raises(AntecedeError, match=r"internal error: .* it does not count"):
        turn.commit_batch([wrong, *others], driver.schema)
    assert marks.read_newest_mark(tmp_path / "checkpoint") is None


CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"sender": "id"}, "sender was 'sender' and is 'id'"),
    ({"group": "sender"}, "group was 'group' and is 'sender'"),
    ({"group": None}, "group was 'group' and is None"),
    ({"arrival": "count"}, "arrival was None and is 'count'"),
    ({"receiver": "id"}, "receiver was None and is 'id'"),
    ({"members": ["a", "b"]}, r"members was None and is \['a', 'b'\]"),
    ({"stamp": "other"}, "stamp was 'stamp' and is 'other'"),
    ({"stamp": "places", "members": ["a", "b"]}, "entries was 'pairs' and is 'entries'"),
    (
        {"form": "sequence", "number": "count"},
        "form was 'vector' and is 'sequence', .*stamp was 'stamp' and is 'count'",
    ),
    ({"form": "parents", "stamp": "parents", "id": "id"}, "id was None and is 'id'"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
def test_options_that_would_corrupt_what_is_remembered_are_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    stamps = {
        "count": "sequence",
        "other": "vector by name",
        "places": "vector by place",
        "parents": "parents",
    }
    fields = {name: FORMS[form].schema.field("stamp").type for name, form in stamps.items()}
    schema = pa.schema({**{field.name: field.type for field in FORM.schema}, **fields})
    Driver(tmp_path, schema, group="group").run_batch(0, [])
    other = Driver(tmp_path, schema, **{"group": "group", **change})
    with pytest.raises(CallerError, match=f"{words}.*; set them back, or start with a new checkpoint"):
        other.begin(1)


def test_what_may_change_between_restarts(tmp_path: Path) -> None:
    """Waiting rows keep their columns; new columns, other policies, other folders of tables are all right."""
    rows = [{"group": "g", "sender": "b", "id": "b1", "text": "old", "stamp": [("a", 1), ("b", 1)]}]
    Driver(tmp_path, FORM.schema, group="group").run_batch(0, rows)
    schema = FORM.schema.append(FORM.schema.field("text").with_name("more")).remove(3)
    changed = Driver(tmp_path, schema, group="group", give_up=POLICY)
    changed.ledger = changed.ledger._replace(out=tmp_path / "elsewhere")
    changed.run_batch(1, [{"group": "g", "sender": "a", "id": "a1", "stamp": [("a", 1)], "more": "new"}])
    table = pq.read_table(tmp_path / "elsewhere" / "ordered" / "batch=1", partitioning=None)
    found = [{name: row[name] for name in ("id", "text", "more", "position")} for row in table.to_pylist()]
    assert found == [
        {"id": "a1", "text": None, "more": "new", "position": 0},
        {"id": "b1", "text": "old", "more": None, "position": 1},
    ]


@pytest.mark.parametrize("change", [{"time": "text"}, {"give_up": POLICY}])
def test_options_that_tell_nothing_of_what_is_remembered_may_change(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    fields = {"count": pa.int64(), "text": pa.float64()}
    schema = pa.schema({**{field.name: field.type for field in FORM.schema}, **fields})
    Driver(tmp_path, schema, group="group").run_batch(0, [])
    assert Driver(tmp_path, schema, group="group", **change).begin(1) is not None


def test_a_horizon_may_change(tmp_path: Path) -> None:
    parents = FORMS["parents"]
    options: dict[str, Any] = {"group": "group", "id": "id"}
    Driver(tmp_path, parents.schema, **options).run_batch(0, [])
    assert Driver(tmp_path, parents.schema, horizon=5, **options).begin(1) is not None


def test_another_number_of_buckets_and_another_stream_are_refused(tmp_path: Path) -> None:
    driver = start(tmp_path, query="one")
    driver.run_batch(0, make_batches()[0])
    with pytest.raises(CallerError, match="has 2 buckets, and 3 are asked for: leave out buckets="):
        driver.ledger.begin_batch(1, 0, 3)
    with pytest.raises(CallerError, match="has the state of another stream, which is at batch 0"):
        start(tmp_path, query="two").begin(1)


def test_a_mark_of_another_version_or_a_damaged_one_is_refused(tmp_path: Path) -> None:
    driver = start(tmp_path)
    driver.run_batch(0, make_batches()[0])
    file = tmp_path / "checkpoint" / "commits" / "0.json"
    text = file.read_text()
    file.write_text(text.replace('"version":1', '"version":9'))
    with pytest.raises(CallerError, match="is of version 9, and this antecede reads version 1: go on with"):
        driver.begin(1)
    file.write_text(text[: len(text) // 2])
    with pytest.raises(InputError, match="is no mark of a stream"):
        driver.begin(1)


def test_a_drain_puts_aside_what_waits_and_the_stream_may_go_on(tmp_path: Path) -> None:
    batches = make_batches()
    driver = Driver(tmp_path, FORM.schema, group="group")
    assert driver.ledger.put_aside_all_waiting_rows(0) is None
    for number, rows in enumerate(batches[:4]):
        driver.run_batch(number, rows)
    before = driver.read()
    assert before.waiting and not before.held
    for _ in range(2):
        mark = driver.ledger.put_aside_all_waiting_rows(99_999)
        assert mark is not None and mark.totals.diverted == len(before.waiting) and not mark.held_rows
    drained = driver.read()
    assert drained.ordered == before.ordered and not drained.waiting
    waited = {row["id"] for row in before.waiting}
    assert {row["id"] for row in drained.held} == waited and all(row["missing"] for row in drained.held)
    # What lacks something of what was put aside waits anew; a copy of that is taken for new.
    driver.run_batch(4, before.waiting)
    again = driver.read()
    assert {row["id"] for row in again.waiting} == waited
    assert len(again.every_row()) == len(before.every_row()) + len(waited)


def test_a_drain_that_fails_is_finished_before_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(checkpoint: Path, mark: marks.Mark) -> None:
        raise KeyboardInterrupt

    batches = make_batches()
    driver = Driver(tmp_path, FORM.schema, group="group")
    for number, rows in enumerate(batches[:4]):
        driver.run_batch(number, rows)
    waiting = len(driver.read().waiting)
    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "write_commit_mark", crash)
        with pytest.raises(KeyboardInterrupt):
            driver.ledger.put_aside_all_waiting_rows(99_999)
    assert len(driver.read().held) == len(driver.read().waiting) == waiting > 0
    driver.run_batch(4, [])
    assert len(driver.read().held) == waiting and not driver.read().waiting
