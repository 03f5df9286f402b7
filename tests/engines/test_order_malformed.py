"""Stamps with something left out go to quarantine and say what it is: no need is lost in silence."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from antecede.core.errors import CallerError
from antecede.ordering.text_stamps import write_as_json_unless_text
from tests.commands import here
from tests.engines.engines import rows_of
from tests.formats.samples import lines
from tests.sql_tables import make_table

ENTRY = "the stamp has an entry without from, to or count"
LOG = "the stamp has an entry without a sender, a number or destinations"
LAST = "the stamp has a last message without a process or a time"
NO_LAST = "the stamp has no list of last messages"
UNKNOWN = "the receiver is unknown: the stamp has no entry for it"
FORMS = {
    "triples": "array<struct<x:string, y:string, c:int>>",
    "log": "array<struct<s:string, n:int, d:array<string>>>",
    "predecessors": "array<struct<s:string, n:int>>",
    "pairs": "struct<t:map<string,int>, l:array<struct<p:string, t:map<string,int>>>>",
    "named": "struct<t:map<string,int>, l:map<string, map<string,int>>>",
}
BAD = [
    ("triples", "c", [("a", None, 1)], ENTRY),
    ("triples", "c", [(None, "c", 1)], ENTRY),
    ("triples", "c", [("a", "c", None)], ENTRY),
    ("triples", "c", [None], ENTRY),
    ("triples", None, [("a", "c", 1)], "there is no receiver"),
    ("triples", "c", None, "the stamp is null"),
    ("log", "c", [("a", 1, None)], LOG),
    ("log", "c", [("a", 1, ["d", None])], LOG),
    ("log", "c", [None], LOG),
    ("log", "c", [(None, 1, ["d"])], LOG),
    ("log", None, [], "there is no receiver"),
    ("log", "c", None, "the stamp is null"),
    ("predecessors", "c", [None], "the stamp has an entry without a count"),
    ("pairs", "c", ({"b": 7}, None), NO_LAST),
    ("pairs", "c", ({"b": 7}, [None]), LAST),
    ("pairs", "c", ({"b": 7}, [("c", None)]), LAST),
    ("pairs", "c", ({"b": 7}, [(None, {"a": 1})]), LAST),
    ("pairs", "c", (None, []), "the time of the message is null"),
    ("pairs", None, ({"b": 7}, []), "there is no receiver"),
    ("pairs", "c", None, "the stamp is null"),
    ("named", "c", ({"b": 7}, None), NO_LAST),
    ("named", "c", ({"b": 7}, {"c": None}), LAST),
]
GOOD: dict[str, Any] = {
    "triples": [("b", "c", 0)],
    "log": [],
    "predecessors": [],
    "pairs": ({"b": 1}, []),
    "named": ({"b": 1}, {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_left_out_is_told(engine, form):
    rows = [("b", at + 2, to, stamp) for at, (name, to, stamp, _) in enumerate(BAD) if name == form]
    frame = make_table(
        [*rows, ("b", 1, "c", GOOD[form])], f"sender string, n int, receiver string, stamp {FORMS[form]}"
    )
    form = "pairs" if form == "named" else form
    outcome = engine.order(frame, form=form, receiver="receiver", number="n")
    assert [row["n"] for row in rows_of(outcome.ordered)] == [1]
    reasons = {row["n"]: row["reason"] for row in rows_of(outcome.quarantine)}
    assert reasons == {at: BAD[at - 2][3] for _, at, _, _ in rows}


MAP = pa.map_(pa.string(), pa.int64())
TWICE = [("a", 1), ("a", 2)]
NAMED_TWICE = "the stamp has two entries for one name"


@pytest.mark.parametrize(
    ("type", "stamp", "reason"),
    [
        (MAP, TWICE, NAMED_TWICE),
        (pa.struct([("t", MAP), ("l", pa.map_(pa.string(), MAP))]), (TWICE, []), NAMED_TWICE),
        (
            pa.struct([("t", MAP), ("l", pa.map_(pa.string(), MAP))]),
            ([("a", 3)], [("c", TWICE)]),
            NAMED_TWICE,
        ),
        (
            pa.struct([("t", MAP), ("l", pa.map_(pa.string(), MAP))]),
            ([("a", 3)], [("c", [("b", 1)]), ("c", [("b", 2)])]),
            "the stamp has two last messages to the receiver",
        ),
        (
            pa.list_(pa.struct([("x", pa.string()), ("y", pa.string()), ("c", pa.int64())])),
            [("b", "c", 1), ("b", "c", 2)],
            NAMED_TWICE,
        ),
        (pa.int64(), 2**62, "the number of the message is above 2^62 - 1"),
    ],
)
def test_what_is_told_twice_or_too_large_is_quarantined(engine, type, stamp, reason):
    table = pa.table({"sender": ["a"], "receiver": ["c"], "stamp": pa.array([stamp], type)})
    outcome = engine.order(table, receiver="receiver")
    (bad,) = outcome.quarantine.to_pylist()
    assert bad["reason"] == reason


def test_a_parent_that_is_named_twice_is_missed_once(engine):
    table = make_table([("x", ["y", "z", "y"])], "id string, stamp array<string>")
    outcome = engine.order(table, id="id")
    assert [row["missing"] for row in rows_of(outcome.held)] == [["y", "z"]]
    assert sorted((row["missing"], row["waiting"]) for row in rows_of(outcome.gaps)) == [("y", 1), ("z", 1)]


def test_what_is_wrong_with_a_matrix(engine):
    square = [[0, 0], [0, 0]]
    rows = [
        (0, 1, square, None),
        (0, None, square, "there is no receiver"),
        (0, 9, square, UNKNOWN),
        (0, -1, square, UNKNOWN),
        (None, 1, square, "there is no sender"),
        (7, 1, square, "the sender is unknown: the stamp has no entry for it"),
        (0, 1, [[0, 0], [0]], "the stamp is not square: it has 2 rows, and one not as many entries"),
        (0, 1, [[0, 0], None], "the stamp is not square: it has 2 rows, and one not as many entries"),
        (0, 1, [[0, None], [0, 0]], "the stamp has an entry without a count"),
        (0, 1, None, "the stamp is null"),
    ]
    frame = make_table(rows, "sender int, receiver int, stamp array<array<int>>, told string")
    outcome = engine.order(frame, form="matrix", receiver="receiver")
    assert [row["told"] for row in rows_of(outcome.ordered)] == [None]
    found = rows_of(outcome.quarantine)
    assert len(found) == len(rows) - 1
    assert [row["reason"] for row in found] == [row["told"] for row in found]


@pytest.mark.parametrize(
    ("form", "type", "stamp"),
    [
        ("triples", "array<struct<x:int, y:int, c:int>>", [(0, 2, 1)]),
        ("log", "array<struct<s:int, n:int, d:array<int>>>", [(0, 1, [2])]),
        (
            "pairs",
            "struct<t:map<string,int>, l:array<struct<p:int, t:map<string,int>>>>",
            ({"b": 1}, [(2, {"a": 1})]),
        ),
    ],
)
def test_a_receiver_that_is_no_member_is_told(engine, form, type, stamp):
    rows = [("b", 1, "c", stamp), ("b", 1, "who", stamp)]
    frame = make_table(rows, f"sender string, n int, receiver string, stamp {type}")
    outcome = engine.order(frame, form=form, receiver="receiver", number="n", members=["a", "b", "c"])
    assert [row["receiver"] for row in rows_of(outcome.held)] == ["c"]
    (bad,) = rows_of(outcome.quarantine)
    assert (bad["receiver"], bad["reason"]) == ("who", "the receiver is not one of the members")


@pytest.mark.parametrize(
    ("form", "good", "bad", "example"),
    [
        ("log", [{"sender": "a", "number": 1, "destinations": ["d"]}],
         [{"sender": "a", "number": 1, "dest": ["c"]}],
         '"destinations": ["b"]}]'),
        ("predecessors", [], [{"sender": "a", "no": 1}], '[{"sender": "a", "number": 1}]'),
        ("triples", [], [{"from": "a", "to": "c", "counts": 1}], '"count": 1}]'),
        ("pairs", {"time": {"b": 1}, "last": {}}, {"time": {"b": 2}, "was": {"c": {"a": 1}}}, '"last": {"b"'),
        ("pairs", {"time": {"b": 1}, "last": {}}, {"time": {"b": 2}}, '"last": {"b"'),
    ],
)  # fmt: skip
def test_keys_of_json_that_are_not_those_of_the_form(
    command_engine, monkeypatch, capsys, tmp_path, form, good, bad, example
):
    monkeypatch.chdir(tmp_path)
    rows = [{"sender": "b", "n": at, "to": "c", "stamp": stamp} for at, stamp in enumerate((good, bad), 1)]
    Path("m.jsonl").write_text(lines(*rows))
    words = ("m.jsonl", "--form", form, "--receiver", "to", "--number", "n", "--out", "out")
    done = here(monkeypatch, capsys, "order", *words, "--engine", command_engine)
    assert done.code == 1 and "2 rows = 1 ordered + 0 held + 1 quarantined" in done.out
    (row,) = pq.read_table("out/quarantine").to_pylist()
    assert "the stamp is not a" in row["reason"] and f"{example}" in row["reason"]
    assert json.dumps(bad)[:10] in row["reason"].replace('":', '": ').replace(":  ", ": ")


def test_direct_predecessors_in_json_keep_their_needs(command_engine, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"sender": "b", "n": 1, "stamp": [{"sender": "z", "number": 1}]},
        {"sender": "z", "n": 1, "stamp": []},
    ]
    Path("m.jsonl").write_text(
        lines(*rows, {"sender": "c", "n": 1, "stamp": [{"sender": "z", "number": "2"}]})
    )
    words = ("m.jsonl", "--form", "predecessors", "--number", "n", "--out", "out", "--engine", command_engine)
    done = here(monkeypatch, capsys, "order", *words)
    assert "3 rows = 2 ordered + 1 held + 0 quarantined" in done.out, done
    assert {row["sender"]: row["position"] for row in pq.read_table("out/ordered").to_pylist()} == {
        "z": 0,
        "b": 1,
    }


TRIPLES = "array<struct<x:string, y:string, c:int>>"


@pytest.mark.parametrize(
    ("role", "schema", "value", "told"),
    [
        (
            "receiver",
            f"who string, to array<string>, stamp {TRIPLES}",
            ("a", ["b", "c"], []),
            "array<string>",
        ),
        ("sender", "to array<string>, stamp map<string,int>", (["a", "b"], {"a": 1}), "array<string>"),
        ("group", "sender string, to array<int>, stamp map<string,int>", ("a", [1], {"a": 1}), "array<int>"),
        ("id", "to array<string>, stamp array<string>", (["a"], []), "array<string>"),
    ],
)
def test_a_list_is_no_name(engine, role, schema, value, told):
    options = {role: "to"} | ({"sender": "who"} if "who" in schema else {})
    message = f"column 'to' is {re.escape(told)}, and a row has one {role}: make a row for each .explode"
    with pytest.raises(CallerError, match=message):
        engine.order(make_table([value], schema), **options)


@pytest.mark.parametrize(("type", "room"), [("struct<a:string>", ("b",)), ("map<string,int>", {"a": 1})])
def test_an_object_is_no_name(engine, type, room):
    table = make_table([("a", room, 1)], f"sender string, room {type}, stamp int")
    with pytest.raises(CallerError, match=r"column 'room' is .*, and a group is a name: cast it to text"):
        engine.order(table, group="room")


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_rows_for_several_receivers_at_once_are_quarantined(
    command_engine, monkeypatch, capsys, tmp_path, format
):
    monkeypatch.chdir(tmp_path)
    first = {"sender": "a", "to": ["b", "c"], "stamp": []}
    second = {"sender": "a", "to": "b", "stamp": [{"from": "a", "to": "b", "count": 1}]}
    texts = [
        {name: write_as_json_unless_text(value) for name, value in row.items()} for row in (first, second)
    ]
    if format == "csv":
        pacsv.write_csv(pa.Table.from_pylist(texts), "m.csv")
    else:
        Path("m.jsonl").write_text(lines(first, second))
    words = (f"m.{format}", "--receiver", "to", "--form", "triples", "--out", "out")
    done = here(monkeypatch, capsys, "order", *words, "--engine", command_engine)
    assert "2 rows = 0 ordered + 1 held + 1 quarantined" in done.out, done
    (row,) = pq.read_table("out/quarantine").to_pylist()
    told = "the receiver is not a name but a list or an object, and each receiver needs a row of its own: "
    assert row["reason"] == f'{told}["b","c"]'


def test_groups_in_json_are_names_and_parents_need_no_sender(command_engine, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"i{at}", "room": room, "stamp": []} for at, room in enumerate((["r"], "[r", {"r": 1}, 7))]
    Path("m.jsonl").write_text(lines(*rows, {"id": ["i9"], "stamp": [], "room": "r"}))
    words = ("m.jsonl", "--id", "id", "--group", "room", "--out", "out")
    done = here(monkeypatch, capsys, "order", *words, "--engine", command_engine)
    assert "5 rows = 2 ordered + 0 held + 3 quarantined" in done.out, done
    told = {row["line"]: row["reason"] for row in pq.read_table("out/quarantine").to_pylist()}
    group = "the group is not a name but a list or an object, and each group needs a row of its own: "
    assert told == {
        1: f'{group}["r"]',
        3: f'{group}{{"r":1}}',
        5: 'the id is not a name but a list or an object: ["i9"]',
    }
    sender = {"name": "ann", "since": 3}
    Path("n.jsonl").write_text(lines({"id": "i1", "sender": sender, "stamp": []}))
    done = here(
        monkeypatch, capsys, "order", "n.jsonl", "--id", "id", "--out", "n", "--engine", command_engine
    )
    assert done.code == 0 and pq.read_table("n/ordered")["sender"].to_pylist() == [sender]


ODD = "the stamp has a count that is no whole number"
NAN = float("nan")
FLOATS: dict[str, tuple[str, Any, list[tuple[Any, str]]]] = {
    "vector": ("map<string,double>", {"a": 1.0}, [({"a": 1.5}, ODD), ({"a": 1.0, "b": NAN}, ODD)]),
    "clock": ("array<double>", [1.0], [([1e300], ODD), ([None], "the stamp has an entry without a count")]),
    "matrix": ("array<array<double>>", [[0.0]], [([[0.5]], ODD), ([[float("inf")]], ODD)]),
    "triples": ("array<struct<x:string, y:string, c:double>>", [("a", "a", 0.0)], [([("a", "c", 0.5)], ODD)]),
    "pairs": (
        "struct<t:map<string,double>, l:map<string,map<string,double>>>",
        ({"a": 1.0}, {"a": {"b": 0.0}}),
        [(({"a": 1.5}, {}), ODD), (({"a": 2.0}, {"c": {"a": 0.5}}), ODD)],
    ),
    "log": (
        "array<struct<s:string, n:double, d:array<string>>>",
        [("a", 0.0, ["a"])],
        [([("a", 0.5, ["a"])], ODD)],
    ),
    "predecessors": ("array<struct<s:string, n:double>>", [("a", 0.0)], [([("a", NAN)], ODD)]),
    "shared": ("array<double>", [1.0], [([1.5], ODD)]),
    "sequence": ("double", 1.0, [(NAN, ODD), (0.5, ODD), (2.0**53, ODD)]),
}


@pytest.mark.parametrize("form", FLOATS)
def test_floats_that_are_whole_numbers_are_counts(engine, form):
    type, good, bad = FLOATS[form]
    told = [None, *(reason for _, reason in bad)]
    stamps = [good, *(stamp for stamp, _ in bad)]
    rows = [("a", 1.0, "a", [0.0], stamp, reason) for stamp, reason in zip(stamps, told, strict=True)]
    more = [("a", 1.5, "a", [0.0], good, "the number of the message is no whole number")]
    more += [("a", 2.0, "a", [0.5], good, "a key is no whole number")] if form == "shared" else []
    rows += more if form in ("log", "predecessors", "shared") else []
    schema = f"sender string, n double, receiver string, keys array<double>, stamp {type}, told string"
    options = {"receiver": "receiver", "keys": "keys", "members": ["a"]}
    options |= {} if form == "sequence" else {"number": "n"}
    outcome = engine.order(make_table(rows, schema), form=form, **options)
    assert [row["told"] for row in rows_of(outcome.ordered)] == [None]
    found = rows_of(outcome.quarantine)
    assert [row["reason"] for row in found] == [row["told"] for row in found] and len(found) == len(rows) - 1


@pytest.mark.parametrize(
    ("form", "stamps"),
    [
        ("vector", [{"a": 1.0}, {"a": "1", "b": 1.0}, {"b": 2.0, "a": 0.5}]),
        ("sequence", [1.0, 1.0, 1.5]),
        ("predecessors", [[], [{"sender": "a", "number": 1.0}], [{"sender": "a", "number": 0.5}]]),
    ],
)
def test_floats_in_json_that_are_whole_numbers_are_counts(
    command_engine, monkeypatch, capsys, tmp_path, form, stamps
):
    monkeypatch.chdir(tmp_path)
    rows = [{"sender": who, "n": 1.0, "stamp": stamp} for who, stamp in zip("abb", stamps, strict=True)]
    rows[2]["n"] = 2.0
    Path("m.jsonl").write_text(lines(*rows))
    more = ("--number", "n") if form == "predecessors" else ()
    words = ("m.jsonl", "--form", form, *more, "--out", "out", "--engine", command_engine)
    done = here(monkeypatch, capsys, "order", *words)
    assert "3 rows = 2 ordered + 0 held + 1 quarantined" in done.out, done
    (row,) = pq.read_table("out/quarantine").to_pylist()
    assert row["reason"].startswith(ODD) and row["line"] == 3


def test_numbers_that_pandas_writes_into_csv(command_engine, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("m.csv").write_text("sender,stamp\na,2.0\na,1.0\na,1.5\na,\na,9007199254740993.0\n")
    words = ("m.csv", "--form", "sequence", "--out", "out", "--engine", command_engine)
    done = here(monkeypatch, capsys, "order", *words)
    assert "5 rows = 2 ordered + 1 held + 2 quarantined" in done.out, done
    assert [row["stamp"] for row in pq.read_table("out/held").to_pylist()] == [2**53 + 1]


NAMED = ["group", "sender", "receiver", "number", "keys", "id", "arrival", "time", "stamp"]


@pytest.mark.parametrize("option", NAMED)
@pytest.mark.parametrize("form", ["sequence", "vector", "shared", "parents", "log"])
def test_a_named_column_that_is_not_there_is_refused(engine, form, option):
    """Also where the form has no use for it."""
    stamp = {
        "sequence": "int",
        "vector": "map<string,int>",
        "shared": "array<int>",
        "parents": "array<string>",
        "log": "array<struct<s:string, n:int>>",
    }[form]
    table = make_table([], f"sender string, n int, k array<int>, i string, stamp {stamp}, count {stamp}")
    needed = {"shared": {"keys": "k"}, "parents": {"id": "i"}, "log": {"number": "n"}}.get(form, {})
    if form == "sequence":
        needed = {"number": "count"}
    with pytest.raises(
        CallerError, match="there is no column 'nope'; there are: sender, n, k, i, stamp, count"
    ):
        engine.order(table, form=form, **needed | {option: "nope"})


def test_a_named_column_of_json_that_is_not_there_is_refused(command_engine, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("m.jsonl").write_text(lines({"sender": "a", "stamp": 1}))
    words = (
        "m.jsonl",
        "--receiver",
        "nope",
        "--form",
        "sequence",
        "--out",
        "out",
        "--engine",
        command_engine,
    )
    done = here(monkeypatch, capsys, "order", *words)
    assert done.code == 2 and "there is no column 'nope'; there are: sender, stamp" in done.err
