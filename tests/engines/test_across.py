"""A log in several files is read as the same lines in one file are."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from antecede.formats import Settings
from antecede.tables import EVENTS
from tests.commands import here
from tests.engines.engines import rows_of
from tests.formats.samples import lines, parquet


def packet(kind, node, sender, receiver, text, clock=None):
    found = {"event": kind, "node": node, "from": sender, "to": receiver, "msg": text}
    return found if clock is None else found | {"vc": clock}


CLOCKED = [
    packet("send", "a", "a", "b", "x", {"a": 1}),
    packet("send", "a", "a", "b", "x", {"a": 2}),
    packet("recv", "b", "a", "b", "x", {"a": 2, "b": 1}),
    packet("recv", "b", "a", "b", "x", {"a": 2, "b": 2}),
    packet("send", "b", "b", "c", "y", {"a": 2, "b": 3}),
    packet("recv", "c", "b", "c", "y", {"a": 2, "b": 3, "c": 1}),
    packet("send", "c", "c", "a", "lost", {"a": 2, "b": 3, "c": 2}),
]
PLAIN = [{name: value for name, value in one.items() if name != "vc"} for one in CLOCKED]


@pytest.fixture
def run(spark, monkeypatch, capsys, tmp_path):
    """Audits files in the folder of the test; the facts."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: json.loads(here(monkeypatch, capsys, "audit", *words, "--json").out)


@pytest.fixture
def reads(engine, monkeypatch, tmp_path):
    """Reads files in the folder of the test: rows without their places, by process and position."""
    monkeypatch.chdir(tmp_path)

    def reader(*names):
        rows = rows_of(engine.read_logs(names, None, Settings()).events)
        for row in rows:
            del row["file"], row["line"]
        return sorted(rows, key=lambda row: (row["process"], row["index"] or 0, row["event"]))

    return reader


@pytest.mark.parametrize(
    ("records", "messages"),
    [(CLOCKED, ["a:2", "a:1", "b:3"]), (PLAIN, ["a:0", "a:1", "b:2"])],
    ids=["clocks", "no clocks"],
)
def test_rows_of_several_files_are_those_of_one(reads, records, messages) -> None:
    Path("one.log").write_text(lines(*records))
    for node in "abc":
        Path(f"node {node}.log").write_text(lines(*(one for one in records if one["node"] == node)))
    rows = reads("node a.log", "node b.log", "node c.log")
    assert rows == reads("one.log")
    assert [row["message"] for row in rows if row["kind"] == "receive"] == messages


OVERTAKEN: list[dict[str, Any]] = [
    {"process": "a", "kind": "send", "message": "m1", "to": ["b"]},
    {"process": "a", "kind": "send", "message": "m2", "to": ["b"]},
    {"process": "b", "kind": "deliver", "message": "m2"},
    {"process": "b", "kind": "deliver", "message": "m1"},
]


def test_ids_are_ids_whatever_the_first_record_has(reads) -> None:
    first = {"process": "c", "kind": "local"}
    logs = {"one": OVERTAKEN, "led": [first, *OVERTAKEN]}
    logs |= {"sends": OVERTAKEN[:2], "rest": OVERTAKEN[2:]}
    logs["named"] = [one | {"event": f"e{at}"} for at, one in enumerate(OVERTAKEN)]
    for name, records in logs.items():
        Path(name).write_text(lines(*records))
    for names in (["one"], ["led"], ["sends", "rest"], ["named"]):
        rows = [row for row in reads(*names) if row["process"] != "c"]
        assert [row["message"] for row in rows] == ["m1", "m2", "m2", "m1"]


def test_what_a_file_of_sends_says_is_but_a_text_where_receives_name_their_sender(reads) -> None:
    texts = [one | {"message": "x"} for one in OVERTAKEN]
    Path("a").write_text(lines(texts[0]))
    Path("b").write_text(lines(*(one | {"from": "a"} for one in texts[2:3])))
    assert [row["message"] for row in reads("a")] == ["x"]
    assert [row["message"] for row in reads("a", "b")] == ["a:0", "a:0"]


def test_several_logs_are_settled_each_for_itself(reads) -> None:
    """Rows of other formats, and of other executions, stay as they are and where they are."""
    for run in "xy":
        for node in "abc":
            records = [one | {"run": run} for one in PLAIN if one["node"] == node]
            Path(f"{run} {node}.log").write_text(lines(*records))
    Path("other.log").write_text(lines({"process": "a", "event": "e", "kind": "send", "execution": "z"}))
    rows = reads("x a.log", "other.log", "x [bc].log", "y*.log")
    by_run = {run: [row for row in rows if row["execution"] == run] for run in "xyz"}
    for row in rows:
        row["execution"] = ""
    assert by_run["x"] == by_run["y"]
    assert len(by_run["x"]) == len(PLAIN)
    assert by_run["z"][0]["message"] is None


@pytest.mark.spark
@pytest.mark.parametrize("records", [CLOCKED, PLAIN], ids=["clocks", "no clocks"])
def test_messages_without_ids_are_matched_across_files(run, records) -> None:
    Path("one.log").write_text(lines(*records))
    for node in "abc":
        Path(f"node {node}.log").write_text(lines(*(one for one in records if one["node"] == node)))
    one, several = run("one.log"), run("node*.log")
    assert one["totals"] == several["totals"] and one["totals"]["deliveries"] == 3
    assert one["counts"] == several["counts"]
    assert one["counts"]["lost"] == 1
    assert "orphan" not in one["counts"]
    sentences = [[found["message"] for found in facts["findings"]] for facts in (one, several)]
    assert sentences[0] == sentences[1]


def cloud(name, source, cause=None):
    found = {"specversion": "1.0", "id": name, "source": source, "type": "t", "correlationid": "k"}
    return found if cause is None else found | {"causationid": cause}


def test_causes_in_other_files(reads) -> None:
    records = [cloud("1", "/a"), cloud("1", "/b"), cloud("2", "/c", "1"), cloud("3", "/d", "2")]
    Path("one.log").write_text(lines(*records))
    for number, record in enumerate(records):
        Path(f"part{number}.log").write_text(lines(record))
    rows = reads("part*.log")
    assert rows == reads("one.log")
    assert [row["parents"] for row in rows] == [[], [], ["/a#1", "/b#1"], ["2"]]


@pytest.mark.spark
def test_causes_are_looked_up_across_files_and_ambiguous_ones_are_told(run, monkeypatch, capsys) -> None:
    records = [cloud("1", "/a"), cloud("1", "/b"), cloud("2", "/c", "1"), cloud("3", "/d", "2")]
    Path("one.log").write_text(lines(*records))
    for number, record in enumerate(records):
        Path(f"part{number}.log").write_text(lines(record))
    one, several = run("one.log"), run("part*.log")
    assert one["totals"] == several["totals"] and one["totals"]["ordered_pairs"] == 5
    assert one["counts"] == several["counts"]
    ends = "causationid 1 names /a#1, /b#1: all of them are taken for its causes"
    assert one["note"] == f"one.log:3: {ends}" and several["note"] == f"part2.log:1: {ends}"
    assert ends in here(monkeypatch, capsys, "order", "part*.log", "--out", "out").out


def step(process, *heard, **more):
    """An event of our own table: the own entry is the last number of its clock."""
    clock = dict(heard)
    return {"process": process, "kind": "local", "clock": clock} | more


def shiviz(*records):
    return "".join(f"{one['process']} {json.dumps(one['clock'])}\nstep\n" for one in records)


ONE_PROCESS = [step("a", ("a", count)) for count in range(1, 7)]
RESTARTED = [step("a", ("a", count), n=n) for n, count in enumerate((1, 3, 2, 1, 2, 3))]
COPIED = [step("a", ("a", count), n=n) for n, count in enumerate((1, 2, 3, 2, 4, 3))]
SENT = step("a", ("a", 1), kind="send", message="m", receivers=["b"])
RECEIVED = step("b", ("b", 1), kind="receive", message="m")


@pytest.fixture
def audits(engine, monkeypatch, tmp_path):
    """Reads and audits files in the folder of the test: executions, findings by kind, and the note."""
    monkeypatch.chdir(tmp_path)

    def auditor(*names):
        logs = engine.read_logs(names, None, Settings())
        found = engine.audit(logs.events).summary.counts
        return set(logs.events["execution"].to_pylist()), found, logs.note

    return auditor


@pytest.mark.parametrize("form", [lines, shiviz], ids=["jsonl", "shiviz"])
@pytest.mark.parametrize("error", [[2], [3], [2, 4], [3, 4], [2, 5], [5, 2]], ids=str)
def test_some_events_of_a_process_in_a_file_of_their_own(reads, audits, form, error) -> None:
    """Also where one file has all numbers in its range, and the other begins before and ends behind it."""
    Path("one.log").write_text(form(*ONE_PROCESS))
    Path("app.log").write_text(form(*(one for one in ONE_PROCESS if one["clock"]["a"] not in error)))
    Path("error.log").write_text(form(*(ONE_PROCESS[count - 1] for count in error)))
    assert reads("app.log", "error.log") == reads("one.log")
    assert audits("app.log", "error.log") == ({""}, {}, None)


def test_shuffled_parts_of_a_table_as_spark_writes_them(reads, audits) -> None:
    records = []
    for n in range(6):
        sent = step("a", ("a", n + 1), index=n, kind="send", message=f"m{n}", receivers=["b"])
        records += [sent, step("b", ("a", n + 1), ("b", n + 1), index=n, kind="receive", message=f"m{n}")]
    columns = pa.schema([field for field in EVENTS if field.name != "execution"])
    Path("one.parquet").write_bytes(parquet(records, columns))
    for part in range(3):
        Path(f"part-{part}.parquet").write_bytes(parquet(records[part::3][::-1], columns))
    assert reads("part-*.parquet") == reads("one.parquet")
    assert audits("part-*.parquet") == ({""}, {}, None)


def test_files_that_have_one_event_twice_are_still_separate_runs(audits) -> None:
    Path("one.log").write_text(lines(*ONE_PROCESS[:4:3]))
    Path("two.log").write_text(lines(*ONE_PROCESS[3:]))
    executions, _, note = audits("one.log", "two.log")
    assert executions == {"one.log", "two.log"}
    assert note.startswith("process a counts the same events in one.log and two.log")


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([*ONE_PROCESS[::2], *ONE_PROCESS[1::2]], {}),
        ([SENT, RECEIVED], {"clock-not-transitive": 1}),
        ([step("a", ("a", 1)), step("b", ("b", 1))], {}),
        (RESTARTED, {"clock-restart": 1}),
        (COPIED, {"clock-repeat": 2}),
    ],
    ids=["holes", "message", "strangers", "restart", "copies"],
)
def test_an_execution_that_records_name_is_one(reads, audits, records, found) -> None:
    """Whatever its files have in common."""
    records = [one | {"execution": "run7"} for one in records]
    Path("one.log").write_text(lines(*records))
    half = len(records) // 2
    Path("part1.log").write_text(lines(*records[:half]))
    Path("part2.log").write_text(lines(*records[half:]))
    assert reads("part1.log", "part2.log") == reads("one.log")
    assert audits("part1.log", "part2.log") == audits("one.log") == ({"run7"}, found, None)


def test_records_without_an_execution_beside_some_that_name_theirs(audits) -> None:
    """Those are separate runs, and these are not."""
    run = lines(*(one | {"execution": "run7"} for one in ONE_PROCESS[:2]))
    Path("one.log").write_text(run + lines(*ONE_PROCESS[:2]))
    Path("two.log").write_text(run + lines(*ONE_PROCESS[:2]))
    executions, found, note = audits("one.log", "two.log")
    assert executions == {"run7", "one.log", "two.log"}
    assert found == {"clock-restart": 1}  # in run7
    assert note.startswith("process a counts the same events")


def test_positions_that_records_give_stand_beside_clocks(reads) -> None:
    records = [step("a", ("a", count), index=10 * count) for count in range(1, 7)]
    Path("one.log").write_text(lines(*records))
    Path("odd.log").write_text(lines(*records[::2]))
    Path("even.log").write_text(lines(*records[1::2]))
    rows = reads("odd.log", "even.log")
    assert rows == reads("one.log")
    assert [row["index"] for row in rows] == [10, 20, 30, 40, 50, 60]


def test_separate_runs_of_which_each_has_several_files(reads, audits) -> None:
    """Positions are told run by run, also of what was logged twice."""
    for run in ("r1", "r2"):
        Path(run).mkdir()
        Path(run, "a1.log").write_text(lines(*ONE_PROCESS[:4:2]))
        Path(run, "a2.log").write_text(lines(*ONE_PROCESS[1:4:2], ONE_PROCESS[3]))
        Path(run, "b.log").write_text(lines(step("b", ("a", 4), ("b", 1))))
    assert audits("r1", "r2")[:2] == ({"r1", "r2"}, {"clock-repeat": 2})
    rows = reads("r1", "r2")
    for run in ("r1", "r2"):
        mine = [row for row in rows if row["execution"] == run and row["process"] == "a"]
        assert [(row["index"], row["clock"]["a"]) for row in mine] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 4)]


def test_a_process_goes_on_without_clocks(reads) -> None:
    """Some of its events have none: then all go by line, also those of a file in which all have one."""
    records = [*ONE_PROCESS[:3], {"process": "a", "kind": "local"}, *ONE_PROCESS[3:]]
    Path("one.log").write_text(lines(*records))
    Path("part1.log").write_text(lines(*records[:2]))
    Path("part2.log").write_text(lines(*records[2:]))
    rows = reads("part1.log", "part2.log")
    assert rows == reads("one.log")
    assert [row["event"] for row in rows] == [f"a#{n}" for n in range(7)]
