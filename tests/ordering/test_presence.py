"""What must have come: rows that come out together or not at all, in batch and in every micro-batch."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.formats.debezium import (
    CHANGES,
    COLUMNS,
    REMEMBERED,
    TRANSACTIONS,
    Change,
    Commits,
    TransactionMark,
    make_change_row,
)
from antecede.local.message_order import order
from tests.message_rows import Row
from tests.streams.driving import Driver, Tables, check_positions, cut

IDS = pa.list_(pa.string())
SCHEMA = pa.schema({"id": pa.string(), "stamp": pa.struct([("behind", IDS), ("with", IDS)])})


def order_rows(*rows: tuple[str, list[str] | None, list[str] | None]) -> tuple[list[str], dict[str, Any]]:
    """The ids in order, and what each of the others lacks or why it is refused."""
    table = pa.Table.from_pylist([{"id": i, "stamp": {"behind": b, "with": w}} for i, b, w in rows], SCHEMA)
    ordered, held, quarantine = (part.to_pylist() for part in order(table, id="id"))
    left = {row["id"]: row["missing"] for row in held} | {row["id"]: row["reason"] for row in quarantine}
    return [row["id"] for row in sorted(ordered, key=lambda row: row["position"])], left


def test_rows_that_name_each_other_come_out_together() -> None:
    assert order_rows(("a", [], ["b"]), ("b", ["a"], ["a"])) == (["a", "b"], {})
    assert order_rows(("a", None, ["b"]), ("c", [], None)) == (["c"], {"a": ["b"]})


def test_what_is_lacked_is_what_has_not_come() -> None:
    ordered, left = order_rows(("x", [], ["y"]), ("y", ["x"], ["z", "w"]), ("z", ["x"], []))
    assert ordered == []
    assert left == {"x": ["w"], "y": ["x", "w"], "z": ["x"]}


def test_what_is_malformed_has_not_come() -> None:
    ordered, left = order_rows(("a", [], ["b"]), ("b", [None], []), ("c", [], [None]))  # type: ignore[list-item]
    assert ordered == []
    assert left == {"a": ["b"], "b": "a parent is null", "c": "what must have come is null"}


def test_what_waits_has_come(tmp_path: Path) -> None:
    """Whatever a row was found to lack first, it comes out when the last of it has come."""
    driver = Driver(tmp_path, SCHEMA, id="id")
    for number, (name, behind, together) in enumerate(
        [("a", ["p"], []), ("y", [], ["a", "q"]), ("q", [], [])]
    ):
        driver.run_batch(number, [{"id": name, "stamp": {"behind": behind, "with": together}}])
    tables = driver.read()
    assert [row["id"] for row in tables.waiting] == ["a"]
    assert {row["id"] for row in tables.ordered if row["batch"] == 2} == {"q", "y"}


# -- transactions ------------------------------------------------------------------------------------------


def begin_all(*transactions: str) -> list[TransactionMark]:
    return [TransactionMark("begin", transaction) for transaction in transactions]


def make_log(random: Random, count: int) -> list[list[Row]]:
    """The rows of so many transactions, in the order of commits."""
    sizes = {f"t{number}": random.randrange(5) for number in range(count)}
    commits = Commits().add_transactions(begin_all(*sizes))
    log = []
    for transaction, size in sizes.items():
        changes = [
            Change("begin", transaction),
            *(Change("change", transaction, k, table="t") for k in range(1, size + 1)),
            Change("end", transaction, event_count=size),
        ]
        log.append([make_change_row(change, "", 0, commits) for change in changes])
    return log


def find_expected(log: list[list[Row]], came: set[str]) -> list[str]:
    """The ids that may be out: whole transactions from the first on."""
    out: list[str] = []
    for rows in log:
        ids = [row["id"] for row in rows]
        if not came.issuperset(ids):
            break
        out += ids
    return out


def list_ids(tables: Tables) -> list[str]:
    lines = check_positions(tables)
    return [row["id"] for row in lines.get(TRANSACTIONS, [])]


@pytest.mark.parametrize("seed", range(12))
def test_transactions_come_out_whole_in_the_order_of_commits(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    log = make_log(random, 6)
    rows = [row for transaction in log for row in transaction]
    if seed % 2:
        lost = random.choice(rows)
        rows.remove(lost)
    copies = random.sample(rows, 3)
    shuffled = random.sample([*rows, *copies], len(rows) + 3)
    driver = Driver(tmp_path, CHANGES, **dict[str, Any](COLUMNS))
    came: list[Row] = []
    for number, part in enumerate(cut(random, shuffled, 8)):
        driver.run_batch(number, part)
        came += part
        tables = driver.read()
        assert list_ids(tables) == find_expected(log, {row["id"] for row in came})
        assert len(tables.every_row()) == len(came) and not tables.late
        ordered, held, _ = order(pa.Table.from_pylist(came, CHANGES), **COLUMNS)
        ids = ordered.sort_by("position")["id"].to_pylist() if len(ordered) else []
        assert ids == list_ids(tables) and len(held) == len(tables.waiting)


def test_a_transaction_that_is_not_whole_is_held_with_what_it_lacks() -> None:
    commits = Commits().add_transactions(begin_all("7", "8"))
    changes = [
        Change("begin", "7"),
        Change("change", "7", 1),
        Change("change", "7", 3),
        Change("end", "7", event_count=3),
        Change("begin", "8"),
        Change("end", "8", event_count=0),
    ]
    table = pa.Table.from_pylist([make_change_row(change, "", 0, commits) for change in changes], CHANGES)
    outcome = order(table, **COLUMNS)
    assert not len(outcome.ordered) and len(outcome.held) == 6
    missing = {row["id"]: row["missing"] for row in outcome.held.to_pylist()}
    assert missing["begin of 7"] == ["change 2 of 7"]
    assert missing["change 3 of 7"] == ["change 2 of 7"]
    assert "change 2 of 7" in missing["end of 7"]
    assert outcome.gaps.to_pylist() == [
        {"group": TRANSACTIONS, "receiver": None, "missing": "change 2 of 7", "waiting": 6},
    ]


def test_transactions_that_are_sent_again_keep_their_places() -> None:
    commits = Commits().add_transactions(begin_all("a", "b")).add_transactions(begin_all("a", "b", "c"))
    assert commits.before == {"a": None, "b": "a", "c": "b"} and commits.last == "c"
    many = commits.add_transactions(begin_all(*map(str, range(REMEMBERED))))
    assert len(many.before) == REMEMBERED and many.before["0"] == "c"


def test_what_is_sent_again_is_not_what_the_next_one_comes_behind() -> None:
    commits = Commits().add_transactions(begin_all("a", "b", "c", "b", "d"))
    assert commits.before == {"a": None, "b": "a", "c": "b", "d": "c"}


def test_an_end_without_a_begin_has_its_place_unless_it_is_the_first_mark() -> None:
    marks = [*begin_all("a"), TransactionMark("end", "a"), TransactionMark("end", "b"), *begin_all("c")]
    assert Commits().add_transactions(marks).before == {"a": None, "b": "a", "c": "b"}
    cut_off = Commits().add_transactions([TransactionMark("end", "z")])
    later = cut_off.add_transactions([*marks, TransactionMark("end", "z"), *begin_all("d")])
    assert later.before == {"z": None, "a": None, "b": "a", "c": "b", "d": "c"}
