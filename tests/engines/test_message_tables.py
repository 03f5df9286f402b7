"""Tables of messages in files: columns of any name pass through; what is no row is kept with its place."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.formats import text_lines
from tests.commands import here
from tests.formats.samples import lines

WORDS = ("--group", "room", "--out", "out")


@pytest.fixture
def run(command_engine, monkeypatch, capsys, tmp_path):
    """Orders a table in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: here(monkeypatch, capsys, "order", *words, "--engine", command_engine)


def rows(name: str) -> list[dict[str, Any]]:
    found = pq.read_table(f"out/{name}")
    return list(found.to_pylist(maps_as_pydicts="strict"))


def message(sender: Any, stamp: Any, **more: Any) -> dict[str, Any]:
    return {"room": "r", "sender": sender, "stamp": stamp, **more}


def read_reasons(name: str = "quarantine") -> dict[int, str]:
    return {row["line"]: row["reason"] for row in rows(name)}


def test_what_is_no_row_is_kept_with_file_line_and_text(run) -> None:
    torn = [message("b", "oops"), message("c", None)]
    Path("m.jsonl").write_text("\n" + lines(message("a", {"a": 1}), *torn) + "\r\nno json\r\n[]\n")
    done = run("m.jsonl", *WORDS)
    assert done.code == 1 and "5 rows = 1 ordered + 0 held + 4 quarantined" in done.out
    bad = {row["line"]: row for row in rows("quarantine")}
    assert sorted(bad) == [3, 4, 6, 7]
    assert {row["file"] for row in bad.values()} == {"m.jsonl"}
    assert bad[3]["reason"] == 'the stamp is not an object of counts, as in {"a": 1, "b": 2}: oops'
    assert json.loads(bad[3]["raw"]) == torn[0]
    assert bad[4]["reason"] == "the stamp is null" and bad[4]["sender"] == "c"
    assert bad[6]["reason"] == bad[7]["reason"] == "is no JSON object"
    assert bad[6]["raw"] == "no json"


def test_csv_has_lines_and_cells(run) -> None:
    text = 'room,sender,stamp,od.d n,_file\nr,a,"{""a"":1}",5,mine\nr,b,torn,6,mine\nr,b\nr,b,"{""b"":1}\n'
    Path("m.csv").write_text("\ufeff" + text)
    assert run("m.csv", *WORDS).code == 1
    (good,) = rows("ordered")
    assert (good["stamp"], good["od.d n"], good["_file"]) == ({"a": 1}, 5, "mine")
    told = read_reasons()
    assert (
        sorted(told) == [3, 4, 5] and "is not an object of counts" in told[3] and told[3].endswith(": torn")
    )
    assert told[4] == "does not have the 5 cells that the header has"
    assert told[5] == "a quoted cell does not end on its line"


def test_names_in_csv_are_texts(run) -> None:
    Path("m.csv").write_text('room,id,stamp\n1,02,"[""01""]"\n1,01,[]\n01,01,[]\n1e1,7,[]\n10,7,[]\n')
    assert run("m.csv", *WORDS, "--id", "id").code == 0
    assert sorted((row["room"], row["id"], row["position"]) for row in rows("ordered")) == [
        ("01", "01", 0),
        ("1", "01", 0),
        ("1", "02", 1),
        ("10", "7", 0),
        ("1e1", "7", 0),
    ]


def test_codes_with_zeros_in_front_stay_as_they_are_in_csv(run) -> None:
    text = "room,sender,stamp,zip,at,part\nr,a,2,01234,010,1.5\nr,a,1,00999,20,0.5\nr,b,1,5,07,00.5\n"
    Path("m.csv").write_text(text)
    done = run("m.csv", "--group", "room", "--time", "at", "--out", "out")
    assert done.code == 0
    columns = ("sender", "stamp", "zip", "at", "part", "position")
    assert sorted(tuple(row[name] for name in columns) for row in rows("ordered")) == [
        ("a", 1, "00999", 20, "0.5", 1),
        ("a", 2, "01234", 10, "1.5", 2),
        ("b", 1, "5", 7, "00.5", 0),
    ]


def test_receivers_in_csv_are_texts(run) -> None:
    Path("m.csv").write_text('sender,to,stamp\na,1,"[]"\na,01,"[]"\n')
    done = run("m.csv", "--form", "triples", "--receiver", "to", "--out", "out")
    assert done.code == 0 and "2 rows = 2 ordered" in done.out


@pytest.mark.parametrize("odd", ["2024-02-30", "2024-02-30T10:00:00Z", "2024-01-01T10:00:00+99:99"])
def test_cells_that_look_like_times_and_are_none_stay_as_they_are(run, odd) -> None:
    Path("m.csv").write_text(f"room,sender,stamp,when\nr,a,1,2024-01-01\nr,a,2,{odd}\n")
    assert run("m.csv", *WORDS).code == 0
    assert [row["when"] for row in rows("ordered")] == ["2024-01-01", odd]


LONG = "1" * 5_000


@pytest.mark.parametrize(("good", "long"), [({"0": 1}, {"0": LONG}), ([1], [LONG]), ("1", LONG)])
def test_counts_in_quotes_of_thousands_of_digits_cost_their_row(run, good, long) -> None:
    Path("m.jsonl").write_text(lines(message(0, good), message(0, long)))
    done = run("m.jsonl", *WORDS)
    assert done.code == 1 and "2 rows = 1 ordered + 0 held + 1 quarantined" in done.out
    assert "is no whole number" in read_reasons()[2]


@pytest.mark.parametrize(
    ("name", "line"), [("m.jsonl", b'{"room":"r","sender":"M\xfc","stamp":1}'), ("m.csv", b"r,M\xfc,1")]
)
def test_lines_that_are_no_utf8_are_not_altered_but_refused(run, name, line) -> None:
    first = line.replace(b"M\xfc", b"a")
    header = b"room,sender,stamp\n" if name == "m.csv" else b"\n"
    Path(name).write_bytes(header + first + b"\n" + line + b"\n" + line.replace(b"\xfc", b"\xe9") + b"\n")
    done = run(name, *WORDS)
    assert done.code == 1 and "3 rows = 1 ordered + 0 held + 2 quarantined" in done.out
    reason = "is no UTF-8: convert the file"
    assert read_reasons() == {3: reason, 4: reason}
    assert rows("quarantine")[0]["raw"] == line.decode(errors="replace")


def test_a_table_of_which_nothing_can_be_read_is_told_as_such(run) -> None:
    Path("nan.jsonl").write_text('{"room":"r","sender":"a","stamp":NaN}\n')
    done = run("nan.jsonl", *WORDS)
    assert done.code == 2 and "nor any other: no row can be read" in done.err
    Path("wide.jsonl").write_text(lines(message("a", 1)), encoding="utf-16")
    done = run("wide.jsonl", *WORDS)
    assert done.code == 2 and "wide.jsonl: is UTF-16" in done.err and "convert it" in done.err
    assert not Path("out").exists()


OURS = ("file", "line", "raw", "reason", "missing", "position", "since", "arrival", "antecede", "gaps")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_columns_with_our_names_pass_through(run, kind) -> None:
    own: dict[str, Any] = {name: [{"deep": name}] for name in OURS}
    table = [
        message("a", {"a": 1}, **own),
        message("a", {"a": 1}, **own),
        message("b", {"a": 2, "b": 1}, **own),
    ]
    if kind == "jsonl":
        Path("m").write_text(lines(*table) + "{broken\n")
    else:
        stamps = pa.array([list(row["stamp"].items()) for row in table], pa.map_(pa.string(), pa.int64()))
        pq.write_table(pa.Table.from_pylist(table).drop("stamp").append_column("stamp", stamps), "m")
    done = run("m", *WORDS)
    assert "= 1 ordered + 1 held + " in done.out, done
    assert "the table has a column 'reason' of its own: ours is called antecede_reason" in done.out
    (good,), (held,), bad = rows("ordered"), rows("held"), rows("quarantine")
    whole = [row for row in bad if row["sender"] is not None]
    for row in (good, held, *whole):
        assert {name: row[name] for name in OURS} == own
    assert (good["antecede_position"], good["antecede_arrival"]) == (0, 0)
    assert held["antecede_missing"] == ["message 2 of a"] and held["antecede_since"] == 1
    assert [(row["antecede_file"], row["antecede_line"]) for row in whole] == [("m", 2)]
    assert "came before" in whole[0]["antecede_reason"]
    if kind == "jsonl":
        (torn,) = (row for row in bad if row["sender"] is None)
        assert torn["antecede_raw"] == "{broken"
        assert torn["antecede_line"] == 4
        assert torn["raw"] is None


REASONS: list[tuple[dict[str, Any], str]] = [
    (message(["b"], {"b": 1}), 'the sender is not a name but a list or an object: ["b"]'),
    (message({"b": 1}, {"b": 1}), 'the sender is not a name but a list or an object: {"b":1}'),
    (message(None, {"b": 1}), "there is no sender"),
    (message("b", None), "the stamp is null"),
    (message("b", {"b": -1}), "the stamp has a negative count"),
    (message("b", {"b": 1.5}), 'the stamp has a count that is no whole number: {"b":1.5}'),
    (message("b", {"b": "x"}), 'the stamp has a count that is no whole number: {"b":"x"}'),
    (message("b", {"b": 1, "c": None}), "the stamp has an entry without a count"),
    (message("b", {"b": 2**62}), "the stamp has a count above 2^62 - 1"),
    (message("b", {"a": 1}), "the stamp has no entry for its sender, which must count this message"),
    (message("b", {"b": 0}), "the entry of the sender is 0, and must count this message"),
    (message("b", 7), 'the stamp is not an object of counts, as in {"a": 1, "b": 2}: 7'),
    (message("b", [1]), 'the stamp is not an object of counts, as in {"a": 1, "b": 2}: [1]'),
    ({**message("b", {"b": 1}), "room": None}, "there is no group: the column that names it is null"),
    (message("a", {"a": 1}), "duplicate: message 1 of a came before"),
]


def test_every_bad_row_has_a_reason_that_says_what_is_wrong(run) -> None:
    good = [message("a", {"a": 1}), message("b", {"b": "1"}), message("b", {"a": "1", "b": 2})]
    Path("m.jsonl").write_text(lines(*good, *(bad for bad, _ in REASONS)))
    done = run("m.jsonl", *WORDS)
    assert f"= 3 ordered + 0 held + {len(REASONS)} quarantined" in done.out
    assert read_reasons() == {4 + at: reason for at, (_, reason) in enumerate(REASONS)}
    assert rows("ordered")[0]["stamp"] in ({"a": 1}, {"b": 1}, {"a": 1, "b": 2})


def test_a_stamp_by_place_has_reasons_too(run) -> None:
    good = [message("a", [1, 0]), message("b", ["1", 1])]
    bad = [message("c", [1, 0]), message("b", [0, 1, 0]), message("b", [0, "x"]), message("b", "1")]
    Path("m.jsonl").write_text(lines(*good, *bad))
    done = run("m.jsonl", *WORDS, "--members", "a,b")
    assert "6 rows = 2 ordered + 0 held + 4 quarantined" in done.out, done
    assert read_reasons() == {
        3: "the sender is unknown: the stamp has no entry for it",
        4: "the stamp has 3 entries where this group needs 2",
        5: 'the stamp has a count that is no whole number: [0,"x"]',
        6: "the stamp is not a list of counts, as in [1, 2]: 1",
    }


def test_a_number_that_is_none_costs_its_row_alone(run) -> None:
    Path("m.jsonl").write_text(
        lines(*({"room": "r", "sender": "a", "n": n} for n in (1, "x", 2.5, "2", None)))
    )
    done = run("m.jsonl", *WORDS, "--form", "sequence", "--number", "n")
    assert "5 rows = 2 ordered + 0 held + 3 quarantined" in done.out
    told = read_reasons()
    assert told[2] == "n is no whole number: x" and told[3] == "n is no whole number: 2.5"
    assert (
        told[5] == "the number of the message is null or below 1: the first message of a sender has number 1"
    )


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_columns_that_differ_in_case_only(run, kind) -> None:
    if kind == "jsonl":
        Path("m").write_text(lines(message("a", {"a": 1}, ROOM="R")))
    else:
        pq.write_table(pa.table({"room": ["r"], "ROOM": ["r"], "sender": ["a"], "stamp": [1]}), "m")
    done = run("m", *WORDS)
    assert done.code == 2 and "upper and lower case" in done.err and "rename one" in done.err


def test_lines_are_counted_where_a_file_is_the_work_of_many_tasks(run, monkeypatch) -> None:
    table = [message("a", {"a": n}, pad="x" * (n % 40)) for n in range(1, 301)]
    text = lines(*table).encode().splitlines(keepends=True)
    for at in range(6, 300, 7):
        text[at] = b"bad %d\n" % (at + 1)
    Path("m.jsonl").write_bytes(b"".join(text).removesuffix(b"\n"))
    Path("n.log").write_bytes(gzip.compress(b'{"sender": "z"}\nbad 2\n'))
    monkeypatch.setattr(text_lines, "RANGE_BYTES", 1_000)
    monkeypatch.setattr(text_lines, "BLOCK_BYTES", 100)
    done = run("m.jsonl", "n.log", *WORDS)
    assert "302 rows = 6 ordered" in done.out
    bad = {
        (row["file"], row["line"]): row["raw"]
        for row in rows("quarantine")
        if row["reason"] == "is no JSON object"
    }
    assert bad == {("m.jsonl", n): f"bad {n}" for n in range(7, 301, 7)} | {("n.log", 2): "bad 2"}


def test_broken_gzip_keeps_what_can_be_read(run) -> None:
    table = [message("a", {"a": n}) for n in range(1, 40_001)]
    Path("m.gz").write_bytes(gzip.compress(lines(*table).encode())[:-4_000])
    done = run("m.gz", *WORDS, "--json")
    found = json.loads(done.out)
    assert found["ordered"] > 100
    assert found["held"] == 0
    assert found["quarantined"] in (1, 2)
    last = max(rows("quarantine"), key=lambda row: row["line"])
    assert "gzip is broken" in last["reason"] and last["line"] > found["ordered"]


def test_text_files_of_any_name(run) -> None:
    names = ["a [1]*.x", "{b}:ü.x", "_c.x"]
    for name in names:
        Path(name).write_text(lines(message("a", 0), message("a", 1)))
    Path("broken.x").write_bytes(b"\0\xff\n")
    done = run(*names, "broken.x", "--group", "room", "--out", "out", "--format", "jsonl")
    assert "7 rows = 1 ordered + 0 held + 6 quarantined" in done.out, done
    places = [(row["file"], row["line"]) for row in rows("quarantine") if "below 1" in row["reason"]]
    assert sorted(places) == sorted((name, 1) for name in names)


def test_lines_that_end_in_a_carriage_return_alone_are_refused(run) -> None:
    Path("m.csv").write_text('id,stamp\ra,"[]"\rb,"[""a""]"\r')
    done = run("m.csv", "--id", "id", "--out", "out")
    assert done.code == 2 and "m.csv: its lines end in CR alone; write them with LF" in done.err, done
    Path("m.csv").write_text("id,stamp\r\na,[]\r\n")
    assert run("m.csv", "--id", "id", "--out", "out").code == 0


def test_a_file_that_begins_with_a_line_that_is_no_text(run) -> None:
    Path("m.x").write_bytes(b'{"id": "\xff", "stamp": []}\n{"id": "a", "stamp": []}\n')
    done = run("m.x", "--id", "id", "--out", "out", "--format", "jsonl")
    assert "2 rows = 1 ordered + 0 held + 1 quarantined" in done.out, done
    Path("e.x").write_bytes(b'{"process": "\xff", "kind": "local"}\n{"process": "a", "kind": "local"}\n')
    done = run("e.x", "--out", "events", "--format", "jsonl")
    assert "2 rows = 1 ordered + 0 held + 1 quarantined" in done.out, done


def test_parquet_files_of_any_name(run) -> None:
    names = ["a [1]*.x", "b+ ü%20.x"]
    for name in names:
        pq.write_table(pa.Table.from_pylist([message("a", 0), message("a", 1)]), str(Path(name).absolute()))
    Path("broken.x").write_bytes(b"PAR1 oops")
    done = run(*names, "broken.x", *WORDS)
    assert "5 rows = 1 ordered + 0 held + 4 quarantined" in done.out, done
    told = {(row["file"], row["line"]): row["reason"] for row in rows("quarantine")}
    assert {(name, 1) for name in names} | {("broken.x", None)} <= set(told)
    assert "Parquet cannot be read" in told["broken.x", None]


def test_files_of_several_kinds_or_headers_are_told_apart(run) -> None:
    Path("m.jsonl").write_text(lines(message("a", {"a": 1})))
    Path("m.csv").write_text("room,sender,stamp\nr,a,1\n")
    Path("n.csv").write_text("room,stamp,sender\nr,1,a\n")
    done = run("m.csv", "m.jsonl", *WORDS)
    assert done.code == 2 and "m.csv is csv, m.jsonl is jsonl: order tables of one kind at a time" in done.err
    done = run("m.csv", "n.csv", *WORDS)
    assert done.code == 2 and "m.csv and n.csv have different headers" in done.err


@pytest.mark.parametrize("more", [(), ("--form", "parents")])
def test_one_parent_may_stand_alone_in_text(run, more) -> None:
    Path("m.csv").write_text('id,sender,parents\n1,a,2\n2,a,\n3,a,"[""1"",2]"\n4,a,9\n5,a,"[1"\n')
    done = run("m.csv", "--id", "id", "--stamp", "parents", *more, "--out", "out")
    assert "5 rows = 3 ordered + 1 held + 1 quarantined" in done.out, done
    ordered = sorted(rows("ordered"), key=lambda row: row["position"])
    assert [(row["id"], row["parents"] or []) for row in ordered] == [
        ("2", []),
        ("1", ["2"]),
        ("3", ["1", "2"]),
    ]
    assert [(row["id"], row["missing"]) for row in rows("held")] == [("4", ["9"])]
    assert read_reasons() == {6: 'the stamp is not an id, as in "x", or a list of ids, as in ["x", "y"]: [1'}


def test_one_parent_may_stand_alone_in_json(run) -> None:
    stamps = ["m2", None, ["m1", "m2"], {"a": 1}, ""]
    Path("m.jsonl").write_text(lines(*({"id": f"m{at}", "stamp": one} for at, one in enumerate(stamps, 1))))
    done = run("m.jsonl", "--id", "id", "--out", "out")
    assert "5 rows = 4 ordered + 0 held + 1 quarantined" in done.out, done
    place = {row["id"]: row["position"] for row in rows("ordered")}
    assert place["m2"] < place["m1"] < place["m3"]
    assert list(read_reasons()) == [4]
