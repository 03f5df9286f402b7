"""`antecede order`, as its users run it: every row ends in exactly one table, and the sum is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.cli import order_runs
from tests.commands import TRIANGLE, here
from tests.formats.samples import GO, lines


@pytest.fixture
def run(command_engine, monkeypatch, capsys, tmp_path):
    """Runs the command in the folder of the test, where its files are."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: here(monkeypatch, capsys, "order", *words, "--engine", command_engine)


def rows(name: str) -> list[dict[str, Any]]:
    return list(pq.read_table(f"out/{name}").to_pylist())


def test_a_log_comes_out_causes_first_and_the_rest_in_quarantine(run) -> None:
    Path("a.log").write_text(GO + "who knows\nwhat\n")
    Path("b.log").write_text("no log at all")
    loop = [{"EventID": "ee", "ParentEventID": ["ff"]}, {"EventID": "ff", "ParentEventID": ["ee"]}]
    Path("c.log").write_text(lines(*loop, {"EventID": "aa", "ParentEventID": ["gone"], "TaskID": "T"}))
    done = run("*.log", "--out", "out")
    assert (done.code, done.noise) == (1, [])
    assert "3 files: 1 shiviz, 1 unreadable, 1 xtrace" in done.out and "  c.log: xtrace, 3 events" in done.out
    assert "9 rows = 5 ordered + 0 held + 4 quarantined" in done.out
    assert "gone in T: 1 event names it" in done.out
    place = {row["event"]: row["position"] for row in rows("ordered") if row["execution"] == ""}
    assert sorted(place.values()) == [0, 1, 2, 3]
    assert place["a:1"] < place["a:2"] < place["b:2"]
    bad = {(row["file"], row["line"]): row for row in rows("quarantine")}
    assert set(bad) == {("a.log", 9), ("b.log", None), ("c.log", 1), ("c.log", 2)}
    assert bad["a.log", 9]["raw"] == "who knows\nwhat"
    assert "cycle of 2" in bad["c.log", 1]["reason"]
    assert rows("held") == []


def test_it_says_which_engine_ran(run, command_engine) -> None:
    Path("log").write_text(TRIANGLE)
    assert f"engine: {command_engine} (as you chose)" in run("log", "--out", "out").out
    assert json.loads(run("log", "--out", "again", "--json").out)["engine"] == command_engine


def test_what_is_there_is_not_overwritten_unless_told(run) -> None:
    Path("log").write_text(TRIANGLE)
    Path("out").mkdir()
    Path("out/mine").write_text("mine")
    done = run("log", "--out", "out")
    assert done.code == 2
    assert "add --overwrite" in done.err
    assert Path("out/mine").read_text() == "mine"
    done = run("log", "--out", "out", "--overwrite", "--json")
    assert done.code == 0 and Path("out/mine").read_text() == "mine"
    found = json.loads(done.out)
    assert [found[name] for name in ("input", "ordered", "held", "quarantined")] == [6, 6, 0, 0]
    assert found["files"][0]["format"] == "jsonl" and set(found["written"]) == {
        "ordered",
        "held",
        "quarantine",
    }


def test_an_empty_log(run) -> None:
    Path("log").write_text("")
    done = run("log", "--out", "out")
    assert done.code == 0 and "0 rows = 0 ordered + 0 held + 0 quarantined" in done.out


def test_packets_of_the_simulator_are_known(run, monkeypatch, capsys) -> None:
    here(monkeypatch, capsys, "simulate", "--protocol", "vector", "-n", "3", "-m", "40", "--out", "sim")
    done = run("sim/messages.parquet", "--out", "out")
    assert done.code == 0 and "80 rows = 80 ordered + 0 held + 0 quarantined" in done.out
    groups = {row["group"] for row in rows("ordered")}
    for group in groups:
        assert sorted(row["position"] for row in rows("ordered") if row["group"] == group) == list(
            range(sum(row["group"] == group for row in rows("ordered")))
        )


MESSAGES: list[dict[str, Any]] = [
    {"topic": "t", "sender": "a", "clock": {"a": 2}, "text": "second"},
    {"topic": "t", "sender": "a", "clock": {"a": 1}, "text": "first"},
    {"topic": "t", "sender": "b", "clock": {"a": 2, "b": 1}, "text": "third"},
    {"topic": "t", "sender": "c", "clock": {"c": 2}, "text": "held"},
    {"topic": "u", "sender": "a", "clock": {"a": 1}, "text": "alone"},
]


def check_messages(done) -> None:
    assert done.code == 1, done
    texts = {(row["topic"], row["position"]): row["text"] for row in rows("ordered")}
    assert texts == {("t", 0): "first", ("t", 1): "second", ("t", 2): "third", ("u", 0): "alone"}
    assert [row["text"] for row in rows("held")] == ["held"]
    assert "c" in str(rows("held")[0]["missing"])


def test_messages_as_json_lines_with_a_line_that_is_none(run) -> None:
    Path("m.jsonl").write_text(lines(*MESSAGES) + "{broken\n")
    done = run("m.jsonl", "--group", "topic", "--stamp", "clock", "--out", "out")
    check_messages(done)
    assert "6 rows = 4 ordered + 1 held + 1 quarantined" in done.out and "missing 1" in done.out
    (bad,) = rows("quarantine")
    assert (
        bad["raw"] == "{broken" and bad["reason"] == "is no JSON object" and bad["file"].endswith("m.jsonl")
    )


def test_the_first_rows_in_quarantine_are_told_with_their_reasons(run) -> None:
    Path("a.log").write_text(GO + "who knows\n")
    Path("b.log").write_text("no log at all")
    loop = [{"EventID": "ee", "ParentEventID": ["ff"]}, {"EventID": "ff", "ParentEventID": ["ee"]}]
    Path("c.log").write_text(lines(*loop))
    told = run("*.log", "--out", "out").out.splitlines()
    start = told.index("quarantined 4")
    reasons = {(row["file"], row["line"]): row["reason"] for row in rows("quarantine")}
    assert told[start + 1] == f"  a.log:9: {reasons['a.log', 9].removeprefix('a.log: ')}"
    assert told[start + 2].startswith("  b.log: ")
    assert told[start + 3].startswith("  c.log:1: ")
    assert told[start + 4] == "  ... and 1 more"


def test_reasons_are_told_where_the_table_has_columns_of_these_names(run) -> None:
    own = {"file": "mine", "line": "mine", "reason": "mine"}
    Path("m.jsonl").write_text(lines(*(message | own for message in MESSAGES)) + "{broken\n")
    done = run("m.jsonl", "--group", "topic", "--stamp", "clock", "--out", "out")
    assert "quarantined 1\n  m.jsonl:6: is no JSON object\n" in done.out, done.out


def test_messages_as_csv_with_stamps_as_json(run) -> None:
    quoted = [
        ",".join(
            [
                row["topic"],
                row["sender"],
                '"' + json.dumps(row["clock"]).replace('"', '""') + '"',
                row["text"],
            ]
        )
        for row in MESSAGES
    ]
    Path("m.csv").write_text("\n".join(["topic,sender,clock,text", *quoted, ""]))
    done = run("m.csv", "--group", "topic", "--stamp", "clock", "--out", "out", "--json")
    check_messages(done)
    found = json.loads(done.out)
    assert found["input"] == 5
    assert found["gap_count"] == 1
    assert found["gaps"][0]["waiting"] == 1


def test_messages_as_parquet_with_parents(run) -> None:
    table = pa.table(
        {"topic": ["t"] * 3, "sender": list("abc"), "name": list("xyz"), "after": [["y"], [], ["x"]]}
    )
    pq.write_table(table, "m.parquet")
    words = ("--group", "topic", "--stamp", "after", "--form", "parents", "--id", "name", "--out", "out")
    assert run("m.parquet", *words).code == 0
    assert [row["name"] for row in sorted(rows("ordered"), key=lambda row: row["position"])] == list("yxz")


def test_triples_as_json_lines(run) -> None:
    stamps = [[{"from": "a", "to": "r", "count": 1}], []]
    records = [{"g": "r", "sender": who, "stamp": stamp} for who, stamp in zip("ba", stamps, strict=True)]
    Path("m.jsonl").write_text(lines(*records))
    done = run("m.jsonl", "--group", "g", "--form", "triples", "--receiver", "g", "--out", "out")
    assert done.code == 0, done
    assert [row["sender"] for row in sorted(rows("ordered"), key=lambda row: row["position"])] == ["a", "b"]


LOG_ENTRY = {"sender": "a", "number": 1, "destinations": ["r"]}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([], [{"from": "a", "to": "r", "count": 1}], ()),
        ([], [LOG_ENTRY], ("--number", "n")),
        ([], [{"sender": "a", "number": 1}], ("--number", "n")),
        ({"time": {"a": 1}, "last": {}}, {"time": {"a": 1, "b": 1}, "last": {"r": {"a": 1}}}, ()),
        (
            {"time": {"a": 1}, "last": []},
            {"time": {"a": 1, "b": 1}, "last": [{"process": "r", "time": {"a": 1}}]},
            (),
        ),
        (
            {"time": [1, 0, 0], "last": {}},
            {"time": [1, 1, 0], "last": {"r": [1, 0, 0]}},
            ("--members", "a,b,r"),
        ),
    ],
)
@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_the_form_of_stamps_in_text_is_recognised(run, kind, first, second, words) -> None:
    records = [("b", second), ("a", first)]
    if kind == "jsonl":
        table = lines(*({"to": "r", "sender": who, "n": 1, "stamp": stamp} for who, stamp in records))
    else:
        cells = [(who, json.dumps(stamp).replace('"', '""')) for who, stamp in records]
        table = "to,sender,n,stamp\n" + "".join(f'r,{who},1,"{stamp}"\n' for who, stamp in cells)
    Path("m").write_text(table)
    done = run("m", "--receiver", "to", *words, "--out", "out")
    assert "2 rows = 2 ordered + 0 held + 0 quarantined" in done.out, done
    assert {row["sender"]: row["position"] for row in rows("ordered")} == {"a": 0, "b": 1}


def test_stamps_that_are_no_object_of_counts_are_told_as_such(run) -> None:
    odd = {"time": [1], "last": 7}
    Path("m").write_text(lines({"sender": "a", "stamp": {"a": 1}}, {"sender": "b", "stamp": odd}))
    run("m", "--stamp", "stamp", "--out", "out")
    (bad,) = rows("quarantine")
    assert bad["reason"].startswith('the stamp is not an object of counts, as in {"a": 1, "b": 2}: {"time"')


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_key_of_a_stamp_that_is_there_twice(run, kind) -> None:
    if kind == "jsonl":
        Path("m").write_text('{"sender":"a","stamp":{"a":1}}\n{"sender":"b","stamp":{"b":1,"b":2}}\n')
    else:
        Path("m").write_text('sender,stamp\na,"{""a"":1}"\nb,"{""b"":1,""b"":2}"\n')
    assert "2 rows = 1 ordered + 0 held + 1 quarantined" in run("m", "--stamp", "stamp", "--out", "out").out
    (bad,) = rows("quarantine")
    assert "has the key 'b' twice" in bad["reason"] and '"b"' in bad["raw"].replace('""', '"')


@pytest.mark.parametrize("stamp", [{"a": 1}, [1, 0]])
def test_a_table_of_messages_that_is_not_named_as_one(run, stamp) -> None:
    Path("m.jsonl").write_text(lines({"sender": "a", "stamp": stamp}))
    done = run("m.jsonl", "--out", "out")
    assert done.code == 2, done
    assert "give antecede order --sender KEY --stamp stamp" in done.err.replace("\n", " ")
    assert "--regex" not in done.err


def test_columns_that_are_renamed_are_told_to_programs(run) -> None:
    Path("m.jsonl").write_text(lines({"sender": "a", "stamp": 1, "position": 7, "reason": "mine"}))
    told = json.loads(run("m.jsonl", "--stamp", "stamp", "--out", "out", "--json").out)
    assert told["renamed"] == {"position": "antecede_position", "reason": "antecede_reason"}


def test_gaps_that_equally_many_wait_for_come_in_one_order(run) -> None:
    records = [{"room": room, "sender": "a", "stamp": 2} for room in "cabdefghijklm"]
    Path("m.jsonl").write_text(lines(*records))
    told = json.loads(run("m.jsonl", "--group", "room", "--out", "out", "--json").out)
    assert [gap["group"] for gap in told["gaps"]] == list("abcdefghij") and told["gap_count"] == 13


def test_gaps_of_stamps_for_one_receiver_are_told_with_it(run) -> None:
    stamp = [{"from": "a", "to": "r", "count": 1}]
    Path("m.jsonl").write_text(lines({"room": "x", "sender": "b", "to": "r", "stamp": stamp}))
    done = run("m.jsonl", "--receiver", "to", "--out", "out")
    assert "  message 1 of a to r: 1 row waits for it" in done.out, done
    done = run("m.jsonl", "--receiver", "to", "--group", "room", "--out", "again")
    assert "  message 1 of a to r in x: 1 row waits for it" in done.out, done


def test_senders_by_place_as_csv(run) -> None:
    Path("m.csv").write_text('who,clk\n1,"[1,1]"\n0,"[1,0]"\n')
    done = run("m.csv", "--sender", "who", "--stamp", "clk", "--out", "out")
    assert done.code == 0, done
    assert {row["who"]: row["position"] for row in rows("ordered")} == {"0": 0, "1": 1}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "column 'who' has names, such as 'b': give --members, the names"),
        (("--form", "parents"), "form 'parents' needs --id, the column"),
        (("--form", "nope"), "give --form, one of vector"),
        (("--form", "shared"), "form 'shared' needs --keys, the column"),
    ],
)
def test_an_option_that_is_missing_is_called_as_it_is_written(run, words, sentence) -> None:
    Path("m.csv").write_text('who,clk\nb,"[1,1]"\n0,"[1,0]"\n')
    done = run("m.csv", "--sender", "who", "--stamp", "clk", *words, "--out", "out")
    assert done.code == 2 and sentence in done.err.replace("\n", " "), done


def lose_a_row(run: Callable[..., Any]) -> Callable[..., Any]:
    def run_and_lose(*request: Any) -> Any:
        done = run(*request)
        return done._replace(counts=done.counts | {"ordered": 5})

    return run_and_lose


def test_a_sum_that_does_not_add_up_is_an_error(run, monkeypatch) -> None:
    Path("log").write_text(TRIANGLE)
    monkeypatch.setattr(order_runs, "_order_locally", lose_a_row(order_runs._order_locally))
    monkeypatch.setattr(order_runs, "_order_on_spark", lose_a_row(order_runs._order_on_spark))
    done = run("log", "--out", "out")
    assert done.code == 2 and "internal error: 6 rows in, but 5 ordered" in done.err and done.out == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("nothing.log", "--out", "out"), "no such file"),
        (("log",), "--out"),
        (("log", "--out", "log"), "name a folder"),
        (("log", "--group", "no", "--out", "out"), "no"),
        (("log", "--group", "process", "--field", "process=host", "--out", "out"), "are for logs"),
        (
            ("log", "--group", "process", "--format", "shiviz", "--out", "out"),
            "parquet, jsonl, csv, debezium, not 'shiviz'",
        ),
        (("empty", "--group", "process", "--out", "out"), "is empty"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_a_sentence(run, words, sentence) -> None:
    Path("log").write_text(TRIANGLE)
    Path("empty").write_text("")
    done = run(*words)
    assert done.code == 2
    assert sentence in done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert not Path("out").exists()
