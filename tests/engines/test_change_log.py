"""Changes of several tables, as Debezium writes them, come out in commit order, each transaction whole."""

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.change_log import OUTSIDE, ChangeRecord, commit_transactions
from tests.commands import Done, here


@pytest.fixture
def run(command_engine, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def order_all(*words: object) -> Done:
        return here(monkeypatch, capsys, "order", "log", "--out", "out", "--engine", command_engine, *words)

    return order_all


def write_topics(records: list[ChangeRecord], with_schema: bool) -> None:
    """A file for each topic, in which its records keep their order."""
    Path("log").mkdir()
    for topic in {record.topic for record in records}:
        lines = [record.write(with_schema) for record in records if record.topic == topic]
        Path("log", topic).write_bytes(b"\n".join(lines) + b"\n")


def read(name: str) -> list[dict[str, Any]]:
    return list(pq.read_table(f"out/{name}").to_pylist())


@pytest.mark.parametrize("with_schema", [False, True])
def test_changes_come_out_in_commit_order(run, with_schema: bool) -> None:
    transactions = commit_transactions(Random(2), 6)
    write_topics([*OUTSIDE, *(record for one in transactions for record in one)], with_schema)
    done = run()
    total = len(OUTSIDE) + sum(map(len, transactions))
    assert done.code == 0 and f"a table of messages: debezium, {total} rows" in done.out, done
    ordered = sorted(read("ordered"), key=lambda row: (row["group"], row["position"]))
    line = [row["id"] for row in ordered if row["group"] == "transactions"]
    assert line == [record.name for one in transactions for record in one]
    assert {row["kind"] for row in ordered if row["group"] != "transactions"} == {"outside", "tombstone"}
    first = next(row for row in ordered if row["kind"] == "change")
    assert first["table"].startswith("shop.public.") and "after" in first["value"]
    # Whatever order files have, commits have that of the transaction topic.
    assert {row["op"] for row in ordered} == {None, "r", "u"}


def test_the_order_of_files_is_believed_and_told(run) -> None:
    first, second = commit_transactions(Random(2), 2)
    Path("log").mkdir()
    for name, records in (("t9.json", first), ("t10.json", second)):
        Path("log", name).write_bytes(b"\n".join(record.write(False) for record in records))
    notes = json.loads(run("--json").out)["notes"]
    assert len(notes) == 1 and "in the order of these: log/t10.json, log/t9.json;" in notes[0]
    assert "note: transactions begin or end in 2 files" in run("--overwrite").out


def test_change_events_are_no_log_of_messages(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    write_topics(commit_transactions(Random(2), 1)[0], False)
    done = here(monkeypatch, capsys, "audit", "log")
    assert done.code == 2 and "change events of Debezium" in done.err
    assert (
        "antecede order --format debezium puts" in done.err and "for antecede order debezium; say" in done.err
    )


def test_a_dump_is_found_by_content_whatever_stands_before_it(run) -> None:
    transaction = commit_transactions(Random(2), 1)[0]
    Path("log").mkdir()
    Path("log", "README.txt").write_text("a dump\n")
    Path("log", "empty").write_text("")
    lines = [record.write(False) for record in transaction]
    Path("log", "topics").write_bytes(gzip.compress(b"null\n" + b"\n".join(lines)))
    done = run("--json")
    assert done.code == 1, done
    assert [row["raw"] for row in read("quarantine")] == ["a dump"]
    assert len([row for row in read("ordered") if row["group"] == "transactions"]) == len(transaction)


def test_a_transaction_that_lacks_something_is_held_with_all_behind_it(run) -> None:
    transactions = commit_transactions(Random(3), 5)
    kept = [record for one in transactions for record in one]
    lost = transactions[2][2]
    kept.remove(lost)
    bad = [
        ChangeRecord("shop.orders", {"op": "u"}),
        ChangeRecord("shop.orders", [1]),
        ChangeRecord("shop.orders", {"status": "END", "id": "x", "event_count": 10**18}),
    ]
    write_topics(kept + bad, False)
    done = run("--json")
    facts = json.loads(done.out)
    assert done.code == 1 and facts["gaps"][0]["missing"] == lost.name
    assert [row["id"] for row in sorted(read("ordered"), key=lambda row: row["position"])] == [
        record.name for one in transactions[:2] for record in one
    ]
    missing = {row["id"]: row["missing"] for row in read("held")}
    assert missing[transactions[2][0].name] == [lost.name]
    assert missing[transactions[3][0].name] == [transactions[2][-1].name]
    reasons = {row["reason"] for row in read("quarantine")}
    assert reasons == {
        "neither a change, with op and source, nor the BEGIN or END of a transaction",
        "no JSON object",
        "event_count is 1e+18, and 1,000,000 changes can be held together",
    }


def test_a_number_that_no_column_can_hold_costs_its_record(run) -> None:
    (transaction,) = commit_transactions(Random(2), 1)
    change = next(record for record in transaction if "op" in record.value)
    far = {**change.value, "transaction": {"id": "x", "total_order": 2**63}}
    write_topics([*transaction, ChangeRecord(change.topic, far)], False)
    done = run()
    assert done.code == 1 and f"{len(transaction)} ordered + 0 held + 1 quarantined" in done.out, done
    assert [row["reason"] for row in read("quarantine")] == ["total_order is above 2^63 - 1"]
