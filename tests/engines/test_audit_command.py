"""`antecede audit`, as its users run it."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.auditing.windows import DRAWN_NEARBY
from antecede.formats import read
from tests.commands import TRIANGLE, here, story
from tests.formats.samples import GO, SAMPLES, lines


@pytest.fixture
def run(command_engine, monkeypatch, capsys, tmp_path):
    """Runs the command on each engine in the folder of the test, where its files are."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: here(monkeypatch, capsys, "audit", *words, "--engine", command_engine)


def test_a_late_message_is_told_with_its_witness(run) -> None:
    Path("log").write_text(TRIANGLE)
    done = run("log")
    assert (done.code, done.noise) == (1, [])
    assert "log: jsonl, 6 events" in done.out and "1 finding: 1 late" in done.out
    assert "p3 delivered z before x" in done.out.replace("(log:5) ", "") and "log:1" in done.out
    assert "1 execution: 6 events, 3 processes, 3 sends, 3 deliveries" in done.out


def test_it_says_which_engine_ran(run, command_engine) -> None:
    Path("log").write_text(TRIANGLE)
    assert f"engine: {command_engine} (as you chose)" in run("log").out
    assert json.loads(run("log", "--json").out)["engine"] == command_engine


def test_json_is_one_document_and_all_files_are_written(run) -> None:
    Path("log").write_text(TRIANGLE)
    words = ("--report", "sub/page.html", "--shiviz", "s.log", "--dot", "g.dot", "--out", "tables")
    done = run("log", "--json", *words)
    found = json.loads(done.out)
    assert done.code == 1
    assert found["counts"] == {"late": 1}
    assert not found["clean"]
    assert found["findings"][0]["process"] == "p3"
    assert found["findings"][0]["events"][0] == "e0"
    assert found["totals"]["events"] == 6
    assert found["files"][0]["format"] == "jsonl"
    assert set(found["written"]) == {"report", "shiviz", "dot", "findings", "totals", "quarantine"}
    text = Path("sub/page.html").read_text()
    assert 'id="block-process"' in text and "p3 delivered z" in text and "Left out" not in text
    assert Path("g.dot").read_text().startswith("digraph")
    assert "#c4281c" in Path("g.dot").read_text()
    assert pq.read_table("tables/findings").num_rows == 1
    assert pq.read_table("tables/quarantine").num_rows == 0
    clocks = {row["event"]: dict(row["clock"]) for row in written("s.log")}
    assert clocks == {
        "p1:1": {"p1": 1}, "p1:2": {"p1": 2},
        "p2:1": {"p1": 2, "p2": 1}, "p2:2": {"p1": 2, "p2": 2},
        "p3:1": {"p1": 2, "p2": 2, "p3": 1}, "p3:2": {"p1": 2, "p2": 2, "p3": 2},
    }  # fmt: skip
    assert run("log", "--out", "tables").code == 2, "the folder is not empty"


def written(file: str) -> list[dict[str, Any]]:
    parsed = read(Path(file).read_bytes(), file, "shiviz")
    assert parsed.quarantine.num_rows == 0
    return list(parsed.events.to_pylist())


def test_a_multicast_logged_as_a_send_for_each_receiver(run) -> None:
    """The copy for c is lost, though the first send of the message names b alone."""
    sends = [{"process": "a", "kind": "send", "message": "m", "receivers": [to]} for to in "bc"]
    Path("log").write_bytes(lines(*sends, {"process": "b", "kind": "deliver", "message": "m"}).encode())
    found = json.loads(run("log", "--json").out)
    assert found["counts"] == {"lost": 1, "resent": 1}
    lost = next(row for row in found["findings"] if row["kind"] == "lost")
    assert (lost["line"], lost["sentence"]) == (2, "a sent m (log:2), which was never delivered at c")


def name_parents(b: list[str]) -> str:
    """a sends m and then n, b delivers n and then m, whose parents are these; nothing else orders events."""
    rows = [
        {"process": "a", "kind": "send", "message": "m", "event": "1", "parents": []},
        {"process": "a", "kind": "send", "message": "n", "event": "2", "parents": ["1"]},
        {"process": "b", "kind": "deliver", "message": "n", "event": "3", "parents": ["2"]},
        {"process": "b", "kind": "deliver", "message": "m", "event": "4", "parents": b},
    ]
    return lines(*rows)


def test_parents_alone_show_what_is_late(run) -> None:
    Path("log").write_text(name_parents(["1", "3"]))
    found = json.loads(run("log", "--json").out)
    assert found["counts"] == {"late": 1, "fifo": 1}
    assert found["findings"][0]["events"] == ["1", "2", "3", "4"]


def test_processes_without_an_order_are_told(run) -> None:
    unjudged = "late and fifo are not judged in 1 process: the log does not tell the order of its events"
    Path("log").write_text(name_parents(["1"]))
    done = run("log", "--report", "p.html")
    assert done.code == 0 and "clean" not in done.out
    assert f"nothing found in 4 events, but {unjudged}" in done.out.replace("\n", " ")
    assert 'class="verdict open"' in Path("p.html").read_text()
    found = json.loads(run("log", "--json").out)
    assert found["totals"]["unordered_processes"] == 1
    Path("log").write_text(name_parents(["1", "5"]))
    done = run("log")
    assert "1 finding: 1 missing" in done.out and unjudged in done.out.replace("\n", " ")


def test_a_clean_log_is_exit_code_0(run) -> None:
    Path("go.log").write_text(GO)
    done = run("go.log", "--shiviz", "again.log", "--report", "p.html")
    assert done.code == 0 and "clean: nothing found in 4 events" in done.out
    assert [row["text"] for row in written("again.log")] == [row["text"] for row in written("go.log")]
    assert 'class="verdict good"' in Path("p.html").read_text()


def test_a_file_in_a_folder_that_is_not_there_says_so(run) -> None:
    Path("go.log").write_text(GO)
    done = run("go.log", "--report", "new/p.html", "--dot", "new/g.dot", "--shiviz", "other/again.log")
    assert done.code == 0
    assert Path("new/p.html").is_file()
    assert "1 events" not in done.out
    assert "report: new/p.html (in a new folder)" in done.out and "dot: new/g.dot\n" in done.out
    assert "shiviz: other/again.log (in a new folder)" in done.out


def test_spans_are_told_in_words(run) -> None:
    Path("spans").write_bytes(SAMPLES["jaeger"])
    text = run("spans").out
    assert "db's start of span s (spans:1) names start of span x as its cause, which is not in" in text
    assert "came 100 ms before its cause, web's start of span c" in text


def test_what_cannot_be_read_is_exit_code_1(run) -> None:
    Path("a.log").write_text(GO + "who knows\nwhat\n")
    Path("b.log").write_text("no log at all")
    done = run("*.log", "--json")
    found = json.loads(done.out)
    assert done.code == 1
    assert found["quarantined"] == 2
    assert found["counts"] == {}
    assert {(row["file"], row["line"]) for row in found["quarantine"]} == {("a.log", 9), ("b.log", None)}
    assert found["verdict"] == "nothing found, but 2 records cannot be read"
    text = run("*.log").out
    assert "a.log:9: belongs to no record" in text and "b.log: cannot be read: no reader knows" in text


def test_an_empty_log_and_one_that_shiviz_cannot_draw(run) -> None:
    Path("empty").write_text("")
    words = ("--report", "p.html", "--dot", "g.dot", "--shiviz", "s.log")
    assert run("empty", *words).code == 0
    assert "No events were drawn" in Path("p.html").read_text()
    Path("spans").write_bytes(SAMPLES["otlp"])
    done = run("spans", *words)
    assert done.code == 1 and "shiviz: not written: the log does not tell where" in done.out
    assert "start of span x" in Path("g.dot").read_text(), "the ghost is drawn"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing.log",), "no such file or folder; check the path"),
        (("*.nothing",), "matches no file"),
        (("log", "--format", "word"), "choose one of parquet"),
        (("log", "--regex", "("), "no regular expression"),
        (("log", "--field", "process"), "write it as NAME=VALUE"),
        (("log", "--kind", "a=b"), "cannot mean 'b'"),
        (("log", "--field", "nobody=x"), "no field nobody"),
        (("bad",), "no reader knows this content"),
        (("log", "--out", "log"), "name a folder"),
        (("log", "--report", "log/x.html"), "name a file that can be written"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_a_sentence(run, words, sentence) -> None:
    Path("log").write_text(TRIANGLE)
    Path("bad").write_text("who knows")
    done = run(*words)
    assert done.code == 2 and sentence in done.err and done.out == ""


def long_log(size: int) -> list[dict[str, Any]]:
    """p1 sends to p2 in order, but for one message that is late; and p3 does things of its own."""
    told = [f"p1 send m{at}" for at in range(size)] + [f"p3 step s{at}" for at in range(size)]
    got = list(range(size))
    got[size // 2], got[size // 2 + 1] = got[size // 2 + 1], got[size // 2]
    return story("; ".join([*told, *(f"p2 deliver m{at}" for at in got)]))


def test_a_large_log_is_whole_in_the_page_and_in_part_for_graphviz(run) -> None:
    Path("log").write_text(lines(*long_log(400)))
    done = run("log", "--report", "p.html", "--dot", "g.dot", "--json")
    found = json.loads(done.out)
    assert sorted((row["kind"], row["message"]) for row in found["findings"]) == [
        ("fifo", "m200"),
        ("late", "m200"),
    ]
    assert "Overview <b>1,200 events</b>" in Path("p.html").read_text()
    left_out = f"{1200 - DRAWN_NEARBY:,} of the 1,200 events of this execution are left out."
    assert left_out in found["written"]["dot"]


@pytest.mark.parametrize("columns", [{"x": [1]}, {"sender": ["a"], "stamp": [1]}])
def test_parquet_that_is_no_table_of_events_is_refused(run, columns) -> None:
    pq.write_table(pa.table(columns), "t.parquet")
    done = run("t.parquet")
    told = done.err.replace("\n", " ")
    assert done.code == 2 and "no column is process or host or node" in told, done
    assert "--field process=COLUMN" in told and "antecede order --sender COLUMN" in told


def test_json_with_stamps_and_without_processes_is_told_what_to_name(run) -> None:
    Path("m.jsonl").write_text(lines({"who": "a", "vector": {"a": 1}}))
    done = run("m.jsonl")
    told = done.err.replace("\n", " ")
    assert done.code == 2 and "--field process=KEY --field clock=vector" in told and "--stamp vector" in told
    assert run("m.jsonl", "--field", "process=who", "--field", "clock=vector").code == 0
