"""A log in several files is read as the same lines in one file are."""

import json
from pathlib import Path

import pytest

from antecede.formats import Settings
from tests.commands import here
from tests.engines.engines import rows_of
from tests.formats.samples import lines


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
