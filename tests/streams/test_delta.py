"""Delta tables of a stream: each row is there once, whatever is killed between their commits and the mark."""

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from antecede.core.errors import CallerError
from antecede.ordering.stream.give_up import GiveUp
from antecede.streams import ledger as ledger_module
from antecede.streams.delta import DeltaSink
from antecede.streams.marks import TABLES, Mark, read_newest_mark, write_commit_mark
from tests.message_rows import Row
from tests.streams.driving import Driver, Tables
from tests.streams.test_marks import FORM, POLICY, make_batches
from tests.streams.test_step import outcome_of

MOMENTS = ("behind the first table", "before the mark", "behind the mark")


def start(folder: Path, sink: str = "delta", query: str = "q") -> Driver:
    return Driver(folder, FORM.schema, group="group", give_up=POLICY, sink=sink, query=query)


def read(driver: Driver) -> Tables:
    """What a reader of Delta sees; its columns are in the order of those of Parquet."""
    tables: dict[str, list[Row]] = {}
    for name in TABLES:
        tables[name] = DeltaTable(driver.ledger.out / name).to_pyarrow_table().to_pylist()
    return Tables(**tables, waiting=driver.read_waiting())


@pytest.fixture
def undisturbed(tmp_path: Path) -> dict[str, Any]:
    driver = start(tmp_path / "undisturbed", "parquet")
    for number, rows in enumerate(make_batches()):
        driver.run_batch(number, rows)
        driver.ledger.give_up_expired_rows(1000 * number + 1000)
    return outcome_of(driver.read())


def kill(moment: str) -> None:
    """Let this process be killed, when next it comes to this moment."""

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    add_files_unless_step_is_done = DeltaSink.add_files_unless_step_is_done

    def die_behind_table(table: DeltaSink, *words: Any) -> None:
        add_files_unless_step_is_done(table, *words)
        die()

    def die_behind_mark(checkpoint: Path, mark: Mark) -> None:
        write_commit_mark(checkpoint, mark)
        die()

    if moment == MOMENTS[0]:
        setattr(DeltaSink, "add_files_unless_step_is_done", die_behind_table)  # noqa: B010
    else:
        setattr(ledger_module, "write_commit_mark", die if moment == MOMENTS[1] else die_behind_mark)  # noqa: B010


def run_until_killed(folder: Path, number: int, step: str, moment: str) -> None:
    """What a process of its own does: a batch, or a tick behind it."""
    driver = start(Path(folder))
    kill(moment)
    if step == "tick":
        driver.ledger.give_up_expired_rows(1000 * number + 1000)
    else:
        driver.run_batch(number, make_batches()[number])


def test_each_row_is_there_once_after_kills_between_sink_and_mark(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    folder = tmp_path / "killed"
    killed = 0
    driver = start(folder)
    places = {
        (1, "batch"): MOMENTS[0],
        (2, "batch"): MOMENTS[1],
        (4, "batch"): MOMENTS[2],
        (3, "tick"): MOMENTS[1],
        (5, "tick"): MOMENTS[0],
    }
    # Children of a server that has only imported things: they start quickly, and share no threads with us.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__])
    for number, rows in enumerate(make_batches()):
        driver = start(folder)
        for step in ("batch", "tick"):
            if moment := places.get((number, step)):
                process = processes.Process(target=run_until_killed, args=(folder, number, step, moment))
                process.start()
                process.join()
                killed += process.exitcode == -signal.SIGKILL
            if step == "batch":
                driver.run_batch(number, rows)
            else:
                driver.ledger.give_up_expired_rows(1000 * number + 1000)
    assert killed == len(places)
    assert outcome_of(read(driver)) == undisturbed


def test_a_batch_is_tried_again_with_other_files_and_none_counts_twice(
    tmp_path: Path, undisturbed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = start(tmp_path / "tried")

    def crash(checkpoint: Path, mark: Mark) -> None:
        raise KeyboardInterrupt

    for number, rows in enumerate(make_batches()):
        with monkeypatch.context() as patch:
            patch.setattr(ledger_module, "write_commit_mark", crash)
            with pytest.raises(KeyboardInterrupt):
                driver.run_batch(number, rows)
        zombie = driver.begin(number)
        assert zombie is not None
        driver.run_batch(number, rows[::-1])
        driver.run_tasks(zombie, rows)
        driver.ledger.give_up_expired_rows(1000 * number + 1000)
    assert outcome_of(read(driver)) == undisturbed
    version = DeltaTable(driver.ledger.out / "ordered").transaction_version("q")
    mark = read_newest_mark(driver.ledger.checkpoint)
    assert mark is not None and version is not None and 0 < version <= mark.step


def test_columns_that_come_later_are_added(tmp_path: Path) -> None:
    rows = [{"group": "g", "sender": "b", "id": "b1", "text": "old", "stamp": [("a", 1), ("b", 1)]}]
    start(tmp_path).run_batch(0, rows)
    schema = FORM.schema.append(FORM.schema.field("text").with_name("more")).remove(3)
    changed = Driver(tmp_path, schema, group="group", give_up=GiveUp(), sink="delta", query="q")
    changed.run_batch(1, [{"group": "g", "sender": "a", "id": "a1", "stamp": [("a", 1)], "more": "new"}])
    found = {row["id"]: (row["text"], row["more"], row["batch"]) for row in read(changed).ordered}
    assert found == {"a1": (None, "new", 1), "b1": ("old", None, 1)}


def run_with(folder: Path, batch: int, kind: pa.DataType, *rows: Row, name: str = "more") -> None:
    """A batch whose rows have one more column, of this type."""
    schema = FORM.schema.append(pa.field(name, kind))
    driver = Driver(folder, schema, group="group", sink="delta", query="q")
    driver.run_batch(batch, list(rows))


def say(number: int, more: Any = None, name: str = "more") -> Row:
    return {"group": "g", "sender": "a", "id": f"a{number}", "stamp": [("a", number)], name: more}


INTS = pa.list_(pa.int64())


@pytest.mark.parametrize(
    ("before", "old", "now", "new", "words"),
    [
        (pa.int64(), 7, pa.string(), "x", "'more' is string now, and bigint in the table"),
        (pa.int32(), 7, pa.int64(), 8, "'more' is bigint now, and int in the table"),
        (INTS, [1], pa.list_(pa.string()), ["x"], "'more' is array<string> now, and array<bigint> in the"),
        (pa.string(), "x", pa.int64(), 7, "'more' is bigint now, and string in the table"),
    ],
)
@pytest.mark.parametrize("waits", [False, True])
def test_a_column_of_another_type_is_refused_and_the_tables_can_be_read(
    tmp_path: Path, before: pa.DataType, old: Any, now: pa.DataType, new: Any, words: str, waits: bool
) -> None:
    run_with(tmp_path, 0, before, say(1, old), say(4, old))
    with pytest.raises(CallerError, match=f"ordered: column {words}.*: cast it to .*, or start with a new"):
        run_with(tmp_path, 1, now, say(3 if waits else 2, new))
    run_with(tmp_path, 1, before, say(2), say(3))
    values = {row["id"]: row["more"] for row in read(start(tmp_path)).ordered}
    assert values == {"a1": old, "a2": None, "a3": None, "a4": old}


def test_a_column_whose_rows_all_wait_has_its_type_from_then_on(tmp_path: Path) -> None:
    """And its values are not lost if the column is gone when they come out."""
    start(tmp_path).run_batch(0, [])
    run_with(tmp_path, 1, pa.int64(), say(2, 7))
    with pytest.raises(CallerError, match="'more' is string now, and bigint in the table"):
        run_with(tmp_path, 2, pa.string(), say(3, "x"))
    start(tmp_path).run_batch(2, [say(1)])
    assert {row["id"]: row["more"] for row in read(start(tmp_path)).ordered} == {"a1": None, "a2": 7}


def test_what_types_say_of_nulls_may_change(tmp_path: Path) -> None:
    run_with(tmp_path, 0, INTS, say(1, [1]))
    run_with(tmp_path, 1, pa.list_(pa.field("item", pa.int64(), nullable=False)), say(2, [2]))
    assert {row["id"]: row["more"] for row in read(start(tmp_path)).ordered} == {"a1": [1], "a2": [2]}


def test_a_column_that_is_spelled_otherwise_is_refused(tmp_path: Path) -> None:
    run_with(tmp_path, 0, pa.int64(), say(1, 1))
    with pytest.raises(
        CallerError, match=r"'More' is 'more' in the table, .*: rename it to 'more', or start"
    ):
        run_with(tmp_path, 1, pa.int64(), say(2, 2, "More"), name="More")


def test_tables_of_others_and_other_tables_are_refused(tmp_path: Path) -> None:
    start(tmp_path).run_batch(0, make_batches()[0])
    with pytest.raises(CallerError, match="belongs to tables of delta, and parquet is asked for: set sink="):
        start(tmp_path, "parquet").begin(1)
    other = start(tmp_path / "other", query="r")
    other.ledger = other.ledger._replace(out=tmp_path / "out")
    with pytest.raises(CallerError, match="ordered is a table of another stream: name a new output folder"):
        other.run_batch(0, make_batches()[0])
